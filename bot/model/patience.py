"""Whether a call that failed is made again, and after what pause.

The pause is what the endpoint asks for (`Retry-After`, RFC 9110 10.2.3, or `retry-after-ms`), else
one that doubles. It is counted, because waiting is no running time of the turn.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING

from bot.model.endpoint import FIRST_PAUSE
from bot.model.failures import timed_out

if TYPE_CHECKING:
    import openai

LONGEST_PAUSE = 8.0
AFTER_TIMEOUT = 1
"""Tries after one that took the whole time-out: people are waiting."""
LONGEST_ASKED = 120.0
"""Seconds; an endpoint that asks for more is not waited for."""


@dataclass(slots=True)
class Patience:
    """Of one reply: how many tries are left, and how many seconds were spent on pauses."""

    left: int
    first: float = FIRST_PAUSE
    """Seconds before the second try."""
    waited: float = 0.0
    _tries: int = 0

    async def rest(self, error: openai.APIError) -> bool:
        """Wait as the error asks; False at once if the call must not be made again."""
        pause = self._pause(error)
        if pause is None or not self.left:
            return False
        self.left -= 1
        self._tries += 1
        began = time.monotonic()
        await asyncio.sleep(pause)
        self.waited += time.monotonic() - began
        return True

    def _pause(self, error: openai.APIError) -> float | None:
        import openai

        doubled: float = min(self.first * 2.0**self._tries, LONGEST_PAUSE)
        usual = doubled * random.uniform(0.75, 1.0)  # noqa: S311 - spreads callers, hides nothing
        if isinstance(error, openai.APITimeoutError) and timed_out(error):
            self.left = min(self.left, AFTER_TIMEOUT)
        if isinstance(error, openai.APIConnectionError):
            return usual
        if not isinstance(error, openai.APIStatusError) or not _passing(error):
            return None
        asked = asked_pause(error.response.headers)
        if asked is None:
            return usual
        return asked if asked <= LONGEST_ASKED else None


def _passing(error: openai.APIStatusError) -> bool:
    """Whether the trouble may be over soon; the endpoint's own word on it goes first."""
    said = error.response.headers.get("x-should-retry")
    if said in ("true", "false"):
        return bool(said == "true")
    if error.code == "insufficient_quota":
        return False
    return error.status_code in (408, 409, 429) or error.status_code >= 500


def asked_pause(headers: Mapping[str, str]) -> float | None:
    """The seconds that an endpoint asks to wait; None if it says nothing usable."""
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        try:
            seconds = float(headers.get(name, "")) * unit
        except ValueError:
            continue
        if 0 <= seconds < float("inf"):
            return seconds
    try:
        moment = parsedate_to_datetime(headers.get("retry-after", ""))
    except (ValueError, TypeError):
        return None
    return max(0.0, moment.timestamp() - time.time())
