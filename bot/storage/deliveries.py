"""What was posted, and what was tried and is not known to stand there."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from sqlalchemy import ColumnElement, Connection, Select, delete, select, true, update

from bot import words
from bot.errors import Fenced
from bot.storage.early import adopt
from bot.storage.statements import hold, put
from bot.storage.tables import deliveries, threads
from bot.storage.writer import Writer


class State(StrEnum):
    """How far a delivery has come."""

    TRYING = "trying"
    OPEN = "open"
    """It stands there and still changes: somebody must bring it to its end."""
    POSTED = "posted"
    GIVEN_UP = "given_up"
    REFUSED = "refused"
    """Slack would not take it in this form: its pieces are sent as plain text."""


STANDING = frozenset({State.OPEN, State.POSTED})


@dataclass(frozen=True, slots=True)
class Delivery:
    """One message: the pieces of the thread's projection it shows; `tried_at` in epoch seconds."""

    key: str
    pieces: tuple[str, ...]
    state: State
    ts: str | None
    tried_at: float


class Deliveries:
    """The record of messages that must appear exactly once.

    With an `owner` only those of its own threads are begun: other processes share the database.
    """

    def __init__(self, writer: Writer, owner: str | None = None) -> None:
        self._writer, self._owner = writer, owner

    async def of(self, thread: str) -> Sequence[Delivery]:
        def work(connection: Connection) -> list[Delivery]:
            query = select(deliveries).where(deliveries.c.thread == thread)
            return [
                Delivery(r.key, tuple(json.loads(r.pieces)), State(r.state), r.ts, r.tried_at)
                for r in connection.execute(query)
            ]

        return await self._writer.run(work)

    async def settled(self, thread: str) -> int:
        """How many entries of the thread's journal stood in it when it last came to rest."""
        query = select(threads.c.settled).where(threads.c.thread == thread)

        def work(connection: Connection) -> int:
            return connection.scalar(query) or 0

        return await self._writer.run(work)

    async def begin(
        self, thread: str, key: str, pieces: Sequence[str], state: State = State.TRYING
    ) -> Delivery:
        """Written before the call is made: from here on its outcome may be unknown.

        Raises Fenced if the thread is another process's.
        """
        delivery = Delivery(key, tuple(pieces), state, None, time.time())
        row = {
            "thread": thread,
            "pieces": json.dumps(pieces),
            "state": state,
            "tried_at": delivery.tried_at,
        }

        ours = self._threads.where(threads.c.thread == thread)

        def work(connection: Connection) -> None:
            if self._owner is not None and connection.execute(ours).first() is None:
                raise Fenced(words.fenced(thread))
            put(connection, deliveries, {"key": key}, row)

        await self._writer.run(work, thread)
        return delivery

    async def end(self, key: str, state: State, ts: str | None = None) -> bool:
        """Record the outcome; that it does not stand there only of a thread of this process's.

        True if a stop had come before it was known that the message at this `ts` is one of the
        thread's: it is in the inbox now.
        """
        change = update(deliveries).where(deliveries.c.key == key)
        if state not in STANDING:
            change = change.where(self._ours())
        adopted = False

        def work(connection: Connection) -> bool:
            nonlocal adopted
            connection.execute(change.values(state=state, ts=ts))
            if state in STANDING and ts is not None and _adopt(connection, key, ts):
                adopted = True  # and stays so if this is run again because no answer came
            return adopted

        return await self._writer.run(work)

    async def forget(self, key: str) -> None:
        """It is certain that this delivery does not stand there: as if it had not been tried.

        Nothing changes if the thread is another process's, which may have posted it since.
        """
        gone = delete(deliveries).where(deliveries.c.key == key, self._ours())

        def work(connection: Connection) -> None:
            connection.execute(gone)

        await self._writer.run(work)

    @property
    def _threads(self) -> Select[tuple[str]]:
        return select(threads.c.thread).where(threads.c.owner == self._owner)

    def _ours(self) -> ColumnElement[bool]:
        return true() if self._owner is None else deliveries.c.thread.in_(self._threads)


def _adopt(connection: Connection, key: str, ts: str) -> bool:
    thread = connection.scalar(select(deliveries.c.thread).where(deliveries.c.key == key))
    if thread is None:
        return False
    hold(connection, thread)
    found = adopt(connection, thread, ts)
    if found:
        here = threads.c.thread == thread
        connection.execute(update(threads).where(here).values(busy=True))
    return found
