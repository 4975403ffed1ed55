"""A line to a server that can be cut at the worst moment: around a COMMIT."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from enum import Enum
from urllib.parse import urlsplit

COMMIT = b"COMMIT\0"


class Cut(Enum):
    """Where the line is cut, once."""

    BEFORE_COMMIT = "the server never hears of it"
    AFTER_COMMIT = "the server has done it, and its reply is lost"


class CutLine:
    """Forwards connections to a PostgreSQL server (without TLS, so that COMMIT can be seen)."""

    def __init__(self, url: str) -> None:
        self._url = urlsplit(url)
        self._armed: Cut | None = None
        self.open = asyncio.Event()
        """While it is not set, nobody gets through who calls anew."""
        self.open.set()
        self.cuts = 0
        self.port = 0

    @property
    def url(self) -> str:
        """The server's address by way of this line."""
        host = f"{self._url.username}:{self._url.password}@127.0.0.1:{self.port}"
        return self._url._replace(netloc=host).geturl()

    def cut(self, where: Cut) -> None:
        """Cut the line at the next COMMIT."""
        self._armed = where

    async def serve(self, near: asyncio.StreamReader, answer: asyncio.StreamWriter) -> None:
        await self.open.wait()
        far, send = await asyncio.open_connection("127.0.0.1", self._url.port)
        back = asyncio.create_task(_forward(far, answer))
        try:
            while data := await near.read(65536):
                where, self._armed = (self._armed, None) if COMMIT in data else (None, self._armed)
                if where is Cut.BEFORE_COMMIT:
                    break
                if where is Cut.AFTER_COMMIT:
                    back.cancel()
                    await asyncio.gather(back, return_exceptions=True)
                send.write(data)
                if where is Cut.AFTER_COMMIT:
                    await far.read(65536)  # "it is committed", which nobody is told
                    break
            else:
                return
            self.cuts += 1
        finally:
            back.cancel()
            send.close()
            answer.close()


async def _forward(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    while data := await source.read(65536):
        target.write(data)
    target.close()


@asynccontextmanager
async def open_line(url: str) -> AsyncIterator[CutLine]:
    """A line to the database at `url`."""
    line = CutLine(url)
    server = await asyncio.start_server(line.serve, "127.0.0.1", 0)
    line.port = server.sockets[0].getsockname()[1]
    async with server:
        yield line
