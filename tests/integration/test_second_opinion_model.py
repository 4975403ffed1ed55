"""Treadle against a model endpoint that others wrote: npm's @copilotkit/aimock 1.43.0.

Runs only where TREADLE_AIMOCK_DIR names a directory in which it is installed
(``npm install @copilotkit/aimock@1.43.0``) and node is there; it never downloads anything itself.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import socket
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from tests.doubles.desk import Desk, open_desk

Json = dict[str, Any]
VERSION = "1.43.0"


def _package() -> Path:
    place = os.environ.get("TREADLE_AIMOCK_DIR", "")
    return Path(place) / "node_modules" / "@copilotkit" / "aimock"


def _why_not() -> str:
    """Why this cannot run here; empty if it can."""
    if not os.environ.get("TREADLE_AIMOCK_DIR"):
        return "TREADLE_AIMOCK_DIR is not set to a directory with @copilotkit/aimock in it"
    if not (_package() / "package.json").is_file():
        return f"@copilotkit/aimock is not installed in {os.environ['TREADLE_AIMOCK_DIR']}"
    version = json.loads((_package() / "package.json").read_text(encoding="utf-8"))["version"]
    if version != VERSION:
        return f"aimock {version} is installed; this was written for {VERSION}"
    return "" if shutil.which("node") else "node is not installed"


REASON = _why_not()
pytestmark = pytest.mark.skipif(bool(REASON), reason=REASON or "it can run")


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    async with open_desk(tmp_path) as opened:
        yield opened


@asynccontextmanager
async def aimock(home: Path, fixtures: Sequence[Json], *flags: str) -> AsyncIterator[str]:
    """aimock in a process of its own, with these fixtures; the value is its address."""
    (home / "fixtures.json").write_text(json.dumps({"fixtures": fixtures}))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = await asyncio.create_subprocess_exec(
        "node", str(_package() / "dist" / "cli.js"), "-p", str(port), "-c", "3", "--strict",
        "--log-level", "silent", "-f", str(home / "fixtures.json"), *flags,
        stdout=asyncio.subprocess.DEVNULL,
    )  # fmt: skip
    try:
        await _listening(port, process)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        await process.wait()


async def _listening(port: int, process: asyncio.subprocess.Process) -> None:
    async with asyncio.timeout(20):
        while process.returncode is None:
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", port)
            except OSError:
                await asyncio.sleep(0.05)
                continue
            writer.close()
            await writer.wait_closed()
            return
    raise AssertionError(f"aimock ended with {process.returncode}")


async def ask(desk: Desk, address: str, question: str) -> list[str]:
    async with desk.treadle(OPENAI_BASE_URL=f"{address}/v1"):
        ts = await desk.slack.person("alice").say("#general", f"@treadle {question}")
        await desk.answered("#general", ts, covers=ts)
    return desk.bot_replies("#general", ts)


async def sent(address: str) -> list[Json]:
    """The request bodies that aimock received."""
    async with (
        aiohttp.ClientSession() as http,
        http.get(f"{address}/__aimock/journal") as response,
    ):
        found = await response.json()
    entries = found["entries"] if isinstance(found, dict) else found
    return [entry["body"] for entry in entries]


def multiply(reply: Json, answer: Json) -> list[Json]:
    return [
        {"match": {"userMessage": "17 * 23", "hasToolResult": False}, "response": reply},
        {"match": {"hasToolResult": True, "toolResultContains": "391"}, "response": answer},
    ]


CALL = {"name": "calculate", "arguments": {"expression": "17 * 23"}}


@pytest.mark.parametrize(
    "reply",
    [
        {"content": "I multiply.", "toolCalls": [CALL]},
        {
            "blocks": [
                {"type": "toolCall", **CALL},
                {"type": "text", "text": "I multiply."},
            ]
        },
    ],
    ids=["thought first", "call first"],
)
async def test_a_call_its_observation_and_an_answer_by_function_calling(
    desk: Desk, reply: Json
) -> None:
    async with aimock(desk.home, multiply(reply, {"content": "It is 391."})) as address:
        step, answer = await ask(desk, address, "what is 17 * 23?")
        first, second = await sent(address)

    assert answer == "It is 391."
    assert "I multiply." in step
    assert "Calculate 17 * 23" in step
    assert second["messages"][: len(first["messages"])] == first["messages"]


async def test_several_calls_in_one_reply_all_run(desk: Desk) -> None:
    other = {"name": "list_dir", "arguments": {"path": "."}}
    reply = {"toolCalls": [other, CALL]}
    async with aimock(desk.home, multiply(reply, {"content": "Done."})) as address:
        *_, answer = await ask(desk, address, "list, then 17 * 23")
        *_, last = await sent(address)

    assert answer == "Done."
    roles = [message["role"] for message in last["messages"]]
    assert roles[-3:] == ["assistant", "tool", "tool"]


async def test_reasoning_that_comes_apart_is_shown_as_the_thought(desk: Desk) -> None:
    reply = {"reasoning": "This needs arithmetic.", "toolCalls": [CALL]}
    async with aimock(desk.home, multiply(reply, {"content": "It is 391."})) as address:
        step, answer = await ask(desk, address, "what is 17 * 23?")

    assert answer == "It is 391."
    assert "This needs arithmetic." in step


async def test_a_text_dialect_in_chunks_of_three_characters(desk: Desk) -> None:
    desk.config('[model]\ndialect = "xml"\n')
    action = '<thought>I multiply.</thought><action>calculate("17 * 23")</action>'
    fixtures: list[Json] = [
        {"match": {"userMessage": "<observation>391"}, "response": {
            "content": "<final_answer>It is 391.</final_answer>"}},
        {"match": {"userMessage": "17 * 23"}, "response": {"content": action}},
    ]  # fmt: skip
    async with aimock(desk.home, fixtures) as address:
        step, answer = await ask(desk, address, "what is 17 * 23?")

    assert answer == "It is 391."
    assert "I multiply." in step
    assert "<action>" not in step


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        (("--chaos-malformed", "1"), "sent application/json where a streamed reply belongs."),
        (("--chaos-disconnect", "1"), "I could not reach the model at"),
    ],
    ids=["malformed", "disconnect"],
)
async def test_an_endpoint_in_trouble_has_its_sentence(
    desk: Desk, flags: tuple[str, ...], sentence: str
) -> None:
    hello = [{"match": {}, "response": {"content": "hello"}}]
    async with aimock(desk.home, hello, *flags) as address:
        (said,) = await ask(desk, address, "hi")

    assert sentence in said


async def test_a_rate_limit_that_passes_is_waited_out(desk: Desk) -> None:
    slow = {"error": {"message": "slow down", "type": "rate_limit_error"}, "status": 429}
    fixtures: list[Json] = [
        {"match": {"userMessage": "hi", "sequenceIndex": 0}, "response": slow},
        {"match": {"userMessage": "hi"}, "response": {"content": "hello"}},
    ]
    async with aimock(desk.home, fixtures) as address:
        assert await ask(desk, address, "hi") == ["hello"]
