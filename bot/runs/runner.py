"""One thread's work: take the inbox, run the turn, deliver, and finish when nothing waits."""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from functools import partial

from bot import words
from bot.agent import guard
from bot.agent.entries import Failed, Resumed, covers
from bot.agent.loop import run_turn
from bot.agent.ports import Clock
from bot.agent.work import interruptions, resumed_in_vain
from bot.errors import JournalUnreadable, Leaving, StorageError, TreadleError
from bot.runs.brains import Brains
from bot.runs.budget import Budget
from bot.runs.intake import Intake
from bot.runs.ports import Outlet, Signals, View, Watchable
from bot.runs.quarantine import Quarantine
from bot.runs.thread_journal import ThreadJournal
from bot.runs.turnstile import Turnstile
from bot.storage.inbox import Inbox
from bot.storage.journal import Journals, StoredThread

log = logging.getLogger(__name__)

TRIES = 3
"""So often is a turn taken up again without a step done; then it is ended."""


@dataclass(frozen=True, slots=True)
class Runner:
    """Works on threads; everything it needs is handed in."""

    journals: Journals
    inbox: Inbox
    intake: Intake
    model: Watchable
    brains: Brains
    outlet: Outlet
    limits: guard.Limits
    clock: Clock
    budget: Budget
    quarantine: Quarantine = field(default_factory=Quarantine)
    turnstile: Turnstile = field(default_factory=Turnstile)

    async def work(self, thread: str, signals: Signals) -> None:
        """Return when the thread has no work left.

        Raises Fenced if another runner has it, and Leaving once this process is about to end.
        """
        with self.quarantine.at_work(thread):
            await self._work(thread, signals)

    async def _work(self, thread: str, signals: Signals) -> None:
        view, stored = await asyncio.gather(
            self.outlet.open(thread, signals.set), self._stored(thread)
        )
        try:
            journal = await self._journal(stored, thread, view, signals)
            while journal is not None:
                if not journal.is_open and await journal.stopped():
                    await journal.break_off()  # of an answer that an earlier process left half told
                if journal.parked or not journal.is_open:
                    await journal.take_inbox()  # an open turn takes it when its calls are done
                while not await _unless_stopped(journal, partial(self._turn, journal, view)):
                    await journal.halt()
                await self._deliver(journal, view)
                done = not signals.arrived.is_set()
                settled = len(journal.entries)
                if done and await self.journals.finish(thread, settled, journal.left):
                    return
                signals.set()
        finally:
            await view.close()

    async def _stored(self, thread: str) -> StoredThread | JournalUnreadable:
        try:
            return await self.journals.read(thread)
        except JournalUnreadable as error:
            return error

    async def _journal(
        self,
        stored: StoredThread | JournalUnreadable,
        thread: str,
        view: View,
        signals: Signals,
    ) -> ThreadJournal | None:
        if isinstance(stored, JournalUnreadable):
            log.error("%s: %s", thread, stored)
            signals.arrived.clear()
            await self._apologise(thread, view, str(stored))
            return None
        journal = ThreadJournal(
            self.journals, self.inbox, self.intake, stored, signals, view, self.turnstile
        )
        if journal.is_open and not journal.parked:
            await self._resume(journal)
        return journal

    async def _apologise(self, thread: str, view: View, why: str) -> None:
        """Say that the journal cannot be read, to each message that waits for the bot.

        They are left waiting: the release that wrote the journal can take them. Where none waits,
        that release has taken them, and it is said to the thread.
        """
        items = [stored for stored in await self.inbox.waiting(thread) if not stored.item.is_bot]
        addressed = await self.journals.root_addressed(thread)
        if not items:
            await view.notice(why)
        for at in self.intake.addressed((), addressed, items):
            await view.notice(why, at)

    async def _resume(self, journal: ThreadJournal) -> None:
        """Go on with what an earlier process left, unless that was tried too often in vain."""
        broken_off = resumed_in_vain(journal.turn)
        if broken_off < TRIES:
            admitted = partial(self._admitted, journal, broken_off)
            if not await _unless_stopped(journal, admitted):
                await journal.halt()
            if journal.is_open:
                await journal.append(Resumed(self.journals.owner))
            return
        log.error("%s was taken up %d times in vain and is ended", journal.thread, broken_off)
        failed = Failed(covers(journal.turn), words.broke_off(broken_off))
        await journal.append(*interruptions(journal.turn), failed)

    async def _deliver(self, journal: ThreadJournal, view: View) -> None:
        """Return when what must stand in the thread stands there; a stop breaks it off."""
        settle = partial(view.settle, journal.entries, journal.signals.arrived)
        while not await _unless_stopped(journal, settle):
            await journal.break_off()

    async def _admitted(self, journal: ThreadJournal, broken_off: int) -> None:
        """Wait for the turns that go first; nobody waits when the process is about to end."""
        waiting = asyncio.create_task(self.quarantine.admit(journal.thread, broken_off))
        try:
            await _first(waiting, journal.signals.leaving)
        finally:
            waiting.cancel()
            await asyncio.gather(waiting, return_exceptions=True)

    async def _turn(self, journal: ThreadJournal, view: View) -> None:
        if journal.parked or not (asking := covers(journal.turn)):
            return
        view.begin(journal.entries, asking[-1])
        await self.turnstile.enter()
        try:
            with self.brains.open(journal.thread, lambda: journal.entries) as brain:
                await run_turn(
                    journal,
                    self.budget.metered(self.model.watched(view.live), journal.thread, journal),
                    brain.tools,
                    brain.decide,
                    brain.facts,
                    self.limits,
                    self.clock,
                    lambda: view.look(journal.entries),
                )
        except (StorageError, Leaving):  # what cannot be written now is done again later
            raise
        except TreadleError as error:
            log.warning("%s: %s", journal.thread, error)
            await journal.append(Failed(covers(journal.turn), str(error)))
        except Exception:
            error_id = uuid.uuid4().hex[:8]
            log.exception("error %s in thread %s", error_id, journal.thread)
            await journal.append(Failed(covers(journal.turn), words.bug(error_id), error_id))


async def _unless_stopped(
    journal: ThreadJournal, work: Callable[[], Coroutine[None, None, None]]
) -> bool:
    """Do the work to its end, or break it off when somebody stops it: then False."""
    if await journal.stopped():
        return False
    task = asyncio.create_task(work())
    try:
        while await _first(task, journal.signals.stop):
            if await journal.stopped():
                return False
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    task.result()
    return True


async def _first(task: asyncio.Task[None], event: asyncio.Event) -> bool:
    """Return when the task is done (False) or the event has come before (True)."""
    waiter = asyncio.create_task(event.wait())
    try:
        await asyncio.wait({task, waiter}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        waiter.cancel()
    return not task.done()
