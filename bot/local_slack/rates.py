"""Slack's published rates as token buckets: per method, and per channel for posts."""

from collections.abc import Callable

from bot.local_slack.method import Method

POSTS_PER_SECOND = 1.0
_MAX_BUCKETS = 10_000


class Rates:
    """How soon a call may be made again.

    A method of a tier holds a minute's worth of calls and refills evenly. chat.postMessage has
    one bucket per channel: one a second after a burst of ``burst``. A ``pace`` of more than 1
    makes everything so many times faster, for tests.
    """

    def __init__(self, now: Callable[[], float], burst: int, pace: float = 1.0) -> None:
        self._now = now
        self._burst = float(burst)
        self._pace = pace
        self._buckets: dict[str, tuple[float, float]] = {}

    def wait(self, method: Method, channel: str) -> float:
        """0.0 if the call may go (and is counted), else the seconds to wait."""
        if method.name == "chat.postMessage":
            return self._take(f"post {channel}", self._burst, POSTS_PER_SECOND)
        if not method.per_minute:
            return 0.0
        return self._take(method.name, float(method.per_minute), method.per_minute / 60.0)

    def _take(self, name: str, capacity: float, refill: float) -> float:
        now = self._now()
        level, since = self._buckets.get(name, (capacity, now))
        refill *= self._pace
        level = min(capacity, level + (now - since) * refill)
        if level < 1.0:
            self._buckets[name] = (level, now)
            return (1.0 - level) / refill
        if len(self._buckets) > _MAX_BUCKETS:
            self._buckets.clear()
        self._buckets[name] = (level - 1.0, now)
        return 0.0
