"""What every scheduler promises: the embedded one on SQLite, and one of several on PostgreSQL."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from sqlalchemy import Connection, text

from bot.agent.entries import Overheard
from bot.errors import Fenced
from bot.runs.cluster import ClusterRuns, Yard
from bot.runs.local import LocalRuns
from bot.runs.ports import Scheduler, Signals
from bot.runs.pulse import Pulse
from bot.storage.claims import Claim, Claims
from bot.storage.database import Database, open_database
from bot.storage.inbox import Inbox
from bot.storage.items import ENDING, Addressing, Item, Kind
from bot.storage.journal import Journals
from bot.storage.postgres import address_of, open_postgres
from bot.storage.statements import nothing_more, perform
from bot.storage.wakes import call, on_stored
from bot.storage.writer import Writer

pytestmark = pytest.mark.wall_clock
"""Processes are taken for dead after a second or two: a busy host may be slower."""

BRISK = Pulse(beat=0.1, stall=0.6, sweep=0.1, look=0.1)
ITEM = Item(Kind.MESSAGE, "T1", "C1", "1.0", "1.0", "U1", addressing=Addressing.DIRECT)
Work = Callable[[str, Signals], Awaitable[None]]


@dataclass
class Post:
    """One process: stores what comes and works on it."""

    inbox: Inbox
    journals: Journals
    runs: Scheduler
    taken: list[str] = field(default_factory=list)

    async def store(self, ts: str, kind: Kind = Kind.MESSAGE, root: str = "1.0") -> None:
        item = replace(ITEM, ts=ts, kind=kind, root_ts=root)
        if await self.inbox.store(item):
            self.runs.wake(item.thread, stop=item.kind in ENDING)

    async def take(self, thread: str, signals: Signals) -> bool:
        """Take what has come, as a runner does; True if the thread is finished with it."""
        signals.arrived.clear()
        items = await self.inbox.waiting(thread)
        if items:
            position = len((await self.journals.read(thread)).entries)
            await self.journals.append(thread, position, [Overheard(())], items)
            self.taken += [stored.item.ts for stored in items]
        return await self.journals.finish(thread, 0)


class Town:
    """Makes processes on one database of one kind."""

    def __init__(self, kind: str, place: str) -> None:
        self.kind, self._place = kind, place

    def _open(self) -> Database:
        return open_database(Path(self._place)) if self.alone else open_postgres(self._place)

    @property
    def alone(self) -> bool:
        return self.kind == "sqlite"

    @asynccontextmanager
    async def process(self, work: Work | None = None, turns: int = 10) -> AsyncIterator[Post]:
        """With no work given it takes what comes until nothing waits."""
        database = self._open()
        writer = Writer(database.engine)
        async with AsyncExitStack() as stack:
            stack.callback(database.close)
            stack.push_async_callback(writer.close)
            journals = Journals(writer, shared=not self.alone)
            inbox = Inbox(writer, on_stored=nothing_more if self.alone else on_stored)
            posts: list[Post] = []

            async def take_all(thread: str, signals: Signals) -> None:
                while not await posts[0].take(thread, signals):
                    pass

            runs = self._scheduler(work or take_all, writer, journals.owner, turns)
            stack.push_async_callback(runs.close)
            posts.append(Post(inbox, journals, runs))
            await runs.begin(await journals.unfinished() if self.alone else ())
            yield posts[0]

    def _scheduler(self, work: Work, writer: Writer, owner: str, turns: int) -> Scheduler:
        if self.alone:
            return LocalRuns(work, (0.01,))

        async def proved() -> None: ...

        claims = Claims(writer, owner, BRISK.stall)
        yard = Yard(claims, address_of(self._place), BRISK, lambda thread: False)
        return ClusterRuns(work, yard, turns, proved, (0.01,))


@pytest.fixture(params=["sqlite", "postgresql"])
def town(request: pytest.FixtureRequest, tmp_path: Path) -> Town:
    if request.param == "sqlite":
        return Town("sqlite", str(tmp_path / "treadle.db"))
    return Town("postgresql", request.getfixturevalue("postgres"))


async def until(condition: Callable[[], object], seconds: float = 10.0) -> None:
    async with asyncio.timeout(seconds):
        while not condition():
            await asyncio.sleep(0.005)


async def test_what_comes_is_taken_in_order_and_the_thread_is_finished(town: Town) -> None:
    async with town.process() as post:
        for ts in ("1.0", "2.0", "3.0"):
            await post.store(ts)
        await until(lambda: len(post.taken) == 3)
        await until_finished(post)

    assert post.taken == ["1.0", "2.0", "3.0"]


async def until_finished(post: Post) -> None:
    async with asyncio.timeout(10):
        while await post.journals.unfinished():
            await asyncio.sleep(0.01)


async def test_one_runner_at_a_time_is_at_a_thread_however_much_comes(town: Town) -> None:
    at_once: list[int] = []
    running = 0

    async def work(thread: str, signals: Signals) -> None:
        nonlocal running
        running += 1
        at_once.append(running)
        while not await post.take(thread, signals):
            await asyncio.sleep(0.001)
        running -= 1

    async with town.process(work) as post:
        for number in range(1, 31):
            await post.store(f"{number}.0")
        await until(lambda: len(post.taken) == 30)

    assert set(at_once) == {1}


async def test_threads_are_worked_on_beside_each_other(town: Town) -> None:
    began: set[str] = set()

    async def work(thread: str, signals: Signals) -> None:
        began.add(thread)
        await asyncio.sleep(60)

    async with town.process(work) as post:
        for root in ("1.0", "2.0", "3.0"):
            await post.store(root, root=root)
        await until(lambda: len(began) == 3)


async def test_a_runner_hears_what_comes_and_whether_it_may_end_the_turn(town: Town) -> None:
    heard: list[bool] = []
    began = asyncio.Event()

    async def work(thread: str, signals: Signals) -> None:
        signals.arrived.clear()
        signals.stop.clear()
        began.set()
        while not any(heard):
            await signals.arrived.wait()
            heard.append(signals.stop.is_set())
            signals.arrived.clear()
        await post.take(thread, signals)

    async with town.process(work) as post:
        await post.store("1.0")
        await asyncio.wait_for(began.wait(), 10)
        await post.store("2.0")
        await until(lambda: heard)
        before = list(heard)
        await post.store("3.0", Kind.STOP)
        await until(lambda: any(heard))

    assert not any(before)


async def test_work_that_breaks_is_tried_again(town: Town) -> None:
    tries = 0

    async def work(thread: str, signals: Signals) -> None:
        nonlocal tries
        tries += 1
        if tries < 4:
            raise OSError("the disk is full")
        await post.take(thread, signals)

    async with town.process(work) as post:
        await post.store("1.0")
        await until(lambda: post.taken)

    assert tries == 4


async def test_who_is_fenced_does_not_keep_the_thread_from_its_work(town: Town) -> None:
    tries = 0

    async def work(thread: str, signals: Signals) -> None:
        nonlocal tries
        tries += 1
        if tries == 1:
            raise Fenced("Another runner has written.")
        await post.take(thread, signals)

    async with town.process(work) as post:
        await post.store("1.0")
        await until(lambda: post.taken == ["1.0"])


async def test_what_a_process_leaves_is_gone_on_with_by_the_next(town: Town) -> None:
    began = asyncio.Event()

    async def endless(thread: str, signals: Signals) -> None:
        began.set()
        await asyncio.sleep(60)

    async with town.process(endless) as first:
        await first.store("1.0")
        await asyncio.wait_for(began.wait(), 10)
    async with town.process() as second:
        await until(lambda: second.taken == ["1.0"])
        await until_finished(second)


async def test_after_the_close_nothing_begins(town: Town) -> None:
    began: list[str] = []

    async def work(thread: str, signals: Signals) -> None:
        began.append(thread)
        await asyncio.sleep(60)

    async with town.process(work) as post:
        await post.runs.close()
        await post.store("1.0")
        await asyncio.sleep(0.05)

    assert began == []


async def test_a_call_that_comes_while_an_earlier_one_finds_nothing_to_do_is_not_lost(
    postgres: str,
) -> None:
    """The sweep would find the thread, but only after a while."""
    taken: list[str] = []
    database = open_postgres(postgres)
    writer = Writer(database.engine)
    inbox = Inbox(writer, on_stored=on_stored)

    async def work(thread: str, signals: Signals) -> None:
        taken.append(thread)
        await asyncio.sleep(60)

    async def proved() -> None: ...

    async def meanwhile() -> None:
        await inbox.store(ITEM)
        async with asyncio.timeout(10):
            while await writer.run(_calls_at_work) < 2:
                await asyncio.sleep(0.01)

    claims = Interrupted(writer, "me", 20.0, meanwhile)
    pulse = Pulse(sweep=60.0, look=60.0)
    yard = Yard(claims, address_of(postgres), pulse, lambda thread: False)
    runs = ClusterRuns(work, yard, 10, proved, (0.01,))
    await runs.begin(())
    await writer.run(lambda connection: perform(connection, [call(ITEM.thread)]))
    try:
        await until(lambda: taken == [ITEM.thread])
    finally:
        await runs.close()
        await writer.close()
        database.close()


class Interrupted(Claims):
    """Something happens after its first claim and before anybody hears of it."""

    def __init__(
        self, writer: Writer, owner: str, stall: float, meanwhile: Callable[[], Awaitable[None]]
    ) -> None:
        super().__init__(writer, owner, stall)
        self._meanwhile = [meanwhile]

    async def claim(self, thread: str) -> Claim:
        found = await super().claim(thread)
        while self._meanwhile:
            await self._meanwhile.pop()()
        return found


def _calls_at_work(connection: Connection) -> int:
    query = text("SELECT count(*) FROM procrastinate_jobs WHERE status = 'doing'")
    return int(connection.scalar(query) or 0)
