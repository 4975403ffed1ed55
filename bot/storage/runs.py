"""Threads and their journals as a command reads them, beside the process that writes them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Engine, func, select

from bot.agent.entries import Entry
from bot.agent.records import load_all
from bot.storage.tables import journal, threads


@dataclass(frozen=True, slots=True)
class Written:
    """A journal with when each entry was written, in epoch seconds."""

    thread: str
    entries: Sequence[Entry]
    at: Sequence[float]
    busy: bool


class Runs:
    """Reads what has been done. Raises JournalUnreadable for a journal of another release."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def newest(self, limit: int) -> Sequence[str]:
        """The threads that were written last, newest first."""
        last = func.max(journal.c.at)
        query = select(journal.c.thread).group_by(journal.c.thread).order_by(last.desc())
        with self._engine.connect() as connection:
            return list(connection.scalars(query.limit(limit)))

    def read(self, thread: str) -> Written | None:
        """One thread; None if nothing was ever written there."""
        rows = select(journal.c.body, journal.c.at).where(journal.c.thread == thread)
        busy = select(threads.c.busy).where(threads.c.thread == thread)
        with self._engine.connect() as connection:
            found = connection.execute(rows.order_by(journal.c.seq)).all()
            if not found:
                return None
            entries = load_all([str(row.body) for row in found])
            times = [float(row.at) for row in found]
            return Written(thread, entries, times, bool(connection.scalar(busy)))
