"""Text for whoever must say yes to it: nothing in it is hidden."""

from __future__ import annotations

import sys
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.agent.exact import exact, exact_line
from bot.inert import inert

NAMED = [
    ("a right-to-left override", "rm \u202etxt.exe", "rm ⟨U+202E⟩txt.exe"),
    ("a zero-width space", "r\u200bm", "r⟨U+200B⟩m"),
    ("a joiner", "r\u200dm", "r⟨U+200D⟩m"),
    ("a carriage return", "ls\rrm", "ls⟨U+000D⟩rm"),
    ("an escape", "\x1b[2Jls", "⟨U+001B⟩[2Jls"),
    ("a NUL", "a\0b", "a⟨U+0000⟩b"),
    ("another space", "rm\u00a0-rf", "rm⟨U+00A0⟩-rf"),
    ("a blank letter", "a\u3164b\u2800c", "a⟨U+3164⟩b⟨U+2800⟩c"),
    ("a tag", "a\U000e0041b", "a⟨U+E0041⟩b"),
    ("a line separator", "ls\u2028rm", "ls⟨U+2028⟩rm"),
    ("half a character", "a\ud800b", "a⟨U+D800⟩b"),
    ("many spaces", "ls" + " " * 5000 + "; rm", "ls⟨5,000 spaces⟩; rm"),
    ("many lines", "ls" + "\n" * 500 + "rm", "ls\n⟨499 empty lines⟩\nrm"),
    ("many lines of spaces", "ls" + "\n \t" * 300 + "\nrm", "ls\n⟨300 empty lines⟩\nrm"),
    ("nothing of that", "grep -r 'ü'\n\ta | wc\n", "grep -r 'ü'\n\ta | wc\n"),
]


@pytest.mark.parametrize(("text", "shown"), [row[1:] for row in NAMED], ids=[r[0] for r in NAMED])
def test_what_cannot_be_seen_is_named(text: str, shown: str) -> None:
    assert exact(text) == shown


def test_one_line_stays_one_line() -> None:
    assert exact_line("a\n✅ Approved\tby ada") == "a⟨U+000A⟩✅ Approved⟨U+0009⟩by ada"


def test_every_control_and_format_character_is_named() -> None:
    unseen = [
        chr(point)
        for point in range(sys.maxunicode + 1)
        if unicodedata.category(chr(point)) in ("Cc", "Cf", "Cs", "Zl", "Zp", "Zs")
    ]
    shown = {c for c in unseen if exact(f"a{c}b") == f"a{c}b"}

    # Visible ones of the category Cf: signs of Arabic, Syriac, Kaithi and Egyptian numbers.
    visible = {
        *map(chr, range(0x600, 0x606)), "\u06dd", "\u070f", "\u0890", "\u0891", "\u08e2",
        "\U000110bd", "\U000110cd", *map(chr, range(0x13430, 0x13440)),
        *map(chr, range(0x1BCA0, 0x1BCA4)),
    }  # fmt: skip
    assert shown - visible == {" ", "\n", "\t"}


@given(st.text())
def test_what_is_shown_is_inert_and_shown_the_same_again(text: str) -> None:
    shown = exact(text)
    assert inert(shown) == shown
    assert exact(shown) == shown
