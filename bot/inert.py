"""Text that other programs and people wrote, made harmless for Slack, terminals and logs."""

from __future__ import annotations

import re

_PAYLOAD = r"[^\x00-\x08\x0a-\x1f\x7f-\x9f]*+"
_TAGS = "\U0001f3f4[\U000e0030-\U000e0039\U000e0061-\U000e007a]"
_FLAG = f"({_TAGS}{{3,6}}\U000e007f)"
_STRING = rf"(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f]){_PAYLOAD}"
_CSI = r"(?:\x1b\[|\x9b)[0-?]*+[ -/]*+"
# Each alternative ends at the next control character, so an unfinished sequence costs its own
# length once: the whole pass is linear.
_SUSPECT = re.compile(
    _FLAG
    + rf"|{_STRING}(?:\x07|\x1b\\|\x9c)"  # OSC, DCS, ...
    + rf"|{_CSI}[@-~]"  # CSI: colours, cursor
    + r"|\x1b[ -/]{0,2}+[0-~]"  # two-character escapes, and the start of unfinished ones
    + r"|(\r\n?|[\v\f\x85\u2028\u2029])"  # other line ends
    + r"|([\ud800-\udfff\ufffe\uffff])"  # no characters at all
    + r"|[\x00-\x08\x0e-\x1f\x7f-\x9f]"  # C0, DEL, C1
    + r"|[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]"  # direction
    + r"|[\u00ad\u180e\u200b\u2060-\u2065\u206a-\u206f\ufeff\ufff9-\ufffb]"  # unseen
    + r"|[\U000e0000-\U000e0fff]"  # tags and further variation selectors: unseen text
)
_UNFINISHED = re.compile(
    rf"(?:{_STRING}\x1b?|{_CSI}|\x1b[ -/]{{0,2}}+|\r|{_TAGS}{{0,6}}|\U0001f3f4)\Z"
)
LONGEST_HELD = 4096
"""Characters of an unfinished escape that are held back; a longer one is taken as unfinished."""


def inert(text: str) -> str:
    """`text` without what moves a cursor, turns the reading direction or cannot be seen.

    Removed: terminal escapes (CSI; OSC, DCS, SOS, PM and APC with their payload where they end
    on the same line, else only their first two characters; two-character escapes); C0 except
    newline and tab, DEL, C1; the direction marks, embeddings, overrides and isolates U+061C,
    U+200E-F, U+202A-E, U+2066-9; and the unseen U+00AD, U+180E, U+200B, U+2060-5, U+206A-F,
    U+FEFF, U+FFF9-B, U+E0000-E0FFF (tags stay in a flag such as Scotland's).
    Made a newline: CR, CRLF, VT, FF, NEL, U+2028, U+2029. Made U+FFFD: lone surrogates, U+FFFE,
    U+FFFF. Kept: the joiners U+200C and U+200D, which emoji and several scripts need.
    Applying it twice changes nothing more.
    """
    return text if _SUSPECT.search(text) is None else _SUSPECT.sub(_replacement, text)


def _replacement(found: re.Match[str]) -> str:
    flag, line_end, broken = found.groups()
    if flag:
        return flag
    if line_end:
        return "\n"
    return "\ufffd" if broken else ""


class InertStream:
    """`inert` for a text that arrives in pieces: an escape may be split over several."""

    def __init__(self) -> None:
        self._held = ""

    def feed(self, piece: str) -> str:
        """What can be shown now."""
        text = self._held + piece
        found = _UNFINISHED.search(text)
        keep = len(text) if found is None else found.start()
        if len(text) - keep > LONGEST_HELD:
            keep = len(text)
        self._held = text[keep:]
        return inert(text[:keep])

    def finish(self) -> str:
        """The rest, when the text is at its end."""
        held, self._held = self._held, ""
        return inert(held)
