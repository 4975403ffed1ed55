"""Text of other origin is made harmless, and only what the docstring names is lost."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.inert import LONGEST_HELD, InertStream, inert

ESCAPES = st.sampled_from(
    [
        "\x1b",
        "\x1b[",
        "\x1b]",
        "0;",
        "m",
        "\x07",
        "\x1b\\",
        "\x9b",
        "\x9d",
        "\x9c",
        "\r",
        "\n",
        "\x1b(B",
    ]
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain text\twith a tab\nand a line", "plain text\twith a tab\nand a line"),
        ("\x1b[1;31mred\x1b[0m", "red"),
        ("\x1b[2J\x1b[Hcleared", "cleared"),
        ("\x9b31mred", "red"),
        ("\x1b]0;title\x07text", "text"),
        ("\x1b]8;;http://evil.example\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1bPpayload\x1b\\after", "after"),
        ("\x1b]unfinished stays\nnext", "unfinished stays\nnext"),
        ("\x1bcreset \x1b(Bcharset", "reset charset"),
        ("a\x00b\x08c\x7fd\x85e", "abcd\ne"),
        ("one\r\ntwo\rthree\vfour\u2028five", "one\ntwo\nthree\nfour\nfive"),
        ("user\u202etxt.exe\u202c \u2066x\u2069 \u200eL", "usertxt.exe x L"),
        ("zero\u200bwidth\u2060 \ufeffbom so\u00adft", "zerowidth bom soft"),
        ("hidden\U000e0068\U000e0069 text", "hidden text"),
        ("lone \ud800 \uffff", "lone \ufffd \ufffd"),
        ("👨\u200d👩\u200d👧 می\u200cخواهم", "👨\u200d👩\u200d👧 می\u200cخواهم"),
        ("🏴\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f", None),
        ("مرحبا שלום नमस्ते", None),
    ],
)
def test_what_is_removed_and_what_stays(text: str, expected: str | None) -> None:
    assert (text if expected is None else expected) == inert(text)


@given(st.text() | st.lists(ESCAPES | st.text(max_size=3)).map("".join))
def test_nothing_live_is_left_and_a_second_time_changes_nothing(text: str) -> None:
    result = inert(text)

    assert result == inert(result)
    assert {unicodedata.category(char) for char in result if char not in "\n\t"} <= set(
        "Lu Ll Lt Lm Lo Mn Mc Me Nd Nl No Pc Pd Ps Pe Pi Pf Po Sm Sc Sk So Zs Cf Co Cn".split()  # noqa: SIM905
    )
    assert not set("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\u200b\ufeff") & set(
        result
    )


@given(st.text(st.characters(categories=["L", "N", "P", "S", "Zs"], exclude_characters="\u2065")))
def test_letters_digits_signs_and_spaces_are_never_touched(text: str) -> None:
    assert text == inert(text)


def in_pieces(pieces: list[str]) -> str:
    stream = InertStream()
    return "".join([*map(stream.feed, pieces), stream.finish()])


FLAG = "🏴\U000e0067\U000e0062\U000e0073\U000e0063\U000e0074\U000e007f"


@given(st.lists(ESCAPES | st.text(max_size=3) | st.sampled_from([*FLAG, *"\x1b[]\\ \r\n2Jm"])))
def test_in_pieces_a_text_is_made_as_inert_as_whole(pieces: list[str]) -> None:
    assert in_pieces(pieces) == inert("".join(pieces))


def test_an_escape_without_an_end_holds_back_no_more_than_its_limit() -> None:
    stream, text = InertStream(), "word " * LONGEST_HELD

    shown = [stream.feed(char) for char in f"\x1b]{text}"]

    assert len("".join(shown)) > len(text) - LONGEST_HELD - 2
    assert "\x1b" not in "".join(shown)
    assert "".join([*shown, stream.finish()]) == text
