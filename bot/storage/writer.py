"""One thread that owns the connection: many awaiting works, one transaction (group commit)."""

from __future__ import annotations

import asyncio
import itertools
import queue
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DBAPIError

from bot import words
from bot.errors import StorageError
from bot.storage.statements import is_server, why, worth_repeating

P = TypeVar("P")
T = TypeVar("T")
BATCH = 500
"""Works in one transaction at most, so that the first of a flood does not wait for the last."""
PATIENCE_SECONDS = 60.0
"""How long a work waits for a database server that is away; a restart takes a few seconds."""
LAST_SECONDS = 3.0
"""The same once this process is asked to end, which has ten seconds for everything."""
LONGEST_PAUSE = 1.0
"""Seconds between two tries at most: so much later than the server we are back."""


@dataclass(slots=True)
class _Job:
    run: Callable[[Connection, list[Any]], Sequence[Any]]
    part: Any
    order: str
    loop: asyncio.AbstractEventLoop
    future: asyncio.Future[Any]
    since: float = field(default_factory=time.monotonic)
    done: bool = False
    result: Any = None
    error: BaseException | None = None

    def end(self, result: Any = None, error: BaseException | None = None) -> None:
        self.done, self.result, self.error = True, result, error


class Writer:
    """Runs works on the database, batched; each is durable when its await returns.

    A work may run twice (a batch in which one fails is rolled back and run again one by one; when
    the connection is lost even a work that was committed is run again), so it must do nothing but
    use its connection and must bear to meet its own rows. Its exception fails its own await and no
    other. While a database server is away works wait, for `patience` seconds each.
    """

    def __init__(self, engine: Engine, patience: float = PATIENCE_SECONDS) -> None:
        self._engine = engine
        self._patience = patience if is_server(engine.dialect) else 0.0
        self._hurried: float | None = None
        self._connection: Connection | None = None
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="treadle-writer", daemon=True)
        self._thread.start()

    async def run(self, work: Callable[[Connection], T], thread: str = "") -> T:
        """The work's result, after commit. `thread` names the one whose rows it changes.

        Works of one batch are done in the order of their threads, so that two processes which
        change the same threads' rows do not wait for each other in a circle.

        Cancelling the caller does not cancel the work: the outcome is awaited first, so nobody
        goes on without knowing whether it was written. Raises StorageError if it was not, or if
        that cannot be known because the database is away.
        """
        return await self.run_together(_each, work, thread)

    async def run_together(
        self, works: Callable[[Connection, list[P]], Sequence[T]], part: P, thread: str = ""
    ) -> T:
        """As `run`, for works that cost less together: `works` gets the parts that wait in a row.

        It returns a result for each, in their order. If it raises, it gets each part alone.
        """
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        self._jobs.put(_Job(works, part, thread, loop, future))
        return await settled(future)

    def hurry(self) -> None:
        """This process is to end: from now on wait LAST_SECONDS at most for a server."""
        self._hurried = self._hurried or time.monotonic()

    async def close(self) -> None:
        """Finish what is queued, then end the thread."""
        self.hurry()
        self._jobs.put(None)
        await asyncio.to_thread(self._thread.join)

    def _run(self) -> None:
        while batch := self._next_batch():
            batch.sort(key=lambda job: job.order)
            self._persist(batch)
            for loop in {job.loop for job in batch}:
                done = [job for job in batch if job.loop is loop]
                if not loop.is_closed():
                    loop.call_soon_threadsafe(_resolve, done)
        if self._connection is not None:
            self._connection.close()

    def _persist(self, batch: list[_Job]) -> None:
        """Until each work of the batch is durable, or has failed, or has waited too long."""
        for pause in _pauses():
            left = [job for job in batch if not job.done]
            try:
                self._connection = self._connection or self._engine.connect()
                _perform(self._connection, left)
                return
            except Exception as error:  # not the works': the connection itself is of no use
                self._drop()
                self._give_up(left, error)
            if all(job.done for job in batch):
                return
            time.sleep(pause)

    def _give_up(self, jobs: list[_Job], error: Exception) -> None:
        """Fail the works that have waited too long, or for which there is nothing to wait."""
        now, said = time.monotonic(), why(error)
        if not (isinstance(error, DBAPIError) and self._patience):
            for job in jobs:
                job.end(error=StorageError(words.database_failed(said)))
        for job in jobs:
            end = job.since + self._patience
            if self._hurried is not None:
                end = min(end, self._hurried + LAST_SECONDS)
            if now >= end and not job.done:
                job.end(error=StorageError(words.database_away(said)))

    def _drop(self) -> None:
        """Forget a connection without another word to it: nobody may be listening."""
        if self._connection is not None:
            self._connection.invalidate()
            self._connection.close()
            self._connection = None

    def _next_batch(self) -> list[_Job]:
        """Everything that waits, at least one; empty when the writer is closed."""
        first = self._jobs.get()
        batch: list[_Job] = []
        while first is not None:
            batch.append(first)
            if len(batch) >= BATCH:
                return batch
            try:
                first = self._jobs.get_nowait()
            except queue.Empty:
                return batch
        if batch:
            self._jobs.put(None)  # close after this batch
        return batch


async def settled(future: asyncio.Future[T]) -> T:
    """The future's result, even if the caller is cancelled meanwhile.

    The cancellation is then delivered at the caller's next await: what was written is known first.
    """
    cancelled = False
    while not future.done():
        try:
            await asyncio.shield(future)
        except asyncio.CancelledError:
            cancelled = True
        except Exception:
            break  # the future's own: it is raised below
    task = asyncio.current_task()
    if cancelled and task is not None:
        task.uncancel()
        task.cancel()
    return future.result()


def _perform(connection: Connection, jobs: list[_Job]) -> None:
    """All in one transaction; if that fails each in its own, so that only what is wrong fails.

    Raises what is wrong with the connection; the jobs that are not done are to be run again.
    """
    try:
        with connection.begin():
            results: list[Any] = []
            for run, row in itertools.groupby(jobs, lambda job: job.run):
                results.extend(run(connection, [job.part for job in row]))
    except Exception:
        if connection.invalidated:
            raise
        for job in jobs:
            _perform_alone(connection, job)
    else:
        for job, result in zip(jobs, results, strict=True):
            job.end(result)


def _perform_alone(connection: Connection, job: _Job) -> None:
    try:
        with connection.begin():
            (result,) = job.run(connection, [job.part])
    except Exception as error:
        if connection.invalidated or worth_repeating(error):
            raise
        foreign = isinstance(error, DBAPIError)
        job.end(error=StorageError(words.database_failed(why(error))) if foreign else error)
    else:
        job.end(result)


def _each(connection: Connection, works: list[Callable[[Connection], T]]) -> list[T]:
    return [work(connection) for work in works]


def _pauses() -> Iterator[float]:
    """Seconds between tries: a server that only dropped the connection is there at once."""
    return (min(0.01 * 2 ** min(n, 9), LONGEST_PAUSE) for n in itertools.count())


def _resolve(jobs: list[_Job]) -> None:
    for job in jobs:
        if job.future.cancelled():
            continue
        if job.error is not None:
            job.future.set_exception(job.error)
        else:
            job.future.set_result(job.result)
