"""Who may run a command now: one for each workspace, a few for the whole host, first come first."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from tools.locks import Locks


@dataclass(frozen=True, slots=True)
class Turn:
    """A command's turn; the numbers change while it lasts."""

    beside: Callable[[], int]
    """Commands that run at this moment, this one among them."""
    since: Callable[[], int]
    """Those that ran at any moment of this turn, but no more than may run at once."""


class Lanes:
    """Both queues are fair: a workspace waits for the host with one command only, its oldest."""

    def __init__(self, at_once: int, locks: Locks | None = None) -> None:
        """`at_once`: commands that may run on this host at the same time; 1 or more."""
        self._at_once = at_once
        self._host = asyncio.Semaphore(at_once)
        self._begun = self._running = 0
        self._locks = locks or Locks()

    @asynccontextmanager
    async def turn(self, workspace: Path) -> AsyncIterator[Turn]:
        """Waits until a command may run in `workspace`; give the turn back by leaving."""
        async with self._locks.hold(f"command {workspace.name}"), self._host:
            ended = self._begun - self._running
            self._begun += 1
            self._running += 1
            try:
                yield Turn(lambda: self._running, lambda: min(self._begun - ended, self._at_once))
            finally:
                self._running -= 1
