"""Long observations keep their head and tail."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tools.truncate import truncate


def test_a_text_within_the_limit_stays_as_it_is() -> None:
    assert truncate("x" * 100, 100) == "x" * 100


def test_head_and_tail_stay_and_the_cut_says_its_size_and_how_to_see_it() -> None:
    text = "\n".join(f"line {number}" for number in range(10_000))

    cut = truncate(text, 1_000, "Read it with start_line.")

    assert cut.startswith("line 0\nline 1\n")
    assert cut.endswith("\nline 9998\nline 9999")
    assert "lines) cut here. Read it with start_line. …]\n" in cut
    assert len(cut) < 1_100


def test_cuts_fall_on_line_ends() -> None:
    lines = [f"line {number}" for number in range(10_000)]

    head, note, tail = truncate("\n".join(lines), 1_000).partition("\n[… ")

    assert note
    assert set(head.splitlines()) <= set(lines)
    assert set(tail.splitlines()[1:]) <= set(lines)


def test_one_long_line_is_cut_too() -> None:
    cut = truncate("x" * 5_000, 1_000)

    assert "[… 4,000 characters cut here. Narrow the call to see the rest. …]" in cut
    assert len(cut) < 1_100


@given(st.text(alphabet="ab\n", max_size=400), st.integers(20, 200))
def test_the_result_is_the_text_without_one_piece_of_its_middle(text: str, limit: int) -> None:
    cut = truncate(text, limit)

    if len(text) <= limit:
        assert cut == text
    else:
        head, _, rest = cut.partition("\n[… ")
        _, _, tail = rest.partition(" …]\n")
        assert text.startswith(head)
        assert text.endswith(tail)
        assert len(head) + len(tail) <= limit
