"""The turns that are going on or wait for an answer, for whoever looks at them or stops them."""

from __future__ import annotations

import math
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from bot.admin.house import Running
from bot.agent.approvals import pending
from bot.agent.entries import covers, open_turn
from bot.agent.ports import Clock
from bot.errors import JournalUnreadable
from bot.policy import Person
from bot.runs.brains import heard
from bot.storage.items import Item, Kind
from bot.storage.journal import Journals

MOST = 50
"""Turns that are looked at: more would fit into no list."""


@dataclass(frozen=True, slots=True)
class Turns:
    """`bot.admin.house.Turns`. `store` stores an inbox item and wakes its thread."""

    journals: Journals
    store: Callable[[Item], Awaitable[None]]
    apart: Callable[[str], bool]
    """Whether a thread belongs to another front door."""
    clock: Clock

    async def running(self) -> Sequence[Running]:
        threads = await self.journals.unfinished()
        asked = [question.thread for question in await self.journals.overdue(math.inf)]
        every = [t for t in dict.fromkeys([*threads, *asked]) if not self.apart(t)]
        found = [await self._turn(thread) for thread in every[:MOST]]
        return sorted(filter(None, found), key=lambda turn: turn.since)

    async def stop(self, turn: Running, by: Person) -> None:
        """As the Stop button does; a clock that is behind Slack's makes no difference."""
        team, channel, root_ts = turn.thread.split(":", 2)
        at = max(self.clock.now(), turn.newest)
        item = Item(
            Kind.STOP, team, channel, root_ts, f"{at:.6f}", by.id, author_team=team, change=root_ts
        )
        await self.store(item)

    async def _turn(self, thread: str) -> Running | None:
        try:
            stored = await self.journals.read(thread)
        except JournalUnreadable:
            return None  # the thread itself says so
        turn = open_turn(stored.entries)
        asked = covers(turn)
        if not asked:
            return None
        people = tuple(dict.fromkeys(person.id for person in heard(stored.entries)))
        times = [float(ts) for ts in asked]
        waits = bool(pending(turn))
        return Running(thread, people, min(times), waits, max(times))
