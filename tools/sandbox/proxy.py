"""The only way out of a sandbox with a network: a CONNECT proxy on a unix socket, one for each run.

A request names a host and a port. The name is judged (`tools.sandbox.hosts`), looked up once, and
the connection goes to one of the addresses that were judged: there is no second look-up that could
answer differently. What flows then is opaque; it is counted and ends with the run.

CONNECT is of RFC 9110, section 9.3.6. Who holds the socket is who may use it: there is no token.
"""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import os
import re
import shutil
import socket
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from tools.sandbox.hosts import Address, HostRules, is_host, is_public

log = logging.getLogger(__name__)

Resolve = Callable[[str, int], Awaitable[Sequence[Address]]]
"""The addresses of a host, best first; raises OSError."""

_REQUEST = re.compile(rb"CONNECT ([^\s:]{1,253}):([0-9]{1,5}) HTTP/1\.[01]", re.ASCII)
_BLOCK = 65536
_HEAD_END = b"\r\n\r\n"
_LINGER = 0.5
"""Seconds that a closing connection has to deliver what was written."""
_MEGABYTE = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Bounds:
    """Of one run's network."""

    bytes: int = 512 * _MEGABYTE
    """In both directions and over all connections together."""
    connections: int = 64
    """At a time."""
    head: int = 8192
    """Bytes of a request's head."""
    patience: float = 10.0
    """Seconds for a request's head, for the look-up, and for connecting; each."""
    idle: float = 120.0
    """Seconds that a connection may be silent in both directions."""


class Refusal(Exception):
    """A request that is not served: the status for the client and a sentence."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


async def look_up(host: str, port: int) -> Sequence[Address]:
    """The system's resolver, asked once."""
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    addresses = [ipaddress.ip_address(str(sockaddr[0]).split("%")[0]) for *_, sockaddr in found]
    return list(dict.fromkeys(addresses))


@dataclass(frozen=True, slots=True)
class ConnectProxy:
    """`Network`: opens a socket for each run. Immutable; what a run used is its `_Run`'s."""

    rules: HostRules
    owner: tuple[int, int] | None = None
    """uid and gid that may use the socket, where the bot is root."""
    ports: frozenset[int] = frozenset({443})
    resolve: Resolve = look_up
    acceptable: Callable[[Address], bool] = is_public
    """Whether a host's address may be connected to."""
    bounds: Bounds = field(default_factory=Bounds)

    @asynccontextmanager
    async def open(self) -> AsyncIterator[Path]:
        """See `Network.open`. Raises OSError if the socket cannot be made."""
        async with AsyncExitStack() as stack:
            # /tmp, as the path of a unix socket has at most 107 bytes.
            directory = Path(await asyncio.to_thread(tempfile.mkdtemp, prefix="treadle-net-"))
            stack.callback(shutil.rmtree, directory, ignore_errors=True)
            run = _Run(self)
            path = directory / "proxy.sock"
            server = await asyncio.start_unix_server(run.accept, path, limit=self.bounds.head)
            stack.push_async_callback(run.close)
            stack.callback(server.close)
            self._give_away(directory, path)
            yield path

    def _give_away(self, directory: Path, path: Path) -> None:
        path.chmod(0o600)
        if self.owner is not None:
            for mine in (path, directory):
                os.chown(mine, *self.owner)


class _Run:
    """The connections of one run, and what they have carried."""

    def __init__(self, proxy: ConnectProxy) -> None:
        self._proxy = proxy
        self._left = proxy.bounds.bytes
        self._tasks: set[asyncio.Task[None]] = set()

    def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """A client of the socket; one too many is told so, a crowd is dropped unheard."""
        if len(self._tasks) >= 2 * self._proxy.bounds.connections:
            writer.transport.abort()
            return
        task = asyncio.create_task(self._serve(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def close(self) -> None:
        """End every connection and wait until it is closed."""
        tasks = set(self._tasks)
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            try:
                await self._tunnel(reader, writer)
            except Refusal as refusal:
                text = f"{refusal}\n".encode()
                head = f"HTTP/1.1 {refusal.status} Refused\r\nContent-Length: {len(text)}\r\n"
                writer.write(head.encode() + b"Content-Type: text/plain\r\n\r\n" + text)
                await writer.drain()
        except OSError as error:
            log.debug("A connection of a command ended: %s", error)
        finally:
            await _close(writer)

    async def _tunnel(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        crowded = len(self._tasks) > self._proxy.bounds.connections
        host, port = await self._asked(reader)
        if crowded:
            raise Refusal(503, "This command has too many connections open; close some.")
        addresses = await self._addresses(host, port)
        far_reader, far_writer = await self._connect(host, addresses, port)
        before = self._left
        try:
            writer.write(b"HTTP/1.1 200 Connected" + _HEAD_END)
            await self._relay((reader, far_writer), (far_reader, writer))
        finally:
            log.info("A command exchanged %d bytes with %s", before - self._left, host)
            await _close(far_writer)

    async def _asked(self, reader: asyncio.StreamReader) -> tuple[str, int]:
        try:
            async with asyncio.timeout(self._proxy.bounds.patience):
                head = await reader.readuntil(_HEAD_END)
        except (TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError) as error:
            raise Refusal(400, "This is no request that the proxy understands.") from error
        request = _REQUEST.fullmatch(head.split(b"\r\n", 1)[0])
        if request is None:
            raise Refusal(405, "Only https works here; plain http and other protocols do not.")
        host, port = request[1].decode("latin-1").lower(), int(request[2])
        self._judge(host, port)
        return host, port

    def _judge(self, host: str, port: int) -> None:
        if not is_host(host):
            log.info("A command asked for something that is no host name; refused.")
            raise Refusal(
                403, "That is no plain host name; addresses and other tricks are refused."
            )
        if not self._proxy.rules.allow(host):
            log.info("A command asked for %s, which is not in [sandbox] network; refused.", host)
            raise Refusal(403, f"{host} is not among the hosts that commands may reach here.")
        if port not in self._proxy.ports:
            ports = ", ".join(map(str, sorted(self._proxy.ports)))
            raise Refusal(403, f"Port {port} is not open; commands may use: {ports}.")

    async def _addresses(self, host: str, port: int) -> Sequence[Address]:
        try:
            async with asyncio.timeout(self._proxy.bounds.patience):
                found = await self._proxy.resolve(host, port)
        except (OSError, UnicodeError) as error:  # TimeoutError is an OSError
            raise Refusal(502, f"{host} cannot be looked up now.") from error
        if not found or not all(map(self._proxy.acceptable, found)):
            log.warning("%s has an address that is not public; refused.", host)
            raise Refusal(403, f"{host} leads to an address that is not on the public Internet.")
        return found

    async def _connect(
        self, host: str, addresses: Sequence[Address], port: int
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        for address in addresses:
            with suppress(OSError):
                async with asyncio.timeout(self._proxy.bounds.patience):
                    return await asyncio.open_connection(str(address), port)
        raise Refusal(502, f"{host} cannot be reached now.")

    async def _relay(self, *ways: tuple[asyncio.StreamReader, asyncio.StreamWriter]) -> None:
        """Carry both ways until both have ended, one broke, or a bound is reached."""
        clock = asyncio.get_running_loop().time
        idle = self._proxy.bounds.idle
        async with asyncio.timeout(idle) as silence:

            async def carry(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
                while self._left > 0 and (block := await source.read(_BLOCK)):
                    self._left -= len(block)
                    silence.reschedule(clock() + idle)
                    target.write(block)
                    await target.drain()
                if self._left <= 0:
                    raise ConnectionAbortedError("this run has used up its network")
                target.write_eof()

            try:
                async with asyncio.TaskGroup() as group:
                    for way in ways:
                        group.create_task(carry(*way))
            except* OSError as broken:
                log.debug("A connection of a command broke: %s", broken.exceptions)


async def _close(writer: asyncio.StreamWriter) -> None:
    """Let what is written arrive, but wait for nobody who does not read."""
    try:
        writer.close()
        async with asyncio.timeout(_LINGER):
            await writer.wait_closed()
    except OSError as error:
        log.debug("A connection of a command was cut: %s", error)
    finally:
        writer.transport.abort()
