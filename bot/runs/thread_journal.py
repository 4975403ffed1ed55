"""One thread's journal on the database, as the thread's only runner holds it."""

from __future__ import annotations

from collections.abc import Sequence

from bot.agent.approvals import pending
from bot.agent.entries import Entry, covers, open_turn
from bot.agent.work import interruptions
from bot.runs.intake import Intake
from bot.runs.ports import Signals, View
from bot.storage.inbox import Inbox, Item
from bot.storage.journal import Journals, StoredThread


class ThreadJournal:
    """`bot.agent.ports.Journal`.

    `signals` are set by whoever stores an item, so that looking for items costs nothing mostly.
    """

    def __init__(
        self,
        journals: Journals,
        inbox: Inbox,
        intake: Intake,
        stored: StoredThread,
        signals: Signals,
        view: View,
    ) -> None:
        self.thread = stored.thread
        self.signals = signals
        self._journals, self._inbox, self._intake = journals, inbox, intake
        self._entries = list(stored.entries)
        self._root_addressed = stored.root_addressed
        self._view = view
        self.left: Sequence[int] = ()
        """The items that wait until the turn's question is answered."""

    @property
    def entries(self) -> Sequence[Entry]:
        return self._entries

    @property
    def turn(self) -> Sequence[Entry]:
        """The entries of the turn that is going on."""
        return open_turn(self._entries)

    @property
    def is_open(self) -> bool:
        """Whether somebody waits for an answer."""
        return bool(covers(self.turn))

    async def append(self, *entries: Entry) -> None:
        self._entries += await self._journals.append(self.thread, len(self._entries), entries)

    async def take_inbox(self) -> bool:
        if not self.signals.arrived.is_set():
            return False
        if self.parked:
            return await self._take_answers()
        return await self._take(())

    @property
    def parked(self) -> bool:
        """Whether the turn waits for a person's answer."""
        return pending(self.turn) is not None

    async def stopped(self) -> bool:
        """Whether somebody has stopped the turn who may; costs nothing if nothing has come."""
        if not self.signals.stop.is_set():
            return False
        self.signals.stop.clear()
        items = await self._inbox.waiting(self.thread)
        return self.is_open and await self._intake.stops(self._entries, items)

    async def halt(self) -> None:
        """Write down what is running as interrupted, then take what arrived: the stop."""
        await self._take(interruptions(self.turn))

    async def _take_answers(self) -> bool:
        self.signals.arrived.clear()
        items = await self._inbox.waiting(self.thread)
        found = await self._intake.while_waiting(self._entries, self._root_addressed, items)
        new, taken = found
        if new or taken:
            written = await self._journals.append(self.thread, len(self._entries), new, taken)
            self._entries += written
        self.left = [stored.id for stored in items if stored.id not in taken]
        if not self.parked:
            self.signals.arrived.set()  # what is left is taken before the model is asked
        return bool(new)

    async def _take(self, first: Sequence[Entry]) -> bool:
        self.signals.arrived.clear()
        items = await self._inbox.waiting(self.thread)
        if not items:
            return False
        question = self._intake.addressed(self._entries, self._root_addressed, items)
        if question is not None:  # before people and threads are looked up, which may take long
            self._view.begin(self._entries, question)
        if not self._entries and await self._fetch_missed(items[0].item):
            items = await self._inbox.waiting(self.thread)
        so_far = [*self._entries, *first]
        new = [*first, *await self._intake.entries(so_far, self._root_addressed, items)]
        taken = [stored.id for stored in items]
        self._entries += await self._journals.append(self.thread, len(self._entries), new, taken)
        return bool(new)

    async def _fetch_missed(self, first: Item) -> bool:
        """Replies that Slack sent before the message that made the thread the bot's."""
        if not await self._inbox.overheard(first):
            return False
        missed = await self._intake.surroundings.missed(self.thread, first.ts)
        stored = [await self._inbox.store(item) for item in missed]
        return any(stored)
