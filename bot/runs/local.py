"""The embedded scheduler: one asyncio task for each busy thread, all in this process."""

from __future__ import annotations

import asyncio
import itertools
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from bot.errors import Fenced, Leaving, TreadleError
from bot.runs.ports import Signals

log = logging.getLogger(__name__)

GRACE_SECONDS = 8.0
"""How long a step may go on after SIGTERM: all is to be over within ten seconds, after which Docker
kills unless told otherwise."""
RETRY_SECONDS = (1.0, 5.0, 30.0)
"""Waits before a thread whose work broke is tried again; the last one repeats."""


@dataclass(slots=True)
class _Busy:
    task: asyncio.Task[None] | None = None
    signals: Signals = field(default_factory=Signals)


class LocalRuns:
    """Wakes threads. Must be used from one event loop. `retries` are waits in seconds."""

    def __init__(
        self,
        work: Callable[[str, Signals], Awaitable[None]],
        retries: Sequence[float] = RETRY_SECONDS,
    ) -> None:
        self._work, self._retries = work, retries
        self._busy: dict[str, _Busy] = {}
        self._closing = False

    def wake(self, thread: str, *, stop: bool = True) -> None:
        """The thread may have work: start on it, or tell its runner to look again.

        `stop` says that what has come may end what is going on.
        """
        if self._closing:
            return  # it is stored and marked busy: the next start picks it up
        busy = self._busy.get(thread)
        if busy is None:
            stop = True
            busy = self._busy[thread] = _Busy()
            busy.task = asyncio.create_task(self._run(thread, busy), name=f"thread {thread}")
        busy.signals.set(stop=stop)

    def nudge(self, thread: str, *, stop: bool) -> None:
        """Tell the thread's runner to look again, if it is here."""
        if (busy := self._busy.get(thread)) is not None:
            busy.signals.set(stop=stop)

    async def attend(self, thread: str) -> None:
        """Wake the thread, and return when nobody is at it here any more.

        Who is cancelled no longer waits; the work goes on.
        """
        self.wake(thread)
        while (busy := self._busy.get(thread)) is not None and busy.task is not None:
            await asyncio.wait([busy.task])

    def drop(self, thread: str) -> None:
        """Cancel the thread's runner, if it is here."""
        if (busy := self._busy.get(thread)) is not None and busy.task is not None:
            busy.task.cancel()

    def wake_all(self, threads: Sequence[str]) -> None:
        """Pick up what an earlier process left unfinished."""
        for thread in threads:
            self.wake(thread)

    async def begin(self, left: Sequence[str]) -> None:
        self.wake_all(left)

    async def idle(self) -> None:
        """Return when no thread is busy."""
        while tasks := [busy.task for busy in self._busy.values() if busy.task is not None]:
            await asyncio.wait(tasks)

    async def close(self, grace: float = 0.0) -> None:
        """End what runs. Each thread's journal is whole; the next start goes on from it.

        A step that is going on may come to its end within `grace` seconds, then it is cancelled.
        """
        self._closing = True
        for busy in self._busy.values():
            busy.signals.leaving.set()
        tasks = [busy.task for busy in self._busy.values() if busy.task is not None]
        if tasks and grace:
            await asyncio.wait(tasks, timeout=grace)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _run(self, thread: str, busy: _Busy) -> None:
        try:
            await self._persist(thread, busy)
        finally:
            del self._busy[thread]
        if busy.signals.arrived.is_set():
            self.wake(thread)

    async def _persist(self, thread: str, busy: _Busy) -> None:
        for wait in itertools.chain(self._retries, itertools.repeat(self._retries[-1])):
            try:
                await self._work(thread, busy.signals)
                return
            except Fenced as error:
                log.warning("%s", error)
                return
            except Leaving as error:
                log.info("%s", error)
                return
            except TreadleError as error:
                log.error("work on thread %s is tried again in %g s: %s", thread, wait, error)
            except Exception:
                log.exception("work on thread %s broke off", thread)
            if await _came(busy.signals.leaving, wait):
                return
            busy.signals.set()


async def _came(event: asyncio.Event, seconds: float) -> bool:
    """Wait for so long; True as soon as the event has come."""
    try:
        await asyncio.wait_for(event.wait(), seconds)
    except TimeoutError:
        return False
    return True
