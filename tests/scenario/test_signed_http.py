"""Events by signed HTTP, for those who have no app-level token."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest

from bot.local_slack.faults import Effect, FaultRule
from bot.local_slack.options import Options
from bot.local_slack.signed_http import signature
from tests.doubles.desk import Desk, open_desk
from tests.doubles.model_endpoint import Say

SECRET = "8f742231b10e8888abcd99aaabbb85a5"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture
async def http_desk(tmp_path: Path) -> AsyncIterator[Desk]:
    """A desk whose Slack delivers by signed HTTP."""
    port = free_port()
    options = Options(
        request_url=f"http://127.0.0.1:{port}/slack/events",
        signing_secret=SECRET,
        ack_seconds=1.0,
        retry_scale=0.005,
    )
    async with open_desk(tmp_path, options=options) as desk:
        desk.port = port
        desk.environ = {"SLACK_APP_TOKEN": "", "SLACK_SIGNING_SECRET": SECRET}
        yield desk


async def test_a_mention_is_answered_and_a_reply_goes_on(http_desk: Desk) -> None:
    desk = http_desk
    desk.model.play([Say("Hello."), Say("Again.")])
    alice = desk.slack.person("alice")
    async with desk.treadle():
        assert await desk.slack.http.verify()
        root = await alice.say("#general", "@treadle hi")
        assert await desk.answered("#general", root, covers=root) == "Hello."
        ts = await alice.reply("#general", root, "and again")
        assert await desk.answered("#general", root, covers=ts) == "Again."
        assert await alice.slash("#general", "/treadle", "help") is None
        shown = await desk.until(alice.ephemeral)
        assert "Mention me" in shown[0]["text"]
        await desk.slack.until_delivered()

    assert desk.slack.log.of("apps.connections.open") == []
    assert all(record.ok for record in desk.slack.courier.records)


@pytest.mark.wall_clock
async def test_repeated_requests_are_one_turn_also_while_the_web_api_is_slow(
    http_desk: Desk,
) -> None:
    desk = http_desk
    desk.model.play(lambda _: Say("Once."))
    async with desk.treadle():
        desk.slack.fail(
            FaultRule(Effect.REPEAT, "*", retry_marks=True, copies=2),
            FaultRule(Effect.SLOW_BEFORE, "*", seconds=0.8),
        )
        ts = await desk.slack.person("alice").say("#general", "@treadle hi")
        await desk.answered("#general", ts, covers=ts)
        await desk.slack.until_delivered()
        records = list(desk.slack.courier.records)

    assert len(desk.model.requests) == 1
    assert max(record.seconds for record in records) < 0.25
    assert all(record.ok for record in records)


async def test_an_event_that_arrives_while_treadle_is_away_is_answered_when_it_is_back(
    http_desk: Desk,
) -> None:
    desk = http_desk
    desk.model.play(lambda _: Say("Here."))
    ts = await desk.slack.person("alice").say("#general", "@treadle hi")
    await desk.until(lambda: any(not record.ok for record in desk.slack.courier.records))
    async with desk.treadle():
        assert await desk.answered("#general", ts, covers=ts) == "Here."


@pytest.mark.parametrize(
    ("secret", "age"), [("another secret, not Slack's", 0), (SECRET, 600), (SECRET, -600)]
)
async def test_requests_that_are_forged_or_stale_are_refused_and_change_nothing(
    http_desk: Desk, secret: str, age: int
) -> None:
    desk = http_desk
    desk.model.play(lambda _: Say("Once."))
    async with desk.treadle():
        ts = f"{time.time():.6f}"
        event = {"type": "app_mention", "user": "U0ALICE", "text": "<@U0TREADLE> forged", "ts": ts}
        payload = {
            "type": "event_callback",
            "team_id": "T0LOCAL",
            "event_id": "EvFORGED",
            "event": {**event, "channel": "C0GENERAL"},
        }
        body = json.dumps(payload).encode()
        stamp = str(int(time.time()) - age)
        headers = {
            "Content-Type": "application/json",
            "X-Slack-Request-Timestamp": stamp,
            "X-Slack-Signature": signature(secret, stamp, body),
        }
        url = str(desk.slack.options.request_url)
        async with (
            aiohttp.ClientSession() as session,
            session.post(url, data=body, headers=headers) as response,
        ):
            assert response.status == 401
        real = await desk.slack.person("alice").say("#general", "@treadle real")
        await desk.answered("#general", real, covers=real)

    assert "forged" not in str(desk.model.requests)
