"""Where a reply's markers and code fences stand: lines found by compiled patterns only."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_CLOSING = re.compile(r"^(?P<indent>[ \t]{0,40})(?P<bar>`{3,}|~{3,})[ \t]*$", re.M)
_WHOLE = re.compile(r"\s*(?P<bar>`{3,}|~{3,})[^\n`]*\n")


@dataclass(frozen=True, slots=True)
class Fence:
    """A code fence: the span of the whole and of what stands inside. Unclosed: to the end."""

    start: int
    inner: int
    inner_end: int
    end: int
    closed: bool


def fence_at(text: str, found: re.Match[str]) -> Fence:
    """The fence that a match with the group `bar` opens."""
    bar = found["bar"]
    inner = found.end() if found[0].endswith("\n") else min(found.end() + 1, len(text))
    before = text[found.start() : found.start("bar")].rpartition("\n")[2]
    for close in _CLOSING.finditer(text, inner):
        if _closes(close, before, bar):
            return Fence(found.start(), inner, close.start(), close.end(), True)
    return Fence(found.start(), inner, len(text), len(text), False)


def opening(line: str) -> tuple[str, str] | None:
    """What stands before a fence that a line opens, and its bar; None if it opens none."""
    found = _OPENING.match(line.rstrip("\r\n"))
    return (found[0][: found.start("bar")], found["bar"]) if found else None


def closing(line: str, opened: tuple[str, str]) -> bool:
    """Whether a line closes the fence that `opening` found."""
    found = _CLOSING.match(line.rstrip("\r\n"))
    return found is not None and _closes(found, *opened)


def _closes(close: re.Match[str], before: str, bar: str) -> bool:
    """The same character, at least as often, and not indented as what stands inside would be.

    Source: CommonMark 0.31, 4.5. A fence in a list item is closed inside that item.
    """
    indent, nested = len(close["indent"].expandtabs(4)), len(before.expandtabs(4))
    if before.strip(" ") or nested > _PLAIN_INDENT:
        return close["bar"].startswith(bar) and 0 < indent <= nested + _PLAIN_INDENT
    return close["bar"].startswith(bar) and indent <= _PLAIN_INDENT


def unfenced(text: str) -> str:
    """The inside of a text that is one closed fence and nothing else; else the text itself."""
    found = _WHOLE.match(text)
    if found is None:
        return text
    fence = fence_at(text, found)
    return (
        text[fence.inner : fence.inner_end]
        if fence.closed and not text[fence.end :].strip()
        else text
    )


def outside_fences(pattern: re.Pattern[str], text: str, start: int = 0) -> Iterator[re.Match[str]]:
    """The matches of a pattern, skipping code fences.

    The pattern must match at the beginning of lines only and has, as its alternative, a group
    `bar` that matches the opening of a fence (see `FENCE`).
    """
    position = start
    while (found := pattern.search(text, position)) is not None:
        if found["bar"] is not None:
            position = fence_at(text, found).end
        else:
            yield found
            position = found.end() if found.end() > found.start() else found.end() + 1


_PLAIN_INDENT = 3
FENCE_BEFORE = r"[ \t]{0,16}(?:(?:[-*+]|\d{1,9}[.)])[ \t]{1,4}){0,2}"
"""What may stand before a fence in its line: it may be indented, or be in a list item."""
FENCE = rf"{FENCE_BEFORE}(?P<bar>`{{3,}}|~{{3,}})[^\n`]*$"
"""The opening of a fence, for a pattern that is anchored at a line's beginning."""
_OPENING = re.compile(FENCE)
