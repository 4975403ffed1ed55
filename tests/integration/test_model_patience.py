"""A call that failed is made again as the endpoint asks, and waiting is no running time."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest
from aiohttp import web

from bot.agent.entries import ModelReply, User
from bot.agent.prompt import Facts
from bot.errors import ContextTooLong, ModelError, ModelUnavailable
from bot.model import ChatModel, Endpoint
from bot.model.patience import asked_pause
from tests.doubles.model_endpoint import ModelEndpoint, Refuse, Reply, Say
from tests.doubles.wiki import serving

QUESTION = User("hi", "U1", "Alice", "1.0")
BUSY: dict[str, Any] = {"error": {"message": "slow down", "type": "rate_limit_error"}}
QUOTA: dict[str, Any] = {"error": {"message": "no credit", "code": "insufficient_quota"}}


async def ask(script: Sequence[Reply], **settings: Any) -> tuple[ModelReply | str, int]:
    """The reply (or the sentence of the failure), and how many calls it took."""
    endpoint = ModelEndpoint(script)
    await endpoint.start()
    model = ChatModel(Endpoint("m", "a-key-for-tests", endpoint.base_url, **settings))
    try:
        return await model.reply(Facts("a test"), [QUESTION], ()), len(endpoint.requests)
    except ModelError as error:
        return str(error), len(endpoint.requests)
    finally:
        await model.close()
        await endpoint.stop()


@pytest.mark.wall_clock
async def test_the_pause_that_was_asked_for_is_kept_and_is_no_running_time() -> None:
    began = time.monotonic()
    reply, calls = await ask([Refuse(429, BUSY, {"Retry-After": "1"}), Say("here", delay=0.1)])

    assert isinstance(reply, ModelReply)
    assert (reply.answer, calls) == ("here", 2)
    assert time.monotonic() - began >= 1.1
    assert 0.1 <= reply.seconds < 1.0


@pytest.mark.parametrize(
    ("refusal", "calls"),
    [
        (Refuse(429, QUOTA), 1),
        (Refuse(429, BUSY, {"Retry-After": "600"}), 1),
        (Refuse(503, BUSY, {"x-should-retry": "false"}), 1),
        (Refuse(400, BUSY), 1),
        (Refuse(400, BUSY, {"x-should-retry": "true", "retry-after-ms": "1"}), 3),
        (Refuse(408, BUSY, {"retry-after-ms": "1"}), 3),
        (Refuse(500, BUSY, {"retry-after-ms": "1"}), 3),
    ],
    ids=["quota", "asks too long", "says no", "400", "says yes", "408", "500"],
)
async def test_what_will_not_pass_is_not_tried_again(refusal: Refuse, calls: int) -> None:
    _, made = await ask([refusal] * 5, retries=2)

    assert made == calls


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (400, {"error": {"message": "…", "code": "context_length_exceeded"}}),
        (400, {"error": {"message": "This model's maximum context length is 4096 tokens. …"}}),
        (400, {"error": {"message": "…", "type": "exceed_context_size_error", "code": 400}}),
        (400, {"error": {"message": "the request exceeds the available context size. …"}}),
        (400, {"error": {"message": "litellm.ContextWindowExceededError: prompt too big"}}),
        (400, {"error": {"message": "prompt is too long: 210000 tokens > 200000 maximum"}}),
        (400, {"error": {"message": "Range of input length should be [1, 30720]"}}),
        (400, {"error": {"message": "Prompt exceeds max length", "code": "1261"}}),
    ],
)
async def test_a_request_that_is_too_long_is_told_apart_whatever_the_words(
    status: int, body: dict[str, Any]
) -> None:
    """So that the journal is folded and the call made again."""
    endpoint = ModelEndpoint([Refuse(status, body)])
    await endpoint.start()
    model = ChatModel(Endpoint("m", "a-key-for-tests", endpoint.base_url))
    with pytest.raises(ContextTooLong):
        await model.reply(Facts("a test"), [QUESTION], ())
    await model.close()
    await endpoint.stop()


async def test_a_time_out_is_tried_once_more_and_no_oftener() -> None:
    ended = asyncio.Event()
    calls = 0

    async def silent(_: web.Request) -> web.StreamResponse:
        nonlocal calls
        calls += 1
        await ended.wait()
        return web.Response()

    async with serving(silent) as address:
        model = ChatModel(Endpoint("m", "a-key-for-tests", address, read_timeout=0.2))
        with pytest.raises(ModelUnavailable, match="did not answer in time"):
            await model.reply(Facts("a test"), [QUESTION], ())
        await model.close()
        ended.set()

    assert calls == 2


async def test_an_error_in_the_middle_of_a_stream_is_tried_again() -> None:
    calls = 0

    async def handler(_: web.Request) -> web.StreamResponse:
        nonlocal calls
        calls += 1
        body = 'data: {"error": {"message": "upstream gone", "code": 502}}\n\n'
        return web.Response(text=body, content_type="text/event-stream")

    async with serving(handler) as address:
        model = ChatModel(Endpoint("m", "a-key-for-tests", address))
        with pytest.raises(ModelUnavailable, match="upstream gone"):
            await model.reply(Facts("a test"), [QUESTION], ())
        await model.close()

    assert calls == 3


async def test_a_model_that_is_warmed_while_it_is_asked_has_one_client() -> None:
    """A second client would never be closed; its sockets then warn, which fails this test."""
    endpoint = ModelEndpoint([Say("here")])
    await endpoint.start()
    model = ChatModel(Endpoint("m", "a-key-for-tests", endpoint.base_url))
    warming = asyncio.create_task(model.warm())
    await asyncio.sleep(0)

    reply = await model.reply(Facts("a test"), [QUESTION], ())

    await warming
    await model.close()
    await endpoint.stop()
    assert reply.answer == "here"


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "2"}, 2.0),
        ({"retry-after": "1.5"}, 1.5),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-3"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "Thu, 99 Foo 2020"}, None),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0.0),
    ],
)
def test_what_an_endpoint_asks_for_is_read(headers: dict[str, str], seconds: float | None) -> None:
    assert asked_pause(headers) == seconds


def test_a_moment_to_come_is_read_as_the_seconds_until_then() -> None:
    moment = format_datetime(datetime.now(UTC) + timedelta(seconds=60), usegmt=True)

    pause = asked_pause({"retry-after": moment})

    assert pause is not None
    assert 50 < pause <= 60
