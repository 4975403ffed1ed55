"""One thread's work: take the inbox, run the turn, deliver, and finish when nothing waits."""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Sequence
from dataclasses import dataclass

from bot import words
from bot.agent import guard
from bot.agent.entries import Entry, Failed, Resumed, covers, open_turn
from bot.agent.loop import run_turn
from bot.agent.ports import Clock
from bot.errors import Fenced, ItemChanged, JournalUnreadable, TreadleError
from bot.runs.brains import Brains, heard
from bot.runs.intake import Intake
from bot.runs.ports import Outlet, View, Watchable
from bot.storage.inbox import Inbox, Item
from bot.storage.journal import Journals, StoredThread

log = logging.getLogger(__name__)


class ThreadJournal:
    """`bot.agent.ports.Journal` on the database, for the thread's only runner.

    `arrived` is set by whoever stores an item, so that looking for items costs nothing mostly.
    """

    def __init__(
        self,
        journals: Journals,
        inbox: Inbox,
        intake: Intake,
        stored: StoredThread,
        arrived: asyncio.Event,
        view: View,
    ) -> None:
        self.thread = stored.thread
        self._journals, self._inbox, self._intake = journals, inbox, intake
        self._entries = list(stored.entries)
        self._root_addressed = stored.root_addressed
        self._arrived, self._view = arrived, view

    @property
    def entries(self) -> Sequence[Entry]:
        return self._entries

    async def append(self, *entries: Entry) -> None:
        self._entries += await self._journals.append(self.thread, len(self._entries), entries)

    async def take_inbox(self) -> bool:
        if not self._arrived.is_set():
            return False
        self._arrived.clear()
        while True:
            try:
                return await self._take()
            except ItemChanged as error:
                log.info("%s", error)

    async def _take(self) -> bool:
        items = await self._inbox.waiting(self.thread)
        if not items:
            return False
        self._root_addressed |= any(i.item.engages and i.item.is_root for i in items)
        asked = self._intake.addressed(self._entries, self._root_addressed, items)
        if asked:  # before people and threads are looked up, which may take long
            self._view.begin(self._entries, asked[-1])
        if not self._entries and await self._fetch_missed(items[0].item):
            items = await self._inbox.waiting(self.thread)
        new = await self._intake.entries(self._entries, self._root_addressed, items)
        self._entries += await self._journals.append(self.thread, len(self._entries), new, items)
        return bool(new)

    async def _fetch_missed(self, first: Item) -> bool:
        """Replies that Slack sent before the message that made the thread the bot's."""
        if not await self._inbox.overheard(first):
            return False
        missed = await self._intake.surroundings.missed(self.thread, first.ts)
        stored = [await self._inbox.store(item) for item in missed]
        return any(stored)


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

    async def work(self, thread: str, arrived: asyncio.Event) -> None:
        """Return when the thread has no work left. Raises Fenced if another runner has it."""
        view, stored = await asyncio.gather(self.outlet.open(thread), self._stored(thread))
        try:
            journal = await self._journal(stored, thread, view, arrived)
            while journal is not None:
                if not covers(open_turn(journal.entries)):
                    await journal.take_inbox()  # an open turn takes it when its calls are done
                await self._turn(journal, view)
                await view.settle(journal.entries)
                if not arrived.is_set() and await self.journals.finish(thread):
                    return
                arrived.set()
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
        arrived: asyncio.Event,
    ) -> ThreadJournal | None:
        if isinstance(stored, JournalUnreadable):
            log.error("%s: %s", thread, stored)
            arrived.clear()
            await self._apologise(thread, view, str(stored))
            return None
        journal = ThreadJournal(self.journals, self.inbox, self.intake, stored, arrived, view)
        if covers(open_turn(journal.entries)):
            await journal.append(Resumed(self.journals.owner))
        return journal

    async def _apologise(self, thread: str, view: View, why: str) -> None:
        """Say that the journal cannot be read, to each message that waits for the bot.

        They are left waiting: the release that wrote the journal can take them.
        """
        items = [stored for stored in await self.inbox.waiting(thread) if not stored.item.is_bot]
        addressed = await self.journals.root_addressed(thread)
        if not items:
            await view.settle([Failed((), why)])
        for at in self.intake.addressed((), addressed, items):
            await view.notice(why, at)

    async def _turn(self, journal: ThreadJournal, view: View) -> None:
        if not (asking := covers(open_turn(journal.entries))):
            return
        view.begin(journal.entries, asking[-1])
        try:
            with self.brains.open(journal.thread, lambda: heard(journal.entries)) as brain:
                await run_turn(
                    journal,
                    self.model.watched(view.live),
                    brain.tools,
                    brain.decide,
                    brain.facts,
                    self.limits,
                    self.clock,
                    lambda: view.look(journal.entries),
                )
        except Fenced:
            raise
        except TreadleError as error:
            log.warning("%s: %s", journal.thread, error)
            await journal.append(Failed(covers(open_turn(journal.entries)), str(error)))
        except Exception:
            error_id = uuid.uuid4().hex[:8]
            log.exception("error %s in thread %s", error_id, journal.thread)
            turn = open_turn(journal.entries)
            await journal.append(Failed(covers(turn), words.bug(error_id), error_id))
