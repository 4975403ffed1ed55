"""Where a reply's markers and code fences stand: lines found by compiled patterns only."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_CLOSING = re.compile(r"^[ ]{0,3}(`{3,}|~{3,})[ \t]*$", re.M)
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
    for close in _CLOSING.finditer(text, inner):
        if close[1].startswith(bar):  # the same character, at least as often
            return Fence(found.start(), inner, close.start(), close.end(), True)
    return Fence(found.start(), inner, len(text), len(text), False)


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


FENCE = r"(?P<bar>`{3,}|~{3,})[^\n`]*$"
"""The opening of a fence, for a pattern that is anchored at a line's beginning."""
