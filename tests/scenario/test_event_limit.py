"""Slack sends no more events for an hour and says so: the log and `treadle doctor` pass it on."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest

from bot.checks import examine_host
from bot.doctor import Finding
from bot.local_slack.delivery import Kind
from bot.local_slack.options import Options
from bot.local_slack.shapes import Json
from bot.local_slack.signed_http import signature
from bot.storage.limits import KEPT_SECONDS
from tests.doubles.desk import Desk, open_desk
from tests.doubles.model_endpoint import Say
from tests.scenario.test_signed_http import SECRET, free_port

SAYS_SO = "Slack sends T0LOCAL no more events until the hour is over (from "


@pytest.fixture(params=["socket", "http"])
async def desk(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Desk]:
    if request.param == "socket":
        async with open_desk(tmp_path) as desk:
            yield desk
        return
    port = free_port()
    url = f"http://127.0.0.1:{port}/slack/events"
    async with open_desk(tmp_path, options=Options(request_url=url, signing_secret=SECRET)) as desk:
        desk.port = port
        desk.environ = {"SLACK_APP_TOKEN": "", "SLACK_SIGNING_SECRET": SECRET}
        yield desk


def notice(minute: float) -> Json:
    return {
        "token": "local-verification-token",
        "type": "app_rate_limited",
        "team_id": "T0LOCAL",
        "minute_rate_limited": int(minute),
        "api_app_id": "A0TREADLE",
    }


async def finding(desk: Desk) -> Finding:
    found = await examine_host(desk.environment(), desk.home, 0)
    return next(one for one in found if one.subject == "slack event limit")


async def test_the_notice_is_logged_and_shown_by_doctor_while_and_after_it_runs(
    desk: Desk, caplog: pytest.LogCaptureFixture
) -> None:
    desk.model.play(lambda _: Say("Still here."))
    now = time.time()
    async with desk.treadle():
        assert (await finding(desk)).ok
        for minute in (now - 60, now, now):  # Slack says so once a minute, and may repeat itself
            assert (await desk.slack.courier.ask(Kind.EVENT, notice(minute))).ok
        assert caplog.text.count(SAYS_SO) == 3
        found = await finding(desk)
        ts = await desk.slack.person("alice").say("#general", "@treadle hi")
        assert await desk.answered("#general", ts, covers=ts) == "Still here."

    last = time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(now))
    assert not found.ok
    assert found.text.startswith(
        f"Slack held events back in 2 minute(s) of the last day, at last at {last}"
    )
    assert await finding(desk) == found


async def test_a_notice_of_the_day_before_is_no_trouble_any_more(desk: Desk) -> None:
    async with desk.treadle():
        for age in (2 * 24 * 3600, KEPT_SECONDS + 60):
            await desk.slack.courier.ask(Kind.EVENT, notice(time.time() - age))
        assert (await finding(desk)).ok


@pytest.mark.parametrize("desk", ["http"], indirect=True)
async def test_a_forged_notice_is_refused_and_not_kept(desk: Desk) -> None:
    body, stamp = json.dumps(notice(time.time())).encode(), str(int(time.time()))
    headers = {
        "Content-Type": "application/json",
        "X-Slack-Request-Timestamp": stamp,
        "X-Slack-Signature": signature("another secret, not Slack's", stamp, body),
    }
    async with desk.treadle():
        async with (
            aiohttp.ClientSession() as session,
            session.post(str(desk.slack.options.request_url), data=body, headers=headers) as got,
        ):
            assert got.status == 401
        assert (await finding(desk)).ok
