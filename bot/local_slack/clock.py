"""Time as the stand-in sees it, and Slack's message timestamps."""

import time


class Clock:
    """Wall time that a test can move forward, and a source of unique ``ts`` values."""

    def __init__(self) -> None:
        self._ahead = 0.0
        self._last = 0

    def now(self) -> float:
        """Seconds since the epoch, including what ``advance`` added."""
        return time.time() + self._ahead

    def advance(self, seconds: float) -> None:
        """Move this clock forward; negative values are refused (Slack's time never goes back)."""
        if seconds < 0:
            raise ValueError("The clock of the stand-in only moves forward.")
        self._ahead += seconds

    def ts(self) -> str:
        """The next timestamp: ``seconds.microseconds``, strictly later than every one before."""
        self._last = max(self._last + 1, int(self.now() * 1_000_000))
        return f"{self._last // 1_000_000}.{self._last % 1_000_000:06d}"

    def not_before(self, ts: str) -> None:
        """Never hand out a timestamp at or before ``ts`` (used when a saved state is loaded)."""
        seconds, _, micros = ts.partition(".")
        self._last = max(self._last, int(seconds) * 1_000_000 + int(micros or 0))
