"""Shows a reply that is all answer, unless it begins like an action."""

from __future__ import annotations

import re

from bot.agent.dialects.base import Answer, Piece

_UNDECIDED = re.compile(r"[*_# ]{0,10}[a-z]{0,7}\Z", re.I)
"""A beginning of which it is not clear yet whether it is that of an action."""
_ACTION_LIKE = re.compile(r"(?:[<{\[`~]|[*_# ]{0,10}(?:thought|action)\b)", re.I)


class PlainReader:
    """`bot.agent.dialects.base.StreamReader` where a reply without calls is the answer.

    A reply that begins like an action in any of the known forms is shown only once it is read.
    """

    def __init__(self) -> None:
        self._head = ""
        self._plain: bool | None = None

    def feed(self, chunk: str) -> list[Piece]:
        if self._plain is None:
            self._head = chunk = (self._head + chunk).lstrip()
            if not _UNDECIDED.match(chunk):
                self._plain = not _ACTION_LIKE.match(chunk)
        return [Answer(chunk)] if self._plain and chunk else []

    def close(self) -> list[Piece]:
        if self._plain is None and self._head and not _ACTION_LIKE.match(self._head):
            return [Answer(self._head)]
        return []
