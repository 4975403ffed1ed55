"""A command with a network: what flows through the forwarder, and that it is in nobody's way."""

from __future__ import annotations

import asyncio
import ipaddress
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace

import pytest

from tests.doubles.shell import Shell, open_place, open_shell
from tools.sandbox.contract import SandboxSettings
from tools.sandbox.hosts import Address, HostRules
from tools.sandbox.probe import owner_of
from tools.sandbox.proxy import ConnectProxy

pytestmark = pytest.mark.needs("bwrap")

LOOPBACK = ipaddress.ip_address("127.0.0.1")
SETTINGS = SandboxSettings(mode="bwrap", network=("allowed.test",))
CLIENT = """
import hashlib, os, socket, sys, threading
def talk(size):
    client = socket.create_connection(("127.0.0.1", 3128), 20)
    client.sendall(b"CONNECT allowed.test:%d HTTP/1.1\\r\\n\\r\\n" % int(sys.argv[1]))
    head = b""
    while not head.endswith(b"\\r\\n\\r\\n"): head += client.recv(1)
    data = os.urandom(size)
    def send():
        client.sendall(data)
        client.shutdown(socket.SHUT_WR)
    threading.Thread(target=send).start()
    found = hashlib.sha256()
    while block := client.recv(65536): found.update(block)
    return found.digest() == hashlib.sha256(data).digest()
"""


async def _resolve(host: str, port: int) -> Sequence[Address]:
    return [LOOPBACK]


async def _echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while block := await reader.read(65536):
        writer.write(block)
        await writer.drain()
    writer.close()


@pytest.fixture
async def connected() -> AsyncIterator[tuple[Shell, int]]:
    """A shell whose commands reach one host, and the port of that host."""
    server = await asyncio.start_server(_echo, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    proxy = ConnectProxy(
        HostRules(SETTINGS.network),
        owner_of(SETTINGS),
        ports=frozenset({port}),
        resolve=_resolve,
        acceptable=lambda address: address == LOOPBACK,
    )
    with open_place() as place, open_shell(place, SETTINGS) as shell:
        async with server:
            yield Shell(replace(shell.sandbox, network=proxy), shell.workspace), port


async def test_large_data_flows_both_ways_at_once_and_unchanged(
    connected: tuple[Shell, int],
) -> None:
    shell, port = connected
    text = await shell.text(f"python3 - {port} <<'END'\n{CLIENT}\nprint(talk(8_000_000))\nEND")

    assert text == "True\n"


async def test_forty_connections_at_once_are_served(connected: tuple[Shell, int]) -> None:
    shell, port = connected
    many = (
        "from concurrent.futures import ThreadPoolExecutor\n"
        "with ThreadPoolExecutor(40) as pool: print(sum(pool.map(talk, [50_000] * 40)))"
    )
    text = await shell.text(f"python3 - {port} <<'END'\n{CLIENT}\n{many}\nEND")

    assert text == "40\n"


async def test_curl_and_the_like_find_the_proxy_in_the_environment(
    connected: tuple[Shell, int],
) -> None:
    text = await connected[0].text("echo $HTTPS_PROXY $https_proxy $ALL_PROXY $all_proxy")

    assert set(text.split()) == {"http://127.0.0.1:3128"}


@pytest.mark.wall_clock
async def test_the_command_is_as_without_a_network(connected: tuple[Shell, int]) -> None:
    """Its exit code is its own, and the forwarder neither holds it up nor is its child."""
    shell, _ = connected
    done = await shell.run("wait; jobs; exit 7")

    assert (done.exit_code, done.text) == (7, "")
    assert done.seconds < 2


async def test_a_killed_forwarder_means_no_network_and_nothing_more(
    connected: tuple[Shell, int],
) -> None:
    shell, port = connected
    done = await shell.run(
        "for p in /proc/[0-9]*; do grep -qsaz '^/run/forwarder.py$' $p/cmdline && "
        "kill -9 ${p#/proc/}; done; "
        f"sleep 0.1; : < /dev/tcp/127.0.0.1/3128 || : < /dev/tcp/127.0.0.1/{port} || echo alone"
    )

    assert done.text.endswith("alone\n")
