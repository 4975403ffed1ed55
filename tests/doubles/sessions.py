"""What the worked sessions of tests/seeds share: running one, and looking at what was sent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tests.doubles.desk import Desk
from tests.doubles.model_endpoint import Reply, Request

CHANNEL = "#general"


async def session(desk: Desk, question: str, replies: Sequence[Reply]) -> list[str]:
    """Ask in a new thread; the bot's messages there, once the answer stands."""
    desk.model.play(replies)
    async with desk.treadle():
        ts = await desk.slack.person("alice").say(CHANNEL, f"@treadle {question}")
        await desk.answered(CHANNEL, ts, covers=ts)
    assert_prefixes(desk.model.requests)
    return desk.bot_replies(CHANNEL, ts)


async def ask(desk: Desk, thread: str | None, text: str) -> tuple[str, str]:
    """Write into the thread (None: begin one); its `ts`, and the answer to this message."""
    alice = desk.slack.person("alice")
    if thread is None:
        ts = thread = await alice.say(CHANNEL, f"@treadle {text}")
    else:
        ts = await alice.say(CHANNEL, text, thread_ts=thread)
    return thread, await desk.answered(CHANNEL, thread, covers=ts)


def contents(request: Request, role: str) -> list[str]:
    """The texts of the request's messages with this role."""
    return [str(m["content"]) for m in request["messages"] if m["role"] == role]


def observed(request: Request) -> str:
    """The newest observation that a request carries, in whatever form."""
    return "\n".join(
        str(m["content"]) for m in request["messages"][-2:] if m["role"] != "assistant"
    )


def assert_prefixes(requests: Sequence[Request]) -> None:
    """The messages of each call begin with those of the call before (prompt caches)."""
    before: list[Any] = []
    for request in requests:
        messages = request["messages"]
        assert messages[: len(before)] == before
        before = messages
