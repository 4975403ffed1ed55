"""What one process at a time may do: held in the database for as long as its holder lives.

Not PostgreSQL's session locks: those are lost when the database restarts under a command that goes
on, and a process that is frozen would keep them for ever.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from sqlalchemy import Connection, delete
from sqlalchemy.dialects.postgresql import insert

from bot.storage.claims import lives
from bot.storage.tables import leases
from bot.storage.writer import Writer

TRY_SECONDS = (0.02, 0.05, 0.1, 0.25)
"""Waits before somebody else's lease is tried again; the last one repeats."""


class Leases:
    """`tools.locks.Locks` across processes; within this one its user sees to the order."""

    def __init__(self, writer: Writer, owner: str, stall: float) -> None:
        self._writer, self._owner, self._stall = writer, owner, stall

    @asynccontextmanager
    async def hold(self, name: str) -> AsyncIterator[None]:
        """Wait until no other living process holds it; given back at the end."""
        tries = 0
        while not await self._take(name):
            await asyncio.sleep(TRY_SECONDS[min(tries, len(TRY_SECONDS) - 1)])
            tries += 1
        try:
            yield
        finally:
            await self._give_back(name)

    async def _take(self, name: str) -> bool:
        def work(connection: Connection) -> bool:
            statement = insert(leases).values(name=name, owner=self._owner)
            free = (leases.c.owner == self._owner) | ~lives(leases.c.owner, self._stall)
            taken = statement.on_conflict_do_update(
                index_elements=["name"], set_={"owner": self._owner}, where=free
            ).returning(leases.c.name)
            return connection.execute(taken).first() is not None

        return await self._writer.run(work, f"lease {name}")

    async def _give_back(self, name: str) -> None:
        ours = (leases.c.name == name) & (leases.c.owner == self._owner)

        def work(connection: Connection) -> None:
            connection.execute(delete(leases).where(ours))

        await self._writer.run(work, f"lease {name}")
