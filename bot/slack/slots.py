"""Slack's limits as slots: how many calls may go at once, and how soon the next one may.

Source: docs.slack.dev, "Rate limits" (tiers per method and workspace; one message a second per
channel, short bursts allowed; several hundred messages a minute per workspace) and the page of
each method.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

POST = "chat.postMessage"
STEPS = "steps"
"""The lane of all posts of a workspace that can wait."""
LANES = 1000
"""So many lanes are remembered before those that are full again are forgotten."""
_EPSILON = 1e-6


@dataclass(frozen=True, slots=True)
class Rate:
    """`burst` slots at once, then `per_second`; `kept` of the burst are for the urgent only."""

    per_second: float
    burst: float
    kept: float = 0.0


def tier(per_minute: int) -> Rate:
    """A method's tier. Half of a minute's calls at once, as Slack does not say what it counts."""
    return Rate(per_minute / 60, per_minute / 2)


POSTS = Rate(1.0, 3.0, kept=2.0)
"""In one channel. Steps leave two slots, so that answers that come together go at once."""
METHODS: Mapping[str, Rate] = {
    STEPS: Rate(4.0, 30.0),
    "agents.sessions.setStatus": tier(50),
    "chat.update": tier(50),
    "assistant.threads.setStatus": tier(600),
    "chat.appendStream": tier(100),
    "chat.startStream": tier(20),
    "chat.stopStream": tier(20),
    "conversations.replies": tier(50),
    "reactions.add": tier(50),
    "reactions.remove": tier(20),
    "users.info": tier(100),
    "views.open": tier(100),
    "views.publish": tier(100),
}
OTHERS = tier(20)
"""Of methods whose tier nobody has looked up."""


def post_lane(channel: str) -> str:
    """The lane of the posts in a channel."""
    return f"{POST} {channel}"


def rate_of(lane: str) -> Rate:
    """How fast a lane is: a method's, or that of the posts in a channel."""
    return POSTS if lane.startswith(f"{POST} ") else METHODS.get(lane, OTHERS)


def reserved(
    full_at: float, now: float, rate: Rate, take: int = 1, *, urgent: bool = True
) -> tuple[float, float]:
    """When the lane will be full again once `take` slots are taken, and 0.0.

    Where they are not free yet: `full_at` as it was, and the seconds until they may be.
    """
    taken = max(full_at, now) + take / rate.per_second
    kept = 0.0 if urgent else rate.kept
    wait = taken - now - (rate.burst - kept) / rate.per_second
    return (full_at, wait) if wait > _EPSILON else (taken, 0.0)


def paused(full_at: float, until: float, rate: Rate) -> float:
    """When the lane will be full again if it has no slot before `until`, then one at a time."""
    return max(full_at, until + (rate.burst - 1) / rate.per_second)


class Slots(Protocol):
    """Where slots are counted: in this process, or in a place that several share.

    Times are in seconds of one clock, whichever it is. Raises StorageError if it is out of reach.
    """

    async def reserve(self, lane: str, now: float, take: int = 1, *, urgent: bool = True) -> float:
        """0.0: the slots are taken. Else nothing was taken; the seconds until it is worth asking
        again."""
        ...

    async def pause(self, lane: str, until: float) -> None:
        """Slack asked to wait: the lane has no slot before this time, then one at a time."""
        ...


class LocalSlots:
    """Slots of one process."""

    def __init__(self, pace: float = 1.0) -> None:
        """`pace` is how many times faster than Slack's a second is: a test has less time."""
        self._pace = pace
        self._full_at: dict[str, float] = {}

    async def reserve(self, lane: str, now: float, take: int = 1, *, urgent: bool = True) -> float:
        if lane not in self._full_at and len(self._full_at) >= LANES:
            self._full_at = {name: at for name, at in self._full_at.items() if at > now}
        rate = self._rate(lane)
        full_at, wait = reserved(self._full_at.get(lane, now), now, rate, take, urgent=urgent)
        self._full_at[lane] = full_at
        return wait

    async def pause(self, lane: str, until: float) -> None:
        self._full_at[lane] = paused(self._full_at.get(lane, until), until, self._rate(lane))

    def _rate(self, lane: str) -> Rate:
        rate = rate_of(lane)
        return Rate(rate.per_second * self._pace, rate.burst, rate.kept)
