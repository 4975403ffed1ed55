"""One at a time for each name: in the order of coming, here and on other hosts."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field
from typing import Protocol


class Others(Protocol):
    """The other processes that work in the same workspaces."""

    def hold(self, name: str) -> AbstractAsyncContextManager[None]:
        """Wait until none of them holds the name; asked only once at a time for each."""
        ...


class Nobody:
    """`Others` where there is this process alone."""

    @asynccontextmanager
    async def hold(self, name: str) -> AsyncIterator[None]:
        yield


@dataclass(slots=True)
class _Line:
    """Whoever holds the lock goes on, `users` hold it or wait for it."""

    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    users: int = 0


class Locks:
    """Fair within this process; with others one of its waiters contends, its oldest."""

    def __init__(self, others: Others | None = None) -> None:
        self._others = others or Nobody()
        self._lines: dict[str, _Line] = {}

    @asynccontextmanager
    async def hold(self, name: str) -> AsyncIterator[None]:
        """Wait until it is one's turn; give it back by leaving."""
        line = self._lines.setdefault(name, _Line())
        line.users += 1
        try:
            async with line.lock, self._others.hold(name):
                yield
        finally:
            line.users -= 1
            if not line.users:
                del self._lines[name]
