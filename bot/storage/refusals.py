"""Where refusals and people's answers stand in the journals: what and why is read there.

Both are noted in the transaction that appends the entry, so neither can be missing or made up.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Select, delete, insert, select

from bot.agent.entries import Answer, ApprovalAnswered, Decided, Entry
from bot.agent.records import load, load_all
from bot.policy import Verdict
from bot.storage.tables import answers, journal, refusals
from bot.storage.writer import Writer

LOOKED_BACK = 60
"""Entries before an answer among which its question is looked for; they are a few apart."""
ANSWERS_KEPT = 30 * 24 * 3600.0
"""Seconds; the journals keep them longer."""


@dataclass(frozen=True, slots=True)
class Noted:
    """The thread's entries, the position of a decision or answer in them, and its time."""

    thread: str
    entries: tuple[Entry, ...]
    seq: int
    at: float


class Refusals:
    """Reads what was noted. Raises JournalUnreadable for a thread of a newer release."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer

    async def last(self, team: str, user: str) -> Noted | None:
        """The decision of a person's last refusal."""
        query = select(refusals).where(refusals.c.person == f"{team}:{user}")
        found = await self._writer.run(lambda connection: _read(connection, query))
        return _noted(found[0]) if found else None

    async def answered(self, count: int) -> Sequence[Noted]:
        """The last answers to questions, newest first; each up to its own entry."""
        query = select(answers).order_by(answers.c.at.desc()).limit(count)
        found = await self._writer.run(lambda connection: _read(connection, query, LOOKED_BACK))
        return [_noted(row) for row in found]


_Row = tuple[str, int, float, list[str]]


def _read(connection: Connection, query: Select[Any], before: int | None = None) -> list[_Row]:
    """The rows with their threads' entries; `before`: only so many, up to the row's own."""
    found: list[_Row] = []
    for row in connection.execute(query).all():
        entries = select(journal.c.body).where(journal.c.thread == row.thread)
        start = 0
        if before is not None:
            start = max(0, row.seq - before)
            entries = entries.where(journal.c.seq.between(start, row.seq))
        bodies = list(connection.scalars(entries.order_by(journal.c.seq)))
        found.append((row.thread, row.seq - start, row.at, bodies))
    return found


def _noted(row: _Row) -> Noted:
    thread, seq, at, bodies = row
    return Noted(thread, tuple(load_all(bodies)), seq, at)


def note(connection: Connection, thread: str, seq: int, entry: Entry, now: float) -> None:
    """Note a refusal for everybody whose messages led to it, and a person's answer."""
    for position, decided in _refused(connection, thread, seq, entry):
        team = thread.partition(":")[0]
        people = [f"{team}:{user}" for user in decided.heard]
        if people:
            connection.execute(delete(refusals).where(refusals.c.person.in_(people)))
            rows = [{"person": p, "thread": thread, "seq": position, "at": now} for p in people]
            connection.execute(insert(refusals), rows)
    if isinstance(entry, ApprovalAnswered):
        own = (answers.c.thread == thread) & (answers.c.seq == seq)
        connection.execute(delete(answers).where(own | (answers.c.at < now - ANSWERS_KEPT)))
        connection.execute(insert(answers).values(thread=thread, seq=seq, at=now))


def _refused(
    connection: Connection, thread: str, seq: int, entry: Entry
) -> Iterator[tuple[int, Decided]]:
    match entry:
        case Decided(verdict=Verdict.DENY):
            yield seq, entry
        case ApprovalAnswered(call_id=call_id, answer=answer) if answer is not Answer.ALLOWED:
            query = select(journal.c.seq, journal.c.body).where(
                (journal.c.thread == thread) & (journal.c.seq < seq)
            )
            rows = connection.execute(query.order_by(journal.c.seq.desc()).limit(LOOKED_BACK))
            for position, body in rows:
                earlier = load(body)
                if isinstance(earlier, Decided) and earlier.call_id == call_id:
                    yield position, earlier
                    return
        case _:
            return
