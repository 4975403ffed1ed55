"""Cut a long text in the middle: its head and tail stay, and it says what is missing."""

from __future__ import annotations

OUTPUT_LIMIT = 30_000
"""Characters of one observation; about 8,000 tokens of English text."""
_HEAD_SHARE = 0.6
_HINT = "Narrow the call to see the rest."


def truncate(text: str, limit: int = OUTPUT_LIMIT, more: str = "") -> str:
    """`text` if it has at most `limit` characters, else its head, a note in brackets and its tail.

    `more` is a sentence saying how to see what was cut. Cuts fall on line ends where one is near.
    """
    if len(text) <= limit:
        return text
    head_end = _line_end_before(text, int(limit * _HEAD_SHARE), limit // 10)
    tail_start = _line_start_after(
        text, len(text) - (limit - int(limit * _HEAD_SHARE)), limit // 10
    )
    cut = text[head_end:tail_start]
    lines = cut.count("\n")
    size = f"{len(cut):,} characters" + (f" ({lines:,} lines)" if lines > 1 else "")
    note = f"[… {size} cut here. {more or _HINT} …]"
    return f"{text[:head_end].rstrip()}\n{note}\n{text[tail_start:]}"


def _line_end_before(text: str, end: int, near: int) -> int:
    found = text.rfind("\n", end - near, end)
    return end if found < 0 else found + 1


def _line_start_after(text: str, start: int, near: int) -> int:
    found = text.find("\n", start, start + near)
    return start if found < 0 else found + 1
