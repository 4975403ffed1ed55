"""When Slack held events back because a workspace sends more than an app may get in an hour."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence

from sqlalchemy import Connection, Engine, delete, select

from bot import words
from bot.storage.statements import add
from bot.storage.tables import event_limits
from bot.storage.writer import Writer

log = logging.getLogger(__name__)

KEPT_SECONDS = 7 * 24 * 3600.0


class EventLimits:
    """Keeps Slack's notices for a week."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer

    async def note(self, team: str, minute: float) -> None:
        """Remember that Slack sent this workspace's events no more from `minute` on (epoch)."""
        log.warning("%s", words.events_held_back(team, minute))
        row = {"team": team, "minute": minute}
        old = event_limits.c.minute < time.time() - KEPT_SECONDS

        def work(connection: Connection) -> None:
            connection.execute(delete(event_limits).where(old))
            add(connection, event_limits, row)

        await self._writer.run(work)


def limited_minutes(engine: Engine, since: float) -> Sequence[float]:
    """The minutes with such a notice since then, in order; all in epoch seconds."""
    minute = event_limits.c.minute
    query = select(minute).where(minute >= since).distinct().order_by(minute)
    with engine.connect() as connection:
        return list(connection.scalars(query))
