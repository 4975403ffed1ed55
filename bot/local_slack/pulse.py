"""Waiting for a condition: woken by changes, and now and then for what time alone changes."""

import asyncio
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

LOOK_SECONDS = 0.2


class Pulse:
    """Every change beats; whoever waits looks again at each beat, at the latest soon."""

    def __init__(self) -> None:
        self._waiting: set[asyncio.Future[None]] = set()

    def beat(self) -> None:
        """Something changed. Costs nothing while nobody waits."""
        waiting, self._waiting = self._waiting, set()
        for future in waiting:
            if not future.done():
                future.set_result(None)

    async def until(
        self, condition: Callable[[], T | None], timeout: float = 10.0, what: str = "the condition"
    ) -> T:
        """The first truthy value of ``condition``; ``TimeoutError`` after ``timeout`` seconds.

        It is looked at after each change, and five times a second.
        """
        loop = asyncio.get_running_loop()
        deadline = loop.time() + timeout
        while not (value := condition()):
            left = deadline - loop.time()
            if left <= 0:
                raise TimeoutError(f"Waited {timeout} s for {what}; the last look gave {value!r}.")
            future: asyncio.Future[None] = loop.create_future()
            self._waiting.add(future)
            await asyncio.wait({future}, timeout=min(left, LOOK_SECONDS))
            self._waiting.discard(future)
        return value
