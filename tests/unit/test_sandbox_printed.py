"""What a program printed, without what only a terminal understands."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools.printed import printed


@pytest.mark.parametrize(
    ("raw", "seen"),
    [
        ("plain\n\ttext ümlaut 🚀", "plain\n\ttext ümlaut 🚀"),
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]0;title\x07text", "text"),
        ("\x1b]8;;https://evil.example\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1bPpayload\x1b\\after", "after"),
        ("\x9b2Jcleared", "cleared"),
        ("a\r\nb\r\n", "a\nb\n"),
        (" 10 %\r 50 %\r100 %\ndone", "100 %\ndone"),
        ("progress\r", "progress"),
        ("bell\x07 null\x00 back\x08space", "bell null backspace"),
        ("\x1b[", ""),
        ("\x1b", ""),
    ],
)
def test_escapes_and_controls_go_and_what_is_written_over_shows_its_last_state(
    raw: str, seen: str
) -> None:
    assert printed(raw) == seen


@given(st.text(alphabet=st.sampled_from("ab\x1b[]0;m\x07\\P\r\n\t\x9b\x00 "), max_size=60))
def test_nothing_that_moves_a_cursor_is_left(raw: str) -> None:
    assert re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", printed(raw)) is None


def test_a_long_unfinished_escape_costs_its_length_once() -> None:
    assert printed("\x1b]" * 100_000) == ""
