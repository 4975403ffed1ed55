"""Shows thought and answer of a labelled reply while it arrives, line by line."""

from __future__ import annotations

import re

from bot.agent.dialects.base import Answer, Piece, Thought
from bot.agent.dialects.labels import LABEL
from bot.agent.dialects.marks import FENCE_BEFORE, closing, opening

_LONGEST = 48
"""Characters at a line's beginning after which it can no longer turn out to be a label."""
_MAYBE_FENCE = re.compile(rf"{FENCE_BEFORE}(?:`{{3}}|~{{3}})")
_LINE = re.compile(r"[^\n]*\n|[^\n]+")
"""Only this ends a line, as for the patterns that read the whole reply."""
_UNLABELLED = ("{", "[", "<", "`", "~")
"""How an action in another form, or a reply that is all in a fence, begins."""


class LabelReader:
    """`bot.agent.dialects.base.StreamReader` for the text and json dialects.

    Text before any label counts as thought: whether it is an answer is known only at the end. After
    an action's label nothing is shown. What begins like an action in another form, or with a fence
    that may be around an action, is shown only once it is read.
    """

    def __init__(self) -> None:
        self._line = ""
        self._at_start = True
        self._fence: tuple[str, str] | None = None
        self._begun = False
        self._kind: type[Thought] | type[Answer] | None = Thought

    def feed(self, chunk: str) -> list[Piece]:
        if not self._begun:
            chunk = chunk.lstrip()
            self._begun = bool(chunk)
            if chunk.startswith(_UNLABELLED):
                self._kind = None
        shown: list[Thought | Answer] = []
        for part in _LINE.findall(chunk):
            self._take(part, shown)
        return [piece for piece in shown if piece.text]

    def close(self) -> list[Piece]:
        shown: list[Thought | Answer] = []
        if self._at_start and self._line:
            self._begin(shown)
        return [piece for piece in shown if piece.text]

    def _take(self, part: str, shown: list[Thought | Answer]) -> None:
        """A part of one line."""
        if self._kind is None:
            return
        whole = part.endswith("\n")
        if not self._at_start:
            shown.append(self._kind(part))
        else:
            self._line += part
            long = len(self._line) > _LONGEST and not _MAYBE_FENCE.match(self._line)
            if whole or long:
                self._begin(shown)
        if whole:
            self._at_start, self._line = True, ""

    def _begin(self, shown: list[Thought | Answer]) -> None:
        """The beginning of a line is known: a label, a fence or text."""
        line, self._line, self._at_start = self._line, "", False
        if self._kind is None:
            return
        found = None if self._in_fence(line) else LABEL.match(line.rstrip("\r\n"))
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

    def _in_fence(self, line: str) -> bool:
        """Whether a line is in a fence, or is the beginning or end of one."""
        if self._fence is None:
            self._fence = opening(line)
            return self._fence is not None
        if closing(line, self._fence):
            self._fence = None
        return True
