"""Makes each part from the settings; `bot.main` joins them. It decides nothing."""

from __future__ import annotations

import asyncio
import time
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Mapping,
    Sequence,
)
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from bot import sealing
from bot.accounts import Allowances, make_budget, rates
from bot.admin.attempts import Attempts
from bot.admin.house import House, ToolInfo
from bot.admin.live import Live, Setting
from bot.administration import Status, explaining, open_live
from bot.admission import admit, approvers
from bot.agent.entries import ToolCall
from bot.cluster import Shared, make_shared, queue_tables
from bot.config import Settings
from bot.making import all_tools, make_limits
from bot.model import ChatModel
from bot.policy import may_speak
from bot.redact import Redactor
from bot.rehearsal import RehearsalModel
from bot.runs.answers import Answers
from bot.runs.brains import Brains
from bot.runs.budget import Budget
from bot.runs.door import Door
from bot.runs.health import Health, ObservedModel
from bot.runs.intake import Intake
from bot.runs.local import LocalRuns
from bot.runs.ports import Outlet, People, Scheduler, Surroundings
from bot.runs.pulse import Pulse
from bot.runs.runner import Runner
from bot.runs.sweep import SWEEP_SECONDS, sweep
from bot.runs.turns import Turns
from bot.shell import SHELL, Shell, open_shell
from bot.state import open_state
from bot.storage.audit import Audit
from bot.storage.capabilities import Capabilities
from bot.storage.deliveries import Deliveries
from bot.storage.inbox import Inbox
from bot.storage.items import Item
from bot.storage.journal import Journals, new_owner
from bot.storage.limits import EventLimits
from bot.storage.refusals import Refusals
from bot.storage.statements import nothing_more
from bot.storage.usage import Ledger
from bot.storage.writer import Writer
from bot.terminal import in_terminal
from bot.toolbox import make_brains
from bot.workspaces import open_workspaces
from tools.base import Tool
from tools.locks import Locks
from tools.toolset import describe, registry


class SystemClock:
    """`bot.agent.ports.Clock`."""

    def now(self) -> float:
        return time.time()


@dataclass(frozen=True, slots=True)
class Core:
    """What every front door shares."""

    settings: Settings
    redactor: Redactor
    journals: Journals
    inbox: Inbox
    deliveries: Deliveries
    limits: EventLimits
    budget: Budget
    model: ChatModel | RehearsalModel
    tools: tuple[Tool, ...]
    brains: Brains
    shell: Shell
    audit: Audit
    live: Live
    refusals: Refusals
    ledger: Ledger
    hurry: Callable[[], None]
    """This process is to end soon: wait less for a database that is away."""
    shared: Shared | None = None
    """What other processes have part in; None where there is this one alone."""
    health: Health = field(default_factory=Health)

    @property
    def names(self) -> Mapping[str, str]:
        """Every name of a tool of this release, with the one that rules know it by."""
        return {name: tool.name for name, tool in registry(self.tools).items()}

    def usable(self) -> Sequence[Tool]:
        """The tools that this host can run and the operator has not switched off."""
        enabled = self.settings.tools.enabled
        wanted = [tool for tool in self.tools if enabled is None or tool.name in enabled]
        return [tool for tool in wanted if tool.name != SHELL or self.shell.sandbox is not None]

    def describe(self, call: ToolCall) -> str:
        """A call's key argument, for people."""
        return describe(registry(self.tools), call.name, call.arguments)

    def runner(self, outlet: Outlet, people: People, surroundings: Surroundings) -> Runner:
        """What works on threads for one front door."""
        settings = self.settings
        door = Door(people, admit(settings))
        intake = Intake(
            people,
            surroundings,
            door,
            Answers(door, approvers(settings), SystemClock()),
            lambda channel: self.live.value(Setting.REPLIES, channel) == "mention",
            frozenset(settings.access.bots),
            SystemClock(),
            explaining(self.live, self.names, self.describe),
        )
        return Runner(
            self.journals,
            self.inbox,
            intake,
            ObservedModel(self.model, self.health, SystemClock()),
            self.brains,
            outlet,
            make_limits(settings),
            SystemClock(),
            self.budget,
        )

    def runs(self, outlet: Outlet, people: People, surroundings: Surroundings) -> LocalRuns:
        """The scheduler of a process that is alone, for one front door; not yet started."""
        return LocalRuns(self.runner(outlet, people, surroundings).work)

    def house(self, store: Callable[[Item], Awaitable[None]]) -> House:
        """What stands behind `/treadle` and the Home tab; `store` as from `storing`."""
        settings = self.settings
        turns = Turns(self.journals, store, in_terminal, SystemClock())
        state = Status(settings, self.model.name, self.health, self.shell, turns)
        return House(
            self.live,
            [ToolInfo(tool.name, tool.description.split("\n")[0]) for tool in self.usable()],
            self.names,
            self.describe,
            lambda person, place: may_speak(settings.access.speakers, person, place),
            settings.access.refusal == "silent",
            self.refusals,
            turns,
            state.lines,
            Allowances(self.budget, self.ledger),
            Attempts(self.audit.record, time.monotonic),
        )

    @asynccontextmanager
    async def sweeping(self, runs: Scheduler, every: float = SWEEP_SECONDS) -> AsyncIterator[None]:
        """Meanwhile questions that nobody answers expire, and changes elsewhere are taken up."""
        expiring = sweep(self.journals, self.storing(runs), SystemClock(), every)
        tasks = [asyncio.create_task(work) for work in (expiring, self.live.follow())]
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    def storing(self, runs: Scheduler) -> Callable[[Item], Awaitable[None]]:
        """Stores an item, then wakes its thread; durable on return."""

        async def store(item: Item) -> None:
            if (news := await self.inbox.store(item)) is not None:
                runs.wake(news.thread, stop=news.ending)

        return store


@asynccontextmanager
async def open_core(
    settings: Settings, model: ChatModel | RehearsalModel, pulse: Pulse | None = None
) -> AsyncIterator[Core]:
    """Open the database and the workspaces; closed in order at the end.

    With a `pulse` this process works with others where the database is a server's.
    """
    redactor, owner, tools = Redactor(settings.secrets), new_owner(), all_tools(settings)
    clean, clock = redactor.text, SystemClock()
    with open_workspaces(settings) as workspaces:
        async with _writing(settings) as writer:
            shared = make_shared(settings, writer, owner, pulse)
            fence = owner if shared else None
            audit = Audit(writer, owner, sealing.sealer(settings), clean)
            ledger = Ledger(writer, rates(settings, real=isinstance(model, ChatModel)))
            if isinstance(model, ChatModel):
                model.remember_in(Capabilities(writer))
            locks = Locks(shared.leases if shared else None)
            shell = await open_shell(settings, locks)
            live = await open_live(settings, writer, audit)
            trail = sealing.upkeep(settings, writer, audit)
            async with trail.running(sealing.about_process(settings)):
                yield Core(
                    settings,
                    redactor,
                    Journals(writer, owner, clean, audit, ledger, shared=shared is not None),
                    Inbox(writer, clean, shared.on_stored if shared else nothing_more),
                    Deliveries(writer, fence),
                    EventLimits(writer),
                    make_budget(settings, writer, ledger, audit, fence),
                    model,
                    tools,
                    make_brains(settings, tools, workspaces, shell, live, clock, clean, locks),
                    shell,
                    audit,
                    live,
                    Refusals(writer),
                    ledger,
                    writer.hurry,
                    shared,
                )


@asynccontextmanager
async def _writing(settings: Settings) -> AsyncIterator[Writer]:
    database = open_state(settings, queue_tables(settings))
    writer = Writer(database.engine)
    try:
        yield writer
    finally:
        await writer.close()
        database.close()
