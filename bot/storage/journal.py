"""Threads and their journals. `PRIMARY KEY (thread, seq)` is the fence: who loses it stops."""

from __future__ import annotations

import itertools
import os
import time
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, bindparam, delete, func, select, update
from sqlalchemy.dialects.sqlite import insert

from bot import words
from bot.agent.charges import charges
from bot.agent.entries import (
    Answered,
    ApprovalAsked,
    Entry,
    Failed,
    Observation,
    Stopped,
    ToolStarted,
)
from bot.agent.records import dump, load, load_all
from bot.audit.derived import Taken, records
from bot.errors import Fenced, ItemChanged
from bot.storage.audit import Audit
from bot.storage.inbox import Kind, StoredItem
from bot.storage.refusals import note
from bot.storage.tables import approvals, inbox, journal, threads
from bot.storage.usage import Ledger
from bot.storage.writer import Writer

_INSERT = insert(journal).on_conflict_do_nothing()
_TAKE = (
    update(inbox)
    .where((inbox.c.id == bindparam("item")) & (inbox.c.version == bindparam("as_read")))
    .values(taken_seq=bindparam("seq"), body="")
)


@dataclass(frozen=True, slots=True)
class StoredThread:
    """A thread as it was last written; its journal has `len(entries)` entries."""

    thread: str
    entries: tuple[Entry, ...]
    root_addressed: bool


@dataclass(frozen=True, slots=True)
class Question:
    """A question that nobody has answered, at a journal position; times are epoch seconds."""

    thread: str
    seq: int
    expires_at: float


class Journals:
    """Reads and appends the journals of all threads."""

    def __init__(
        self,
        writer: Writer,
        owner: str | None = None,
        redact: Callable[[str], str] = str,
        audit: Audit | None = None,
        ledger: Ledger | None = None,
    ) -> None:
        self._writer, self._ledger = writer, ledger or Ledger(writer)
        self._redact = redact
        self._audit = audit
        self.owner = owner or new_owner()
        self._appends = itertools.count()

    async def read(self, thread: str) -> StoredThread:
        """Raises JournalUnreadable for an entry that this release does not know."""

        def work(connection: Connection) -> tuple[list[str], bool]:
            bodies = connection.scalars(
                select(journal.c.body).where(journal.c.thread == thread).order_by(journal.c.seq)
            )
            addressed = connection.scalar(
                select(threads.c.root_addressed).where(threads.c.thread == thread)
            )
            return list(bodies), bool(addressed)

        bodies, addressed = await self._writer.run(work)
        return StoredThread(thread, tuple(load_all(bodies)), addressed)

    async def root_addressed(self, thread: str) -> bool:
        """Whether the thread's first message was for the bot; also where no entry can be read."""

        def work(connection: Connection) -> bool:
            query = select(threads.c.root_addressed).where(threads.c.thread == thread)
            return bool(connection.scalar(query))

        return await self._writer.run(work)

    async def append(
        self,
        thread: str,
        expected_seq: int,
        entries: Sequence[Entry],
        taken: Sequence[StoredItem] = (),
        before: Sequence[Entry] = (),
    ) -> tuple[Entry, ...]:
        """Write `entries` from position `expected_seq` on and mark inbox items taken: all or none.

        `before` are the entries in front of that position: the audit trail and the ledger, which
        are written in the same transaction, need them to say what the new ones are about. Durable
        on return. Returns the entries as they were written: without any secret. Raises Fenced if
        that position is somebody else's, and ItemChanged if an item was completed after it was
        read.
        """
        token = f"{self.owner}-{next(self._appends)}"
        now = time.time()
        written = [self._redacted(entry) for entry in entries]
        rows = [
            {"thread": thread, "seq": seq, "body": body, "token": token, "at": now}
            for seq, (_, body) in enumerate(written, expected_seq)
        ]
        marks = [{"item": i.id, "as_read": i.version, "seq": expected_seq} for i in taken]
        new_entries = [entry for entry, _ in written]
        done = records(thread, before, new_entries, _caused(taken))
        charged = charges(before, new_entries)

        def work(connection: Connection) -> None:
            new = True
            for seq, row in enumerate(rows, expected_seq):
                if not connection.execute(_INSERT, row).rowcount:
                    new = _check_own(connection, thread, seq, token)
            if new:
                self._ledger.record(connection, thread, charged)
            if new and self._audit is not None:
                self._audit.add(connection, *done)
            for seq, (entry, _) in enumerate(written, expected_seq):
                _keep_questions(connection, thread, seq, entry)
                note(connection, thread, seq, entry, now)
            for mark in marks:
                if not connection.execute(_TAKE, mark).rowcount:
                    raise ItemChanged(words.item_changed(thread))

        await self._writer.run(work)
        return tuple(entry for entry, _ in written)

    def _redacted(self, entry: Entry) -> tuple[Entry, str]:
        body = dump(entry)
        safe = self._redact(body)
        return (entry, body) if safe == body else (load(safe), safe)

    async def finish(self, thread: str, left: Sequence[int] = ()) -> bool:
        """Mark the thread as having no work left; False if something has arrived meanwhile.

        The items `left` in the inbox wait for something else that is still to come.
        """

        def work(connection: Connection) -> bool:
            waiting = connection.scalar(
                select(func.count())
                .select_from(inbox)
                .where(inbox.c.thread == thread, inbox.c.taken_seq.is_(None))
                .where(inbox.c.id.not_in(left))
            )
            if not waiting:
                connection.execute(
                    update(threads).where(threads.c.thread == thread).values(busy=False)
                )
            return not waiting

        return await self._writer.run(work)

    async def overdue(self, now: float) -> Sequence[Question]:
        """The open questions whose time is over; `now` is in epoch seconds."""

        def work(connection: Connection) -> list[Question]:
            query = select(approvals).where(approvals.c.expires_at <= now)
            return [Question(r.thread, r.seq, r.expires_at) for r in connection.execute(query)]

        return await self._writer.run(work)

    async def unfinished(self) -> Sequence[str]:
        """The threads that have work left, longest waiting first."""

        def work(connection: Connection) -> list[str]:
            query = select(threads.c.thread).where(threads.c.busy).order_by(threads.c.engaged_at)
            return list(connection.scalars(query))

        return await self._writer.run(work)


def _keep_questions(connection: Connection, thread: str, seq: int, entry: Entry) -> None:
    """The sweep's table: which threads wait for answers, and until when."""
    match entry:
        case ApprovalAsked(expires_at=expires_at):
            row = {"thread": thread, "seq": seq, "expires_at": expires_at}
            statement = insert(approvals).values(row)
            connection.execute(statement.on_conflict_do_update(index_elements=["thread"], set_=row))
        case ToolStarted() | Observation() | Answered() | Failed() | Stopped():
            # Not sooner: the last of several questions may be open still.
            connection.execute(delete(approvals).where(approvals.c.thread == thread))
        case _:
            pass


def _check_own(connection: Connection, thread: str, seq: int, token: str) -> bool:
    """A collision with our own row is a repeated work (False); anybody else's is the fence."""
    found = connection.scalar(
        select(journal.c.token).where(journal.c.thread == thread, journal.c.seq == seq)
    )
    if found != token:
        raise Fenced(words.fenced(thread))
    return False


def new_owner() -> str:
    """A name for this process that no other one has: its number, and by chance."""
    return f"{os.getpid()}-{uuid.uuid4().hex[:8]}"


def _caused(taken: Sequence[StoredItem]) -> list[Taken]:
    """The items whose effect, or that they had none, the audit trail holds."""
    acts = (Kind.MESSAGE, Kind.CLICK, Kind.STOP)
    items = [stored.item for stored in taken if stored.item.kind in acts]
    return [Taken(item.kind.value, item.author, item.ts) for item in items]
