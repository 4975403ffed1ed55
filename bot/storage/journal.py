"""Threads and their journals. `PRIMARY KEY (thread, seq)` is the fence: who loses it stops."""

from __future__ import annotations

import itertools
import os
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, bindparam, func, select, update

from bot import words
from bot.agent.charges import Charge, charges
from bot.agent.entries import Entry
from bot.agent.records import dump, load, load_all
from bot.audit.derived import Taken, records
from bot.audit.records import Record
from bot.errors import Fenced, ItemChanged
from bot.storage import questions
from bot.storage.audit import Audit
from bot.storage.items import Kind, StoredItem
from bot.storage.refusals import note
from bot.storage.statements import Row, add_all, hold
from bot.storage.tables import inbox, journal, threads
from bot.storage.usage import Ledger
from bot.storage.writer import Writer

_TAKE = (
    update(inbox)
    .where((inbox.c.id == bindparam("item")) & (inbox.c.version == bindparam("as_read")))
    .values(taken_seq=bindparam("seq"), body="")
)

LATE_SECONDS = 5.0
"""A write that took longer may be of a process that was frozen; the others give it 20."""


@dataclass(frozen=True, slots=True)
class StoredThread:
    """A thread as it was last written; its journal has `len(entries)` entries."""

    thread: str
    entries: tuple[Entry, ...]
    root_addressed: bool


class Journals:
    """Reads and appends the journals of all threads."""

    def __init__(
        self,
        writer: Writer,
        owner: str | None = None,
        redact: Callable[[str], str] = str,
        audit: Audit | None = None,
        ledger: Ledger | None = None,
        *,
        shared: bool = False,
        late: float = LATE_SECONDS,
    ) -> None:
        """`shared`: other processes have threads too, and each must be claimed before."""
        self._writer, self._ledger = writer, ledger or Ledger(writer)
        self._late = late
        self._redact = redact
        self._audit = audit
        self._shared = shared
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
        that position is somebody else's, or the thread from whose inbox items are taken, and
        ItemChanged if an item was completed after it was read.
        """
        token = f"{self.owner}-{next(self._appends)}"
        now = time.time()
        written = [self._redacted(entry) for entry in entries]
        rows = [
            {"thread": thread, "seq": seq, "body": body, "token": token, "at": now}
            for seq, (_, body) in enumerate(written, expected_seq)
        ]
        safe = tuple(entry for entry, _ in written)
        done = records(thread, before, safe, _caused(taken))
        append = _Append(thread, expected_seq, safe, rows, taken, done, charges(before, safe), now)
        began = time.monotonic()
        await self._writer.run_together(self._append_all, append, thread)
        if time.monotonic() - began > self._late:
            await self._check_last(thread, expected_seq + len(rows))
        return safe

    async def _check_last(self, thread: str, length: int) -> None:
        """What follows from an entry, a tool's run say, must not follow from one grown old."""

        def work(connection: Connection) -> int:
            query = select(func.count()).where(journal.c.thread == thread)
            return connection.scalar(query) or 0

        if await self._writer.run(work) > length:
            raise Fenced(words.fenced(thread))

    def _append_all(self, connection: Connection, appends: Sequence[_Append]) -> list[None]:
        """Those of many threads together. If it raises, each comes alone."""
        for append in appends:
            if append.taken:
                hold(connection, append.thread)
                self._unless_lost(connection, append.thread)
        rows = [row for append in appends for row in append.rows]
        new = add_all(connection, journal, rows)
        if not new:
            _check_own(connection, rows)
            if len(appends) > 1:
                raise _SomeAreWritten
        if new:
            self._ledger.record(connection, _by_thread(appends))
        if new and self._audit is not None:
            self._audit.add(connection, *(record for a in appends for record in a.done))
        for append in appends:
            _keep_beside(connection, append)
        return [None] * len(appends)

    def _unless_lost(self, connection: Connection, thread: str) -> None:
        """Raises Fenced if the thread is another process's, which may have read its journal by now
        and would not hear of what is taken from its inbox. Its name must be held."""
        owner = select(threads.c.owner).where(threads.c.thread == thread)
        if self._shared and connection.scalar(owner) != self.owner:
            raise Fenced(words.fenced(thread))

    def safe(self, entry: Entry) -> Entry:
        """The entry as `append` writes it: without any secret."""
        return self._redacted(entry)[0]

    def _redacted(self, entry: Entry) -> tuple[Entry, str]:
        body = dump(entry)
        safe = self._redact(body)
        return (entry, body) if safe == body else (load(safe), safe)

    async def finish(self, thread: str, settled: int, left: Sequence[int] = ()) -> bool:
        """Mark the thread as having no work left; False if something has arrived meanwhile.

        So many entries, all there are, stand in the thread. The items `left` in the inbox wait for
        something else that is still to come. Raises Fenced if the thread is another process's.
        """

        def work(connection: Connection) -> bool:
            hold(connection, thread)
            waiting = connection.scalar(
                select(func.count())
                .select_from(inbox)
                .where(inbox.c.thread == thread, inbox.c.taken_seq.is_(None))
                .where(inbox.c.id.not_in(left))
            )
            if not waiting:
                done = update(threads).where(threads.c.thread == thread)
                if self._shared:
                    done = done.where(threads.c.owner == self.owner)
                rest = {"busy": False, "owner": None, "settled": settled}
                found = connection.execute(done.values(rest)).rowcount
                if self._shared and not found:
                    raise Fenced(words.fenced(thread))
            return not waiting

        return await self._writer.run(work, thread)

    async def overdue(self, now: float) -> Sequence[questions.Question]:
        """The open questions whose time is over; `now` is in epoch seconds."""
        return await self._writer.run(lambda connection: questions.overdue(connection, now))

    async def unfinished(self) -> Sequence[str]:
        """The threads that have work left, longest waiting first."""

        def work(connection: Connection) -> list[str]:
            query = select(threads.c.thread).where(threads.c.busy).order_by(threads.c.engaged_at)
            return list(connection.scalars(query))

        return await self._writer.run(work)


@dataclass(frozen=True, slots=True)
class _Append:
    thread: str
    seq: int
    entries: tuple[Entry, ...]
    rows: Sequence[Row]
    taken: Sequence[StoredItem]
    done: Sequence[Record]
    charged: Sequence[Charge]
    at: float


def _by_thread(appends: Sequence[_Append]) -> Mapping[str, Sequence[Charge]]:
    found: dict[str, list[Charge]] = {}
    for append in appends:
        found.setdefault(append.thread, []).extend(append.charged)
    return found


class _SomeAreWritten(Exception):
    """Of some appends no answer came, and they are run again: which ones shows each alone."""


def _keep_beside(connection: Connection, append: _Append) -> None:
    """What others look for in tables of its own, and the items that the entries answer."""
    for seq, entry in enumerate(append.entries, append.seq):
        questions.note(connection, append.thread, seq, entry)
        note(connection, append.thread, seq, entry, append.at)
    for item in append.taken:
        mark = {"item": item.id, "as_read": item.version, "seq": append.seq}
        if not connection.execute(_TAKE, mark).rowcount:
            raise ItemChanged(words.item_changed(append.thread))


def new_owner() -> str:
    """A name for this process that no other one has: its number, and by chance."""
    return f"{os.getpid()}-{uuid.uuid4().hex[:8]}"


def _caused(taken: Sequence[StoredItem]) -> list[Taken]:
    """The items whose effect, or that they had none, the audit trail holds."""
    acts = (Kind.MESSAGE, Kind.CLICK, Kind.STOP)
    items = [stored.item for stored in taken if stored.item.kind in acts]
    return [Taken(item.kind.value, item.author, item.ts) for item in items]


def _check_own(connection: Connection, rows: Sequence[Row]) -> None:
    """A collision with our own row is a repeated work; anybody else's is the fence."""
    for row in rows:
        here = (journal.c.thread == row["thread"]) & (journal.c.seq == row["seq"])
        if connection.scalar(select(journal.c.token).where(here)) != row["token"]:
            raise Fenced(words.fenced(str(row["thread"])))
