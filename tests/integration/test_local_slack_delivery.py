"""How events reach the app: sockets, acknowledgements, retries, signed HTTP, and faults."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import pytest
from aiohttp import web
from slack_sdk.errors import SlackApiError
from slack_sdk.signature import SignatureVerifier
from slack_sdk.web.async_client import AsyncWebClient

from bot.local_slack import Effect, FaultRule, LocalSlack, Options

Json = dict[str, Any]


@pytest.fixture
async def slack() -> AsyncIterator[LocalSlack]:
    async with LocalSlack(Options(retry_scale=0.0005, ack_seconds=0.3)) as running:
        yield running


@pytest.fixture
async def http() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession() as session:
        yield session


def client(slack: LocalSlack) -> AsyncWebClient:
    """slack_sdk's client for this stand-in."""
    return AsyncWebClient(token=slack.options.bot_token, base_url=slack.api_url)


async def address(slack: LocalSlack) -> str:
    """A fresh single-use socket address."""
    opened = await client(slack).apps_connections_open(app_token=slack.options.app_token)
    return str(opened["url"])


async def connect(
    slack: LocalSlack, http: aiohttp.ClientSession
) -> aiohttp.ClientWebSocketResponse:
    """A raw socket that has had its hello."""
    ws = await http.ws_connect(await address(slack), autoping=False)
    assert (await ws.receive_json())["type"] == "hello"
    return ws


async def acknowledge(ws: aiohttp.ClientWebSocketResponse) -> Json:
    """Take the next envelope and acknowledge it."""
    envelope: Json = await ws.receive_json(timeout=5)
    await ws.send_json({"envelope_id": envelope["envelope_id"]})
    return envelope


async def test_an_address_opens_one_socket_and_only_for_a_while(
    slack: LocalSlack, http: aiohttp.ClientSession
) -> None:
    used = await address(slack)
    ws = await http.ws_connect(used)
    hello = await ws.receive_json()
    assert hello["num_connections"] == 1
    assert hello["debug_info"]["approximate_connection_time"] > 0
    old = await address(slack)
    slack.advance(31)
    for stale in (used, old, slack.base_url.replace("http", "ws") + "/link/"):
        with pytest.raises(aiohttp.WSServerHandshakeError) as caught:
            await http.ws_connect(stale)
        assert caught.value.status == 408
    await ws.close()


async def test_the_eleventh_socket_is_told_that_there_are_too_many(
    slack: LocalSlack, http: aiohttp.ClientSession
) -> None:
    sockets = [await connect(slack, http) for _ in range(10)]
    one_more = await http.ws_connect(await address(slack))
    assert (await one_more.receive_json())["reason"] == "too_many_websockets"
    assert (await one_more.receive()).type is aiohttp.WSMsgType.CLOSE
    for ws in sockets:
        await ws.close()


async def test_pings_are_answered_with_their_own_data(
    slack: LocalSlack, http: aiohttp.ClientSession
) -> None:
    ws = await connect(slack, http)
    await ws.ping(b"sdk-ping-pong:1.5")
    pong = await ws.receive(timeout=5)
    assert (pong.type, bytes(pong.data)) == (aiohttp.WSMsgType.PONG, b"sdk-ping-pong:1.5")
    await ws.close()


async def test_an_unacknowledged_event_comes_again_with_a_retry_mark(
    slack: LocalSlack, http: aiohttp.ClientSession
) -> None:
    ws = await connect(slack, http)
    await slack.person("alice").say("#ops", "hi")
    first = await ws.receive_json(timeout=5)
    again = await acknowledge(ws)
    assert first["envelope_id"] != again["envelope_id"]
    assert first["payload"]["event_id"] == again["payload"]["event_id"]
    assert (first["retry_attempt"], first["retry_reason"]) == (0, "")
    assert (again["retry_attempt"], again["retry_reason"]) == (1, "timeout")
    await slack.until_delivered()
    assert [r.ok for r in slack.courier.records] == [False, True]
    await ws.close()


async def test_after_three_retries_an_event_is_lost(
    slack: LocalSlack, http: aiohttp.ClientSession
) -> None:
    slack.change(ack_seconds=0.03)
    ws = await connect(slack, http)
    await slack.person("alice").say("#ops", "hi")
    await slack.until(lambda: slack.courier.lost)
    assert [r.attempt for r in slack.courier.records] == [0, 1, 2, 3]
    assert not slack.courier.pending
    await ws.close()


async def test_an_event_waits_for_the_app_to_connect(
    slack: LocalSlack, http: aiohttp.ClientSession
) -> None:
    await slack.person("alice").say("#ops", "early")
    ws = await connect(slack, http)
    assert (await acknowledge(ws))["payload"]["event"]["text"] == "early"
    await ws.close()


async def test_events_can_be_held_until_the_app_connects(http: aiohttp.ClientSession) -> None:
    options = Options(retry_scale=0.0, ack_seconds=0.02, hold_while_offline=True)
    async with LocalSlack(options) as slack:
        await slack.person("alice").say("#ops", "patient")
        with pytest.raises(TimeoutError):
            await slack.until(lambda: slack.courier.lost, 0.2)
        ws = await connect(slack, http)
        slack.change(ack_seconds=3.0)
        assert (await acknowledge(ws))["payload"]["event"]["text"] == "patient"
        await slack.until_delivered()
        await ws.close()


async def test_any_one_of_several_sockets_gets_a_payload(
    slack: LocalSlack, http: aiohttp.ClientSession
) -> None:
    sockets = [await connect(slack, http) for _ in range(3)]
    got: list[int] = []

    async def reader(number: int) -> None:
        while True:
            await acknowledge(sockets[number])
            got.append(number)

    readers = [asyncio.ensure_future(reader(n)) for n in range(3)]
    for n in range(9):
        await slack.person("alice").say("#ops", str(n))
    await slack.until_delivered()
    assert sorted(set(got)) == [0, 1, 2]
    assert len(got) == 9
    for task in readers:
        task.cancel()
    await asyncio.gather(*readers, return_exceptions=True)
    for ws in sockets:
        await ws.close()


async def test_sockets_can_be_asked_to_reconnect(
    slack: LocalSlack, http: aiohttp.ClientSession
) -> None:
    ws = await connect(slack, http)
    await slack.sockets.refresh("warning")
    assert (await ws.receive_json(timeout=5))["reason"] == "warning"
    refreshing = asyncio.ensure_future(slack.sockets.refresh())
    assert (await ws.receive_json(timeout=5))["reason"] == "refresh_requested"
    assert (await ws.receive(timeout=5)).type is aiohttp.WSMsgType.CLOSE
    await refreshing
    await slack.until(lambda: not slack.connected)
    await ws.close()


async def test_a_half_open_socket_is_silent_and_its_events_go_elsewhere(
    slack: LocalSlack, http: aiohttp.ClientSession
) -> None:
    dead = await connect(slack, http)
    slack.sockets.mute()
    await dead.ping(b"anyone?")
    alive = await connect(slack, http)
    await slack.person("alice").say("#ops", "one")
    await slack.person("alice").say("#ops", "two")
    texts = {(await acknowledge(alive))["payload"]["event"]["text"] for _ in range(2)}
    assert texts == {"one", "two"}
    with pytest.raises(TimeoutError):
        await dead.receive(timeout=0.1)
    slack.sockets.cut()
    await alive.receive(timeout=5)
    await slack.until(lambda: not slack.connected)
    await dead.close()
    await alive.close()


async def test_socket_faults_refuse_mute_and_cut(
    slack: LocalSlack, http: aiohttp.ClientSession
) -> None:
    slack.fail(
        FaultRule(Effect.REFUSE_SOCKET, "socket", count=1, status=503),
        FaultRule(Effect.CUT_SOCKET, "socket", skip=1, count=1, seconds=0.0),
        FaultRule(Effect.MUTE_SOCKET, "socket", skip=2, count=1),
    )
    with pytest.raises(aiohttp.WSServerHandshakeError) as caught:
        await http.ws_connect(await address(slack))
    assert caught.value.status == 503
    cut = await connect(slack, http)
    assert (await cut.receive(timeout=5)).type in (
        aiohttp.WSMsgType.CLOSED,
        aiohttp.WSMsgType.ERROR,
    )
    mute = await http.ws_connect(await address(slack))
    with pytest.raises(TimeoutError):
        await mute.receive(timeout=0.1)
    slack.sockets.cut()
    await mute.close()
    await cut.close()


async def test_repeated_events_come_with_the_same_or_new_ids_and_marks(
    slack: LocalSlack, http: aiohttp.ClientSession
) -> None:
    ws = await connect(slack, http)
    slack.fail(FaultRule(Effect.REPEAT, "message", copies=2, retry_marks=True, count=1))
    await slack.person("alice").say("#ops", "hi")
    same = [await acknowledge(ws) for _ in range(3)]
    assert len({e["payload"]["event_id"] for e in same}) == 1
    assert sorted(e["retry_attempt"] for e in same) == [0, 1, 2]
    slack.fail(FaultRule(Effect.REPEAT_NEW_ID, "message", copies=1))
    await slack.person("alice").say("#ops", "again")
    other = [await acknowledge(ws) for _ in range(2)]
    assert len({e["payload"]["event_id"] for e in other}) == 2
    assert {e["retry_attempt"] for e in other} == {0}
    await ws.close()


async def test_an_event_can_be_held_and_released_or_come_late(
    slack: LocalSlack, http: aiohttp.ClientSession
) -> None:
    ws = await connect(slack, http)
    slack.fail(
        FaultRule(Effect.HOLD, "message", channel="C0OPS", count=1),
        FaultRule(Effect.DELAY, "message", channel="C0GENERAL", seconds=0.2),
    )
    alice = slack.person("alice")
    await alice.say("#ops", "held")
    await alice.say("#general", "late")
    await alice.say("#ops", "free")
    order = [(await acknowledge(ws))["payload"]["event"]["text"] for _ in range(2)]
    assert order == ["free", "late"]
    assert slack.courier.release() == 1
    assert (await acknowledge(ws))["payload"]["event"]["text"] == "held"
    await ws.close()


async def test_calls_can_fail_before_anything_is_done(slack: LocalSlack) -> None:
    bot = client(slack)
    slack.fail(
        FaultRule(Effect.RATE_LIMIT, "chat.*", count=1, seconds=7),
        FaultRule(Effect.ERROR, "chat.*", skip=0, count=1, error="internal_error"),
    )
    with pytest.raises(SlackApiError) as caught:
        await bot.chat_postMessage(channel="C0OPS", text="hi")
    assert caught.value.response.status_code == 429
    assert caught.value.response.headers["Retry-After"] == "7"
    assert caught.value.response["error"] == "ratelimited"
    slack.fail(FaultRule(Effect.ERROR, "chat.*", count=1, error="internal_error"))
    with pytest.raises(SlackApiError, match="internal_error"):
        await bot.chat_postMessage(channel="C0OPS", text="hi")
    slack.fail(FaultRule(Effect.SERVER_ERROR, "chat.*", count=1, status=503))
    with pytest.raises(SlackApiError) as caught:
        await bot.chat_postMessage(channel="C0OPS", text="hi")
    assert caught.value.response.status_code == 503
    assert slack.messages("#ops") == []
    await bot.chat_postMessage(channel="C0OPS", text="hi")
    assert [m["text"] for m in slack.messages("#ops")] == ["hi"]
    assert [c.status for c in slack.log.of("chat.postMessage")] == [429, 200, 503, 200]


async def test_a_lost_answer_means_that_the_call_was_carried_out(slack: LocalSlack) -> None:
    slack.fail(FaultRule(Effect.LOSE_ANSWER, "chat.postMessage", count=1))
    bot = client(slack)
    bot.retry_handlers = []  # the SDK's own would post a second time after a cut connection
    with pytest.raises(aiohttp.ClientError):
        await bot.chat_postMessage(channel="C0OPS", text="there")
    assert [m["text"] for m in slack.messages("#ops")] == ["there"]
    assert slack.log.of("chat.postMessage")[0].status == 0


@pytest.mark.parametrize(
    ("effect", "done_first"), [(Effect.SLOW_BEFORE, False), (Effect.SLOW_AFTER, True)]
)
async def test_a_slow_answer_waits_before_or_after_the_effect(
    slack: LocalSlack, effect: Effect, done_first: bool
) -> None:
    slack.fail(FaultRule(effect, "chat.postMessage", seconds=0.2))
    before = slack.faults.fired
    call = asyncio.ensure_future(client(slack).chat_postMessage(channel="C0OPS", text="hi"))
    if done_first:
        await slack.until(lambda: slack.messages("#ops"))
        assert not call.done()
    else:
        await asyncio.wait({call}, timeout=0.1)
        assert slack.messages("#ops") == []
    await call
    assert len(slack.messages("#ops")) == 1
    assert before() == 1


async def test_the_dice_of_a_rule_are_the_same_for_the_same_seed() -> None:
    async def run(seed: int) -> list[bool]:
        async with LocalSlack(Options(seed=seed)) as slack:
            slack.fail(FaultRule(Effect.ERROR, "auth.test", probability=0.5))
            bot = client(slack)
            outcomes: list[bool] = []
            for _ in range(12):
                try:
                    await bot.auth_test()
                    outcomes.append(True)
                except SlackApiError:
                    outcomes.append(False)
            return outcomes

    first = await run(7)
    assert first == await run(7)
    assert set(first) == {True, False}
    assert first != await run(8)


async def test_rate_limits_are_enforced_per_channel_and_per_method(slack: LocalSlack) -> None:
    slack.change(rate_limits=True)
    bot = client(slack)
    for n in range(5):
        await bot.chat_postMessage(channel="C0OPS", text=str(n))
    with pytest.raises(SlackApiError) as caught:
        await bot.chat_postMessage(channel="C0OPS", text="too fast")
    assert caught.value.response.headers["Retry-After"] == "1"
    await bot.chat_postMessage(channel="C0GENERAL", text="another channel")
    slack.advance(1.0)
    await bot.chat_postMessage(channel="C0OPS", text="in time")
    for _ in range(20):
        await bot.users_list()
    with pytest.raises(SlackApiError) as caught:
        await bot.users_list()
    assert caught.value.response.headers["Retry-After"] == "3"


# -- signed HTTP ----------------------------------------------------------------------------
Answer = Callable[[web.Request], Awaitable[web.StreamResponse]]


@asynccontextmanager
async def receiver(answer: Answer) -> AsyncIterator[tuple[str, list[tuple[Json, str]]]]:
    """An HTTP app that notes the headers and the body of what it gets."""
    got: list[tuple[Json, str]] = []

    async def handle(request: web.Request) -> web.StreamResponse:
        got.append((dict(request.headers), await request.text()))
        return await answer(request)

    app = web.Application()
    app.router.add_post("/slack/events", handle)
    runner = web.AppRunner(app, shutdown_timeout=0.1)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}/slack/events", got
    finally:
        await runner.cleanup()


async def fine(request: web.Request) -> web.StreamResponse:
    return web.Response()


async def test_http_events_are_signed_and_acknowledged_by_2xx() -> None:
    async with (
        receiver(fine) as (url, got),
        LocalSlack(Options(request_url=url, signing_secret="s3cret-enough")) as slack,
    ):
        assert slack.connected
        await slack.person("alice").say("#ops", "hi")
        await slack.until_delivered()
        [(headers, body)] = got
        assert SignatureVerifier("s3cret-enough").is_valid_request(body, headers)
        assert json.loads(body)["event"]["text"] == "hi"
        assert "X-Slack-Retry-Num" not in headers


@pytest.mark.parametrize(
    ("no_retry", "attempts"),
    [(False, ["", "1", "2", "3"]), (True, [""])],
    ids=["retry", "no-retry"],
)
async def test_http_errors_are_retried_three_times_unless_declined(
    no_retry: bool, attempts: list[str]
) -> None:
    async def failing(request: web.Request) -> web.StreamResponse:
        return web.Response(status=500, headers={"X-Slack-No-Retry": "1"} if no_retry else {})

    async with (
        receiver(failing) as (url, got),
        LocalSlack(Options(request_url=url, retry_scale=0.0005)) as slack,
    ):
        await slack.person("alice").say("#ops", "hi")
        await slack.until(lambda: slack.courier.lost)
        assert [headers.get("X-Slack-Retry-Num", "") for headers, _ in got] == attempts
        reasons = {headers.get("X-Slack-Retry-Reason") for headers, _ in got[1:]}
        assert reasons == (set() if no_retry else {"http_error"})


async def test_a_slow_or_absent_http_app_is_retried_with_the_reason() -> None:
    release = asyncio.Event()

    async def slow(request: web.Request) -> web.StreamResponse:
        if "X-Slack-Retry-Num" not in request.headers:
            await release.wait()
        return web.Response()

    async with receiver(slow) as (url, got):
        options = Options(request_url=url, retry_scale=0.0005, ack_seconds=0.1)
        async with LocalSlack(options) as slack:
            await slack.person("alice").say("#ops", "hi")
            await slack.until_delivered()
            assert got[1][0]["X-Slack-Retry-Reason"] == "http_timeout"
        release.set()
    async with LocalSlack(Options(request_url=url, retry_scale=0.0)) as slack:
        await slack.person("alice").say("#ops", "hi")
        await slack.until(lambda: slack.courier.lost)
        assert {r.reason for r in slack.courier.records} == {"connection_failed"}


async def test_http_interactions_and_commands_are_forms() -> None:
    async def answer(request: web.Request) -> web.StreamResponse:
        form = await request.post()
        return web.Response(text="done" if "command" in form else "")

    async with receiver(answer) as (url, got), LocalSlack(Options(request_url=url)) as slack:
        alice = slack.person("alice")
        assert await alice.slash("#ops", "/treadle", "a b") == {"text": "done"}
        await alice.shortcut("global")
        assert "command=%2Ftreadle&text=a+b" in got[0][1]
        assert got[1][1].startswith("payload=%7B%22type%22%3A+%22shortcut%22")


async def test_the_request_address_can_be_verified() -> None:
    async def echo(request: web.Request) -> web.StreamResponse:
        return web.json_response({"challenge": (await request.json())["challenge"]})

    async with receiver(echo) as (url, _), LocalSlack(Options(request_url=url)) as slack:
        assert await slack.http.verify() is True
    async with receiver(fine) as (url, _), LocalSlack(Options(request_url=url)) as slack:
        assert await slack.http.verify() is False
