"""Shows thought and answer of a labelled reply while it arrives, line by line."""

from __future__ import annotations

import re

from bot.agent.dialects.base import Answer, Piece, Thought
from bot.agent.dialects.labels import LABEL

_LONGEST = 48
"""Characters at a line's beginning after which it can no longer turn out to be a label."""
_FENCE = re.compile(r"[ ]{0,3}(`{3,}|~{3,})")


class LabelReader:
    """`bot.agent.dialects.base.StreamReader` for the text and json dialects.

    Text before any label counts as thought: whether it is an answer is known only at the end. After
    an action's label nothing is shown.
    """

    def __init__(self) -> None:
        self._line = ""
        self._at_start = True
        self._fence = ""
        self._kind: type[Thought] | type[Answer] | None = Thought

    def feed(self, chunk: str) -> list[Piece]:
        shown: list[Piece] = []
        for part in chunk.splitlines(keepends=True):
            self._take(part, shown)
        return [piece for piece in shown if piece.text]

    def close(self) -> list[Piece]:
        shown: list[Piece] = []
        if self._at_start and self._line:
            self._begin(shown)
        return [piece for piece in shown if piece.text]

    def _take(self, part: str, shown: list[Piece]) -> None:
        """A part of one line."""
        if self._kind is None:
            return
        whole = part.endswith(("\n", "\r"))
        if not self._at_start:
            shown.append(self._kind(part))
        else:
            self._line += part
            if whole or len(self._line) > _LONGEST:
                self._begin(shown)
        if whole:
            self._at_start, self._line = True, ""

    def _begin(self, shown: list[Piece]) -> None:
        """The beginning of a line is known: a label, a fence or text."""
        line, self._line, self._at_start = self._line, "", False
        if self._kind is None:
            return
        if opened := _FENCE.match(line):
            self._turn(opened[1], line)
        found = None if self._fence or opened else LABEL.match(line.rstrip("\r\n"))
        if found is None:
            shown.append(self._kind(line))
            return
        label = (found["label"] or "pause").lower()
        if self._kind is Answer:
            shown.append(Answer(line))
        elif label in ("answer", "final answer"):
            self._kind = Answer
            shown.append(Answer(line[found.end() :]))
        elif label == "thought":
            shown.append(Thought(line[found.end() :]))
        else:
            self._kind = None

    def _turn(self, bar: str, line: str) -> None:
        if not self._fence:
            self._fence = bar
        elif bar.startswith(self._fence) and not line.strip().strip(bar[0]):
            self._fence = ""
