"""What a dialect is: one way of telling a model of tools and of reading what it wants to call.

The loop knows none of them. Each writes the whole conversation in its own form, so that a thread
can change its dialect or model between turns, and reads a reply to calls, an answer or a problem.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from bot.agent.entries import Entry, ToolCall
from bot.agent.ports import Json, ToolSpec
from bot.agent.prompt import Facts
from bot.agent.shown import Answer as Answer
from bot.agent.shown import Piece as Piece
from bot.agent.shown import Thought as Thought
from bot.agent.shown import WasThought as WasThought

Message: TypeAlias = Mapping[str, Json]
"""One chat-completions message."""

NO_END = "it holds neither an action nor an answer."
"""The problem of a reply that only thinks: the model is asked once to go on."""
CUT_OFF = "it reached the length limit before it was complete. Write it again, shorter."
EMPTY = "it is empty."
ONLY_REASONING = "it holds only reasoning, and neither an action nor an answer."


@dataclass(frozen=True, slots=True)
class Parsed:
    """A reply as read: exactly one of `calls`, `answer` and `problem` says something.

    Calls carry no id yet. `kept` is the part of the reply that counts, verbatim: what a model
    invents after its action is not sent back to it.
    """

    thought: str = ""
    calls: tuple[ToolCall, ...] = ()
    answer: str | None = None
    problem: str = ""
    kept: str = ""


class StreamReader(Protocol):
    """Finds what may be shown of a reply while it arrives; nothing of an action gets out."""

    def feed(self, chunk: str) -> list[Piece]:
        """The pieces that are certain now."""
        ...

    def close(self) -> list[Piece]:
        """What was held back, at the end of the reply."""
        ...


class Dialect(Protocol):
    """One format. Pure and without state."""

    @property
    def name(self) -> str:
        """As `[model] dialect` and the journal have it."""
        ...

    @property
    def stop(self) -> tuple[str, ...]:
        """Stop sequences that save what the model would invent; a reply is read without them."""
        ...

    @property
    def sends_tools(self) -> bool:
        """Whether the tools go along as the API's own `tools`."""
        ...

    def system(self, facts: Facts, specs: Sequence[ToolSpec]) -> str:
        """The whole system prompt."""
        ...

    def messages(self, system: str, entries: Sequence[Entry]) -> list[Message]:
        """The conversation. What it makes of the first n entries never changes by later ones."""
        ...

    def parse(self, text: str, specs: Sequence[ToolSpec], *, cut_off: bool) -> Parsed:
        """Read a reply's text. Never raises, whatever it holds; linear in its length."""
        ...

    def correction(self, problem: str) -> str:
        """What the model is told after a reply that could not be read."""
        ...

    def reader(self) -> StreamReader:
        """A reader for one reply."""
        ...
