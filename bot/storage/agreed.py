"""What all processes must find the same."""

from __future__ import annotations

from sqlalchemy import Connection, func, select

from bot.storage.claims import NOW
from bot.storage.statements import hold, put
from bot.storage.tables import agreed, processes
from bot.storage.writer import Writer


class Agreed:
    """Values that the first process sets for all others."""

    def __init__(self, writer: Writer, owner: str, stall: float) -> None:
        self._writer, self._owner, self._stall = writer, owner, stall

    async def on(self, name: str, value: str) -> str:
        """What holds: `value`, where nothing was said before or no other worker lives."""
        others = (
            select(func.count())
            .select_from(processes)
            .where(processes.c.works, processes.c.owner != self._owner)
            .where(processes.c.beat_at > NOW - self._stall)
        )

        def work(connection: Connection) -> str:
            hold(connection, f"agreed {name}")
            found = connection.scalar(select(agreed.c.value).where(agreed.c.name == name))
            if found is not None and (found == value or connection.scalar(others)):
                return str(found)
            put(connection, agreed, {"name": name}, {"value": value})
            return value

        return await self._writer.run(work)
