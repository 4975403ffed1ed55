"""Shows thought and answer of an xml reply while it arrives, whatever its tags are split over."""

from __future__ import annotations

import re

from bot.agent.dialects.base import Answer, Piece, Thought

_OPEN = re.compile(r"<[ ]?(thought|action|final[_ -]?answer|answer)[ ]?>", re.I)
_THOUGHT = re.compile(
    r"(?P<end></[ ]?thought[ ]?>)|\n[ ]{0,3}[*_]{0,3}<[ ]?(?:action|final[_ -]?answer|answer)[ ]?>",
    re.I | re.M,
)
_ANSWER = re.compile(r"(?P<end></[ ]?(?:final[_ -]?)?answer[ ]?>)", re.I)
_HELD = 32
"""Characters from a `<` on, or of a line's beginning, within which a tag may still be forming."""
_PARTIAL = re.compile(r"(?:<[^<>]{0,24}|\n[ ]{0,3}[*_]{0,3}(?:<[^<>]{0,24})?)\Z")


class XmlReader:
    """`bot.agent.dialects.base.StreamReader` for the xml dialect.

    An action's tag that begins a line ends what is shown, also inside a thought: whether that is
    closed later is not known yet.
    """

    def __init__(self) -> None:
        self._rest = ""
        self._kind: type[Thought] | type[Answer] | None = None
        self._over = False

    def feed(self, chunk: str) -> list[Piece]:
        shown: list[Thought | Answer] = []
        if not self._over:
            self._rest += chunk
            while self._step(shown):
                pass
        return [piece for piece in shown if piece.text]

    def close(self) -> list[Piece]:
        rest, self._rest = self._rest, ""
        if self._over or self._kind is None or not rest:
            return []
        return [self._kind(rest)]

    def _step(self, shown: list[Thought | Answer]) -> bool:
        """Take one tag off what has arrived; False if there is no more to take."""
        if self._over:
            return False
        if self._kind is None:
            return self._open()
        pattern = _THOUGHT if self._kind is Thought else _ANSWER
        found = pattern.search(self._rest)
        if found is None:
            held = _PARTIAL.search(self._rest, max(0, len(self._rest) - _HELD))
            cut = held.start() if held else len(self._rest)
            shown.append(self._kind(self._rest[:cut]))
            self._rest = self._rest[cut:]
            return False
        shown.append(self._kind(self._rest[: found.start()]))
        self._rest = self._rest[found.end() :]
        self._over = self._kind is Answer or found["end"] is None
        self._kind = None
        return True

    def _open(self) -> bool:
        found = _OPEN.search(self._rest)
        if found is None:
            self._rest = self._rest[-_HELD:]
            return False
        self._rest = self._rest[found.end() :]
        tag = found[1].lower()
        self._over = tag == "action"
        self._kind = Thought if tag == "thought" else Answer
        return True
