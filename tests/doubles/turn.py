"""The ports of a turn without a database or an endpoint: a journal in a list, a scripted model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from bot.agent.consent import Preview
from bot.agent.entries import Entry, ModelReply
from bot.agent.ports import Json, ToolSpec
from bot.agent.prompt import Facts

Reply = ModelReply | Exception
Answering = Callable[[Sequence[Entry]], Reply]


@dataclass
class ListJournal:
    """`bot.agent.ports.Journal` in memory; nothing arrives."""

    written: list[Entry] = field(default_factory=list)

    @property
    def entries(self) -> Sequence[Entry]:
        return self.written

    closing = False

    def safe(self, entry: Entry) -> Entry:
        return entry

    async def append(self, *entries: Entry) -> None:
        self.written.extend(entries)

    async def take_inbox(self) -> bool:
        return False


class ScriptedModel:
    """`bot.agent.ports.Model` that replies from a list, or as a function of what it was sent."""

    name = "scripted"

    def __init__(self, script: Sequence[Reply] | Answering) -> None:
        left = list(script) if isinstance(script, Sequence) else []
        self._answer = (lambda _: left.pop(0)) if isinstance(script, Sequence) else script
        self.sent: list[Sequence[Entry]] = []

    async def reply(
        self, facts: Facts, entries: Sequence[Entry], specs: Sequence[ToolSpec]
    ) -> ModelReply:
        self.sent.append(tuple(entries))
        reply = self._answer(entries)
        if isinstance(reply, Exception):
            raise reply
        return reply


@dataclass(frozen=True)
class Ran:
    """`bot.agent.ports.ToolResult`."""

    text: str
    is_error: bool = False


class ScriptedTools:
    """`bot.agent.ports.Toolset` of one tool that does what a function says."""

    def __init__(self, run: Callable[[str, str], Ran]) -> None:
        self._run = run
        self.ran: list[tuple[str, str]] = []

    def specs(self) -> Sequence[ToolSpec]:
        return ()

    async def preview(self, name: str, raw: str) -> Preview:
        return Preview(raw)

    async def run(self, name: str, raw: str) -> Ran:
        self.ran.append((name, raw))
        return self._run(name, raw)


@dataclass(frozen=True)
class Spec:
    """`bot.agent.ports.ToolSpec`."""

    name: str
    description: str = ""
    aliases: tuple[str, ...] = ()
    parameters: dict[str, Json] = field(default_factory=dict)
