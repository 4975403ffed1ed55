"""Which signs of life a thread may show: written down, so that they go also after a `kill -9`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from bot.storage.deliveries import Deliveries, Delivery, State

PREFIX = "s"
"""Begins the key of a mark: no piece of a thread is called so."""


class Shown(Enum):
    """What was shown of the work in a thread."""

    NOTHING = "sign"
    SESSION = "agent session"
    STATUS = "assistant status"
    REACTION = "reaction"


@dataclass(frozen=True, slots=True)
class Mark:
    """A sign that may be there; a REACTION is on the message `question`.

    `paid` says that the slot of the call that takes it away has been taken.
    """

    shown: Shown
    question: str
    paid: bool = False

    @property
    def key(self) -> str:
        """Its own in the thread."""
        return f"{PREFIX}{self.question or self.shown.name}"


class Marks:
    """The signs of one thread that may be there, also those of a process that was killed."""

    def __init__(self, deliveries: Deliveries, thread: str, earlier: Sequence[Delivery]) -> None:
        self._deliveries, self._thread = deliveries, thread
        _, self.channel, self.root_ts = thread.split(":", 2)
        left = [Mark(Shown[d.pieces[1]], d.pieces[2]) for d in earlier if is_mark(d)]
        self._marks = {mark.key: mark for mark in left}

    def first(self) -> Mark | None:
        """One that is to be taken away."""
        return next(iter(self._marks.values()), None)

    async def put(self, mark: Mark) -> bool:
        """Written down before it is shown; False if it has been already.

        Raises Fenced if the thread is another process's.
        """
        known = mark.key in self._marks
        if not known:
            key, pieces = self._row(mark), (mark.key, mark.shown.name, mark.question)
            await self._deliveries.begin(self._thread, key, pieces, State.OPEN)
        self._marks[mark.key] = mark
        return not known

    def unpaid(self, mark: Mark) -> None:
        """It was tried to take the sign away; the next try takes a slot of its own."""
        self._marks[mark.key] = Mark(mark.shown, mark.question)

    async def drop(self, mark: Mark) -> None:
        """It is gone."""
        await self._deliveries.forget(self._row(mark))
        self._marks.pop(mark.key, None)

    def _row(self, mark: Mark) -> str:
        return f"{self._thread}#{mark.key}"


def is_mark(delivery: Delivery) -> bool:
    """Whether this is a sign of life, and no message."""
    return delivery.pieces[0].startswith(PREFIX)
