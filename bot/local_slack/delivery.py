"""Events and interactions on their way to the app: attempts, retries, and faults on the way."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from bot.local_slack import events
from bot.local_slack.faults import EVENT_EFFECTS, Effect, Faults
from bot.local_slack.shapes import Json
from bot.local_slack.world import World

RETRY_WAITS = (0.0, 60.0, 300.0)
_KEPT_RECORDS = 10_000


class Kind(StrEnum):
    """The envelope types of Socket Mode."""

    EVENT = "events_api"
    INTERACTIVE = "interactive"
    SLASH = "slash_commands"


@dataclass(frozen=True, slots=True)
class Parcel:
    """One attempt to hand something over. ``attempt`` is 0 for the first, else the retry number."""

    kind: Kind
    payload: Json
    attempt: int = 0
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of an attempt. ``body`` is what the app answered, if it answered something."""

    ok: bool
    reason: str = ""
    body: Json | None = None
    text: str = ""
    no_retry: bool = False


@dataclass(frozen=True, slots=True)
class Delivered:
    """One attempt, for tests: which event, which try, and whether the app acknowledged it.

    ``about`` is the channel and the ``ts`` of the message that the event is about, if it is;
    ``subtype`` says what became of that message.
    """

    event_id: str
    type: str
    attempt: int
    ok: bool
    reason: str
    seconds: float
    about: tuple[str, str] = ("", "")
    subtype: str = ""


class Line(Protocol):
    """A way to reach the app: its sockets, or its request address."""

    async def send(self, parcel: Parcel) -> Outcome:
        """Hand over and wait for the acknowledgement (up to Slack's three seconds)."""


class Courier:
    """Delivers every event at least once, as Slack does, and asks the app about clicks."""

    def __init__(self, world: World, faults: Faults, line: Line) -> None:
        self._world = world
        self._faults = faults
        self._line = line
        self._tasks: set[asyncio.Task[None]] = set()
        self._held: list[Json] = []
        self.pending: dict[int, Json] = {}
        self.records: deque[Delivered] = deque(maxlen=_KEPT_RECORDS)
        self.lost: deque[Json] = deque(maxlen=_KEPT_RECORDS)
        self._next = 0
        self.settled: Callable[[], Awaitable[None]] = _nothing_is_kept

    def event(self, payload: Json) -> None:
        """Start delivering an event, with whatever the fault rules do to it."""
        event = payload["event"]
        channel = str(event.get("channel") or event.get("item", {}).get("channel") or "")
        delay = 0.0
        for rule in self._faults.matching(EVENT_EFFECTS, str(event["type"]), channel):
            if rule.effect is Effect.HOLD:
                self._held.append(payload)
                return
            if rule.effect is Effect.DELAY:
                delay += rule.seconds
            for copy in range(rule.copies if rule.effect is not Effect.DELAY else 0):
                again = payload
                if rule.effect is Effect.REPEAT_NEW_ID:
                    again = {**payload, "event_id": self._world.new_id("Ev")}
                self._start(again, delay, copy + 1 if rule.retry_marks else 0)
        self._start(payload, delay)

    def release(self) -> int:
        """Deliver every held event now; how many there were."""
        held, self._held = self._held, []
        for payload in held:
            self._start(payload)
        return len(held)

    async def ask(self, kind: Kind, payload: Json) -> Outcome:
        """Hand over an interaction or a slash command: one attempt, no retry."""
        outcome = await self._line.send(Parcel(kind, payload))
        self._record(str(payload.get("type", kind)), "", 0, outcome, 0.0)
        return outcome

    def unfinished(self) -> list[Json]:
        """Events that are neither acknowledged nor given up, for the state file."""
        return [*self.pending.values(), *self._held]

    async def close(self) -> None:
        """Stop delivering; what is pending stays in ``pending``."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _start(self, payload: Json, delay: float = 0.0, first: int = 0) -> None:
        self._next += 1
        number = self._next
        self.pending[number] = payload
        self._spawn(self._deliver(number, payload, delay, first))

    def _spawn(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _deliver(self, number: int, payload: Json, delay: float, first: int) -> None:
        """Up to four attempts; the event leaves ``pending`` when it is acknowledged or lost."""
        loop = asyncio.get_running_loop()
        kind, event_id = str(payload["event"]["type"]), str(payload["event_id"])
        await self.settled()
        if delay:
            await asyncio.sleep(delay)
        reason = "timeout" if first else ""
        outcome = Outcome(ok=False)
        for attempt in range(len(RETRY_WAITS) + 1):
            if attempt:
                await asyncio.sleep(RETRY_WAITS[attempt - 1] * self._world.options.retry_scale)
            began = loop.time()
            parcel = Parcel(Kind.EVENT, payload, max(attempt, first), reason)
            outcome = await self._line.send(parcel)
            took = loop.time() - began
            self._record(kind, event_id, parcel.attempt, outcome, took, payload["event"])
            if outcome.ok or outcome.no_retry:
                break
            reason = outcome.reason
        del self.pending[number]
        if not outcome.ok:
            self.lost.append(payload)
        self._world.pulse.beat()

    def _record(
        self,
        kind: str,
        event_id: str,
        attempt: int,
        outcome: Outcome,
        seconds: float,
        event: Json | None = None,
    ) -> None:
        ok, reason, about = outcome.ok, outcome.reason, events.about(event or {})
        subtype = str((event or {}).get("subtype") or "")
        self.records.append(Delivered(event_id, kind, attempt, ok, reason, seconds, about, subtype))
        self._world.pulse.beat()


async def _nothing_is_kept() -> None:
    """For a workspace without a file: there is nothing to wait for before an event goes out."""
