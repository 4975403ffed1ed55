"""One thread that owns the connection: many awaiting works, one transaction (group commit)."""

from __future__ import annotations

import asyncio
import queue
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from sqlalchemy import Connection, Engine
from sqlalchemy.exc import DBAPIError

from bot import words
from bot.errors import StorageError

T = TypeVar("T")
BATCH = 500
"""Works in one transaction at most, so that the first of a flood does not wait for the last."""


@dataclass(slots=True)
class _Job:
    work: Callable[[Connection], Any]
    loop: asyncio.AbstractEventLoop
    future: asyncio.Future[Any]
    result: Any = None
    error: BaseException | None = None


class Writer:
    """Runs works on the database, batched; each is durable when its await returns.

    A work may run twice (a batch in which one fails is rolled back and run again one by one), so
    it must do nothing but use its connection. Its exception fails its own await and no other.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="treadle-writer", daemon=True)
        self._thread.start()

    async def run(self, work: Callable[[Connection], T]) -> T:
        """The work's result, after commit.

        Cancelling the caller does not cancel the work: the outcome is awaited first, so nobody
        goes on without knowing whether it was written.
        """
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        self._jobs.put(_Job(work, loop, future))
        return await settled(future)

    async def close(self) -> None:
        """Finish what is queued, then end the thread."""
        self._jobs.put(None)
        await asyncio.to_thread(self._thread.join)

    def _run(self) -> None:
        connection: Connection | None = None
        while batch := self._next_batch():
            try:
                connection = connection or self._engine.connect()
                _perform(connection, batch)
            except Exception as error:  # not the works': the connection itself is of no use
                for job in batch:
                    job.error = StorageError(words.database_failed(_why(error)))
                connection = None
            for loop in {job.loop for job in batch}:
                done = [job for job in batch if job.loop is loop]
                if not loop.is_closed():
                    loop.call_soon_threadsafe(_resolve, done)
        if connection is not None:
            connection.close()

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


def _perform(connection: Connection, batch: list[_Job]) -> None:
    """All in one transaction; if that fails each in its own, so that only what is wrong fails."""
    try:
        with connection.begin():
            for job in batch:
                job.result = job.work(connection)
    except Exception:
        for job in batch:
            _perform_alone(connection, job)


def _perform_alone(connection: Connection, job: _Job) -> None:
    try:
        with connection.begin():
            job.result = job.work(connection)
    except DBAPIError as error:
        job.error = StorageError(words.database_failed(_why(error)))
    except Exception as error:
        job.error = error


def _why(error: Exception) -> str:
    return str(error.orig if isinstance(error, DBAPIError) else error)


def _resolve(jobs: list[_Job]) -> None:
    for job in jobs:
        if job.future.cancelled():
            continue
        if job.error is not None:
            job.future.set_exception(job.error)
        else:
            job.future.set_result(job.result)
