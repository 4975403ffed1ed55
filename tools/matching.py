"""Where a piece of text stands in a file, and what comes nearest if it does not."""

from __future__ import annotations

import difflib
import time

_LINES = 20_000
_LINE = 300
_SECONDS = 0.3
_ALIKE = 0.6


def line_numbers(text: str, piece: str) -> list[int]:
    """The lines, from 1, at which `piece` begins; pieces may overlap."""
    found: list[int] = []
    line, counted = 1, 0
    at = text.find(piece)
    while at >= 0:
        line += text.count("\n", counted, at)
        counted = at
        found.append(line)
        at = text.find(piece, at + 1)
    return found


def closest_line(text: str, piece: str) -> str:
    """A sentence that shows the line most like the first line of `piece`."""
    wanted = next((line for line in piece.splitlines() if line.strip()), "").strip()[:_LINE]
    found = _closest(text.split("\n"), wanted) if wanted else None
    if found is None:
        return "No line is like it; read the file again."
    number, line = found
    return (
        f"The closest line is {number}: {line[:_LINE].rstrip()!r}. "
        "Copy the text exactly, with its spaces and line ends."
    )


def _closest(lines: list[str], wanted: str) -> tuple[int, str] | None:
    for number, line in enumerate(lines, 1):
        if line.strip()[:_LINE] == wanted:
            return number, line
    matcher = difflib.SequenceMatcher(b=wanted, autojunk=False)
    best, found = _ALIKE, None
    deadline = time.monotonic() + _SECONDS
    for number, line in enumerate(lines[:_LINES], 1):
        matcher.set_seq1(line.strip()[:_LINE])
        # Each bound is cheaper than what it saves.
        if matcher.real_quick_ratio() > best and matcher.quick_ratio() > best:
            ratio = matcher.ratio()
            if ratio > best:
                best, found = ratio, (number, line)
        if time.monotonic() > deadline:
            break
    return found
