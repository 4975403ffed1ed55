"""Keeps a hundred turns that go on at once from holding up everybody else on the event loop."""

from __future__ import annotations

import asyncio
from collections import deque

AT_ONCE = 2
"""Turns that go on in one round of the loop, each for about a millisecond."""


class Turnstile:
    """Lets a few through in each round of the event loop, in the order in which they came.

    Between them whoever else is ready is served, Slack's events above all. Nothing is idle
    meanwhile, so the last one is not later than without. Must be used from one event loop.
    """

    def __init__(self) -> None:
        self._waiting: deque[asyncio.Future[None]] = deque()

    async def enter(self) -> None:
        """Return in a later round of the loop; a good place to be cancelled at."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[None] = loop.create_future()
        if not self._waiting:
            loop.call_soon(self._open, loop)
        self._waiting.append(future)
        await future

    def _open(self, loop: asyncio.AbstractEventLoop) -> None:
        left = AT_ONCE
        while self._waiting and left:
            future = self._waiting.popleft()
            if not future.done():
                future.set_result(None)
                left -= 1
        if self._waiting:
            loop.call_soon(self._open, loop)
