"""What people read when the model's endpoint is in trouble, and that a retry repeats nothing."""

from __future__ import annotations

import asyncio
import json
import re
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from aiohttp import web

from bot.agent.entries import User
from bot.agent.prompt import Facts
from bot.errors import ModelUnavailable
from bot.model import ChatModel, Endpoint
from tests.doubles.desk import Desk, arguments
from tests.doubles.model_endpoint import Raw, Refuse, Reply, Request, Say
from tests.doubles.sessions import session
from tests.doubles.wiki import Handler, serving

AT_ONCE = {"retry-after-ms": "1"}
"""Makes the client's retries quick."""
STEP = ("calculate", arguments(expression="17 * 23"))


def error(message: str, code: str | None = None) -> dict[str, Any]:
    return {"error": {"message": message, "type": "x", "code": code}}


def chunks(*deltas: dict[str, Any], finish: str | None = None) -> str:
    """A stream of chunks as an endpoint sends it."""
    choices: list[dict[str, Any]] = [
        {"index": 0, "delta": delta, "finish_reason": None} for delta in deltas
    ]
    if finish is not None:
        choices.append({"index": 0, "delta": {}, "finish_reason": finish})
    head = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    bodies = [{**head, "choices": [choice]} for choice in choices]
    return "".join(f"data: {json.dumps(body)}\n\n" for body in bodies) + "data: [DONE]\n\n"


NO_CHOICES = 'data: {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", \
"choices": []}\n\ndata: [DONE]\n\n'


@pytest.mark.parametrize(
    ("reply", "sentence"),
    [
        (Refuse(401, error("bad key")), "refused the key. Put a valid OPENAI_API_KEY into .env"),
        (Refuse(403, error("no access")), "refused the key. Put a valid OPENAI_API_KEY into .env"),
        (Refuse(404, error("no such model")), "does not know the model 'scripted'. Set OPENAI_"),
        (Refuse(429, error("slow down"), AT_ONCE), "is limiting requests and kept refusing."),
        (
            Refuse(429, error("quota", "insufficient_quota"), {"x-should-retry": "false"}),
            "has no credit left. Add credit there, then ask again.",
        ),
        (Refuse(500, error("oops"), AT_ONCE), "has trouble (HTTP 500) and kept failing."),
        (Refuse(503, error("busy"), AT_ONCE), "has trouble (HTTP 503) and kept failing."),
        (Refuse(400, error("bad thing")), "refused the request (HTTP 400): bad thing"),
        (
            Refuse(400, error("too long", "context_length_exceeded")),
            "This message is longer than the model can read at once.",
        ),
        (Say("half of", cut=True), "The model's reply broke off several times."),
        (Say(""), "The model sent an empty reply. Ask again, perhaps in other words."),
        (Raw(NO_CHOICES), "The model"),
        (Raw("data: {oops\n\n"), "sent a reply that I could not read"),
        (Raw("<html>Sign in</html>", "text/html"), "sent text/html where a streamed reply"),
        (
            Raw(chunks({"content": "x"}, finish="content_filter")),
            "The model's provider filtered this reply. Ask in other words.",
        ),
        (
            Say("I go on", calls=(STEP,), finish="length"),
            "The model reached its length limit in the middle of a reply, so I did nothing with",
        ),
        (Raw(chunks({}, finish="length")), "The model reached its length limit in the middle"),
    ],
    ids=lambda value: None if isinstance(value, str) else type(value).__name__,
)
async def test_each_trouble_has_its_sentence(desk: Desk, reply: Reply, sentence: str) -> None:
    desk.config('[model]\ndialect = "native"\n')
    desk.model.play(lambda _: reply)
    async with desk.treadle():
        ts = await desk.slack.person("alice").say("#general", "@treadle hi")
        said = await desk.answered("#general", ts, covers=ts)

    assert sentence in said
    assert desk.bot_replies("#general", ts) == [said]


async def test_an_answer_at_the_length_limit_is_shown_and_says_so(desk: Desk) -> None:
    (answer,) = await session(desk, "tell me", [Say("Once upon a time", finish="length")])

    assert answer.startswith("Once upon a time")
    assert "reached its length limit here" in answer


@pytest.mark.wall_clock
@pytest.mark.parametrize(
    ("trouble", "least"),
    [
        (Refuse(429, error("slow down"), {"Retry-After": "1"}), 1.0),
        (Refuse(429, error("slow down")), 0.2),
        (Refuse(503, error("busy")), 0.2),
    ],
    ids=["429 with Retry-After", "429 without", "503"],
)
async def test_trouble_that_passes_is_waited_out(desk: Desk, trouble: Refuse, least: float) -> None:
    began = time.monotonic()

    (answer,) = await session(desk, "hi", [trouble, Say("Here I am.")])

    assert answer == "Here I am."
    assert len(desk.model.requests) == 2
    assert time.monotonic() - began >= least


@pytest.mark.parametrize(
    "trouble",
    [
        Say("I multiply the two.", calls=(STEP,), cut=True),
        Say("I multiply the two.", cut=True),
        Refuse(500, error("oops"), AT_ONCE),
        Raw("data: {oops\n\n"),
    ],
    ids=["cut in a call", "cut in a thought", "500", "not JSON"],
)
async def test_a_retry_never_repeats_a_thought(desk: Desk, trouble: Reply) -> None:
    step = Say("I multiply the two.", calls=(STEP,), chunk=4)

    *steps, answer = await session(desk, "17 * 23?", [trouble, step, trouble, Say("It is 391.")])

    assert answer == "It is 391."
    assert "\n".join(steps).count("I multiply the two.") == 1
    assert len(desk.model.requests) == 4
    assert desk.model.requests[0] == desk.model.requests[1]


@asynccontextmanager
async def chat_model(handler: Handler, **settings: Any) -> AsyncIterator[ChatModel]:
    async with serving(handler) as address:
        model = ChatModel(Endpoint("m", "a-key-for-tests", f"{address}/v1", **settings))
        try:
            yield model
        finally:
            await model.close()


@pytest.mark.parametrize("silent", ["before it answers", "in the middle of a stream"])
async def test_a_model_that_falls_silent_is_given_up_with_a_sentence(silent: str) -> None:
    ended = asyncio.Event()

    async def handler(request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        if silent != "before it answers":
            await response.prepare(request)
            await response.write(chunks({"content": "Let me"}).split("data: [DONE]")[0].encode())
        await ended.wait()
        return response

    async with chat_model(handler, read_timeout=0.2, retries=0) as model:
        question = User("hi", "U1", "Alice", "1.0")
        with pytest.raises(ModelUnavailable, match=r"did not answer in time|broke off several"):
            await model.reply(Facts("a test"), [question], ())
        ended.set()


async def test_a_call_without_a_usable_name_does_not_brick_the_thread(desk: Desk) -> None:
    """Strict endpoints refuse every later request that holds such a name."""

    def script(request: Request) -> Reply:
        names = [
            str(call["function"]["name"])
            for message in request["messages"]
            for call in message.get("tool_calls", ())
        ]
        if not all(re.fullmatch(r"[a-zA-Z0-9_-]{1,64}", name) for name in names):
            return Refuse(400, {"error": {"message": f"Invalid function name in {names}"}})
        nameless = Say(
            "I try.", calls=(("", "{bad"), ("functions.read file", "{}"), ("x" * 99, "{}"))
        )
        return Say("It works.") if names else nameless

    desk.model.play(script)
    alice = desk.slack.person("alice")
    async with desk.treadle():
        root = await alice.say("#general", "@treadle go")
        assert await desk.answered("#general", root, covers=root) == "It works."
        ts = await alice.reply("#general", root, "@treadle again")
        assert await desk.answered("#general", root, covers=ts) == "It works."
