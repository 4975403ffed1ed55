"""Slots for messages: about one a second and channel, as Slack allows, the urgent first.

Source: docs.slack.dev, "Rate limits": posting is limited to one message a second per channel,
short bursts allowed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

RATE = 1.0
BURST = 3.0


@dataclass(slots=True, eq=False)
class Ticket:
    """A place in a channel's line; it may become urgent while it waits."""

    urgent: bool
    granted: asyncio.Future[None]


@dataclass(slots=True)
class _Lane:
    tokens: float
    filled_at: float
    line: list[Ticket] = field(default_factory=list)
    timer: asyncio.TimerHandle | None = None


class Pacer:
    """Grants slots per channel. Another channel's line never waits for this one's."""

    def __init__(self, now: Callable[[], float], rate: float = RATE, burst: float = BURST) -> None:
        self._now, self._rate, self._burst = now, rate, burst
        self._lanes: dict[str, _Lane] = {}

    def enter(self, channel: str, urgent: bool) -> Ticket:
        """Join the channel's line; await `ticket.granted`, or `leave`."""
        ticket = Ticket(urgent, asyncio.get_running_loop().create_future())
        lane = self._lane(channel)
        lane.line.append(ticket)
        self._serve(lane)
        return ticket

    def leave(self, channel: str, ticket: Ticket) -> None:
        """Give the place up; a slot already granted goes back."""
        lane = self._lane(channel)
        if ticket in lane.line:
            lane.line.remove(ticket)
        elif not ticket.granted.cancelled():
            lane.tokens = min(self._burst, lane.tokens + 1)
        self._serve(lane)

    def calm(self, channel: str) -> bool:
        """Whether nobody waits in the channel's line: the next slot is a second away at most."""
        return not self._lane(channel).line

    def pause(self, channel: str, seconds: float) -> None:
        """Slack asked to wait: no slot for this long, then one at a time."""
        lane = self._lane(channel)
        self._refill(lane)
        lane.tokens = 0.0
        lane.filled_at = max(lane.filled_at, self._now() + seconds - 1 / self._rate)
        self._serve(lane)

    def _lane(self, channel: str) -> _Lane:
        if channel not in self._lanes:
            self._forget_full_lanes()
            self._lanes[channel] = _Lane(self._burst, self._now())
        return self._lanes[channel]

    def _forget_full_lanes(self) -> None:
        """A lane that is full again and has no line says nothing: bounded memory."""
        if len(self._lanes) < 1000:
            return
        for lane in self._lanes.values():
            self._refill(lane)
        self._lanes = {
            name: lane
            for name, lane in self._lanes.items()
            if lane.line or lane.tokens < self._burst
        }

    def _refill(self, lane: _Lane) -> None:
        now = self._now()
        if now > lane.filled_at:
            lane.tokens = min(self._burst, lane.tokens + (now - lane.filled_at) * self._rate)
            lane.filled_at = now

    def _serve(self, lane: _Lane) -> None:
        self._refill(lane)
        while lane.line and lane.tokens >= 1 - 1e-9:
            ticket = next((t for t in lane.line if t.urgent), lane.line[0])
            lane.line.remove(ticket)
            if not ticket.granted.done():
                lane.tokens -= 1
                ticket.granted.set_result(None)
        if lane.timer is not None:
            lane.timer.cancel()
            lane.timer = None
        if lane.line:
            wait = max(0.0, lane.filled_at - self._now()) + (1 - lane.tokens) / self._rate
            loop = asyncio.get_running_loop()
            lane.timer = loop.call_later(wait, self._serve, lane)
