"""Text as whoever must say yes to it has to see it: nothing hides, nothing is pushed out of view.

`bot.inert` removes what cannot be seen; here it is shown, because it will be run or written.
"""

from __future__ import annotations

import re

_UNSEEN = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f]"  # C0 without newline and tab, DEL, C1
    r"|[\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]"  # other spaces
    r"|[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u3164\uffa0]"  # unseen letters
    r"|[\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff\ufff9-\ufffc]"
    r"|[\ud800-\udfff\ufffe\uffff\u2800]"
    r"|[\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"  # musical marks, tags, variation selectors
)
_SPACES = re.compile(r"[ \t]{81,}")
EMPTY_LINES = 9
"""From so many in a row on they are counted."""
_LINES = re.compile(rf"\n(?:[ \t]*\n){{{EMPTY_LINES},}}")


def exact(text: str) -> str:
    """`text` with everything unseen named, as ⟨U+202E⟩, and long gaps counted.

    Spaces other than the common one are named too, and half characters. A run of more than 80
    spaces or of 9 empty lines and more is written as ⟨500 spaces⟩ or ⟨40 empty lines⟩.
    """
    named = _UNSEEN.sub(lambda found: f"⟨U+{ord(found[0]):04X}⟩", text)
    short = _LINES.sub(lambda found: f"\n{empty_lines(found[0].count(chr(10)) - 1)}\n", named)
    return _SPACES.sub(lambda found: f"⟨{len(found[0]):,} spaces⟩", short)


def empty_lines(count: int) -> str:
    """What stands for so many empty lines."""
    return f"⟨{count:,} empty lines⟩"


def exact_line(text: str) -> str:
    """The same as one line: a newline and a tab are named too."""
    return exact(text.replace("\n", "⟨U+000A⟩").replace("\t", "⟨U+0009⟩"))
