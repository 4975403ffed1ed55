"""What came from outside, stored before it is acknowledged and at most once."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from sqlalchemy import Connection, bindparam, delete, exists, select, update

from bot.storage.early import KEPT_SECONDS, adopt, keep_early
from bot.storage.items import ENDING, Addressing, Item, Kind, StoredItem, dump, load
from bot.storage.statements import News, OnStored, add, hold, nothing_more, perform
from bot.storage.tables import deleted, deliveries, inbox, journal, overheard, threads
from bot.storage.writer import Writer

OVERHEARD_SECONDS = KEPT_SECONDS
"""How long a reply in a thread that is not the bot's (yet) is remembered."""
DELETED_SECONDS = 600.0
"""How long a deletion is remembered that came before its message: Slack's last attempt to deliver
an event is six minutes after the first (docs.slack.dev, Events API, retries)."""

_overheard_thread = overheard.c.channel + ":" + overheard.c.thread_ts
_NOT_BEGUN = exists().where(threads.c.thread == _overheard_thread) & ~exists().where(
    journal.c.thread == _overheard_thread
)
"""The bot's thread by now, and nobody has worked on it yet: then its replies are read."""
_NO_MORE_OVERHEARD = delete(overheard).where(overheard.c.at < bindparam("oldest"), ~_NOT_BEGUN)


_BUSY = select(threads.c.busy).where(threads.c.thread == bindparam("thread"))
_NO_MORE_DELETED = delete(deleted).where(deleted.c.at < bindparam("oldest"))


class Inbox:
    """Stores items, without any secret, and hands them to the thread's runner in Slack's order.

    What `on_stored` says is done in the same transaction: work and wake-up come together.
    """

    def __init__(
        self,
        writer: Writer,
        redact: Callable[[str], str] = str,
        on_stored: OnStored = nothing_more,
    ) -> None:
        self._writer, self._redact, self._on_stored = writer, redact, on_stored

    async def store(self, item: Item) -> News | None:
        """Store the item if its thread is the bot's or it engages one; durable on return.

        Returns what is new if its thread has new work. A repeated item changes nothing, except that
        a later delivery of a waiting message which holds more completes it. Slack does not always
        say in which thread a message stands that something is about: it is then looked up, and one
        that nobody knows is taken to be the root of a thread, until it comes.
        """
        now = time.time()
        files = tuple(map(self._redact, item.files))
        text, reason = self._redact(item.text), self._redact(item.reason)
        safe = replace(item, text=text, files=files, reason=reason)
        stored: News | None = None

        def work(connection: Connection) -> News | None:
            nonlocal stored
            here = _located(connection, safe)
            hold(connection, here.thread)
            if not item.root_ts:
                here = _located(connection, safe)  # it may just have come by another process
                hold(connection, here.thread)
            if news := _store(connection, here, now):
                perform(connection, self._on_stored(news))
                stored = news  # and stays so if this is run again because no answer came
            return stored

        return await self._writer.run(work, item.thread)

    async def waiting(self, thread: str) -> Sequence[StoredItem]:
        """The thread's items that nobody has taken, by Slack's `ts`."""

        def work(connection: Connection) -> list[StoredItem]:
            query = select(inbox).where(inbox.c.thread == thread, inbox.c.taken_seq.is_(None))
            return [
                StoredItem(r.id, load(r.body), r.received_at, r.version)
                for r in connection.execute(query)
            ]

        found = await self._writer.run(work)
        return sorted(found, key=lambda stored: (float(stored.item.ts), stored.id))

    async def overheard(self, item: Item) -> bool:
        """Whether replies came to this thread, not long before it was the bot's."""

        def work(connection: Connection) -> bool:
            query = select(overheard.c.ts).where(_overheard_thread == item.thread).limit(1)
            return connection.execute(query).first() is not None

        return await self._writer.run(work)


def _located(connection: Connection, item: Item) -> Item:
    if item.root_ts:
        return item
    return replace(item, root_ts=_root_of(connection, item) or item.about)


def _store(connection: Connection, item: Item, now: float) -> News | None:
    busy = connection.scalar(_BUSY, {"thread": item.thread})
    if busy is None and not item.engages:
        if item.kind is Kind.STOP and not item.text:
            keep_early(connection, _row(item, now), now)
        else:
            _remember(connection, item, now)
        return None
    if item.kind is not Kind.DELETION and _was_deleted(connection, item, now):
        return None
    if item.kind is Kind.EDIT and _is_outdated(connection, item):
        return None
    if not add(connection, inbox, _row(item, now)) and not _complete(connection, item):
        return None
    if busy is None:
        begun = {"root_addressed": item.is_root, "busy": True, "engaged_at": now}
        add(connection, threads, {"thread": item.thread, **begun})
    else:
        change = {"busy": True} | (
            {"root_addressed": True} if item.engages and item.is_root else {}
        )
        connection.execute(update(threads).where(threads.c.thread == item.thread).values(change))
    ends = _adopt(connection, item) or item.kind in ENDING
    return News(item.thread, not busy, ends)


def _adopt(connection: Connection, item: Item) -> bool:
    """Take in what is about this reply and came before it."""
    if item.kind is not Kind.MESSAGE or item.is_root:
        return False
    return adopt(connection, item.thread, item.ts)


def _row(item: Item, now: float) -> dict[str, object]:
    return {
        "thread": item.thread,
        "kind": item.kind,
        "key": item.key,
        "event_id": item.event_id,
        "ts": item.ts,
        "body": dump(item),
        "received_at": now,
    }


def _root_of(connection: Connection, item: Item) -> str | None:
    """The root of the thread in which the message `item.about` stands, a person's or our own."""
    place = f"{item.team}:{item.channel}:"
    theirs = select(inbox.c.thread).where(inbox.c.key == f"{place}{item.about}:{Kind.MESSAGE}:")
    ours = select(deliveries.c.thread).where(
        deliveries.c.ts == item.about, deliveries.c.thread.startswith(place, autoescape=True)
    )
    thread = connection.scalar(theirs) or connection.scalar(ours)
    return thread.rpartition(":")[2] if thread else None


def _complete(connection: Connection, item: Item) -> bool:
    """Slack sends one message as several events; what each holds counts until it is taken.

    Who has read the item before cannot take it any more: its version has changed.
    """
    row = connection.execute(
        select(inbox.c.id, inbox.c.body).where(inbox.c.key == item.key, inbox.c.taken_seq.is_(None))
    ).first()
    if row is None:
        return False
    before = load(row.body)
    after = _fuller(before, item)
    if after == before:
        return False
    change = {"body": dump(after), "version": inbox.c.version + 1}
    connection.execute(update(inbox).where(inbox.c.id == row.id).values(change))
    return True


def _fuller(first: Item, second: Item) -> Item:
    """The first, with what the second holds more; either may know that it is for the bot."""
    more = second if len(second.text) > len(first.text) else first
    engages = (Addressing.MENTION, Addressing.DIRECT)
    found = [item.addressing for item in (first, second) if item.addressing in engages]
    return replace(
        first,
        text=more.text,
        addressing=found[0] if found else more.addressing,
        files=max(first.files, second.files, key=len),
    )


def _remember(connection: Connection, item: Item, now: float) -> None:
    """Of a message that is not for the bot: that it was there, or that it is gone."""
    if item.is_root and item.kind is not Kind.DELETION:
        return  # most of what is said in a channel: nothing is written, nothing goes to the disk
    connection.execute(_NO_MORE_OVERHEARD, {"oldest": now - OVERHEARD_SECONDS})
    connection.execute(_NO_MORE_DELETED, {"oldest": now - DELETED_SECONDS})
    row = {"channel": f"{item.team}:{item.channel}", "ts": item.ts, "at": now}
    if item.kind is Kind.DELETION:
        add(connection, deleted, row)
    elif item.kind in (Kind.MESSAGE, Kind.STOP):
        add(connection, overheard, row | {"thread_ts": item.root_ts})


def _was_deleted(connection: Connection, item: Item, now: float) -> bool:
    """Whether Slack sent the deletion of this message before the message."""
    this = (deleted.c.channel == f"{item.team}:{item.channel}") & (deleted.c.ts == item.ts)
    query = select(deleted.c.ts).where(this & (deleted.c.at >= now - DELETED_SECONDS))
    return connection.execute(query).first() is not None


def _is_outdated(connection: Connection, item: Item) -> bool:
    """Whether a later change of the same message came before this one, and may be taken."""
    same = (inbox.c.thread == item.thread) & (inbox.c.kind == Kind.EDIT) & (inbox.c.ts == item.ts)
    query = select(inbox.c.id).where(same & (inbox.c.key > item.key)).limit(1)
    return connection.execute(query).first() is not None
