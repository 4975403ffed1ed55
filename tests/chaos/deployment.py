"""What is killed and started again, behind one interface: here one process, elsewhere several."""

from __future__ import annotations

import asyncio
import os
import random
import resource
import signal
import sqlite3
import sys
from asyncio.subprocess import Process
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Protocol

from tests.chaos.evidence import Evidence
from tests.chaos.gather import read_sqlite

ROOT = Path(__file__).parents[2]
TERM_SECONDS = 30.0
"""SIGTERM must have ended a process by then; ten are promised, on a host that is not busy."""
ORPHAN_SECONDS = 10.0
GIVES_UP_SECONDS = 30.0
"""A start comes to its end by then, one way or the other."""
READY = b"Ctrl-C stops"
"""`treadle run` says so once it takes events."""
LOG_ROOM = 64 * 1024
"""Bytes that the log may still grow while the disk is full."""


LEFT = (
    "SELECT 1 FROM threads WHERE busy "
    "UNION SELECT 1 FROM deliveries WHERE state IN ('trying', 'open')"
)
"""Finds a row as long as something is left to do."""


class Deployment(Protocol):
    """Treadle as an operator runs it.

    `deaths` fills up with ends that nobody asked for, `did` counts what happened to it besides
    kills. `orphan_seconds` is how long what a killed process began may take to end.
    """

    deaths: list[str]
    did: Counter[str]
    orphan_seconds: float

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
        self._log_from = 0
        self.deaths: list[str] = []
        self.did: Counter[str] = Counter()
        self.orphan_seconds = ORPHAN_SECONDS

    @property
    def database(self) -> Path:
        return self._home / ".treadle" / "treadle.db"

    async def start(self) -> None:
        log = self._home / "treadle.log"
        self._log_from = log.stat().st_size if log.exists() else 0
        self._running = await spawn(self._home, "treadle.log", self._environ, "run")

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
        """The disk is full: no file may grow beyond the log's size, as the database's would.

        What is just starting may give up then, and is started again.
        """
        process = self._running
        if process is None or process.returncode is not None:
            return
        self.did["full disk"] += 1
        starting = self._starts()
        room = (self._home / "treadle.log").stat().st_size + LOG_ROOM
        before = resource.prlimit(process.pid, resource.RLIMIT_FSIZE)
        resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (room, before[1]))
        await asyncio.sleep(dice.uniform(0.2, 2.0))
        if self._code() is None:
            resource.prlimit(process.pid, resource.RLIMIT_FSIZE, before)
        if starting:
            with suppress(TimeoutError):
                async with asyncio.timeout(GIVES_UP_SECONDS):
                    while self._code() is None and self._starts():
                        await asyncio.sleep(0.05)
        if starting and self._code() == 1:
            self.did["start on a full disk"] += 1
            await self.start()

    async def stop(self) -> None:
        await self._end(signal.SIGTERM)

    def _code(self) -> int | None:
        return None if self._running is None else self._running.returncode

    def _starts(self) -> bool:
        """Whether it does not take events yet."""
        log = (self._home / "treadle.log").read_bytes()
        return READY not in log[self._log_from :]

    async def _end(self, number: signal.Signals) -> int:
        process = self._running
        assert process is not None
        return await end(process, number, self.deaths)

    def idle(self) -> bool:
        if not self.database.exists():
            return False
        with closing(sqlite3.connect(f"file:{self.database}?mode=ro", uri=True)) as database:
            try:
                return database.execute(LEFT).fetchone() is None
            except sqlite3.OperationalError:  # the first start has not made the tables yet
                return False

    def stored(self) -> Evidence:
        return read_sqlite(self.database)


async def spawn(home: Path, log: str, environ: Mapping[str, str], *command: str) -> Process:
    """`treadle` with this command, in `home`; what it says goes to the end of the file `log`."""
    with (home / log).open("ab") as file:
        return await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "bot", *command),
            cwd=home,
            env={
                "PATH": os.environ["PATH"],
                "HOME": str(home),
                "PYTHONPATH": str(ROOT),
                **environ,
            },
            stdout=file,
            stderr=file,
        )


async def end(process: Process, number: signal.Signals, deaths: list[str]) -> int:
    """End the process; its id. What it should not have done is added to `deaths`."""
    if process.returncode is not None:
        deaths.append(f"process {process.pid} ended by itself ({process.returncode})")
        return process.pid
    ready = _catches(process.pid, number)
    process.send_signal(number)
    try:
        code = await asyncio.wait_for(process.wait(), TERM_SECONDS)
    except TimeoutError:
        deaths.append(f"process {process.pid} did not end on {number.name}")
        process.kill()
        code = await process.wait()
    if number is signal.SIGTERM and code != 0 and (ready or code != -number):
        deaths.append(f"process {process.pid} ended with {code} on {number.name}")
    return process.pid


def _catches(pid: int, number: signal.Signals) -> bool:
    """Whether the process has a handler for the signal: at its very start it has none yet."""
    status = Path(f"/proc/{pid}/status").read_text()
    caught = next(line for line in status.splitlines() if line.startswith("SigCgt:"))
    return bool(int(caught.split()[1], 16) >> (number - 1) & 1)
