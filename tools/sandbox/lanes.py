"""Who may run a command now: one for each workspace, a few for the whole host, first come first."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(slots=True)
class _Lane:
    """One workspace: whoever holds the lock runs, `users` hold it or wait for it."""

    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    users: int = 0


class Lanes:
    """Both queues are fair: a workspace waits for the host with one command only, its oldest."""

    def __init__(self, at_once: int) -> None:
        """`at_once`: commands that may run on this host at the same time; 1 or more."""
        self._host = asyncio.Semaphore(at_once)
        self._lanes: dict[Path, _Lane] = {}

    @asynccontextmanager
    async def turn(self, workspace: Path) -> AsyncIterator[None]:
        """Waits until a command may run in `workspace`; give the turn back by leaving."""
        lane = self._lanes.setdefault(workspace, _Lane())
        lane.users += 1
        try:
            async with lane.lock, self._host:
                yield
        finally:
            lane.users -= 1
            if not lane.users:
                del self._lanes[workspace]
