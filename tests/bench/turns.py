"""`python -m tests.bench.turns`: what turns cost one process, beside what is promised of it."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass

from bot.agent.entries import Entry, ModelReply, Observation, ToolCall
from bot.agent.ports import ToolSpec
from bot.agent.prompt import Facts
from bot.config import Need, load_settings
from bot.parts import Core, open_core
from bot.rehearsal import RehearsalModel
from bot.storage.items import Addressing, Item, Kind
from bot.terminal import TerminalPeople
from tests.bench.processes import ROOT, Process, module, running
from tests.bench.report import aligned
from tests.doubles.model_endpoint import ModelEndpoint, Say
from tests.doubles.shell import open_place
from tests.doubles.yardstick import slowness
from tests.integration.test_runner import Wall

PATIENCE = 120.0
THREADS = 100
APPENDS = 30
STEPS = 20
LIVE = 500
IDLE_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Row:
    """One number, in `unit`, and the most that it may be; `cpu` is what it took of a processor."""

    what: str
    found: float
    most: float
    unit: str
    cpu: float | None = None

    @property
    def kept(self) -> bool:
        return self.found <= self.most

    def cells(self) -> Sequence[str]:
        said = "yes" if self.kept else "no"
        cpu = "" if self.cpu is None else f"{self.cpu:.3g} {self.unit}"
        return (self.what, _said(self.found, self.unit), cpu, _said(self.most, self.unit), said)


def _said(value: float, unit: str) -> str:
    return f"{value:.3g} {unit}"


class Counting(RehearsalModel):
    """Wants a sum worked out so many times, then answers; takes no time for either."""

    async def reply(
        self, facts: Facts, entries: Sequence[Entry], specs: Sequence[ToolSpec]
    ) -> ModelReply:
        done = sum(isinstance(entry, Observation) for entry in entries)
        if done == STEPS:
            return ModelReply(self.name, answer="Done.")
        arguments = f'{{"expression": "{done} * 1000"}}'
        return ModelReply(self.name, "Next.", (ToolCall(f"c{done}", "calculate", arguments),))


def message(channel: str) -> Item:
    ts = f"{time.time():.6f}"
    return Item(Kind.MESSAGE, "T1", channel, ts, ts, "U1", "count", Addressing.DIRECT)


async def append_cpu(core: Core) -> Row:
    """CPU of the whole process for one append, in the pace of the machine of the limit."""

    async def one(thread: str) -> None:
        for number in range(APPENDS):
            entry = Observation(f"c{number}", "what a tool says in about a line of text")
            await core.journals.append(thread, number, [entry])

    began = time.process_time()
    await asyncio.gather(*(one(f"T1:C1:{number}.0") for number in range(THREADS)))
    used = (time.process_time() - began) / (THREADS * APPENDS) * 1000
    return Row("journal append: CPU, 100 threads at once", used / slowness(), 0.1, "ms", used)


async def step_overhead(core: Core) -> Row:
    """From a step to the next, with a model and a tool that take no time."""
    people = TerminalPeople()
    runs = core.runs(Wall(), people, people)
    await _turn(core, runs, "CWARM")
    began, before = time.monotonic(), time.process_time()
    await _turn(core, runs, "CBENCH")
    took = (time.monotonic() - began) / STEPS
    used = (time.process_time() - before) / STEPS
    await runs.close()
    return Row("overhead of a step, one thread", took * 1000, 5.0, "ms", used * 1000)


async def _turn(core: Core, runs: object, channel: str) -> None:
    item = message(channel)
    await core.storing(runs)(item)  # type: ignore[arg-type]
    await runs.idle()  # type: ignore[attr-defined]
    entries = (await core.journals.read(item.thread)).entries
    assert sum(isinstance(entry, Observation) for entry in entries) == STEPS


async def inside() -> list[Row]:
    """What is measured within this process."""
    with open_place() as home:
        settings = load_settings({"OPENAI_API_KEY": "sk-bench"}, home, need=Need.CHAT)
        async with open_core(settings, Counting(0.0)) as core:
            return [await append_cpu(core), await step_overhead(core)]


async def outside() -> list[Row]:
    """What is measured of a process of its own, against the Slack stand-in."""
    model = ModelEndpoint(lambda _: Say("Never.", delay=600))
    await model.start()
    with open_place() as home:
        async with running(module("tests.bench.hose"), {}, ROOT) as (slack, _):
            environ = {
                **await slack.hear(),
                "OPENAI_BASE_URL": model.base_url,
                "OPENAI_API_KEY": "sk-bench-no-secret",
                "OPENAI_MODEL": "fixed",
            }
            async with running(module("bot", "run"), environ, home, quiet=True) as (bot, _):
                await slack.tell(PATIENCE, do="connected", patience=PATIENCE)
                idle = await _idle(bot)
                await slack.tell(PATIENCE, do="busy", turns=LIVE)
                await model.asked(LIVE, PATIENCE)
                await bot.settled_cpu()
                live = Row(f"resident memory, {LIVE} live threads", bot.memory(), 200.0, "MB")
                os.kill(bot.pid, signal.SIGKILL)
            async with running(module("bot", "run"), environ, home, quiet=True) as (bot, at):
                await model.asked(2 * LIVE, PATIENCE)
                took, used = time.monotonic() - at, bot.cpu()
                os.kill(bot.pid, signal.SIGKILL)
    await model.stop()
    again = Row(f"start until {LIVE} unfinished threads are at work again", took, 5.0, "s", used)
    return [idle, live, again]


async def _idle(bot: Process) -> Row:
    before = await bot.settled_cpu()
    await asyncio.sleep(IDLE_SECONDS)
    share = (bot.cpu() - before) / IDLE_SECONDS * 100
    return Row("CPU while idle, of one core", share, 1.0, "%")


def main() -> None:
    rows = [*asyncio.run(inside()), *asyncio.run(outside())]
    head = ("one process, SQLite", "found", "CPU of it", "at most", "kept")
    print(aligned(head, [row.cells() for row in rows], (False, True, True, True, False)))
    slow = f"This machine takes {slowness():.2f} times as long as the one of the limits."
    print(f"\n{slow} The first row is divided by that; the others are as measured.")
    sys.exit(0 if all(row.kept for row in rows) else 1)


if __name__ == "__main__":
    main()
