"""The slots for calls of Slack, shared by all processes: one row a lane.

A lane's row says when it will be full again, which is all that a bucket of tokens needs ("generic
cell rate algorithm"): a slot moves that on by one interval, and may be taken while it stays no more
than the burst ahead of the clock.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Protocol

from sqlalchemy import Connection, func, select
from sqlalchemy.dialects.postgresql import insert

from bot.storage.claims import NOW
from bot.storage.tables import pacing
from bot.storage.writer import Writer


class Rate(Protocol):
    """`burst` slots at once, then `per_second`; `kept` of the burst are for the urgent only."""

    @property
    def per_second(self) -> float: ...

    @property
    def burst(self) -> float: ...

    @property
    def kept(self) -> float: ...


class SharedSlots:
    """`bot.slack.slots.Slots`: `now` is what the pacers of this process go by."""

    def __init__(
        self,
        writer: Writer,
        rate_of: Callable[[str], Rate],
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        self._writer, self._rate_of, self._now = writer, rate_of, now

    async def reserve(self, lane: str, now: float, take: int = 1, *, urgent: bool = True) -> float:
        """Take slots by the database's clock, whatever `now` is: 0.0, or the seconds to wait."""
        rate = self._rate_of(lane)
        more = take / rate.per_second
        ahead = (rate.burst - (0.0 if urgent else rate.kept)) / rate.per_second - more
        full_at = pacing.c.free_at

        def work(connection: Connection) -> float:
            statement = insert(pacing).values(lane=lane, free_at=NOW + more)
            taken = statement.on_conflict_do_update(
                index_elements=["lane"],
                set_={"free_at": func.greatest(full_at, NOW) + more},
                where=full_at <= NOW + ahead,
            ).returning(pacing.c.lane)
            if connection.execute(taken).first() is not None:
                return 0.0
            left = select(full_at - NOW - ahead).where(pacing.c.lane == lane)
            return max(0.001, connection.scalar(left) or 0.0)

        return await self._writer.run(work, f"pace {lane}")

    async def pause(self, lane: str, until: float) -> None:
        """No slot before that time of this process's clock, then one at a time."""
        rate = self._rate_of(lane)
        seconds = until - self._now() + (rate.burst - 1) / rate.per_second

        def work(connection: Connection) -> None:
            later = func.greatest(pacing.c.free_at, NOW + seconds)
            statement = insert(pacing).values(lane=lane, free_at=NOW + seconds)
            connection.execute(
                statement.on_conflict_do_update(index_elements=["lane"], set_={"free_at": later})
            )

        await self._writer.run(work, f"pace {lane}")
