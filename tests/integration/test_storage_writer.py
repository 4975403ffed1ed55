"""The writer: many works, few transactions; each is durable, and fails alone."""

from __future__ import annotations

import asyncio
import re
import signal
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from sqlalchemy import Connection, create_engine, event, text

from bot.agent.entries import Entry, Resumed
from bot.errors import Fenced, StorageError
from bot.storage.database import Database, open_database
from bot.storage.journal import Journals
from bot.storage.writer import BATCH, Writer

ROOT = Path(__file__).parents[2]
THREAD = "T1:C1:1.0"


@dataclass
class Bench:
    """A writer on a fresh database, and the commits that were made."""

    writer: Writer
    journals: Journals
    commits: list[object] = field(default_factory=list)

    @asynccontextmanager
    async def held(self) -> AsyncIterator[None]:
        """While inside, the writer's thread is busy: works gather behind it."""
        go, busy = threading.Event(), asyncio.Event()
        loop = asyncio.get_running_loop()

        def hold(_: Connection) -> None:
            loop.call_soon_threadsafe(busy.set)
            assert go.wait(20)

        holding = asyncio.create_task(self.writer.run(hold))
        await busy.wait()
        try:
            yield
        finally:
            go.set()
            await holding


@pytest.fixture
async def bench(opens: Callable[[], Database]) -> AsyncIterator[Bench]:
    database = opens()
    writer = Writer(database.engine)
    bench = Bench(writer, Journals(writer))
    event.listen(database.engine, "commit", bench.commits.append)
    yield bench
    await writer.close()
    database.close()


def entry(number: int) -> Entry:
    return Resumed(str(number))


async def queued(count: int) -> None:
    """Let tasks that were just made put their works into the queue."""
    for _ in range(count):
        await asyncio.sleep(0)


async def test_works_that_wait_share_one_transaction(bench: Bench) -> None:
    async with bench.held():
        appends = [
            asyncio.create_task(bench.journals.append(f"T1:C{n}:1.0", 0, [entry(n)]))
            for n in range(200)
        ]
        await queued(2)
        bench.commits.clear()
    await asyncio.gather(*appends)

    assert len(bench.commits) == 2, "the work that held the writer, then all others together"
    for n in (0, 199):
        assert (await bench.journals.read(f"T1:C{n}:1.0")).entries == (entry(n),)


async def test_a_flood_is_cut_into_transactions_of_a_bounded_size(bench: Bench) -> None:
    async with bench.held():
        works = [
            asyncio.create_task(bench.writer.run(lambda c: c.execute(text("SELECT 1")).scalar()))
            for _ in range(BATCH + 1)
        ]
        await queued(2)
        bench.commits.clear()
    assert await asyncio.gather(*works) == [1] * (BATCH + 1)

    assert len(bench.commits) == 3


async def test_works_of_a_batch_go_in_the_order_of_their_threads(bench: Bench) -> None:
    """Else two processes could wait for each other's threads in a circle."""
    done: list[str] = []

    async def run(name: str) -> None:
        await bench.writer.run(lambda _: done.append(name), name[:1])

    async with bench.held():
        works = [asyncio.create_task(run(name)) for name in ("b1", "a1", "b2", "a2")]
        await queued(2)
    await asyncio.gather(*works)

    assert done == ["a1", "a2", "b1", "b2"]


async def test_what_waits_in_a_row_is_done_together_and_alone_where_that_fails(
    bench: Bench,
) -> None:
    calls: list[list[int]] = []

    def halves(_: Connection, numbers: list[int]) -> list[int]:
        calls.append(numbers)
        if any(number % 2 for number in numbers):
            raise ZeroDivisionError("of an odd number")
        return [number // 2 for number in numbers]

    async def results(*numbers: int) -> list[object]:
        calls.clear()
        async with bench.held():
            works = [
                asyncio.create_task(bench.writer.run_together(halves, number, "x"))
                for number in numbers
            ]
            await queued(2)
        return await asyncio.gather(*works, return_exceptions=True)

    assert await results(8, 6, 4) == [4, 3, 2]
    assert calls == [[8, 6, 4]]

    first, odd, last = await results(8, 5, 4)
    assert (first, last) == (4, 2)
    assert isinstance(odd, ZeroDivisionError)
    assert calls == [[8, 5, 4], [8], [5], [4]]


async def test_a_work_that_fails_fails_alone(bench: Bench) -> None:
    def bug(connection: Connection) -> None:
        connection.execute(text("INSERT INTO overheard VALUES ('c', '1', '2', 0)"))
        raise ZeroDivisionError("of this work")

    def broken(connection: Connection) -> None:
        connection.execute(text("INSERT INTO nowhere VALUES (1)"))

    async with bench.held():
        good = asyncio.create_task(bench.journals.append(THREAD, 0, [entry(1)]))
        await queued(1)
        bad = [asyncio.create_task(bench.writer.run(work)) for work in (bug, broken)]
        await queued(1)
        late = asyncio.create_task(bench.journals.append(THREAD, 1, [entry(2)]))
        await queued(2)
    results = await asyncio.gather(good, *bad, late, return_exceptions=True)

    assert [type(result) for result in results] == [
        tuple,
        ZeroDivisionError,
        StorageError,
        tuple,
    ]
    assert re.search(
        r"not take a write \((no such table: nowhere|relation .nowhere.)", str(results[2])
    )
    assert (await bench.journals.read(THREAD)).entries == (entry(1), entry(2))
    left = await bench.writer.run(lambda c: c.scalar(text("SELECT count(*) FROM overheard")))
    assert left == 0, "the failed work left nothing"


async def test_whoever_loses_the_fence_writes_nothing_and_harms_nobody(bench: Bench) -> None:
    rival = Journals(bench.writer)
    async with bench.held():
        mine = asyncio.create_task(bench.journals.append(THREAD, 0, [entry(1), entry(2)]))
        await queued(1)
        theirs = asyncio.create_task(rival.append(THREAD, 1, [entry(8), entry(9)]))
        other = asyncio.create_task(rival.append("T1:C2:1.0", 0, [entry(3)]))
        await queued(2)
    first, lost, third = await asyncio.gather(mine, theirs, other, return_exceptions=True)

    assert first == (entry(1), entry(2))
    assert third == (entry(3),)
    assert isinstance(lost, Fenced)
    assert THREAD in str(lost)
    assert (await bench.journals.read(THREAD)).entries == (entry(1), entry(2))
    assert (await rival.read("T1:C2:1.0")).entries == (entry(3),)


async def test_one_runner_that_fell_behind_itself_is_fenced_too(bench: Bench) -> None:
    """Each append has a token of its own: only the very same append may meet itself."""
    await bench.journals.append(THREAD, 0, [entry(1)])

    with pytest.raises(Fenced):
        await bench.journals.append(THREAD, 0, [entry(1)])


async def test_an_append_that_is_run_twice_succeeds_and_is_written_once(bench: Bench) -> None:
    """As after a lost answer of the database: the second run meets the rows of the first."""
    twice: list[object] = []

    class Repeating(Writer):
        async def run_together(self, works, part, thread=""):  # type: ignore[no-untyped-def]
            twice.append(part)
            await bench.writer.run_together(works, part, thread)
            return await bench.writer.run_together(works, part, thread)

    repeating = Repeating(create_engine("sqlite://"))
    await Journals(repeating).append(THREAD, 0, [entry(1), entry(2)])
    await repeating.close()

    assert len(twice) == 1
    assert (await bench.journals.read(THREAD)).entries == (entry(1), entry(2))


async def test_a_cancelled_append_settles_first_and_is_cancelled_then(bench: Bench) -> None:
    order: list[str] = []

    async def append() -> None:
        await bench.journals.append(THREAD, 0, [entry(1)])
        order.append("written")
        await asyncio.sleep(0)
        order.append("went on")

    async with bench.held():
        task = asyncio.create_task(append())
        await queued(2)
        task.cancel()
        await queued(3)
        assert not task.done(), "it waits for the outcome"
        task.cancel()  # impatience changes nothing
        await queued(3)
        assert not task.done()
    with pytest.raises(asyncio.CancelledError):
        await task

    assert order == ["written"]
    assert (await bench.journals.read(THREAD)).entries == (entry(1),)


async def test_a_time_out_around_an_append_ends_as_a_time_out(bench: Bench) -> None:
    async def append() -> None:
        async with asyncio.timeout(0.01):
            await bench.journals.append(THREAD, 0, [entry(1)])
            await asyncio.sleep(30)

    async with bench.held():
        task = asyncio.create_task(append())
        await asyncio.sleep(0.05)  # the time-out that is meant here has to pass
        assert not task.done()
    with pytest.raises(TimeoutError):
        await task

    assert (await bench.journals.read(THREAD)).entries == (entry(1),)


async def test_a_cancelled_append_that_fails_says_so(bench: Bench) -> None:
    rival = Journals(bench.writer)
    await rival.append(THREAD, 0, [entry(9)])
    async with bench.held():
        task = asyncio.create_task(bench.journals.append(THREAD, 0, [entry(1)]))
        await queued(2)
        task.cancel()
        await queued(2)

    with pytest.raises(Fenced):
        await task


async def test_closing_finishes_what_is_queued(opens: Callable[[], Database]) -> None:
    database = opens()
    writer = Writer(database.engine)
    journals = Journals(writer)
    appends = [asyncio.create_task(journals.append(f"T:{n}:1", 0, [entry(n)])) for n in range(50)]
    await queued(1)

    await writer.close()
    await asyncio.gather(*appends)

    with database.engine.connect() as connection:
        assert connection.scalar(text("SELECT count(*) FROM journal")) == 50
    database.close()


async def test_a_database_that_is_gone_fails_each_work_instead_of_hanging() -> None:
    writer = Writer(create_engine("sqlite:////nowhere/treadle.db"))

    for _ in range(2):
        with pytest.raises(StorageError, match="unable to open database file"):
            await writer.run(lambda connection: connection.execute(text("SELECT 1")))
    await writer.close()


APPENDER = """
import asyncio, sys
from pathlib import Path
from bot.agent.entries import Resumed
from bot.storage.database import open_database
from bot.storage.journal import Journals
from bot.storage.writer import Writer

async def one(journals, number):
    for seq in range(10_000):
        await journals.append(f"T:{number}:1", seq, [Resumed(f"{number}-{seq}")])
        print(f"{number} {seq}", flush=True)

async def main():
    journals = Journals(Writer(open_database(Path(sys.argv[1])).engine))
    await asyncio.gather(*(one(journals, number) for number in range(8)))

asyncio.run(main())
"""


def test_everything_acknowledged_before_kill_9_is_in_the_file(tmp_path: Path) -> None:
    path = tmp_path / "treadle.db"
    with subprocess.Popen(
        [sys.executable, "-c", APPENDER, path], cwd=ROOT, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        acknowledged = [process.stdout.readline() for _ in range(400)]
        process.send_signal(signal.SIGKILL)
        acknowledged += [
            line for line in process.stdout.read().splitlines(True) if line[-1] == "\n"
        ]

    database = open_database(path)
    with database.engine.connect() as connection:
        rows = connection.execute(text("SELECT thread, seq FROM journal ORDER BY thread, seq"))
        found = {(thread.split(":")[1], seq) for thread, seq in rows}
    database.close()
    told = {(line.split()[0], int(line.split()[1])) for line in acknowledged}

    assert len(told) >= 400
    assert told <= found
    for number in range(8):
        seqs = sorted(seq for thread, seq in found if thread == str(number))
        assert seqs == list(range(len(seqs))), "no gap"
