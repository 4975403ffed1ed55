"""The scheduler of one process among several on a PostgreSQL database.

A call from the queue says only that a thread may have work. Whoever gets it claims the thread, then
works as the embedded scheduler does until the thread's inbox is empty. The inbox and the journal
hold the work and the fence says who may write, so that a lost, late or doubled call costs time and
nothing else.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

from bot import words
from bot.errors import Fenced, StorageError
from bot.runs.local import RETRY_SECONDS, LocalRuns
from bot.runs.ports import Signals
from bot.runs.pulse import Pulse
from bot.runs.queue import Calls
from bot.storage.claims import Claim, Claims
from bot.storage.wakes import listen

log = logging.getLogger(__name__)

AGAIN_SECONDS = 0.2
"""After a lost race for a thread's journal, before its claim is looked at again."""


@dataclass(frozen=True, slots=True)
class Yard:
    """What the processes share, as one of them holds it."""

    claims: Claims
    address: str
    """The database's, with its password: for the connections that listen."""
    pulse: Pulse
    elsewhere: Callable[[str], bool]
    """Whether a thread is none of ours: a terminal's."""


class Presence:
    """Says that this process lives, and finds what dead ones have left, from `open` to `close`."""

    def __init__(self, yard: Yard, *, works: bool) -> None:
        self._yard, self._works = yard, works
        self._beaten_at = self._judges_from = 0.0
        self._tasks: list[asyncio.Task[None]] = []
        self._alone = False

    async def open(self) -> None:
        """Be there for the others. Raises StorageError."""
        await self._beat()
        pulse = self._yard.pulse
        self._tasks = [
            asyncio.create_task(_every(pulse.beat, self._beat), name="beat"),
            asyncio.create_task(_every(pulse.sweep, self._sweep), name="sweep"),
        ]

    async def close(self) -> None:
        """Be gone, and say so: others go on at once with what is left."""
        await _end(self._tasks)
        try:
            await self._yard.claims.leave()
        except StorageError as error:
            log.warning("%s", error)

    async def _beat(self) -> None:
        await self._yard.claims.beat(works=self._works)
        now, pulse = time.monotonic(), self._yard.pulse
        if now - self._beaten_at > 2 * pulse.beat:
            # Just begun, or the database was away: the others may not have had their turn yet.
            self._judges_from = now + 2 * pulse.beat
        self._beaten_at = now
        if not self._works:
            self._say_if_alone(await self._yard.claims.workers() == 0)

    def _say_if_alone(self, alone: bool) -> None:
        if alone and not self._alone:
            log.warning("%s", words.no_worker())
        elif self._alone and not alone:
            log.warning("%s", words.worker_there())
        self._alone = alone

    async def _sweep(self) -> None:
        if time.monotonic() < self._judges_from:
            return
        within = 2 * self._yard.pulse.beat
        for thread in await self._yard.claims.sweep(self._yard.elsewhere, within):
            log.info("a worker is called for the thread %s, at which nobody is", thread)


class IntakeRuns:
    """`bot.runs.ports.Scheduler` of a process that only takes events in: others do the work."""

    def __init__(self, yard: Yard) -> None:
        self._presence = Presence(yard, works=False)

    async def begin(self, left: Sequence[str]) -> None:
        await self._presence.open()

    def wake(self, thread: str, *, stop: bool = True) -> None:
        """Nothing: the call or the ring is in the transaction that stored the work."""

    async def close(self, grace: float = 0.0) -> None:
        await self._presence.close()


class ClusterRuns:
    """`bot.runs.ports.Scheduler` of a worker."""

    def __init__(
        self,
        work: Callable[[str, Signals], Awaitable[None]],
        yard: Yard,
        turns: int,
        prove: Callable[[], Awaitable[None]],
        retries: Sequence[float] = RETRY_SECONDS,
    ) -> None:
        """`turns`: so many threads are worked on at a time. `prove` raises TreadleError if this
        process must not work; the others know of it by then."""
        self._work, self._yard, self._prove = work, yard, prove
        self._local = LocalRuns(self._claimed, retries)
        self._presence = Presence(yard, works=True)
        self._calls = Calls(yard.address, self._local.attend, turns, yard.pulse.beat)
        self._ours: set[str] = set()
        self._marks: Mapping[str, tuple[int, int]] = {}
        self._tasks: list[asyncio.Task[None]] = []

    async def begin(self, left: Sequence[str]) -> None:
        await self._presence.open()
        await self._prove()
        ringing = listen(self._yard.address, lambda t, stop: self._local.nudge(t, stop=stop))
        self._tasks = [
            asyncio.create_task(self._calls.take(), name="calls"),
            asyncio.create_task(ringing, name="rings"),
            asyncio.create_task(_every(self._yard.pulse.look, self._look), name="look"),
        ]

    def wake(self, thread: str, *, stop: bool = True) -> None:
        self._local.nudge(thread, stop=stop)

    async def close(self, grace: float = 0.0) -> None:
        await asyncio.gather(_end(self._tasks), self._local.close(grace))
        await self._presence.close()

    async def _claimed(self, thread: str, signals: Signals) -> None:
        """Work on the thread for as long as it is ours and has work."""
        signals.arrived.clear()  # what comes from here on is a reason to look once more
        while (claim := await self._yard.claims.claim(thread)) is not Claim.OTHERS:
            signals.set()
            if claim is Claim.LEFT:
                log.warning("%s", words.taken_over(thread))
            self._ours.add(thread)
            try:
                await self._work(thread, signals)
                return
            except Fenced as error:
                log.warning("%s", error)
            finally:
                self._ours.discard(thread)
            await asyncio.sleep(AGAIN_SECONDS)
            signals.arrived.clear()

    async def _look(self) -> None:
        """What a ring should have told, and whether our threads are still ours."""
        ours = frozenset(self._ours)
        seen = await self._yard.claims.look(ours) if ours else ()
        before, self._marks = self._marks, {one.thread: one.mark for one in seen}
        for one in seen:
            if one.owner not in (None, self._yard.claims.owner):
                log.warning("%s", words.fenced(one.thread))
                self._local.drop(one.thread)
            elif one.mark != before.get(one.thread, (0, 0)):
                self._local.nudge(one.thread, stop=one.ending)


async def _every(seconds: float, work: Callable[[], Awaitable[None]]) -> None:
    """Do it again and again, whatever happens, until cancelled."""
    while True:
        await asyncio.sleep(seconds)
        try:
            await work()
        except StorageError as error:
            log.warning("%s", error)
        except Exception:
            log.exception("%s broke off; it is tried again", getattr(work, "__name__", "work"))


async def _end(tasks: list[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
