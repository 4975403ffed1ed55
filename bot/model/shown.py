"""Hands on what can be shown of a reply while its chunks arrive."""

from __future__ import annotations

from collections.abc import Sequence

from bot.agent.dialects.base import StreamReader
from bot.agent.shown import Piece, Show, Thought


class Shown:
    """What has been shown of one attempt at a reply."""

    def __init__(self, show: Show | None, reader: StreamReader) -> None:
        self._show, self._reader = show, reader
        self._any = False

    def add(self, reasoning: str, text: str) -> None:
        if self._show is None:
            return
        if reasoning:
            self._out([Thought(reasoning)])
        self._out(self._reader.feed(text))

    def end(self) -> None:
        """The reply is whole: what was held back is shown."""
        self._out(self._reader.close())

    def _out(self, pieces: Sequence[Piece]) -> None:
        if self._show is None:
            return
        for piece in pieces:
            self._any = True
            self._show(piece)

    def void(self) -> None:
        """The attempt failed: what was shown of it is replaced by the next one."""
        if self._any and self._show is not None:
            self._show(None)
