"""Where each person's last refusal stands in the journals: what and why is read there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sqlalchemy import Connection, select

from bot.agent.entries import Answer, ApprovalAnswered, Decided, Entry
from bot.agent.records import load, load_all
from bot.policy import Verdict
from bot.storage.statements import put
from bot.storage.tables import journal, refusals
from bot.storage.writer import Writer

LOOKED_BACK = 60
"""Entries before an answer among which its question is looked for; they are a few apart."""


@dataclass(frozen=True, slots=True)
class StoredRefusal:
    """The thread, its entries up to the refused call's end, the decision's position, the time."""

    thread: str
    entries: tuple[Entry, ...]
    seq: int
    at: float


class Refusals:
    """Reads refusals; they are kept together with the journal's entries."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer

    async def last(self, team: str, user: str) -> StoredRefusal | None:
        """The last refusal of a person. Raises JournalUnreadable."""
        query = select(refusals).where(refusals.c.person == f"{team}:{user}")

        def work(connection: Connection) -> tuple[str, int, float, list[str]] | None:
            found = connection.execute(query).first()
            if found is None:
                return None
            bodies = connection.scalars(
                select(journal.c.body)
                .where(journal.c.thread == found.thread)
                .order_by(journal.c.seq)
            )
            return found.thread, found.seq, found.at, list(bodies)

        row = await self._writer.run(work)
        if row is None:
            return None
        thread, seq, at, bodies = row
        return StoredRefusal(thread, tuple(load_all(bodies)), seq, at)


def keep_refusals(connection: Connection, thread: str, seq: int, entry: Entry, now: float) -> None:
    """Note a refusal for everybody whose messages led to it."""
    for position, decided in _refused(connection, thread, seq, entry):
        team = thread.partition(":")[0]
        row = {"thread": thread, "seq": position, "at": now}
        for user in sorted(set(decided.heard)):
            put(connection, refusals, {"person": f"{team}:{user}"}, row)


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
