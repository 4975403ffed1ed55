"""The live message of a turn, for verbosity `card`: begun with the first call, ended with the turn.

It is decoration: whatever becomes of it, answers, questions and notices are posts of their own.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from bot.agent.entries import Answered, Entry, Failed, Stopped, User
from bot.errors import DeliveryError, DeliveryRefused, DeliveryUnknown, TreadleError
from bot.slack.life import Sign
from bot.slack.live_ends import MARK, LiveCards, end, end_left, rested, start_of
from bot.slack.pacing import set_within
from bot.slack.progress import MOST_TASKS, Task, tasks_of
from bot.slack.signs import NO_STATUS
from bot.slack.streams import BY_PERSON, END_SECONDS, Form, Spot
from bot.storage.deliveries import Delivery, State

log = logging.getLogger(__name__)

PAUSE_SECONDS = 1.0
"""Between two changes of a live message."""
CLOSE_SECONDS = 3.0
"""How long the end of the process waits for a live message to be ended."""


@dataclass(slots=True)
class _Open:
    """A live message that stands there and has not come to its end."""

    spot: Spot
    ts: str
    form: Form
    since: float
    first: int
    """The place of its first task in the turn."""
    sent: Mapping[str, Task] = field(default_factory=dict)


class LiveCard:
    """A thread's live message: one at a time, one after another."""

    def __init__(
        self,
        cards: LiveCards,
        thread: str,
        earlier: Sequence[Delivery],
        sign: Sign,
        found: Callable[[], None],
    ) -> None:
        self._cards, self._thread, self._sign, self._found = cards, thread, sign, found
        self._team, self._channel, self._root_ts = thread.split(":", 2)
        self._left = [d for d in earlier if d.state in (State.TRYING, State.OPEN)]
        self._begun = [d.pieces[0] for d in earlier]
        self._entries: Sequence[Entry] = ()
        self._start = self._first = 0
        """Where the turn began, and the place of its first task that no message shows for good."""
        self._open: _Open | None = None
        self._muted = False
        self._changed, self._ending = asyncio.Event(), asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def look(self, entries: Sequence[Entry]) -> None:
        """The journal has grown: show it soon."""
        self._entries = entries
        self._changed.set()
        if self._task is not None:
            return
        self._start, self._first = _turn_start(entries), 0
        if any(key.startswith(f"{MARK}{self._start}.") for key in self._begun):
            self._first = _unfinished(self._tasks())  # the others stand in an earlier one
        if self._left or self._first < len(self._tasks()):
            self._ending.clear()
            self._task = asyncio.create_task(self._run(), name=f"live {self._thread}")

    async def finish(self) -> None:
        """The turn is over or waits: bring the message to its end; returns when that is done."""
        self._ending.set()
        self._changed.set()
        if self._task is not None:
            await asyncio.wait({self._task})
            self._task = None

    async def close(self) -> None:
        """The process ends."""
        task, self._task = self._task, None
        if task is None:
            return
        self._ending.set()
        self._changed.set()
        await asyncio.wait({task}, timeout=CLOSE_SECONDS)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    async def _run(self) -> None:
        """Ends no turn with it, whatever happens: it is decoration."""
        self._muted = False
        try:
            await self._end_those_left()
            while not self._ending.is_set():
                self._changed.clear()
                await self._show()
                await set_within(self._ending, PAUSE_SECONDS)
                if not self._ending.is_set():
                    await set_within(self._changed, self._rests())
            if self._open is None and self._wanted() and await self._slot(END_SECONDS):
                await self._begin(self._cards.message)
            if self._open is not None:
                await self._end(self._open)
            await self._end_those_left()
        except TreadleError as error:
            log.warning("the live message of %s broke off: %s", self._thread, error)
        except Exception:
            log.exception("the live message of %s broke off", self._thread)

    async def _show(self) -> None:
        """Bring what stands there up to date; begin anew where Slack would soon close it."""
        now = self._open
        if now is not None and not (self._is_old(now) or self._is_full(now)):
            await self._change(now, self._wanted())
        elif now is not None:
            await self._end(now)
        if self._open is None and self._wanted() and await self._slot():
            stream = self._cards.stream
            await self._begin(self._cards.message if stream.absent else stream)

    async def _change(self, now: _Open, wanted: Sequence[Task]) -> None:
        try:
            await now.form.change(now.spot, now.ts, now.sent, wanted)
            now.sent = {task.id: task for task in wanted}
        except DeliveryRefused as error:
            log.info("the live message of %s goes on anew: %s", self._thread, error)
            self._muted |= error.code == BY_PERSON
            await self._end(now)
        except DeliveryError as error:
            log.info("the live message of %s is shown later: %s", self._thread, error)

    async def _begin(self, form: Form) -> None:
        wanted = self._wanted()
        piece = f"{MARK}{self._start}.{len(self._begun)}"
        key = f"{self._thread}#{piece}"
        spot = Spot(self._channel, self._root_ts, self._team, self._asker(), key)
        self._begun.append(piece)
        pieces = (piece, form.name, str(self._first))
        tried = await self._cards.deliveries.begin(self._thread, key, pieces)
        began = time.monotonic()
        try:
            ts = await form.begin(spot, wanted)
        except DeliveryUnknown as error:
            log.warning("%s: %s", key, error)
            self._left.append(tried)
            self._first += len(wanted)
        except DeliveryError as error:
            await self._cards.deliveries.end(key, State.GIVEN_UP)
            if form is self._cards.message:
                log.info("%s is not shown: %s", key, error)
                self._muted = True
                return
            log.info("%s is an ordinary message: %s", key, error)
            refused = isinstance(error, DeliveryRefused) and error.code in NO_STATUS
            self._cards.stream.absent |= refused
            await self._begin(self._cards.message)
        else:
            if await self._cards.deliveries.end(key, State.OPEN, ts):
                self._found()
            self._sign.spoke(began)
            sent = {task.id: task for task in wanted}
            self._open = _Open(spot, ts, form, time.monotonic(), self._first, sent)

    async def _end(self, now: _Open) -> None:
        """Its last state, for good. What is not over yet goes on in the next one, if there is."""
        wanted = self._wanted()
        shown = [rested(task) for task in wanted]
        status = "processing" if self._sign.in_session and not self._ending.is_set() else "active"
        await end(self._cards, now.form, now.spot, now.ts, now.sent, shown, status)
        await self._cards.deliveries.end(now.spot.key, State.POSTED, now.ts)
        self._open, self._first = None, now.first + _unfinished(wanted)

    async def _end_those_left(self) -> None:
        left, self._left = self._left, []
        for delivery in left:
            upto = self._first if self._start == start_of(delivery) else None
            await end_left(self._cards, self._entries, delivery, upto)

    async def _slot(self, seconds: float | None = None) -> bool:
        """Wait for the channel's slot, so long or until the turn ends; whether it was granted."""
        pacer = self._cards.mail.client.pacer
        calm = pacer.calm(self._channel)  # then it keeps no answer waiting
        slot = asyncio.create_task(pacer.slot(self._channel, urgent=calm))
        ends = {slot}
        if seconds is None:
            ends.add(asyncio.create_task(_wait(self._ending)))
        try:
            await asyncio.wait(ends, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
            return slot.done()
        finally:
            for task in ends:
                task.cancel()

    def _tasks(self) -> list[Task]:
        return tasks_of(self._entries, self._start, self._cards.describe)

    def _wanted(self) -> list[Task]:
        """What the message that is open shows, or what the next one would."""
        if self._muted:
            return []
        first = self._open.first if self._open is not None else self._first
        return self._tasks()[first : first + MOST_TASKS]

    def _is_old(self, now: _Open) -> bool:
        return time.monotonic() - now.since >= self._cards.seconds

    def _is_full(self, now: _Open) -> bool:
        """There are more tasks than it has room for, and it can let some go."""
        return len(self._tasks()) > now.first + MOST_TASKS and _unfinished(self._wanted()) > 0

    def _rests(self) -> float:
        """Seconds until the message must be looked at though nothing changes."""
        if self._open is None:
            return self._cards.seconds
        return max(0.0, self._open.since + self._cards.seconds - time.monotonic())

    def _asker(self) -> str:
        turn = self._entries[self._start :]
        return next((entry.author for entry in turn if isinstance(entry, User)), "")


def _turn_start(entries: Sequence[Entry]) -> int:
    """Where the turn began that goes on, or that ended last."""
    endings = [i for i, e in enumerate(entries) if isinstance(e, Answered | Failed | Stopped)]
    if endings and endings[-1] == len(entries) - 1:
        endings.pop()
    return endings[-1] + 1 if endings else 0


def _unfinished(tasks: Sequence[Task]) -> int:
    """The place of the first task that is not over, or behind the last."""
    return next((place for place, task in enumerate(tasks) if not task.over), len(tasks))


async def _wait(event: asyncio.Event) -> None:
    await event.wait()
