"""Turns that broke off before begin after the others, so that they cannot take those with them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager

WAIT_SECONDS = 5.0
"""How long a turn that broke off once waits for the others to come to an end."""
ALONE_SECONDS = 30.0
"""How long one that broke off again waits, also for its like: of those one runs at a time."""


class Quarantine:
    """Knows which threads are at work. Until it is known otherwise a thread is trusted."""

    def __init__(self, wait: float = WAIT_SECONDS, alone: float = ALONE_SECONDS) -> None:
        self._wait, self._alone = wait, alone
        self._trusted: set[str] = set()
        self._suspects: set[str] = set()
        self._changed = asyncio.Event()

    @contextmanager
    def at_work(self, thread: str) -> Iterator[None]:
        """From the beginning of a thread's work to its end."""
        self._trusted.add(thread)
        try:
            yield
        finally:
            self._forget(thread)

    async def admit(self, thread: str, broken_off: int) -> None:
        """Return when a turn that broke off so many times without a step done may go on."""
        if broken_off == 0:
            return
        self._forget(thread)
        if broken_off == 1:
            await self._until(lambda: not self._trusted, self._wait)
        else:
            await self._until(lambda: not (self._trusted or self._suspects), self._alone)
            self._suspects.add(thread)

    def _forget(self, thread: str) -> None:
        self._trusted.discard(thread)
        self._suspects.discard(thread)
        self._changed.set()

    async def _until(self, condition: Callable[[], bool], seconds: float) -> None:
        try:
            async with asyncio.timeout(seconds):
                while not condition():
                    self._changed.clear()
                    await self._changed.wait()
        except TimeoutError:
            return
