"""The stand-in beside another one: npm's emulate 0.11.2, where that covers the method.

Runs only where TREADLE_EMULATE_DIR names a directory in which emulate is installed
(``npm install emulate@0.11.2``) and node is there; it never downloads anything itself.
"""

import asyncio
import json
import os
import shutil
import socket
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from bot.local_slack import LocalSlack, Options

Json = dict[str, Any]
_START = """
import { createEmulator } from "emulate";
const emulator = await createEmulator({ service: "slack", port: Number(process.argv[1]) });
console.log(JSON.stringify({ url: emulator.url }));
"""


def _why_not() -> str:
    """Why the comparison cannot run here; empty if it can."""
    place = os.environ.get("TREADLE_EMULATE_DIR", "")
    if not place:
        return "TREADLE_EMULATE_DIR is not set to a directory with emulate in it"
    package = Path(place) / "node_modules" / "emulate" / "package.json"
    if not package.is_file():
        return f"emulate is not installed in {place}"
    version = json.loads(package.read_text(encoding="utf-8"))["version"]
    if version != "0.11.2":
        return f"emulate {version} is installed; the comparison was written for 0.11.2"
    return "" if shutil.which("node") else "node is not installed"


REASON = _why_not()
pytestmark = pytest.mark.skipif(bool(REASON), reason=REASON or "it can run")


class Api:
    """One of the two: calls by form POST with a bearer token."""

    def __init__(self, http: aiohttp.ClientSession, url: str, token: str) -> None:
        self._http, self._url, self._token = http, url, token
        self.channel = ""

    async def call(self, method: str, **args: str) -> Json:
        """The answer of a method."""
        headers = {"Authorization": f"Bearer {self._token}"}
        response = await self._http.post(f"{self._url}/api/{method}", data=args, headers=headers)
        answer: Json = await response.json()
        return answer


@pytest.fixture
async def other() -> AsyncIterator[Api]:
    """emulate, in a process of its own."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = await asyncio.create_subprocess_exec(
        "node", "--input-type=module", "-e", _START, str(port),
        cwd=os.environ["TREADLE_EMULATE_DIR"], stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    try:
        assert process.stdout is not None
        await asyncio.wait_for(process.stdout.readline(), 30)
        async with aiohttp.ClientSession() as http:
            api = Api(http, f"http://127.0.0.1:{port}", "xoxb-any")
            listed = await api.call("conversations.list")
            api.channel = listed["channels"][0]["id"]
            yield api
    finally:
        process.kill()
        await process.wait()


@pytest.fixture
async def ours() -> AsyncIterator[Api]:
    """The stand-in."""
    options = Options(retry_scale=0.0, ack_seconds=0.05)
    async with LocalSlack(options) as slack, aiohttp.ClientSession() as http:
        api = Api(http, slack.base_url, slack.options.bot_token)
        api.channel = "C0GENERAL"
        yield api


async def test_auth_test_has_every_key_that_the_other_one_has(ours: Api, other: Api) -> None:
    mine, theirs = await ours.call("auth.test"), await other.call("auth.test")
    assert set(theirs) <= set(mine)
    assert mine["ok"] is theirs["ok"] is True


async def test_posted_messages_and_threads_have_the_same_shape(ours: Api, other: Api) -> None:
    shapes = []
    for api in (ours, other):
        root = await api.call("chat.postMessage", channel=api.channel, text="root")
        ts = root["ts"]
        reply = await api.call("chat.postMessage", channel=api.channel, text="re", thread_ts=ts)
        read = await api.call("conversations.replies", channel=api.channel, ts=ts)
        texts = [message["text"] for message in read["messages"]]
        shapes.append((root, reply["message"], read, texts))
    (root, reply, read, texts), (root2, reply2, read2, texts2) = shapes
    assert set(root2) <= set(root)
    assert set(root2["message"]) <= set(root["message"])
    assert set(reply2) <= set(reply)
    assert set(read2) <= set(read)
    assert set(read2["messages"][0]) <= set(read["messages"][0])
    assert texts == texts2 == ["root", "re"]


async def test_reacting_twice_is_the_same_refusal(ours: Api, other: Api) -> None:
    outcomes = []
    for api in (ours, other):
        ts = (await api.call("chat.postMessage", channel=api.channel, text="x"))["ts"]
        where = {"channel": api.channel, "timestamp": ts}
        first = await api.call("reactions.add", name="eyes", **where)
        second = await api.call("reactions.add", name="eyes", **where)
        absent = await api.call("reactions.remove", name="tada", **where)
        outcomes.append((first, second["error"], absent["error"]))
    assert outcomes[0] == outcomes[1]


@pytest.mark.parametrize(
    ("method", "args"),
    [
        ("users.info", {"user": "U0NOBODY"}),
        ("chat.postMessage", {"channel": "C0NOWHERE", "text": "x"}),
        ("chat.postMessage", {"channel": "HERE"}),
        ("chat.update", {"channel": "HERE", "ts": "1.000001", "text": "x"}),
        ("conversations.info", {"channel": "C0NOWHERE"}),
        ("reactions.add", {"channel": "HERE", "timestamp": "1.000001", "name": "eyes"}),
    ],
)
async def test_refusals_use_the_same_word(
    ours: Api, other: Api, method: str, args: dict[str, str]
) -> None:
    words = []
    for api in (ours, other):
        given = {key: api.channel if value == "HERE" else value for key, value in args.items()}
        words.append((await api.call(method, **given))["error"])
    assert words[0] == words[1]
