"""Lines for slots: each call goes when its method or its channel has one, the urgent first."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass, field

from bot.errors import StorageError
from bot.slack.slots import STEPS, Slots, post_lane

log = logging.getLogger(__name__)

AGAIN_SECONDS = 1.0
"""Slots that are out of reach are asked for again after this long."""


@dataclass(slots=True, eq=False)
class Ticket:
    """A place in a channel's line."""

    urgent: bool
    granted: asyncio.Future[None]


@dataclass(slots=True)
class _Line:
    waiting: list[Ticket] = field(default_factory=list)
    changed: asyncio.Event = field(default_factory=asyncio.Event)
    task: asyncio.Task[None] | None = None


class Pacer:
    """Grants slots. Another channel's line never waits for this one's, nor another method's."""

    def __init__(self, slots: Slots, now: Callable[[], float]) -> None:
        self._slots, self._now = slots, now
        self._lines: dict[str, _Line] = {}

    def enter(self, channel: str, *, urgent: bool) -> Ticket:
        """Join the line for a post in the channel; await `ticket.granted`, or `leave`.

        Who is not urgent also needs a slot of the workspace's.
        """
        ticket = Ticket(urgent, asyncio.get_running_loop().create_future())
        line = self._lines.setdefault(channel, _Line())
        line.waiting.append(ticket)
        line.changed.set()
        if line.task is None:
            line.task = asyncio.create_task(self._serve(channel, line), name=f"slots of {channel}")
        return ticket

    async def slot(self, channel: str, *, urgent: bool) -> None:
        """Return once a post may go to the channel."""
        ticket = self.enter(channel, urgent=urgent)
        try:
            await ticket.granted
        finally:
            self.leave(channel, ticket)

    def leave(self, channel: str, ticket: Ticket) -> None:
        """Give the place up. A slot already granted is lost."""
        line = self._lines.get(channel)
        if line is not None and ticket in line.waiting:
            line.waiting.remove(ticket)
            line.changed.set()

    def hurry(self, channel: str, ticket: Ticket) -> None:
        """What the ticket is for has become urgent."""
        ticket.urgent = True
        if line := self._lines.get(channel):
            line.changed.set()

    def calm(self, channel: str) -> bool:
        """Whether nobody waits in the channel's line: the next slot is a second away at most."""
        return channel not in self._lines

    async def pause(self, lane: str, seconds: float) -> None:
        """Slack asked to wait."""
        try:
            await self._slots.pause(lane, self._now() + seconds)
        except StorageError as error:
            log.warning("the pause of %s is not known to others: %s", lane, error)

    async def take(self, lane: str, patience: float = 0.0, slots: int = 1) -> float:
        """0.0 once so many slots of a method were taken; else how long that would take longer
        than `patience` (both in seconds)."""
        deadline = self._now() + patience
        while True:
            wait = await self._reserve(lane, slots, urgent=True)
            if wait <= 0 or self._now() + wait > deadline:
                return wait
            await asyncio.sleep(wait)

    async def _serve(self, channel: str, line: _Line) -> None:
        has_workspace_slot = False
        while line.waiting:
            line.changed.clear()
            wait, urgent = 0.0, any(ticket.urgent for ticket in line.waiting)
            if not urgent and not has_workspace_slot:
                wait = await self._reserve(STEPS, urgent=False)
                has_workspace_slot = wait <= 0
            if wait <= 0:
                wait = await self._reserve(post_lane(channel), urgent=urgent)
            if wait > 0:
                await set_within(line.changed, wait)
                continue
            has_workspace_slot = has_workspace_slot and urgent
            _grant(line)
        del self._lines[channel]

    async def _reserve(self, lane: str, take: int = 1, *, urgent: bool) -> float:
        try:
            return await self._slots.reserve(lane, self._now(), take, urgent=urgent)
        except StorageError as error:
            log.warning("no slot of %s for now: %s", lane, error)
            return AGAIN_SECONDS


def _grant(line: _Line) -> None:
    """Give the slot to whoever goes first now."""
    if line.waiting:
        ticket = next((t for t in line.waiting if t.urgent), line.waiting[0])
        line.waiting.remove(ticket)
        if not ticket.granted.done():
            ticket.granted.set_result(None)


async def set_within(event: asyncio.Event, seconds: float) -> None:
    """Return when the event is set, or after so long."""
    try:
        await asyncio.wait_for(event.wait(), seconds)
    except TimeoutError:
        return
