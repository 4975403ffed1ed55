"""What the agent needs of the world, as Protocols. Each has a real one and a scripted one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from bot.agent.entries import Decided, Entry, ModelReply, ToolCall


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as the model is told of it; `parameters` is a JSON Schema object."""

    name: str
    description: str
    parameters: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What a call came to; a failure is a result too."""

    text: str
    is_error: bool = False


class Model(Protocol):
    """A chat model. Raises ModelError and nothing else."""

    @property
    def name(self) -> str: ...

    async def reply(
        self, system: str, entries: Sequence[Entry], specs: Sequence[ToolSpec]
    ) -> ModelReply:
        """The next reply to the conversation so far."""
        ...


class Journal(Protocol):
    """One thread's journal, held by its only runner."""

    @property
    def entries(self) -> Sequence[Entry]: ...

    async def append(self, *entries: Entry) -> None:
        """Durable on return. Raises Fenced if another runner wrote first."""
        ...

    async def take_inbox(self) -> bool:
        """Take what has arrived, in Slack's order, as entries; True if there was anything."""
        ...


class Toolset(Protocol):
    """What is shown is exactly what can run."""

    def specs(self) -> Sequence[ToolSpec]: ...

    async def run(self, call: ToolCall) -> ToolResult:
        """Run one call. Never raises for a tool's failure; the text then says what to try next."""
        ...


class Decide(Protocol):
    """The policy for this thread's place and people."""

    def __call__(self, call: ToolCall) -> Decided: ...


Notify = Callable[[], None]
"""Says only "look again": what must stand in Slack is computed from the journal."""


class Clock(Protocol):
    """Time, so that limits can be tested without waiting."""

    def now(self) -> float:
        """Seconds since the epoch."""
        ...
