"""One thread's sign of life, from the beginning of its work to the end."""

from __future__ import annotations

import asyncio
import logging
import time
from contextlib import suppress

from bot.errors import StorageError
from bot.slack.marks import Mark, Marks, Shown
from bot.slack.signs import Signs

log = logging.getLogger(__name__)

FIRST_SECONDS = 0.7
"""A turn that posts something sooner needs no other sign."""
RENEW_SECONDS = 90.0
LEAVE_SECONDS = 3.0


class Sign:
    """Shows that somebody is at work in a thread. Must be used from one event loop."""

    def __init__(self, signs: Signs, marks: Marks) -> None:
        self._signs, self._marks = signs, marks
        self._shown = Shown.NOTHING
        self._spoke_at = self._showed_at = 0.0
        self._task: asyncio.Task[None] | None = None
        self._ending = asyncio.Event()

    def begin(self, question: str) -> None:
        """Work on the message `question` begins: show it soon unless something is posted."""
        if self._task is None or self._ending.is_set():
            before, self._ending, self._spoke_at = self._task, asyncio.Event(), 0.0
            self._task = asyncio.create_task(self._keep(question, self._ending, before))

    def spoke(self, since: float) -> None:
        """A message was posted: it is a sign itself, and Slack takes the status away.

        Slack was asked at the time `since` (monotonic seconds): what was shown after that may have
        been shown after the message, whenever Slack answered.
        """
        self._spoke_at = since

    @property
    def in_session(self) -> bool:
        """Whether an agent session shows that work goes on."""
        return self._shown is Shown.SESSION

    async def end(self, arrived: asyncio.Event | None = None) -> None:
        """Return when nothing shows any longer that work goes on, however long Slack takes.

        Or when something has arrived: what is left is taken away at the next end, which may be
        another process's. The same goes for who is cancelled here.
        """
        if self._task is not None:
            self._ending.set()
            await asyncio.wait({self._task})  # it may just be showing something
            self._task = None
        self._shown = Shown.NOTHING
        while (mark := self._marks.first()) is not None:
            if self._is_cleared(mark) or await self._hidden(mark, arrived):
                await self._marks.drop(mark)
            elif arrived is not None and arrived.is_set():
                return

    async def leave(self) -> None:
        """Take the sign away before the process ends, if Slack does so soon; else the next does."""
        with suppress(TimeoutError, StorageError):
            async with asyncio.timeout(LEAVE_SECONDS):
                await self.end()

    def _is_cleared(self, mark: Mark) -> bool:
        """Whether a message of ours has taken it away."""
        return mark.shown is Shown.STATUS and self._spoke_at > self._showed_at

    async def _hidden(self, mark: Mark, arrived: asyncio.Event | None) -> bool:
        """Try to take it away; False if something arrived first or Slack did not do it."""
        hiding = asyncio.create_task(self._signs.hide(mark, self._marks))
        coming = asyncio.create_task((arrived or asyncio.Event()).wait())
        self._marks.unpaid(mark)
        try:
            await asyncio.wait({hiding, coming}, return_when=asyncio.FIRST_COMPLETED)
            return hiding.done() and hiding.result()
        finally:
            for task in (hiding, coming):
                task.cancel()
            await asyncio.gather(hiding, coming, return_exceptions=True)

    async def _keep(
        self, question: str, ending: asyncio.Event, before: asyncio.Task[None] | None
    ) -> None:
        if before is not None:
            await asyncio.wait({before})
        pause = FIRST_SECONDS
        try:
            while not await _came(ending, pause):
                if self._is_due(time.monotonic()):
                    self._shown = await self._signs.show(question, self._marks)
                    self._showed_at = time.monotonic()
                pause = 1.0
        except StorageError as error:  # what cannot be written down is not shown
            log.warning("no sign of life: %s", error)

    def _is_due(self, now: float) -> bool:
        if self._shown in (Shown.REACTION, Shown.SESSION):
            return False  # it stays
        if self._shown is Shown.NOTHING and (self._signs.has_sessions or not self._spoke_at):
            return True  # a session brings the stop button besides
        cleared = (
            self._spoke_at > self._showed_at and now - self._spoke_at > self._signs.silent_seconds
        )
        return cleared or now - max(self._spoke_at, self._showed_at) > RENEW_SECONDS


async def _came(event: asyncio.Event, seconds: float) -> bool:
    """Wait for so long; True as soon as the event has come."""
    try:
        await asyncio.wait_for(event.wait(), seconds)
    except TimeoutError:
        return False
    return True
