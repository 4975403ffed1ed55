"""Stops that came before it was known in which thread the message stands that they are about.

Slack does not say so of a message that a reaction is on. Such a stop is kept as if that message
were the root of a thread, and is moved to the right one when that is found out.
"""

from __future__ import annotations

from dataclasses import replace

from sqlalchemy import Connection, delete, select, update

from bot.storage.items import Kind, dump, load
from bot.storage.statements import add, hold
from bot.storage.tables import inbox, threads

KEPT_SECONDS = 120.0


def keep_early(connection: Connection, row: dict[str, object], now: float) -> None:
    """It waits for its message, for as long as a reply would."""
    gone = (
        (inbox.c.kind == Kind.STOP)
        & inbox.c.taken_seq.is_(None)
        & (inbox.c.received_at < now - KEPT_SECONDS)
        & inbox.c.thread.not_in(select(threads.c.thread))
    )
    connection.execute(delete(inbox).where(gone))
    add(connection, inbox, row)


def adopt(connection: Connection, thread: str, ts: str) -> bool:
    """Move to the thread what is about its message `ts` and came early; whether anything did."""
    place, _, root_ts = thread.rpartition(":")
    alone = f"{place}:{ts}"
    hold(connection, alone)
    early = select(inbox.c.id, inbox.c.body).where(
        inbox.c.thread == alone, inbox.c.taken_seq.is_(None)
    )
    found = connection.execute(early).all()
    for row in found:
        body = dump(replace(load(row.body), root_ts=root_ts))
        # A new version, so that whoever polls the thread sees that something has come.
        change = {"thread": thread, "body": body, "version": inbox.c.version + 1}
        connection.execute(update(inbox).where(inbox.c.id == row.id).values(change))
    return bool(found)
