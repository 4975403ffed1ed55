"""A turn that takes its process down, on several workers: who counts is the journal."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from bot.agent.entries import Entry, Failed, ModelReply, Resumed
from bot.agent.ports import ToolSpec
from bot.agent.prompt import Facts
from bot.agent.shown import Piece, Show
from bot.config import Need, load_settings
from bot.parts import open_core
from bot.rehearsal import RehearsalModel
from bot.runs.cluster import ClusterRuns
from bot.runs.pulse import Pulse
from bot.runs.runner import TRIES
from bot.storage.items import Addressing, Item, Kind
from bot.terminal import TerminalPeople

PULSE = Pulse(beat=0.2, stall=1.0, sweep=0.2, look=0.2)
ITEM = Item(
    Kind.MESSAGE,
    *("T1", "C1", "9000000001.0", "9000000001.0", "U1", "drink"),
    addressing=Addressing.DIRECT,
)

pytestmark = pytest.mark.wall_clock
"""Processes are taken for dead after a second or two: a busy host may be slower."""


class Deadly:
    """A model during whose call the process ends."""

    name = "deadly"

    def __init__(self) -> None:
        self.asked = asyncio.Event()

    def watched(self, show: Show) -> Deadly:
        return self

    async def reply(
        self, facts: Facts, entries: Sequence[Entry], specs: Sequence[ToolSpec]
    ) -> ModelReply:
        self.asked.set()
        await asyncio.sleep(60)
        raise AssertionError("nobody lives so long")


class Wall:
    """`bot.runs.ports.Outlet` and `View`: sets `settled` when a turn has ended."""

    def __init__(self) -> None:
        self.settled = asyncio.Event()

    async def open(self, thread: str, found: Callable[[], None]) -> Wall:
        return self

    def begin(self, entries: Sequence[Entry], question: str) -> None: ...

    def look(self, entries: Sequence[Entry]) -> None: ...

    def live(self, piece: Piece | None) -> None: ...

    async def halt(self, entries: Sequence[Entry]) -> tuple[int, int] | None:
        return None

    async def settle(self, entries: Sequence[Entry], arrived: asyncio.Event | None = None) -> None:
        if any(isinstance(entry, Failed) for entry in entries):
            self.settled.set()

    async def notice(self, text: str, at: str = "") -> None: ...

    async def close(self) -> None: ...


async def test_a_turn_that_no_worker_survives_is_ended_after_three_of_them(
    postgres: str, tmp_path: Path
) -> None:
    environ = {"OPENAI_API_KEY": "sk-nobody-asks-for-it", "TREADLE_DATABASE_URL": postgres}
    settings = load_settings(environ, tmp_path, need=Need.CHAT)
    tried: list[bool] = []
    entries: Sequence[Entry] = ()
    while not any(isinstance(entry, Failed) for entry in entries):
        async with open_core(settings, RehearsalModel(), PULSE) as core:
            assert core.shared is not None
            model, wall, people = Deadly(), Wall(), TerminalPeople()
            runner = replace(core.runner(wall, people, people), model=model)
            runs = ClusterRuns(runner.work, core.shared.yard, 5, _proved)
            if not tried:
                await core.inbox.store(ITEM)
            await runs.begin(())
            asked = asyncio.create_task(model.asked.wait())
            ended = asyncio.create_task(wall.settled.wait())
            waiting = {asked, ended}
            await asyncio.wait(waiting, timeout=20, return_when=asyncio.FIRST_COMPLETED)
            tried.append(asked.done())
            for task in waiting:
                task.cancel()
            await runs.close()
            entries = (await core.journals.read(ITEM.thread)).entries

    owners = {entry.owner for entry in entries if isinstance(entry, Resumed)}
    assert tried == [True] * (TRIES + 1) + [False]
    assert len(owners) == TRIES


async def _proved() -> None: ...
