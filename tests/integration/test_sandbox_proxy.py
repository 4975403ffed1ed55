"""The proxy of a run: only the hosts that are allowed, at addresses that were checked."""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import os
import stat
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from tools.sandbox.hosts import Address, HostRules, is_public
from tools.sandbox.proxy import Bounds, ConnectProxy, look_up

LOOPBACK = ipaddress.ip_address("127.0.0.1")
METADATA = ipaddress.ip_address("169.254.169.254")


@dataclass
class Internet:
    """A server on loopback that sends back what it gets, and the names that lead to it."""

    port: int = 0
    names: dict[str, list[Address]] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    connections: int = 0

    async def resolve(self, host: str, port: int) -> Sequence[Address]:
        self.asked.append(host)
        if host not in self.names:
            raise OSError("no such host")
        return self.names[host]

    async def echo(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while block := await reader.read(65536):
                writer.write(block)
                await writer.drain()
        except OSError:
            self.connections += 0  # the client left in the middle: nothing to send back
        finally:
            writer.close()

    def proxy(self, *hosts: str, bounds: Bounds | None = None) -> ConnectProxy:
        return ConnectProxy(
            HostRules(hosts),
            ports=frozenset({self.port}),
            resolve=self.resolve,
            acceptable=lambda address: address == LOOPBACK,
            bounds=bounds or Bounds(),
        )


@pytest.fixture
async def internet() -> AsyncIterator[Internet]:
    found = Internet(names={"allowed.test": [LOOPBACK], "a.ok.test": [LOOPBACK]})
    server = await asyncio.start_server(found.echo, "127.0.0.1", 0)
    found.port = server.sockets[0].getsockname()[1]
    async with server:
        yield found


Client = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@asynccontextmanager
async def client(path: Path) -> AsyncIterator[Client]:
    reader, writer = await asyncio.open_unix_connection(path)
    try:
        yield reader, writer
    finally:
        writer.transport.abort()
        await asyncio.wait([asyncio.ensure_future(_closed(writer))])


async def _closed(writer: asyncio.StreamWriter) -> None:
    try:
        await writer.wait_closed()
    except OSError:
        return


async def ask(path: Path, request: bytes) -> bytes:
    """The status line and the sentence that answer a request."""
    async with client(path) as (reader, writer):
        writer.write(request)
        answer = await reader.readuntil(b"\r\n\r\n")
        text = b"" if b" 200 " in answer else await reader.read()
        return answer.split(b"\r\n")[0] + b" " + text


def connect(host: str, port: int) -> bytes:
    return f"CONNECT {host}:{port} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode("latin-1")


async def test_an_allowed_host_is_reached_and_everything_flows_both_ways(
    internet: Internet,
) -> None:
    sent = os.urandom(300_000)
    async with (
        internet.proxy("allowed.test").open() as path,
        client(path) as (reader, writer),
    ):
        writer.write(connect("allowed.test", internet.port))
        assert (await reader.readuntil(b"\r\n\r\n")).startswith(b"HTTP/1.1 200 ")
        got = asyncio.create_task(reader.read(-1))
        writer.write(sent)
        await writer.drain()
        writer.write_eof()

        assert await got == sent


async def test_bytes_sent_right_behind_the_request_are_not_lost(internet: Internet) -> None:
    async with (
        internet.proxy("allowed.test").open() as path,
        client(path) as (reader, writer),
    ):
        writer.write(connect("allowed.test", internet.port) + b"early")
        await reader.readuntil(b"\r\n\r\n")

        assert await reader.readexactly(5) == b"early"


async def test_a_star_rule_and_another_spelling_of_the_same_host_work(internet: Internet) -> None:
    async with internet.proxy("*.ok.test").open() as path:
        answer = await ask(path, connect("A.OK.Test", internet.port))

    assert answer.startswith(b"HTTP/1.1 200 ")
    assert internet.asked == ["a.ok.test"]


REFUSED_NAMES = [
    ("evil.test", b"evil.test is not among the hosts"),
    ("allowed.test.evil.test", b"is not among the hosts"),
    ("xallowed.test", b"is not among the hosts"),
    ("ok.test", b"is not among the hosts"),
    ("127.0.0.1", b"no plain host name"),
    ("2130706433", b"no plain host name"),
    ("allowed.test.", b"no plain host name"),
    ("evil.test\0.allowed.test", b"no plain host name"),
    ("evil.test%00.allowed.test", b"no plain host name"),
    ("allowed.test\xff", b"no plain host name"),
    ("localhost", b"no plain host name"),
]


@pytest.mark.parametrize(("host", "why"), REFUSED_NAMES)
async def test_another_host_is_refused_before_anything_is_looked_up(
    internet: Internet, host: str, why: bytes
) -> None:
    async with internet.proxy("allowed.test", "*.ok.test").open() as path:
        answer = await ask(path, connect(host, internet.port))

    assert answer.startswith(b"HTTP/1.1 403 ")
    assert why in answer
    assert internet.asked == []


@pytest.mark.parametrize("port", [22, 80, 0, 65535, 99999])
async def test_another_port_is_refused(internet: Internet, port: int) -> None:
    async with internet.proxy("allowed.test").open() as path:
        answer = await ask(path, connect("allowed.test", port))

    assert answer.startswith(b"HTTP/1.1 403 ")
    assert internet.asked == []


REFUSED_REQUESTS = [
    b"GET http://allowed.test/ HTTP/1.1\r\n\r\n",
    b"CONNECT allowed.test HTTP/1.1\r\n\r\n",
    b"CONNECT allowed.test:443:443 HTTP/1.1\r\n\r\n",
    b"CONNECT [::1]:443 HTTP/1.1\r\n\r\n",
    b"CONNECT a b:443 HTTP/1.1\r\n\r\n",
    b"CONNECT allowed.test:443 HTTP/2\r\n\r\n",
    b"CONNECT allowed.test:443 HTTP/1.1\nX: y\r\n\r\n",
    b"connect allowed.test:443 HTTP/1.1\r\n\r\n",
    b"\x05\x01\x00\r\n\r\n",
    b"\r\n\r\n",
]


@pytest.mark.parametrize("request_bytes", REFUSED_REQUESTS)
async def test_anything_but_a_connect_request_is_refused(
    internet: Internet, request_bytes: bytes
) -> None:
    async with internet.proxy("allowed.test").open() as path:
        answer = await ask(path, request_bytes)

    assert answer.startswith(b"HTTP/1.1 405 ")
    assert internet.asked == []


async def test_a_request_that_never_ends_is_refused_by_size_and_by_time(
    internet: Internet,
) -> None:
    proxy = internet.proxy("allowed.test", bounds=Bounds(patience=0.2))
    async with proxy.open() as path:
        assert (await ask(path, b"X" * 20_000)).startswith(b"HTTP/1.1 400 ")
        assert (await ask(path, b"CONNECT ")).startswith(b"HTTP/1.1 400 ")


async def test_a_host_that_leads_inside_is_refused(internet: Internet) -> None:
    internet.names["allowed.test"] = [METADATA]
    async with internet.proxy("allowed.test").open() as path:
        answer = await ask(path, connect("allowed.test", internet.port))

    assert answer.startswith(b"HTTP/1.1 403 ")
    assert b"not on the public Internet" in answer


async def test_one_address_inside_among_public_ones_refuses_the_host(internet: Internet) -> None:
    internet.names["allowed.test"] = [LOOPBACK, METADATA]
    async with internet.proxy("allowed.test").open() as path:
        answer = await ask(path, connect("allowed.test", internet.port))

    assert answer.startswith(b"HTTP/1.1 403 ")
    assert internet.connections == 0


async def test_the_name_is_looked_up_once_for_a_connection(internet: Internet) -> None:
    """A second answer could be another one: the connection goes to what was checked."""
    async with internet.proxy("allowed.test").open() as path:
        assert (await ask(path, connect("allowed.test", internet.port))).startswith(
            b"HTTP/1.1 200 "
        )

    assert internet.asked == ["allowed.test"]


async def test_the_next_address_is_tried_when_one_does_not_answer(internet: Internet) -> None:
    dead = ipaddress.ip_address("127.0.0.2")
    internet.names["allowed.test"] = [dead, LOOPBACK]
    proxy = replace(internet.proxy("allowed.test"), acceptable=lambda address: address.is_loopback)
    async with proxy.open() as path:
        answer = await ask(path, connect("allowed.test", internet.port))

    assert answer.startswith(b"HTTP/1.1 200 ")


async def test_a_host_that_cannot_be_looked_up_or_reached_is_a_plain_answer(
    internet: Internet,
) -> None:
    internet.names["a.ok.test"] = [ipaddress.ip_address("127.0.0.2")]
    proxy = replace(
        internet.proxy("gone.test", "*.ok.test"), acceptable=lambda address: address.is_loopback
    )
    async with proxy.open() as path:
        gone = await ask(path, connect("gone.test", internet.port))
        dead = await ask(path, connect("a.ok.test", internet.port))

    assert gone.startswith(b"HTTP/1.1 502 ")
    assert b"cannot be looked up" in gone
    assert b"cannot be reached" in dead


async def test_a_run_that_has_used_up_its_bytes_is_cut_off(internet: Internet) -> None:
    proxy = internet.proxy("allowed.test", bounds=Bounds(bytes=100_000))
    async with proxy.open() as path:
        async with client(path) as (reader, writer):
            writer.write(connect("allowed.test", internet.port) + bytes(200_000))
            await reader.readuntil(b"\r\n\r\n")
            got = await _until_end(reader)
        async with client(path) as (reader, writer):
            writer.write(connect("allowed.test", internet.port) + b"more")
            await reader.readuntil(b"\r\n\r\n")

            assert await _until_end(reader) == b""
    assert len(got) <= 100_000


async def _until_end(reader: asyncio.StreamReader) -> bytes:
    data = b""
    try:
        while block := await reader.read(65536):
            data += block
    except ConnectionError:
        return data
    return data


async def test_a_silent_connection_is_closed(internet: Internet) -> None:
    proxy = internet.proxy("allowed.test", bounds=Bounds(idle=0.2))
    async with proxy.open() as path, client(path) as (reader, writer):
        writer.write(connect("allowed.test", internet.port))
        await reader.readuntil(b"\r\n\r\n")

        assert await _until_end(reader) == b""


async def test_more_connections_than_allowed_are_refused(internet: Internet) -> None:
    proxy = internet.proxy("allowed.test", bounds=Bounds(connections=1))
    async with proxy.open() as path, client(path) as (reader, writer):
        writer.write(connect("allowed.test", internet.port))
        await reader.readuntil(b"\r\n\r\n")
        answer = await ask(path, connect("allowed.test", internet.port))

    assert answer.startswith(b"HTTP/1.1 503 ")


async def test_a_crowd_of_connections_is_dropped_and_holds_no_descriptors_of_the_bot(
    internet: Internet,
) -> None:
    proxy = internet.proxy("allowed.test", bounds=Bounds(connections=2))
    async with proxy.open() as path:
        crowd = [await asyncio.open_unix_connection(path) for _ in range(30)]
        ends = [await _until_end(reader) for reader, _ in crowd[4:]]

        assert ends == [b""] * 26
        for _, writer in crowd:
            writer.transport.abort()
            await _closed(writer)


async def test_the_end_of_a_run_ends_its_connections_and_removes_its_socket(
    internet: Internet,
) -> None:
    async with internet.proxy("allowed.test").open() as path:
        reader, writer = await asyncio.open_unix_connection(path)
        writer.write(connect("allowed.test", internet.port))
        await reader.readuntil(b"\r\n\r\n")

    assert await _until_end(reader) == b""
    assert not path.parent.exists()
    writer.close()
    await _closed(writer)


@pytest.mark.wall_clock
async def test_the_end_of_a_run_does_not_wait_for_a_client_that_never_reads(
    internet: Internet,
) -> None:
    loop = asyncio.get_running_loop()
    async with internet.proxy("allowed.test").open() as path:
        reader, writer = await asyncio.open_unix_connection(path, limit=1024)
        writer.write(connect("allowed.test", internet.port) + bytes(8_000_000))
        await reader.readuntil(b"\r\n\r\n")
        before = loop.time()

    assert loop.time() - before < 3
    writer.transport.abort()
    await _closed(writer)


async def test_two_runs_have_two_sockets_which_nobody_else_may_use(internet: Internet) -> None:
    proxy = internet.proxy("allowed.test")
    async with proxy.open() as one, proxy.open() as other:
        assert one != other
        assert stat.S_IMODE(one.parent.stat().st_mode) == 0o700
        assert stat.S_IMODE(one.stat().st_mode) == 0o600


async def test_the_log_names_the_host_and_the_bytes(
    internet: Internet, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "tools.sandbox.proxy")
    async with internet.proxy("allowed.test").open() as path:
        async with client(path) as (reader, writer):
            writer.write(connect("allowed.test", internet.port) + b"12345")
            await reader.readuntil(b"\r\n\r\n")
            await reader.readexactly(5)
        await ask(path, connect("evil.test", internet.port))
        await ask(path, connect("evil\x1b[2J", internet.port))

    assert "exchanged 10 bytes with allowed.test" in caplog.text
    assert "asked for evil.test" in caplog.text
    assert "\x1b" not in caplog.text


async def test_the_real_resolver_answers_with_addresses_that_the_real_rule_refuses() -> None:
    found = await look_up("localhost", 443)

    assert found
    assert not any(map(is_public, found))
