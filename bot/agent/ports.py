"""What the agent needs of the world, as Protocols. Each has a real one and a scripted one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol, TypeAlias

from bot.agent.consent import Preview
from bot.agent.entries import Decided, Entry, ModelReply, ToolCall
from bot.agent.prompt import Facts

Json: TypeAlias = bool | int | float | str | Sequence["Json"] | Mapping[str, "Json"] | None


class ToolSpec(Protocol):
    """A tool as the model is told of it."""

    @property
    def name(self) -> str: ...
    @property
    def aliases(self) -> Sequence[str]:
        """Other names that it answers to; they are not shown to the model."""
        ...

    @property
    def description(self) -> str: ...
    @property
    def parameters(self) -> Mapping[str, Json]:
        """A JSON Schema object."""
        ...


class ToolResult(Protocol):
    """What a call came to; a failure is a result too."""

    @property
    def text(self) -> str: ...
    @property
    def is_error(self) -> bool: ...


class Model(Protocol):
    """A chat model. Raises ModelError and nothing else."""

    @property
    def name(self) -> str: ...

    async def reply(
        self, facts: Facts, entries: Sequence[Entry], specs: Sequence[ToolSpec]
    ) -> ModelReply:
        """The next reply to the conversation so far."""
        ...


class Journal(Protocol):
    """One thread's journal, held by its only runner."""

    @property
    def entries(self) -> Sequence[Entry]: ...

    @property
    def closing(self) -> bool:
        """Whether this process is about to end: then no tool is to be started any more."""
        ...

    def safe(self, entry: Entry) -> Entry:
        """The entry as it will be written: without any secret."""
        ...

    async def append(self, *entries: Entry) -> None:
        """Durable on return. Raises Fenced if another runner wrote first."""
        ...

    async def take_inbox(self) -> bool:
        """Take what has arrived, in Slack's order, as entries; True if there was anything."""
        ...


class Toolset(Protocol):
    """What is shown is exactly what can run. A call's arguments come as raw JSON text."""

    def specs(self) -> Sequence[ToolSpec]: ...

    async def preview(self, name: str, raw: str) -> Preview:
        """The call as people are shown it before they say yes to it. Never raises."""
        ...

    async def run(self, name: str, raw: str) -> ToolResult:
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
