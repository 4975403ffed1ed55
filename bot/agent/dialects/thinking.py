"""Thinking that came inside the text, as `<think>…</think>` before everything else.

Local servers without a reasoning parser send it so (DeepSeek R1, Qwen, QwQ, MiniMax). Where the
model's template has opened the tag already, only its end stands in the text.
"""

from __future__ import annotations

import copy
import re
from typing import NamedTuple

from bot.agent.dialects.base import Piece, StreamReader, Thought, WasThought

_OPEN = re.compile(r"\s*<think(?:ing)?>", re.I)
_CLOSE = re.compile(r"</think(?:ing)?>", re.I)
_UNOPENED = re.compile(r"</think(?:ing)?>[ \t]*(?:\r?\n|\Z)", re.I)
_LONGEST = len("<thinking>")
_HELD = len("</thinking>") - 1
_ENDING = re.compile(r"</?[a-z]{0,8}\Z|</think(?:ing)?>[ \t]*\r?\Z", re.I)
"""What may yet become the end of thinking that the template opened."""


class Apart(NamedTuple):
    """A reply's thinking and its text, each without white space around it."""

    reasoning: str
    text: str


def thinking_apart(text: str) -> Apart:
    """Take thinking off the beginning of a reply; without its end tag all of it is thinking."""
    opened = _OPEN.match(text)
    if opened is None:
        close = _UNOPENED.search(text)
        if close is None or _OPEN.search(text, 0, close.start()) or "```" in text[: close.start()]:
            return Apart("", text.strip())
        return Apart(text[: close.start()].strip(), text[close.end() :].strip())
    close = _CLOSE.search(text, opened.end())
    if close is None:
        return Apart(text[opened.end() :].strip(), "")
    return Apart(text[opened.end() : close.start()].strip(), text[close.end() :].strip())


class ThinkingReader:
    """A StreamReader that shows `<think>…</think>` as thought and leaves the rest to another.

    `inner` has read nothing yet. Of thinking that the template opened only the end comes: what was
    shown until then is taken back as thinking, and `inner` begins anew with what follows.
    """

    def __init__(self, inner: StreamReader) -> None:
        self._inner, self._fresh = inner, copy.copy(inner)
        self._before: list[str] | None = []  # None: no end of thinking may come any more
        self._held = ""
        self._state = "begin"

    def feed(self, chunk: str) -> list[Piece]:
        if self._state == "rest":
            return self._rest(chunk)
        self._held += chunk
        if self._state == "begin" and not self._begun():
            return []
        if self._state == "thinking":
            return self._thinking()
        held, self._held = self._held, ""
        return self._rest(held)

    def close(self) -> list[Piece]:
        held, self._held = self._held, ""
        if self._state == "thinking":
            return [Thought(held)] if held else []
        self._state = "rest"
        return [*self._rest(held, ended=True), *self._inner.close()]

    def _begun(self) -> bool:
        """Whether it is clear now how the reply begins."""
        opened = _OPEN.match(self._held)
        if opened is not None:
            self._held, self._state = self._held[opened.end() :], "thinking"
            return True
        self._held = self._held.lstrip()
        start = self._held[:_LONGEST].lower()
        if "<thinking>".startswith(start) or "<think>".startswith(start):
            return False
        self._state = "rest"
        return True

    def _thinking(self) -> list[Piece]:
        close = _CLOSE.search(self._held)
        if close is not None:
            thought, rest = self._held[: close.start()], self._held[close.end() :].lstrip()
            self._state, self._held, self._before = "rest", "", None
            return [*([Thought(thought)] if thought else []), *self._rest(rest)]
        cut = self._held.find("<", max(0, len(self._held) - _HELD))
        cut = len(self._held) if cut < 0 else cut
        shown, self._held = self._held[:cut], self._held[cut:]
        return [Thought(shown)] if shown else []

    def _rest(self, text: str, *, ended: bool = False) -> list[Piece]:
        """Text after the thinking, or of a reply that may yet turn out to have begun with it."""
        if self._before is None:
            return self._inner.feed(text)
        text, self._held = self._held + text, ""
        close = _UNOPENED.search(text) if ended or "\n" in text else None
        if close is not None and not (ended or close[0].endswith("\n")):
            close = None
        if close is not None:
            return self._unopened(text, close)
        partial = None if ended else _ENDING.search(text)
        cut = partial.start() if partial else len(text)
        text, self._held = text[:cut], text[cut:]
        self._before.append(text)
        return self._inner.feed(text) if text else []

    def _unopened(self, text: str, close: re.Match[str]) -> list[Piece]:
        before = "".join(self._before or ()) + text[: close.start()]
        self._before = None
        if "```" in before or _OPEN.search(before):
            return self._inner.feed(text)
        self._inner = self._fresh
        thought = text[: close.start()]
        shown: list[Piece] = [WasThought(), *([Thought(thought)] if thought.strip() else [])]
        return [*shown, *self._inner.feed(text[close.end() :].lstrip())]
