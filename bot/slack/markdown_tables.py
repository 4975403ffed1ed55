"""Tables: aligned columns where they fit, else one list item per row.

Slack's own `table` block is not used: Slack takes one per message, at its end, at most 10,000
characters, and refuses the whole message for an empty cell; an answer must never be lost to that.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence

from bot.slack.markdown_inline import trimmed
from bot.slack.markdown_pieces import MAX_INDENT, Kind, Piece, Span

GRID_WIDTH = 80
"""Columns of the fixed-width font beyond which Slack wraps lines on a common screen."""
HEADER_SHARE = 2
"""How many times the table's own length the headers may take when every row repeats them."""

Cell = Sequence[Span]
Row = Sequence[Cell]


def table_pieces(
    rows: Sequence[Row], aligns: Sequence[str], *, indent: int = 0, quoted: bool = False
) -> list[Piece]:
    """The table as pieces; `rows[0]` is the header, `aligns` holds left, right or center."""
    texts = [[_cell_text(cell) for cell in row] for row in rows]
    widths = [max(map(_width, column)) for column in zip(*texts, strict=True)]
    if sum(widths) + 3 * (len(widths) - 1) <= GRID_WIDTH:
        lines = list(_grid(texts, widths, aligns))
    elif _repeatable(texts):
        return list(_records(rows, indent, quoted))
    else:
        lines = [" | ".join(row) for row in texts]
    text = "\n".join(lines)
    return [Piece(Kind.CODE, (Span(text),), quoted=quoted)] if text.strip() else []


def _repeatable(texts: Sequence[Sequence[str]]) -> bool:
    """If rows of "header: cell" stay in proportion; a table may be wide for one endless header."""
    header, *others = (sum(map(len, row)) for row in texts)
    return bool(others) and header * len(others) <= HEADER_SHARE * (header + sum(others)) + 1000


def _cell_text(cell: Cell) -> str:
    parts = [
        f"{span.text} ({span.url})" if span.url and span.url != span.text else span.text
        for span in trimmed(cell)
    ]
    return "".join(parts).replace("\n", " ")


def _grid(
    texts: Sequence[Sequence[str]], widths: Sequence[int], aligns: Sequence[str]
) -> Iterator[str]:
    for number, row in enumerate(texts):
        # Cells after the last that holds something are left out: no lines of bars and spaces.
        last = max((at for at, text in enumerate(row) if text), default=-1)
        cells = zip(row[: last + 1], widths, aligns, strict=False)
        yield " | ".join(_padded(*cell) for cell in cells).rstrip()
        if number == 0:
            yield "-|-".join("-" * width for width in widths)


def _padded(text: str, width: int, align: str) -> str:
    room = max(0, width - _width(text))
    before = {"right": room, "center": room // 2}.get(align, 0)
    return " " * before + text + " " * (room - before)


def _width(text: str) -> int:
    """Columns in a fixed-width font: two for East Asian wide characters, none for marks."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(char) or unicodedata.category(char) in ("Cf", "Mn")
        else 2 if unicodedata.east_asian_width(char) in "WF" else 1
        for char in text
    )  # fmt: skip


def _records(rows: Sequence[Row], indent: int, quoted: bool) -> Iterator[Piece]:
    header = [trimmed(cell) for cell in rows[0]]
    for row in rows[1:]:
        deeper = 0
        for name, cell in zip(header, row, strict=False):
            value = trimmed(cell)
            if not value:
                continue
            label = [*name, Span(": ")] if name else []
            if not deeper:
                value = tuple(span._replace(style=span.style | {"bold"}) for span in value)
            level = min(indent + deeper, MAX_INDENT)
            yield Piece(Kind.ITEM, trimmed([*label, *value]), indent=level, quoted=quoted)
            deeper = 1
