"""Section 8 of the acceptance list: the network by the proxy (N12 to N19), and our own search.

The proxy's resolver and its rule for addresses are given to it: names lead to this host, of which
one address stands for the Internet.
"""

from __future__ import annotations

import asyncio
import ipaddress
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from tests.hostile.attack import Case, judged, python
from tests.hostile.house import UID, House, open_house
from tests.hostile.stage import Result, command
from tools.base import ToolContext
from tools.catalog import builtin_tools
from tools.sandbox.contract import SandboxSettings
from tools.sandbox.hosts import Address, HostRules
from tools.sandbox.lanes import Lanes
from tools.sandbox.probe import find_confinement, owner_of
from tools.sandbox.proxy import ConnectProxy
from tools.sandbox.sandbox import Sandbox
from tools.toolset import Toolset
from tools.workspace import Workspace

INTERNET = ipaddress.ip_address("127.0.0.1")
NAMES: dict[str, list[Address]] = {
    "allowed.test": [INTERNET],
    "a.ok.test": [INTERNET],
    "inside.ok.test": [ipaddress.ip_address("169.254.169.254")],
    "both.ok.test": [INTERNET, ipaddress.ip_address("10.0.0.1")],
}
RULES = ("allowed.test", "*.ok.test")


def asked(*requests: str, unix: bool = False) -> str:
    """Send each request to the forwarder, or to the proxy's socket; answered by 200 is a hit."""
    door = "socket.AF_UNIX" if unix else "socket.AF_INET"
    address = "'/run/proxy.sock'" if unix else "('127.0.0.1', 3128)"
    return python(f"""
        for request in {requests!r}:
            client = socket.socket({door})
            client.settimeout(5)
            client.connect({address})
            client.sendall(request.encode("latin-1") + b"\\r\\n\\r\\n")
            answer = client.recv(2000)
            print(answer)
            if b" 200 " not in answer.split(b"\\r\\n")[0]: continue
            client.sendall(b"ping")
            if client.recv(4) == b"ping": hit(request)
    """)


def tunnel(host: str, port: str = "@PORT@") -> str:
    return f"CONNECT {host}:{port} HTTP/1.1"


CASES = (
    Case("N12", "an allowed host", asked(tunnel("allowed.test"), tunnel("a.ok.test")), works=True),
    Case("N13", "reach another host", asked(tunnel("evil.test"), tunnel("ok.test"))),
    Case(
        "N14",
        "reach a host whose name begins or ends like an allowed one",
        asked(*map(tunnel, ("allowed.test.evil.test", "xallowed.test", "evilok.test"))),
    ),
    Case(
        "N15",
        "reach an address, in any spelling",
        asked(
            *map(tunnel, ("127.0.0.1", "2130706433", "0x7f.0.0.1", "127.1", "[::1]", "localhost"))
        ),
    ),
    Case(
        "N16",
        "hide another host behind a NUL, %00, a space or a line break",
        asked(
            *map(
                tunnel,
                ("a.ok.test\0.evil.test", "evil.test\0.ok.test", "evil.test%00.ok.test"),
            ),
            "CONNECT evil.test @PORT@ a.ok.test:@PORT@ HTTP/1.1",
            "CONNECT evil.test:@PORT@\rX: a.ok.test:@PORT@ HTTP/1.1",
        ),
    ),
    Case("N17", "reach another port of an allowed host", asked(tunnel("allowed.test", "@TCP@"))),
    Case(
        "N18",
        "reach an inner address by the name of an allowed host",
        asked(tunnel("inside.ok.test"), tunnel("both.ok.test")),
    ),
    Case(
        "N19",
        "leave without the proxy: TCP, UDP, unix sockets, raw sockets",
        python("""
            for kind, address in (
                (socket.SOCK_STREAM, ("127.0.0.1", @PORT@)),
                (socket.SOCK_STREAM, ("127.0.0.1", @TCP@)),
                (socket.SOCK_STREAM, ("192.0.2.1", 443)),
            ):
                client = socket.socket(socket.AF_INET, kind)
                client.settimeout(1)
                tried(client.connect, address)
            tried(socket.socket(socket.AF_UNIX).connect, "@OPENSOCK@")
            tried(socket.socket(socket.AF_UNIX).connect, "\\0@ABSTRACT@")
            for family in (16, 17, 38, 40): tried(socket.socket, family, socket.SOCK_RAW)
            socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("127.0.0.1", @UDP@))
        """),
        lambda house, text: house.received("UDP"),
        alone=False,
    ),
    Case(
        "X65",
        "use plain http, or another method than CONNECT",
        asked(
            "GET http://allowed.test:@PORT@/ HTTP/1.1",
            "POST http://allowed.test/ HTTP/1.0",
            "connect allowed.test:@PORT@ HTTP/1.1",
            "OPTIONS * HTTP/1.1",
        ),
    ),
    Case(
        "X66",
        "talk to the proxy's socket without the forwarder, to gain more",
        asked(*map(tunnel, ("evil.test", "127.0.0.1")), unix=True),
    ),
    Case(
        "X67",
        "put something else in the place of the forwarder, or of the proxy's socket",
        python("""
            for path in ("/run/proxy.sock", "/run/forwarder.py"):
                tried(os.unlink, path)
                tried(os.rename, path, path + ".old")
            tried(os.mkdir, "/run/a")
            tried(open, "/run/forwarder.py", "a")
        """),
    ),
)


async def _resolve(host: str, port: int) -> Sequence[Address]:
    if host not in NAMES:
        raise OSError("no such host")
    return NAMES[host]


async def _echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while block := await reader.read(4096):
        writer.write(block)
    writer.close()


@asynccontextmanager
async def _hands(house: House) -> AsyncIterator[Toolset]:
    """The tools of a workspace, with a network, and something on the Internet."""
    server = await asyncio.start_server(_echo, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    house.marks["PORT"] = str(port)
    settings = SandboxSettings(mode="bwrap", network=RULES, uid=UID)
    owner = owner_of(settings)
    proxy = ConnectProxy(
        HostRules(RULES),
        owner,
        ports=frozenset({port}),
        resolve=_resolve,
        acceptable=lambda address: address == INTERNET,
    )
    sandbox = Sandbox(find_confinement(settings, owner), settings, Lanes(1), proxy)
    with Workspace.at(house.workspace) as workspace:
        async with server:
            yield Toolset(builtin_tools(), ToolContext(workspace, sandbox))


async def perform_with_network() -> dict[str, Result]:
    """Every case of this page, by the real tool."""
    results = {}
    with open_house() as house:
        async with _hands(house) as tools:
            for case in CASES:
                arguments = json.dumps({"command": house.fill(command(case))})
                text = (await tools.run("run_command", arguments)).text
                seen = case.evidence is not None and case.evidence(house, text)
                results[case.id] = Result(judged(case, text, seen), text)
    return results
