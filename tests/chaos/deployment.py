"""What is killed and started again: one process here, a cluster elsewhere, behind one interface."""

from __future__ import annotations

import asyncio
import os
import random
import resource
import signal
import sqlite3
import sys
from asyncio.subprocess import Process
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Protocol

from tests.chaos.evidence import Evidence
from tests.chaos.gather import read_sqlite

ROOT = Path(__file__).parents[2]
TERM_SECONDS = 30.0
"""SIGTERM must have ended a process by then; ten are promised, on a host that is not busy."""
LOG_ROOM = 64 * 1024
"""Bytes that the log may still grow while the disk is full."""


class Deployment(Protocol):
    """Treadle as an operator runs it. `deaths` fills up with ends that nobody asked for."""

    deaths: list[str]

    async def start(self) -> None:
        """Start every process; returns at once."""
        ...

    async def kill(self, dice: random.Random) -> Sequence[int]:
        """`kill -9` a process, or several; their ids. Something takes their place at once."""
        ...

    async def restart(self, dice: random.Random) -> None:
        """SIGTERM to a process; it must end in order. Something takes its place."""
        ...

    async def trouble(self, dice: random.Random) -> None:
        """What it has besides its processes fails for a moment: its disk, its database server."""
        ...

    async def stop(self) -> None:
        """SIGTERM to everything; all must end in order."""
        ...

    def idle(self) -> bool:
        """Whether nothing is left to do, by what is stored."""
        ...

    def stored(self) -> Evidence:
        """What is stored: journal, inbox, what is unfinished or unsure."""
        ...


class Embedded:
    """`treadle run` on SQLite: one process and one file."""

    def __init__(self, home: Path, environ: Mapping[str, str]) -> None:
        self._home, self._environ = home, environ
        self._running: Process | None = None
        self.deaths: list[str] = []

    @property
    def database(self) -> Path:
        return self._home / ".treadle" / "treadle.db"

    async def start(self) -> None:
        with (self._home / "treadle.log").open("ab") as log:
            self._running = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "bot", "run"),
                cwd=self._home,
                env={
                    "PATH": os.environ["PATH"],
                    "HOME": str(self._home),
                    "PYTHONPATH": str(ROOT),
                    **self._environ,
                },
                stdout=log,
                stderr=log,
            )

    async def kill(self, dice: random.Random) -> Sequence[int]:
        killed = []
        again = True
        while again:
            killed.append(await self._end(signal.SIGKILL))
            await asyncio.sleep(dice.choice((0.0, 0.0, 1.0)))
            await self.start()
            again = dice.random() < 0.25
            if again:  # and once more, while it starts
                await asyncio.sleep(dice.uniform(0.0, 1.5))
        return killed

    async def restart(self, dice: random.Random) -> None:
        await self._end(signal.SIGTERM)
        await asyncio.sleep(dice.choice((0.0, 0.5)))
        await self.start()

    async def trouble(self, dice: random.Random) -> None:
        """The disk is full: no file may grow beyond the log's size, as the database's would."""
        process = self._running
        if process is None or process.returncode is not None:
            return
        room = (self._home / "treadle.log").stat().st_size + LOG_ROOM
        before = resource.prlimit(process.pid, resource.RLIMIT_FSIZE)
        resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (room, before[1]))
        await asyncio.sleep(dice.uniform(0.2, 2.0))
        if process.returncode is None:
            resource.prlimit(process.pid, resource.RLIMIT_FSIZE, before)

    async def stop(self) -> None:
        await self._end(signal.SIGTERM)

    async def _end(self, number: signal.Signals) -> int:
        """End the process; its id. What it should not have done is noted."""
        process = self._running
        assert process is not None
        if process.returncode is not None:
            self.deaths.append(f"process {process.pid} ended by itself ({process.returncode})")
            return process.pid
        ready = _catches(process.pid, number)
        process.send_signal(number)
        try:
            code = await asyncio.wait_for(process.wait(), TERM_SECONDS)
        except TimeoutError:
            self.deaths.append(f"process {process.pid} did not end on {number.name}")
            process.kill()
            code = await process.wait()
        if number is signal.SIGTERM and code != 0 and (ready or code != -number):
            self.deaths.append(f"process {process.pid} ended with {code} on {number.name}")
        return process.pid

    def idle(self) -> bool:
        if not self.database.exists():
            return False
        with closing(sqlite3.connect(f"file:{self.database}?mode=ro", uri=True)) as database:
            left = "SELECT 1 FROM threads WHERE busy UNION SELECT 1 FROM deliveries"
            query = f"{left} WHERE state IN ('trying', 'open')"
            try:
                return database.execute(query).fetchone() is None
            except sqlite3.OperationalError:  # the first start has not made the tables yet
                return False

    def stored(self) -> Evidence:
        return read_sqlite(self.database)


def _catches(pid: int, number: signal.Signals) -> bool:
    """Whether the process has a handler for the signal: at its very start it has none yet."""
    status = Path(f"/proc/{pid}/status").read_text()
    caught = next(line for line in status.splitlines() if line.startswith("SigCgt:"))
    return bool(int(caught.split()[1], 16) >> (number - 1) & 1)
