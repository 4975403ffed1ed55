"""What each call of the model used: written with the entry that holds it, so never twice."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    Row,
    bindparam,
    case,
    delete,
    func,
    insert,
    select,
    true,
)

from bot.agent.budgets import Spent
from bot.agent.charges import Charge, Rates
from bot.storage.statements import add
from bot.storage.tables import reservations, usage
from bot.storage.writer import Writer

_SUMS = (
    func.coalesce(func.sum(usage.c.cost), 0.0),
    func.coalesce(func.sum(usage.c.input_tokens + usage.c.output_tokens), 0),
    func.coalesce(func.sum(usage.c.turns), 0),
    func.count(),
    func.coalesce(func.sum(case((usage.c.cost.is_(None), 1), else_=0)), 0),
)
"""The fields of Spent, in their order."""
_RECORD = insert(usage)
_SETTLE = delete(reservations).where(
    reservations.c.thread.in_(bindparam("threads", expanding=True))
)


class Ledger:
    """The usage of all threads. `now` is in seconds since the epoch."""

    def __init__(
        self, writer: Writer, rates: Rates | None = None, now: Callable[[], float] = time.time
    ) -> None:
        self._writer, self.rates, self._now = writer, rates or Rates(), now

    def record(self, connection: Connection, charged: Mapping[str, Sequence[Charge]]) -> None:
        """Write what each thread used, in the place of what was set aside for it."""
        threads = [thread for thread, charges in charged.items() if charges]
        if not threads:
            return
        now = self._now()
        rows = [
            self._row(connection, thread, charge, now)
            for thread in threads
            for charge in charged[thread]
        ]
        connection.execute(_RECORD, rows)
        connection.execute(_SETTLE, {"threads": threads})

    def lose(self, connection: Connection, thread: str, charge: Charge) -> None:
        """Write what a call used of which no reply came."""
        add(connection, usage, self._row(connection, thread, charge, self._now()))

    async def spent(self, since: float, *, author: str = "", channel: str = "") -> Spent:
        """What was used since an epoch second, by one person or in one channel if given."""
        conditions = [usage.c.at >= since]
        conditions += [usage.c.author == author] if author else []
        conditions += [usage.c.channel == channel] if channel else []

        def work(connection: Connection) -> Spent:
            return spent(connection, *conditions)

        return await self._writer.run(work)

    def _row(
        self, connection: Connection, thread: str, charge: Charge, now: float
    ) -> Mapping[str, object]:
        begins = charge.begins and not is_begun(connection, thread, charge.since)
        return {
            "thread": thread,
            "seq": charge.seq,
            "at": now,
            "author": charge.author,
            "channel": thread.rsplit(":", 1)[0],
            "model": charge.model,
            "input_tokens": charge.usage.input_tokens,
            "output_tokens": charge.usage.output_tokens,
            "cached_tokens": charge.usage.cached_tokens,
            "cost": self.rates.cost(charge.model, charge.usage),
            "turns": int(begins),
        }


def is_begun(connection: Connection, thread: str, since: int) -> bool:
    """Whether the turn that begins at this journal position is counted, by a call that was lost."""
    here = (usage.c.thread == thread) & (usage.c.seq >= since) & (usage.c.turns > 0)
    return connection.execute(select(usage.c.seq).where(here)).first() is not None


def between(since: float, until: float) -> ColumnElement[bool]:
    """The calls in a span of time, in epoch seconds; `until` is not in it."""
    return (usage.c.at >= since) & (usage.c.at < until)


def grouped(
    connection: Connection, by: str, *conditions: ColumnElement[bool]
) -> Mapping[str, Spent]:
    """The sums by each "author", "channel" or "model" over the calls that meet all conditions."""
    column = usage.c[by]
    query = select(*_SUMS, column).where(true(), *conditions).group_by(column).order_by(column)
    return {str(row[-1]): _spent(row) for row in connection.execute(query)}


def spent(connection: Connection, *conditions: ColumnElement[bool]) -> Spent:
    """The sums over the calls that meet all conditions."""
    return _spent(connection.execute(select(*_SUMS).where(true(), *conditions)).one())


def _spent(row: Row[*tuple[Any, ...]]) -> Spent:
    return Spent(float(row[0]), int(row[1]), int(row[2]), int(row[3]), int(row[4]))
