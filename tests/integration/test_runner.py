"""A thread's runner on the real database, tools and scheduler: interrupted anywhere, it goes on."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass, field, replace
from pathlib import Path

from bot.agent.dialects.native import Native
from bot.agent.entries import (
    Answered,
    Decided,
    Entry,
    ModelReply,
    Observation,
    Resumed,
    Stopped,
    ToolCall,
    ToolStarted,
    User,
)
from bot.agent.shown import Piece
from bot.config import Need, load_settings
from bot.parts import Core, open_core
from bot.policy import Verdict
from bot.rehearsal import RehearsalModel
from bot.runs.local import LocalRuns
from bot.runs.ports import Signals
from bot.runs.thread_journal import ThreadJournal
from bot.runs.turnstile import Turnstile
from bot.storage.items import Addressing, Item, Kind
from bot.terminal import TerminalPeople

ITEM = Item(Kind.MESSAGE, "T1", "C1", "", "", "U1", addressing=Addressing.DIRECT)
THREAD = "T1:C1:9000000001.0"
"""Far in the future, so that no message is ever too old."""


def message(number: int, text: str) -> Item:
    return replace(ITEM, root_ts="9000000001.0", ts=f"900000000{number}.0", text=text)


@dataclass
class Wall:
    """`bot.runs.ports.Outlet` and `View` at once: keeps what it is told."""

    wanted: int = 0
    reached: asyncio.Event = field(default_factory=asyncio.Event)
    """Set at the look with the wanted number."""
    settled: list[Sequence[Entry]] = field(default_factory=list)
    notices: list[tuple[str, str]] = field(default_factory=list)
    looks: int = 0

    async def open(self, thread: str, found: Callable[[], None]) -> Wall:
        return self

    def begin(self, entries: Sequence[Entry], question: str) -> None: ...

    def look(self, entries: Sequence[Entry]) -> None:
        self.looks += 1
        if self.looks == self.wanted:
            self.reached.set()

    def live(self, piece: Piece | None) -> None: ...

    async def settle(self, entries: Sequence[Entry], arrived: asyncio.Event | None = None) -> None:
        self.settled.append(list(entries))

    async def halt(self, entries: Sequence[Entry]) -> None: ...

    async def notice(self, text: str, at: str = "") -> None:
        self.notices.append((text, at))

    async def close(self) -> None: ...


@dataclass
class Gated(Wall):
    """A wall on which one thread cannot be opened before the gate is."""

    shut: str = ""
    gate: asyncio.Event = field(default_factory=asyncio.Event)

    async def open(self, thread: str, found: Callable[[], None]) -> Wall:
        if thread == self.shut:
            await self.gate.wait()
        return self


@asynccontextmanager
async def process(home: Path, wall: Wall) -> AsyncIterator[tuple[Core, LocalRuns]]:
    """What one process is, from opening the database to the lock's release."""
    environ = {"OPENAI_API_KEY": "sk-nobody-asks-for-it"}
    settings = load_settings(environ, home, need=Need.CHAT)
    people = TerminalPeople()
    async with open_core(settings, RehearsalModel()) as core:
        runs = core.runs(wall, people, people)
        try:
            yield core, runs
        finally:
            await runs.close()


async def finished(home: Path) -> list[Entry]:
    """The thread's journal when a process has taken up what was left."""
    async with process(home, Wall()) as (core, runs):
        runs.wake_all(await core.journals.unfinished())
        await asyncio.wait_for(runs.idle(), 20)
        assert list(await core.journals.unfinished()) == []
        return list((await core.journals.read(THREAD)).entries)


def answers(entries: Sequence[Entry]) -> list[str]:
    return [e.answer for e in entries if isinstance(e, ModelReply) and e.answer is not None]


async def test_a_message_and_its_turn_are_written_down_and_the_thread_is_done(
    tmp_path: Path,
) -> None:
    async with process(tmp_path, Wall()) as (core, runs):
        await core.storing(runs)(message(1, "6 * 7"))
        await asyncio.wait_for(runs.idle(), 20)
        entries = (await core.journals.read(THREAD)).entries
        unfinished = list(await core.journals.unfinished())

    assert [type(e).__name__ for e in entries] == [
        *(
            "User",
            "FilesSeen",
            "ModelReply",
            "Decided",
            "ToolStarted",
            "Observation",
            "ModelReply",
            "Answered",
        )
    ]
    assert "**42**" in answers(entries)[0]
    assert unfinished == []


async def test_a_message_that_came_before_the_crash_waits_for_the_open_calls(
    tmp_path: Path,
) -> None:
    """Endpoints refuse a conversation in which a message stands between a call and its result."""
    call = ToolCall("c1", "calculate", '{"expression": "6 * 7"}')
    async with process(tmp_path, Wall()) as (core, _):
        await core.inbox.store(message(1, "6 * 7"))
        (stored,) = await core.inbox.waiting(THREAD)
        left: list[Entry] = [
            User("6 * 7", "U1", "You", "9000000001.0"),
            ModelReply("rehearsal", calls=(call,)),
            Decided("c1", Verdict.ALLOW),
            ToolStarted("c1"),
        ]
        await core.journals.append(THREAD, 0, left, [stored])
        await core.inbox.store(message(2, "7 * 8"))

    entries = await finished(tmp_path)

    after = entries[len(left) :]
    assert [type(entry) for entry in after[:3]] == [Resumed, Observation, User]
    assert isinstance(after[1], Observation)
    assert after[1].is_error
    assert "may or may not have happened" in after[1].text
    assert entries[-1] == Answered(("9000000001.0", "9000000002.0"))
    roles = [message["role"] for message in Native().messages("s", entries)]
    assert roles[:5] == ["system", "user", "assistant", "tool", "user"]


QUESTION = "list then write a.txt: eggs then 6 * 7 then read a.txt"


async def test_a_process_that_is_stopped_after_any_step_leaves_a_turn_that_is_finished_later(
    tmp_path: Path,
) -> None:
    wanted = ""
    for at in range(1, 14):
        home = tmp_path / str(at)
        home.mkdir()
        wall = Wall(wanted=at)
        async with process(home, wall) as (core, runs):
            await core.storing(runs)(message(1, QUESTION))
            done = asyncio.create_task(runs.idle())
            until = asyncio.create_task(wall.reached.wait())
            await asyncio.wait({done, until}, return_when=asyncio.FIRST_COMPLETED, timeout=20)
            await runs.close()
            until.cancel()
            await done
        entries = await finished(home)

        started = [e.call_id for e in entries if isinstance(e, ToolStarted)]
        observed = [e.call_id for e in entries if isinstance(e, Observation)]
        assert len(started) == len(set(started))
        assert started == observed
        assert isinstance(entries[-1], Answered)
        interrupted = [e for e in entries if isinstance(e, Observation) and e.is_error]
        (answer,) = answers(entries)
        if not interrupted:
            wanted = wanted or answer
            assert answer == wanted
    assert "eggs" in wanted


async def test_a_journal_that_cannot_be_read_is_said_to_each_message_and_not_tried_for_ever(
    tmp_path: Path,
) -> None:
    async with process(tmp_path, Wall()) as (core, runs):
        await core.storing(runs)(message(1, "6 * 7"))
        await asyncio.wait_for(runs.idle(), 20)
    with closing(sqlite3.connect(tmp_path / ".treadle" / "treadle.db")) as rows, rows:
        rows.execute("""UPDATE journal SET body = '{"kind": "Telepathy", "v": 9}'""")

    wall = Wall()
    async with process(tmp_path, wall) as (core, runs):
        await core.storing(runs)(message(2, "7 * 8"))
        await asyncio.wait_for(runs.idle(), 20)

    assert wall.settled == []
    ((text, at),) = wall.notices
    assert at == message(2, "").ts
    assert "(Telepathy, version 9)" in text
    assert "Run the release that wrote it, or start a new thread." in text


async def test_many_threads_run_at_once_each_in_its_own_order(tmp_path: Path) -> None:
    count = 40
    async with process(tmp_path, Wall()) as (core, runs):
        store = core.storing(runs)
        for number in range(count):
            root = f"90000001{number:02d}.0"
            for step, text in enumerate(("6 * 7", "7 * 8")):
                ts = f"90000001{number:02d}.{step}"
                await store(replace(ITEM, root_ts=root, ts=ts, text=text))
        await asyncio.wait_for(runs.idle(), 40)
        for number in range(count):
            thread = f"T1:C1:90000001{number:02d}.0"
            entries = (await core.journals.read(thread)).entries
            covered = [ts for e in entries if isinstance(e, Answered) for ts in e.covers]
            assert covered == [f"90000001{number:02d}.0", f"90000001{number:02d}.1"]


async def test_a_write_that_fails_does_not_end_the_turn(tmp_path: Path) -> None:
    """The first reply of the model cannot be written down, a notice could; then all is well."""
    async with process(tmp_path, Wall()) as (core, runs):
        with closing(sqlite3.connect(tmp_path / ".treadle" / "treadle.db")) as database:
            database.execute(
                "CREATE TRIGGER full BEFORE INSERT ON journal "
                """WHEN NEW.seq = 2 AND NEW.body LIKE '{"kind":"ModelReply"%' """
                "BEGIN SELECT RAISE(ABORT, 'the disk is full'); END"
            )
        await core.storing(runs)(message(1, "6 * 7"))
        await asyncio.wait_for(runs.idle(), 20)
        entries = (await core.journals.read(THREAD)).entries

    assert [type(e).__name__ for e in entries[:4]] == ["User", "Resumed", "FilesSeen", "ModelReply"]
    assert isinstance(entries[-1], Answered)


async def test_a_turn_that_broke_off_and_waits_for_the_others_can_be_stopped_at_once(
    tmp_path: Path,
) -> None:
    """It would wait for half a minute: another thread is at work."""
    other = replace(message(2, "slow"), root_ts="9000000002.0")
    wall = Gated(shut=other.thread)
    async with process(tmp_path, wall) as (core, runs):
        await core.inbox.store(message(1, "6 * 7"))
        items = await core.inbox.waiting(THREAD)
        broken: list[Entry] = [
            User("6 * 7", "U1", "Alice", "9000000001.0"),
            Resumed("one"),
            Resumed("two"),
        ]
        await core.journals.append(THREAD, 0, broken, items)
        await core.storing(runs)(other)
        runs.wake(THREAD)
        stop = replace(message(3, ""), kind=Kind.STOP)
        await core.storing(runs)(stop)
        async with asyncio.timeout(10):
            while not wall.settled:
                await asyncio.sleep(0.01)
        wall.gate.set()
        await asyncio.wait_for(runs.idle(), 20)
        entries = (await core.journals.read(THREAD)).entries

    assert isinstance(entries[-1], Stopped)
    assert not any(isinstance(entry, ModelReply) for entry in entries)


async def test_a_stop_while_the_start_of_a_tool_is_written_down_keeps_the_tool_from_running(
    tmp_path: Path,
) -> None:
    """One in a thread of its own could not be broken off any more."""
    people, wall, ran = TerminalPeople(), Wall(), []
    async with process(tmp_path, wall) as (core, _):
        runner = core.runner(wall, people, people)
        stored = await core.journals.read(THREAD)
        journal = ThreadJournal(
            core.journals, core.inbox, runner.intake, stored, Signals(), wall, Turnstile()
        )

        async def start() -> None:
            await journal.append(ToolStarted("c1"))
            ran.append("c1")

        starting = asyncio.create_task(start())
        await asyncio.sleep(0)  # it waits for the database
        starting.cancel()
        await asyncio.wait({starting})

        assert starting.cancelled()
        assert ran == []
        assert list(journal.entries) == [ToolStarted("c1")], "it may have happened"
        assert (await core.journals.read(THREAD)).entries == (ToolStarted("c1"),)
