"""The slots for calls of Slack, shared by all processes: one row a lane.

A lane's row says until when it is used up, which is all that a bucket of tokens needs ("generic
cell rate algorithm"): a slot moves it on by one interval, and may be taken while it is no more than
the burst ahead of the clock.
"""

from __future__ import annotations

from sqlalchemy import Connection, func, select
from sqlalchemy.dialects.postgresql import insert

from bot.storage.claims import NOW
from bot.storage.tables import pacing
from bot.storage.writer import Writer


class SharedSlots:
    """`bot.slack.shared_pacing.Slots`: `rate` slots a second, `burst` at once."""

    def __init__(self, writer: Writer, rate: float, burst: float) -> None:
        self._writer, self._interval = writer, 1 / rate
        self._ahead = (burst - 1) / rate

    async def take(self, lane: str) -> float:
        """Take a slot: 0.0, or the seconds until one may be free."""
        table = pacing.c

        def work(connection: Connection) -> float:
            moved = func.greatest(table.free_at, NOW) + self._interval
            statement = insert(pacing).values(lane=lane, free_at=NOW + self._interval)
            taken = statement.on_conflict_do_update(
                index_elements=["lane"],
                set_={"free_at": moved},
                where=table.free_at <= NOW + self._ahead,
            ).returning(table.lane)
            if connection.execute(taken).first() is not None:
                return 0.0
            left = select(table.free_at - NOW - self._ahead).where(table.lane == lane)
            return max(0.001, connection.scalar(left) or 0.0)

        return await self._writer.run(work)

    async def pause(self, lane: str, seconds: float) -> None:
        """No slot for so long, then one at a time."""

        def work(connection: Connection) -> None:
            until = NOW + seconds + self._ahead
            statement = insert(pacing).values(lane=lane, free_at=until)
            later = func.greatest(pacing.c.free_at, until)
            connection.execute(
                statement.on_conflict_do_update(index_elements=["lane"], set_={"free_at": later})
            )

        await self._writer.run(work)
