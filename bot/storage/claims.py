"""Which process works on which thread, on a database that several share.

A process lives while it has said so within `stall` seconds by the database's clock. A thread is its
owner's for as long as that one lives; the journal's fence holds whatever happens.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from enum import Enum

from sqlalchemy import (
    ColumnElement,
    Connection,
    Float,
    Subquery,
    cast,
    delete,
    exists,
    extract,
    func,
    select,
    text,
    update,
)

from bot.storage.items import ENDING
from bot.storage.statements import hold, perform, put
from bot.storage.tables import inbox, leases, pacing, processes, threads
from bot.storage.wakes import call
from bot.storage.writer import Writer

NOW = cast(extract("epoch", func.clock_timestamp()), Float)
"""Epoch seconds by the database's clock, which all processes share."""
FORGOTTEN_SECONDS = 3600.0
"""After that nothing of a dead process or an unused lane is worth keeping."""
_ASKED = """
SELECT job.args->>'thread' AS thread FROM procrastinate_jobs job
LEFT JOIN procrastinate_workers worker ON worker.id = job.worker_id
WHERE job.status = 'todo' OR (job.status = 'doing'
  AND worker.last_heartbeat > now() - make_interval(secs => :stall))
"""
"""The threads that a worker has been or will be woken for."""
_REAP = text("""
DELETE FROM procrastinate_jobs WHERE status <> 'todo' AND (worker_id IS NULL OR worker_id IN
  (SELECT id FROM procrastinate_workers
   WHERE last_heartbeat < now() - make_interval(secs => :forgotten)))
""")
"""Calls that a worker took with it when it died: they wake nobody and hold nobody up, so that
there is time for one that was only frozen to end its own."""


class Claim(Enum):
    """What came of claiming a thread."""

    OTHERS = "others"
    """Another process has it, or there is nothing to do in it."""
    OURS = "ours"
    LEFT = "left"
    """Ours now, and another process had it and is gone."""


@dataclass(frozen=True, slots=True)
class Seen:
    """A thread as it stands: whose it is, and what waits in its inbox."""

    thread: str
    owner: str | None
    mark: tuple[int, int]
    """Grows when an item comes or is completed."""
    ending: bool
    """Whether something that waits may end what is going on."""


class Claims:
    """One process among others. `owner` is its name, as in the journal."""

    def __init__(self, writer: Writer, owner: str, stall: float) -> None:
        self.owner = owner
        self._writer, self._stall = writer, stall

    async def beat(self, *, works: bool) -> None:
        """This process lives, and works on threads or only takes events in."""

        def work(connection: Connection) -> None:
            alive = {"works": works, "beat_at": NOW}
            put(connection, processes, {"owner": self.owner}, alive)

        await self._writer.run(work)

    async def leave(self) -> None:
        """This process is about to end: others are woken for the threads that it leaves behind."""

        def work(connection: Connection) -> None:
            mine = threads.c.owner == self.owner
            left = connection.scalars(select(threads.c.thread).where(mine & threads.c.busy)).all()
            connection.execute(delete(processes).where(processes.c.owner == self.owner))
            perform(connection, [call(thread) for thread in sorted(left)])

        await self._writer.run(work)

    async def claim(self, thread: str) -> Claim:
        """Make the thread this process's, if it has work and nobody who lives has it."""

        def work(connection: Connection) -> Claim:
            hold(connection, thread)
            query = select(threads.c.owner, threads.c.busy, self._lives(threads.c.owner))
            found = connection.execute(query.where(threads.c.thread == thread)).first()
            if found is None or not found.busy:
                return Claim.OTHERS
            if found.owner == self.owner:
                return Claim.OURS
            if found[2]:
                return Claim.OTHERS
            mine = update(threads).where(threads.c.thread == thread).values(owner=self.owner)
            connection.execute(mine)
            return Claim.OURS if found.owner is None else Claim.LEFT

        return await self._writer.run(work, thread)

    async def look(self, wanted: Collection[str]) -> Sequence[Seen]:
        """These threads, as they stand now."""
        waiting = (inbox.c.thread == threads.c.thread) & inbox.c.taken_seq.is_(None)
        query = (
            select(
                threads.c.thread,
                threads.c.owner,
                func.coalesce(func.max(inbox.c.id), 0),
                func.coalesce(func.sum(inbox.c.version), 0),
                func.coalesce(func.bool_or(inbox.c.kind.in_(ENDING)), False),
            )
            .outerjoin_from(threads, inbox, waiting)
            .where(threads.c.thread.in_(wanted))
            .group_by(threads.c.thread)
        )

        def work(connection: Connection) -> list[Seen]:
            return [
                Seen(thread, owner, (newest, versions), ending)
                for thread, owner, newest, versions, ending in connection.execute(query)
            ]

        return await self._writer.run(work)

    async def sweep(self, skip: Callable[[str], bool], within: float) -> Sequence[str]:
        """Have somebody woken for each thread that has work and that nobody is at.

        What is left of processes that are gone is removed. Several processes may do so at once.
        Nothing is done if that takes longer to begin than `within` seconds: the database was away,
        and who lives could not say so either.
        """
        deadline = time.monotonic() + within
        asked = self._asked()
        found = select(threads.c.thread).where(
            threads.c.busy,
            ~self._lives(threads.c.owner),
            threads.c.thread.not_in(select(asked.c.thread)),
        )

        def work(connection: Connection) -> list[str]:
            if time.monotonic() > deadline:
                return []
            hold(connection, "sweep")
            connection.execute(_REAP, {"forgotten": FORGOTTEN_SECONDS})
            left = [t for t in sorted(connection.scalars(found)) if not skip(t)]
            perform(connection, [call(thread) for thread in left])
            old = NOW - FORGOTTEN_SECONDS
            connection.execute(delete(processes).where(processes.c.beat_at < old))
            connection.execute(delete(pacing).where(pacing.c.free_at < old))
            connection.execute(delete(leases).where(~self._lives(leases.c.owner)))
            return left

        return await self._writer.run(work)

    async def workers(self) -> int:
        """How many processes that work on threads live; this one counts too."""

        def work(connection: Connection) -> int:
            working = processes.c.works & (processes.c.beat_at > NOW - self._stall)
            query = select(func.count()).select_from(processes).where(working)
            return connection.scalar(query) or 0

        return await self._writer.run(work)

    def _lives(self, owner: ColumnElement[str]) -> ColumnElement[bool]:
        return lives(owner, self._stall)

    def _asked(self) -> Subquery:
        return text(_ASKED).bindparams(stall=self._stall).columns(threads.c.thread).subquery()


def lives(owner: ColumnElement[str], stall: float) -> ColumnElement[bool]:
    """Whether a process of this name has said within so many seconds that it lives."""
    return exists().where(processes.c.owner == owner, processes.c.beat_at > NOW - stall)
