"""What was found out about a model's endpoint, for seven days."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

from sqlalchemy import Connection, delete, select

from bot.storage.statements import put
from bot.storage.tables import capabilities
from bot.storage.writer import Writer

KEPT_SECONDS = 7 * 24 * 3600
"""After that an endpoint is tried again as if nothing were known: it may have been updated."""
FRESH_SECONDS = 60.0
"""So long is the database not asked again: another process may have learned or forgotten since."""


def known_facts(connection: Connection, address: str, model: str, now: float) -> Mapping[str, str]:
    """What is known of a model at an address and had not grown old by `now`."""
    table = capabilities.c
    query = select(table.fact, table.value).where(
        table.address == address, table.model == model, table.learned_at > now - KEPT_SECONDS
    )
    return {str(fact): str(value) for fact, value in connection.execute(query)}


class Capabilities:
    """`bot.model.Knowledge` in the database. `now` is in seconds since the epoch."""

    def __init__(self, writer: Writer, now: Callable[[], float] = time.time) -> None:
        self._writer, self._now = writer, now
        self._recent: dict[tuple[str, str], tuple[float, Mapping[str, str]]] = {}

    async def read(self, address: str, model: str) -> Mapping[str, str]:
        """What is known of a model at an address and has not grown old."""
        now = self._now()
        read_at, facts = self._recent.get((address, model), (-FRESH_SECONDS, {}))
        if 0 <= now - read_at < FRESH_SECONDS:
            return facts

        def work(connection: Connection) -> Mapping[str, str]:
            return known_facts(connection, address, model, now)

        facts = await self._writer.run(work)
        self._recent[address, model] = (now, facts)
        return facts

    async def learn(self, address: str, model: str, fact: str, value: str) -> None:
        """Remember a fact from now on; what has grown old is removed."""
        now = self._now()
        key = {"address": address, "model": model, "fact": fact}
        fresh = {"value": value, "learned_at": now}

        def work(connection: Connection) -> None:
            old = capabilities.c.learned_at <= now - KEPT_SECONDS
            connection.execute(delete(capabilities).where(old))
            put(connection, capabilities, key, fresh)

        await self._writer.run(work)
        self._recent.pop((address, model), None)

    async def forget(self, address: str, model: str) -> int:
        """Forget everything about a model at an address; returns how many facts there were."""
        table = capabilities.c
        gone = delete(capabilities).where(table.address == address, table.model == model)

        def work(connection: Connection) -> int:
            return connection.execute(gone).rowcount

        count = await self._writer.run(work)
        self._recent.pop((address, model), None)
        return count
