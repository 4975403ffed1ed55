"""Who may run a command now: one for each workspace, a few for the whole host, first come first."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from tools.locks import Locks


class Lanes:
    """Both queues are fair: a workspace waits for the host with one command only, its oldest."""

    def __init__(self, at_once: int, locks: Locks | None = None) -> None:
        """`at_once`: commands that may run on this host at the same time; 1 or more."""
        self._host = asyncio.Semaphore(at_once)
        self._locks = locks or Locks()

    @asynccontextmanager
    async def turn(self, workspace: Path) -> AsyncIterator[None]:
        """Waits until a command may run in `workspace`; give the turn back by leaving."""
        async with self._locks.hold(f"command {workspace.name}"), self._host:
            yield
