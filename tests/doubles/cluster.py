"""Several processes of Treadle on one PostgreSQL database, between a Slack and a model of ours."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import psycopg

from tests.doubles.desk import Desk

T = TypeVar("T")

ROOT = Path(__file__).parents[2]
STARTS_SECONDS = 30.0


@dataclass
class Member:
    """One process; `log` grows with what it says."""

    process: Process
    role: str
    log: list[str] = field(default_factory=list)
    ready: asyncio.Event = field(default_factory=asyncio.Event)

    async def listen(self) -> None:
        assert self.process.stdout is not None
        async for line in self.process.stdout:
            self.log.append(line.decode("utf-8", "replace").rstrip())
            print(self.log[-1])  # shown with a test that fails
            if self.log[-1] == "ready":
                self.ready.set()

    def says(self, words: str) -> bool | None:
        """True once a line of its log holds these words."""
        return any(words in line for line in self.log) or None

    def send(self, number: signal.Signals) -> None:
        self.process.send_signal(number)

    async def kill(self) -> None:
        self.send(signal.SIGKILL)
        await self.process.wait()


@dataclass
class Cluster:
    """Starts processes and asks the database what they do."""

    desk: Desk
    url: str
    members: list[Member] = field(default_factory=list)
    _listeners: list[asyncio.Task[None]] = field(default_factory=list)

    async def start(self, role: str, *, turns: int = 10, **more: str) -> Member:
        """A process that is ready. Raises AssertionError with its log if it ends before that."""
        member = await self.spawn(role, turns=turns, **more)
        waiter = asyncio.create_task(member.ready.wait())
        ended = asyncio.create_task(member.process.wait())
        async with asyncio.timeout(STARTS_SECONDS):
            await asyncio.wait({waiter, ended}, return_when=asyncio.FIRST_COMPLETED)
        waiter.cancel()
        assert member.ready.is_set(), "\n".join(member.log)
        ended.cancel()
        return member

    async def spawn(self, role: str, *, turns: int = 10, **more: str) -> Member:
        """A process that may refuse to start."""
        program = ("-m", "tests.doubles.one_of_many", role, str(turns))
        own = {"PATH": os.environ["PATH"], "HOME": str(self.desk.home), "PYTHONPATH": str(ROOT)}
        environment = self.desk.environment(**{"TREADLE_DATABASE_URL": self.url, **own, **more})
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            *program,
            cwd=self.desk.home,
            env=environment,
            stdout=PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        member = Member(process, role)
        self.members.append(member)
        self._listeners.append(asyncio.create_task(member.listen()))
        return member

    async def workers(self, count: int, *, turns: int = 10) -> Sequence[Member]:
        """So many workers, and a process before them that takes events in."""
        started = [self.start("INTAKE"), *(self.start("WORK", turns=turns) for _ in range(count))]
        return (await asyncio.gather(*started))[1:]

    async def worker_of(self, root_ts: str) -> Member:
        """Who works on a thread, as soon as somebody does."""
        query = "SELECT owner FROM threads WHERE thread LIKE %s AND owner IS NOT NULL"

        async def found() -> Member | None:
            rows = await self.ask(query, f"%:{root_ts}")
            pids = [int(str(owner).split("-")[0]) for (owner,) in rows]
            return next((m for m in self.members if m.process.pid in pids), None)

        return await until(found)

    @property
    def working(self) -> Sequence[Member]:
        """The workers that are there."""
        there = [m for m in self.members if m.process.returncode is None]
        return [member for member in there if member.role != "INTAKE"]

    async def idle(self) -> None:
        """Until every thread is written down as finished."""

        async def over() -> bool | None:
            return not await self.ask("SELECT 1 FROM threads WHERE busy") or None

        await until(over)

    async def until(self, condition: Callable[[], object]) -> None:
        async def holds() -> bool | None:
            return bool(condition()) or None

        await until(holds)

    async def until_rows(self, query: str, *values: object) -> None:
        """Until the query finds something."""

        async def found() -> bool | None:
            return bool(await self.ask(query, *values)) or None

        await until(found)

    async def ask(self, query: str, *values: object) -> list[tuple[object, ...]]:
        async with await psycopg.AsyncConnection.connect(self.url) as connection:
            return await (await connection.execute(query.encode(), values)).fetchall()

    async def close(self) -> None:
        for member in self.members:
            if member.process.returncode is None:
                await member.kill()
        await asyncio.gather(*self._listeners, return_exceptions=True)


async def until(condition: Callable[[], Awaitable[T | None]], seconds: float = 20.0) -> T:
    """What the condition finds, as soon as it is not None."""
    async with asyncio.timeout(seconds):
        while (found := await condition()) is None:
            await asyncio.sleep(0.02)
    return found


@asynccontextmanager
async def open_cluster(desk: Desk, url: str) -> AsyncIterator[Cluster]:
    """No process yet; those that are started are killed at the end."""
    cluster = Cluster(desk, url)
    try:
        yield cluster
    finally:
        await cluster.close()
