"""PostgreSQL: a server that goes away, other processes on it, and answers that are lost."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from itertools import count

import pytest
from sqlalchemy import Connection, text

from bot.agent.entries import Answered, Entry, Resumed
from bot.errors import Fenced, StorageError
from bot.storage.audit import Audit
from bot.storage.deliveries import Deliveries
from bot.storage.inbox import Inbox
from bot.storage.items import Addressing, Item, Kind
from bot.storage.journal import Journals
from bot.storage.postgres import open_postgres
from bot.storage.statements import News, OnStored, Statement, nothing_more
from bot.storage.writer import LAST_SECONDS, PATIENCE_SECONDS, Writer
from tests.doubles.cut_line import Cut, open_line
from tests.doubles.postgres import Ending, PostgresServer

ITEM = Item(Kind.MESSAGE, "T1", "C1", "100.1", "100.1", "U1", addressing=Addressing.MENTION)
THREAD = ITEM.thread
NOTE = "INSERT INTO agreed (name, value) VALUES (:name, 'x') ON CONFLICT DO NOTHING"


def entry(number: int) -> Entry:
    return Resumed(str(number))


@dataclass
class Process:
    """What one of several processes has of the storage."""

    writer: Writer
    journals: Journals
    inbox: Inbox

    async def count(self, table: str) -> int:
        query = text(f"SELECT count(*) FROM {table}")
        return int(await self.writer.run(lambda c: c.scalar(query)) or 0)


@asynccontextmanager
async def process(
    url: str, patience: float = PATIENCE_SECONDS, on_stored: OnStored = nothing_more
) -> AsyncIterator[Process]:
    database = await asyncio.to_thread(open_postgres, url)
    writer = Writer(database.engine, patience)
    yield Process(writer, Journals(writer), Inbox(writer, on_stored=on_stored))
    await writer.close()
    database.close()


@pytest.mark.parametrize("how", Ending)
async def test_a_restart_of_the_server_delays_appends_and_loses_none(
    postgres: str, postgres_server: PostgresServer, how: Ending
) -> None:
    """Each append is told done once, and then it is there, once."""
    stop = asyncio.Event()

    async def run(one: Process, thread: str) -> int:
        for seq in count():
            await one.journals.append(thread, seq, [entry(seq)])
            if stop.is_set() and seq:
                return seq + 1
        raise AssertionError

    async with process(postgres) as one:
        running = [asyncio.create_task(run(one, f"T:C:{n}")) for n in range(8)]
        await one.count("journal")
        await asyncio.to_thread(postgres_server.restart, how)
        stop.set()
        lengths = await asyncio.gather(*running)

        for n, length in enumerate(lengths):
            read = await one.journals.read(f"T:C:{n}")
            assert read.entries == tuple(map(entry, range(length)))


async def test_an_append_that_waited_too_long_fails_and_the_next_one_works(
    postgres: str, postgres_server: PostgresServer
) -> None:
    async with process(postgres, patience=0.2) as one:
        await one.journals.append(THREAD, 0, [entry(0)])
        away = "so nothing is known to be written"
        with postgres_server.down(), pytest.raises(StorageError, match=away):
            await one.journals.append(THREAD, 1, [entry(1)])

        assert (await one.journals.read(THREAD)).entries == (entry(0),)
        await one.journals.append(THREAD, 1, [entry(2)])
        assert (await one.journals.read(THREAD)).entries == (entry(0), entry(2))


async def test_a_process_that_is_to_end_does_not_wait_for_a_server_that_is_away(
    postgres: str, postgres_server: PostgresServer
) -> None:
    async with process(postgres) as one:
        with postgres_server.down():
            append = asyncio.create_task(one.journals.append(THREAD, 0, [entry(0)]))
            await asyncio.sleep(0)
            began = time.monotonic()
            await one.writer.close()
            took = time.monotonic() - began

        with pytest.raises(StorageError, match="nothing is known to be written"):
            await append
        assert LAST_SECONDS <= took < PATIENCE_SECONDS / 2


@pytest.mark.parametrize("where", Cut)
async def test_what_was_under_way_when_the_line_broke_is_written_once(
    postgres: str, where: Cut
) -> None:
    """Above all where it was committed and the reply was lost: the rows found are our own."""
    noted = count()

    def on_stored(news: News) -> list[Statement]:
        return [Statement(NOTE, {"name": f"{news.thread} {next(noted)}"})]

    async with open_line(postgres) as line, process(line.url, on_stored=on_stored) as one:
        deliveries = Deliveries(one.writer)
        line.cut(where)
        assert await one.inbox.store(ITEM), "it is new work, however often it was tried"
        (stored,) = await one.inbox.waiting(THREAD)
        line.cut(where)
        await one.journals.append(THREAD, 0, [entry(0), Answered(("100.1",))], [stored])
        line.cut(where)
        await deliveries.begin(THREAD, "key", ["piece"])
        line.cut(where)
        assert await one.journals.finish(THREAD, 0)

        assert line.cuts == 4
        assert (await one.journals.read(THREAD)).entries == (entry(0), Answered(("100.1",)))
        assert await one.inbox.waiting(THREAD) == []
        assert len(await deliveries.of(THREAD)) == 1
        assert await one.count("agreed") == 1, "what belongs to the item was done with it"


async def test_the_audit_trail_of_an_append_whose_reply_was_lost_is_written_once(
    postgres: str,
) -> None:
    async with open_line(postgres) as line, process(line.url) as one:
        audit = Audit(one.writer, "chain")
        await audit.start({})
        journals = Journals(one.writer, audit=audit)
        lengths = [await one.count("audit")]
        for thread, cuts in (("T:C:1", False), ("T:C:2", True)):
            if cuts:
                line.cut(Cut.AFTER_COMMIT)
            await journals.append(thread, 0, [Answered(("1.0",))])
            lengths.append(await one.count("audit"))

        assert line.cuts == 1
        assert lengths[2] - lengths[1] == lengths[1] - lengths[0] > 0
        together = [journals.append(f"T:D:{n}", 0, [Answered(())]) for n in range(3)]
        line.cut(Cut.AFTER_COMMIT)
        await asyncio.gather(*together)
        assert await one.count("audit") == lengths[2] + 3 * (lengths[1] - lengths[0])


async def test_a_rival_that_wrote_while_the_line_was_broken_still_wins(postgres: str) -> None:
    async with open_line(postgres) as line, process(line.url) as one, process(postgres) as rival:
        assert await one.count("journal") == 0, "it is connected"
        line.cut(Cut.BEFORE_COMMIT)
        line.open.clear()
        append = asyncio.create_task(one.journals.append(THREAD, 0, [entry(0)]))
        while not line.cuts:
            await asyncio.sleep(0.01)
        await rival.journals.append(THREAD, 0, [entry(9)])
        line.open.set()

        with pytest.raises(Fenced):
            await append
        assert (await one.journals.read(THREAD)).entries == (entry(9),)


async def test_of_two_processes_at_one_position_exactly_one_writes(postgres: str) -> None:
    threads = [f"T:C:{n}" for n in range(40)]

    async with process(postgres) as first, process(postgres) as second:
        appends = [
            one.journals.append(thread, 0, [entry(number), entry(number)])
            for number, one, order in ((1, first, threads), (2, second, threads[::-1]))
            for thread in order
        ]
        results = await asyncio.gather(*appends, return_exceptions=True)

        assert (
            sorted(type(result).__name__ for result in results) == ["Fenced"] * 40 + ["tuple"] * 40
        )
        for thread in threads:
            entries = (await first.journals.read(thread)).entries
            assert entries in [(entry(1), entry(1)), (entry(2), entry(2))]


class Pause:
    """Stands in the middle of a transaction until it is let go."""

    def __init__(self) -> None:
        self.here, self._go = threading.Event(), threading.Event()

    def __call__(self, news: News) -> list[Statement]:
        self.here.set()
        assert self._go.wait(20)
        return []

    def go(self) -> None:
        self._go.set()


@pytest.fixture
def pause() -> Iterator[Pause]:
    pause = Pause()
    yield pause
    pause.go()


async def waits_for_a_lock(one: Process) -> None:
    """Return when some other process of this database waits for a lock."""
    query = text(
        "SELECT count(*) FROM pg_stat_activity "
        "WHERE datname = current_database() AND wait_event_type = 'Lock'"
    )
    while not await one.writer.run(lambda c: c.scalar(query)):
        await asyncio.sleep(0.01)


async def test_a_thread_is_not_finished_while_another_process_stores_work_for_it(
    postgres: str, pause: Pause
) -> None:
    async with (
        process(postgres) as worker,
        process(postgres, on_stored=pause) as intake,
        process(postgres) as watcher,
    ):
        await worker.inbox.store(ITEM)
        (stored,) = await worker.inbox.waiting(THREAD)
        await worker.journals.append(THREAD, 0, [Answered(())], [stored])

        storing = asyncio.create_task(intake.inbox.store(replace(ITEM, ts="100.2")))
        await asyncio.to_thread(pause.here.wait, 20)
        finishing = asyncio.create_task(worker.journals.finish(THREAD, 0))
        await waits_for_a_lock(watcher)
        assert not finishing.done()
        pause.go()

        assert await storing
        assert not await finishing, "there is more to do"
        assert list(await worker.journals.unfinished()) == [THREAD]


async def test_an_item_that_another_process_completes_is_not_taken_as_it_was(
    postgres: str, pause: Pause
) -> None:
    async with (
        process(postgres) as worker,
        process(postgres, on_stored=pause) as intake,
        process(postgres) as watcher,
    ):
        await worker.inbox.store(ITEM)
        (stored,) = await worker.inbox.waiting(THREAD)

        storing = asyncio.create_task(intake.inbox.store(replace(ITEM, text="more")))
        await asyncio.to_thread(pause.here.wait, 20)
        taking = asyncio.create_task(worker.journals.append(THREAD, 0, [Answered(())], [stored]))
        await waits_for_a_lock(watcher)
        pause.go()

        assert await storing
        with pytest.raises(StorageError, match="was completed while it was being judged"):
            await taking
        (stored,) = await worker.inbox.waiting(THREAD)
        assert stored.item.text == "more"


async def test_processes_that_wait_for_each_other_in_a_circle_both_succeed(postgres: str) -> None:
    """The server ends one of the two transactions; that one is run again."""
    async with process(postgres) as first, process(postgres) as second:
        await first.writer.run(
            lambda c: c.execute(text("INSERT INTO agreed VALUES ('a', ''), ('b', '')"))
        )
        both = threading.Barrier(2)
        meets = iter([True] * 2)

        def update(connection: Connection, mark: str, names: str) -> None:
            for number, name in enumerate(names):
                connection.execute(
                    text("UPDATE agreed SET value = value || :mark WHERE name = :name"),
                    {"mark": mark, "name": name},
                )
                if number == 0 and next(meets, False):
                    both.wait(20)

        await asyncio.gather(
            first.writer.run(lambda c: update(c, "1", "ab")),
            second.writer.run(lambda c: update(c, "2", "ba")),
        )
        query = text("SELECT value FROM agreed ORDER BY name")
        values = await first.writer.run(lambda c: c.scalars(query).all())

        assert [sorted(value) for value in values] == [["1", "2"], ["1", "2"]]


async def test_what_belongs_to_an_item_is_done_with_it_or_not_at_all(postgres: str) -> None:
    def wrong(news: News) -> list[Statement]:
        good = Statement(NOTE, {"name": "a note"})
        return [good, Statement("INSERT INTO nowhere VALUES (1)")]

    async with process(postgres, on_stored=wrong) as one:
        with pytest.raises(StorageError, match=r"relation .nowhere. does not exist"):
            await one.inbox.store(ITEM)

        assert await one.count("inbox") == 0
        assert await one.count("agreed") == 0
