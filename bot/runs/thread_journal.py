"""One thread's journal on the database, as the thread's only runner holds it."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Sequence

from bot import words
from bot.agent.approvals import pending
from bot.agent.entries import Entry, ToolStarted, covers, open_turn
from bot.agent.work import interruptions
from bot.errors import ItemChanged, Leaving
from bot.runs.delivering import delivery_stop, latest_answer, stopped_delivery
from bot.runs.intake import Intake
from bot.runs.ports import Signals, View
from bot.runs.turnstile import Turnstile
from bot.storage.inbox import Inbox
from bot.storage.items import Item, StoredItem
from bot.storage.journal import Journals, StoredThread

log = logging.getLogger(__name__)


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
        turnstile: Turnstile,
    ) -> None:
        self.thread = stored.thread
        self.signals = signals
        self._journals, self._inbox, self._intake = journals, inbox, intake
        self._entries = list(stored.entries)
        self._root_addressed = stored.root_addressed
        self._view, self._turnstile = view, turnstile
        self.left: Sequence[int] = ()
        """The items that wait for the answer to a question, or for the message that they change."""

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

    @property
    def closing(self) -> bool:
        return self.signals.leaving.is_set()

    def safe(self, entry: Entry) -> Entry:
        return self._journals.safe(entry)

    async def append(self, *entries: Entry) -> None:
        await self._append(entries)
        await self._turnstile.enter()  # who was stopped meanwhile does nothing of what follows
        # A tool that is written down as started has to be run now: it never is again.
        if self.is_open and not self.parked and not isinstance(entries[-1], ToolStarted):
            self._unless_leaving()

    async def _append(self, new: Sequence[Entry], taken: Sequence[StoredItem] = ()) -> None:
        seq = len(self._entries)
        self._entries += await self._journals.append(self.thread, seq, new, taken, self._entries)

    async def take_inbox(self) -> bool:
        self._unless_leaving()
        if not self.signals.arrived.is_set():
            return False
        return await self._unchanged(self._take_answers if self.parked else self._take)

    @property
    def parked(self) -> bool:
        """Whether the turn waits for people's answers."""
        return bool(pending(self.turn))

    async def stopped(self) -> bool:
        """Whether somebody has stopped the turn who may; costs nothing if nothing has come."""
        if not self.signals.stop.is_set():
            return False
        self.signals.stop.clear()
        if not (self.is_open or latest_answer(self._entries)):
            return False
        items = await self._inbox.waiting(self.thread)
        if self.is_open:
            return await self._intake.stops(self._entries, items)
        return await delivery_stop(self._intake.door, self._entries, items) is not None

    async def break_off(self) -> None:
        """Let nothing be posted any more that is not yet: the answer, or a question to people."""
        await (self.halt() if self.is_open else self._stop_delivery())
        if self.is_open:
            self.signals.arrived.set()  # another turn has begun

    async def _stop_delivery(self) -> None:
        items = await self._waiting()
        stop = await delivery_stop(self._intake.door, self._entries, items)
        standing = await self._view.halt(self._entries) if stop is not None else None
        if stop is None or standing is None:
            return
        name = await self._intake.people.name(stop.item.author, stop.item.team)
        older = [stored for stored in items if float(stored.item.ts) < float(stop.item.ts)]
        ends_more = self._intake.addressed(self._entries, self._root_addressed, older)
        said = () if ends_more or not stop.item.text else (stop.item.ts,)
        stopped = stopped_delivery(self._entries, said, name, *standing, stop.item.author)
        handled = None if ends_more else stop.id
        await self._unchanged(lambda: self._take([stopped], handled))

    async def halt(self) -> None:
        """Write down what is running as interrupted, then take what arrived: the stop."""
        first = interruptions(self.turn)
        await self._unchanged(lambda: self._take(first))

    def _unless_leaving(self) -> None:
        """Raises Leaving if this process is about to end."""
        if self.closing:
            raise Leaving(words.leaving(self.thread))

    async def _unchanged(self, take: Callable[[], Awaitable[bool]]) -> bool:
        """Take what arrived; again while an item is completed between its reading and its end."""
        self.signals.arrived.clear()
        while True:
            try:
                return await take()
            except ItemChanged as error:
                log.info("%s", error)

    async def _waiting(self) -> Sequence[StoredItem]:
        items = await self._inbox.waiting(self.thread)
        self._root_addressed |= any(i.item.engages and i.item.is_root for i in items)
        return items

    async def _take_answers(self) -> bool:
        items = await self._waiting()
        found = await self._intake.while_waiting(self._entries, self._root_addressed, items)
        new, taken = found
        if new or taken:
            await self._append(new, taken)
        done = {stored.id for stored in taken}
        self.left = [stored.id for stored in items if stored.id not in done]
        if not self.parked:
            self.signals.arrived.set()  # what is left is taken before the model is asked
        return bool(new)

    async def _take(self, first: Sequence[Entry] = (), handled: int | None = None) -> bool:
        """Take what waits, behind the entries `first`, which are about the item `handled`."""
        self.signals.stop.clear()  # all that has come is taken now, a stop as well
        items = self._ripe(await self._waiting())
        if not items:
            return False
        asked = self._intake.addressed(self._entries, self._root_addressed, items)
        if asked:  # before people and threads are looked up, which may take long
            self._view.begin(self._entries, asked[-1])
        if not self._entries and await self._fetch_missed(items[0].item):
            items = self._ripe(await self._waiting())
        so_far = [*self._entries, *first]
        rest = [stored for stored in items if stored.id != handled]
        new = [*first, *await self._intake.entries(so_far, self._root_addressed, rest)]
        await self._append(new, items)
        return bool(new)

    def _ripe(self, items: Sequence[StoredItem]) -> Sequence[StoredItem]:
        self.left = self._intake.early(self._entries, items)
        return [stored for stored in items if stored.id not in self.left]

    async def _fetch_missed(self, first: Item) -> bool:
        """Replies that Slack sent before the message that made the thread the bot's."""
        if not await self._inbox.overheard(first):
            return False
        missed = await self._intake.surroundings.missed(self.thread, first.ts)
        stored = [await self._inbox.store(item) for item in missed]
        return any(stored)
