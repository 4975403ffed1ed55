"""A reply in the terminal while it arrives: thoughts indented, the answer after an empty line."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from bot import words
from bot.agent.shown import Answer, Piece, Thought, WasThought
from bot.inert import InertStream


class Redacting(Protocol):
    """A text that arrives in pieces, without its secrets (`bot.redact.StreamRedactor`)."""

    def feed(self, piece: str) -> str: ...

    def finish(self) -> str: ...


class LiveText:
    """Writes pieces, made inert, with `put`, which adds no line break.

    `redacting` is made for each run.
    """

    def __init__(self, put: Callable[[str], None], redacting: Callable[[], Redacting]) -> None:
        self._put, self._redacting = put, redacting
        self._kind: type[Thought] | type[Answer] | None = None
        self._run: Redacting | None = None
        self._inert = InertStream()
        self._texts: dict[type, str] = {}

    def show(self, piece: Piece | None) -> None:
        """A further piece; None says that the reply begins again."""
        if piece is None:
            self.end()
            self._put(f"{words.reply_again()}\n")
            return
        if isinstance(piece, WasThought):
            self._was_thought()
            return
        if self._kind is not type(piece):
            self._finish()
            if not piece.text.strip():
                return
            self._kind, self._run = type(piece), self._redacting()
            self._put("  " if isinstance(piece, Thought) else "\n")
            piece = type(piece)(piece.text.lstrip())
        self._texts[type(piece)] = self._texts.get(type(piece), "") + piece.text
        if self._run is not None:
            self._write(self._run.feed(self._inert.feed(piece.text)))

    def end(self) -> frozenset[str]:
        """The reply is over: the texts that were shown of it, to be shown no second time."""
        self._finish()
        texts = (text.replace("\r\n", "\n") for text in self._texts.values())  # as it is read
        seen = frozenset(text.strip() for text in texts)
        self._texts.clear()
        return seen

    def _was_thought(self) -> None:
        self._finish()
        if Answer in self._texts:
            self._put(f"  {words.was_thinking()}\n")
        self._texts = {Thought: "".join(self._texts.values())}

    def _finish(self) -> None:
        if self._run is not None:
            self._write(self._run.feed(self._inert.finish()) + self._run.finish())
            self._put("\n")
        self._kind, self._run = None, None

    def _write(self, text: str) -> None:
        if text:
            self._put(text.replace("\n", "\n  ") if self._kind is Thought else text)
