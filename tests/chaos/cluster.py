"""Treadle on PostgreSQL: `treadle run` and several `treadle work`, all of which may die."""

from __future__ import annotations

import asyncio
import random
import signal
import time
from asyncio.subprocess import Process
from collections import Counter
from collections.abc import Coroutine, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psycopg

from tests.chaos.deployment import LEFT, ORPHAN_SECONDS, end, spawn
from tests.chaos.evidence import Evidence
from tests.chaos.gather import read_postgres
from tests.doubles.postgres import Ending, PostgresServer

WORKERS = 3
FROZEN = (2.0, 28.0)
"""Seconds for which a worker stands still: others take its threads over after twenty."""
LOOK_SECONDS = 0.2


@dataclass(slots=True)
class Member:
    """A place for one process, which is filled again when that has ended."""

    command: str
    log: str
    process: Process | None = None
    began: float = 0.0
    frozen: bool = False
    touched: bool = False
    """It is being ended, or replaced: whoever does so looks after it."""

    @property
    def lives(self) -> bool:
        return self.process is not None and self.process.returncode is None


class Cluster:
    """`tests.chaos.deployment.Deployment` on a database of its own on `server`.

    The server is restarted, too: nobody else may need it meanwhile.
    """

    def __init__(
        self,
        server: PostgresServer,
        home: Path,
        environ: Mapping[str, str],
        frozen: tuple[float, float] = FROZEN,
    ) -> None:
        self._server, self._home, self._frozen = server, home, frozen
        self._url = server.create()
        self._environ = {**environ, "TREADLE_DATABASE_URL": self._url}
        workers = (Member("work", f"treadle-{number}.log") for number in range(WORKERS))
        self._members = [Member("run", "treadle.log"), *workers]
        self._tasks: set[asyncio.Task[None]] = set()
        self._down_at = 0.0
        self._database = asyncio.Lock()
        self.deaths: list[str] = []
        self.did: Counter[str] = Counter()
        self.orphan_seconds = ORPHAN_SECONDS + frozen[1]

    async def start(self) -> None:
        await asyncio.gather(*(self._fill(member) for member in self._members))
        self._spawn_task(self._look_after())

    async def kill(self, dice: random.Random) -> Sequence[int]:
        """A worker mostly; else the intake, two at once, or all."""
        intake, *workers = self._members
        chosen = dice.choices(
            ([dice.choice(workers)], [intake], dice.sample(self._members, 2), self._members),
            (6, 2, 2, 1),
        )[0]
        pause = dice.choice((0.0, 0.0, 1.0))
        return await asyncio.gather(
            *(self._replace(member, signal.SIGKILL, pause) for member in chosen)
        )

    async def restart(self, dice: random.Random) -> None:
        awake = [member for member in self._members if not member.frozen]
        await self._replace(dice.choice(awake), signal.SIGTERM, dice.choice((0.0, 0.5)))

    async def trouble(self, dice: random.Random) -> None:
        """A worker stands still for a while, or the database server is started again."""
        what = dice.choice(("freeze", *Ending))
        if what == "freeze":
            chosen, seconds = dice.choice(self._members[1:]), dice.uniform(*self._frozen)
            self._spawn_task(self._freeze(chosen, seconds))
            return
        how = Ending(what)
        self.did[f"database restart ({how})"] += 1
        self._spawn_task(self._restart_database(how, dice.choice((0.0, 0.0, 2.0))))

    async def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        async with self._database:  # a restart that has begun is brought to its end
            ends = [
                end(member.process, signal.SIGTERM, self.deaths)
                for member in self._members
                if member.process is not None and not member.touched
            ]
            await asyncio.gather(*ends)

    def idle(self) -> bool:
        if any(member.frozen for member in self._members):
            return False
        try:
            with psycopg.connect(self._url) as database:
                return database.execute(LEFT.encode()).fetchone() is None
        except psycopg.Error:  # it is just away, or the first start has not made the tables yet
            return False

    def stored(self) -> Evidence:
        return read_postgres(self._url)

    async def _fill(self, member: Member) -> None:
        member.began = time.monotonic()
        member.process = await spawn(self._home, member.log, self._environ, member.command)
        member.touched = False

    async def _replace(self, member: Member, number: signal.Signals, pause: float) -> int:
        if member.touched or member.process is None:
            return 0
        member.touched = True
        self.did[f"{number.name} to {member.command}"] += 1
        pid = await end(member.process, number, self.deaths)
        await asyncio.sleep(pause)
        await self._fill(member)
        return pid

    async def _freeze(self, member: Member, seconds: float) -> None:
        if member.frozen or member.touched or not member.lives:
            return
        process = member.process
        assert process is not None
        member.frozen = True
        self.did["freeze"] += 1
        try:
            process.send_signal(signal.SIGSTOP)
            await asyncio.sleep(seconds)
        finally:
            member.frozen = False
            with suppress(ProcessLookupError):
                process.send_signal(signal.SIGCONT)

    async def _restart_database(self, how: Ending, seconds: float) -> None:
        async with self._database:
            await asyncio.shield(asyncio.create_task(self._without_database(how, seconds)))

    async def _without_database(self, how: Ending, seconds: float) -> None:
        self._down_at = time.monotonic() + 60.0
        await asyncio.to_thread(self._server.stop, how)
        try:
            await asyncio.sleep(seconds)
        finally:
            await asyncio.to_thread(self._server.start)
            self._down_at = time.monotonic()

    async def _look_after(self) -> None:
        """Start again what has ended, as an operator's service manager does.

        Whatever could not start because the database was away may end; nothing else may.
        """
        while True:
            for member in self._members:
                if member.touched or member.lives or member.process is None:
                    continue
                code, pid = member.process.returncode, member.process.pid
                if code == 1 and self._down_at > member.began:
                    self.did["start without a database"] += 1
                else:
                    self.deaths.append(f"{member.command} {pid} ended by itself ({code})")
                await self._fill(member)
            await asyncio.sleep(LOOK_SECONDS)

    def _spawn_task(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
