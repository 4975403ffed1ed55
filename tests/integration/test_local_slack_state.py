"""A restart of the demo loses nothing; the stand-in in a process of its own."""

import asyncio
import contextlib
import json
import signal
import sys
from pathlib import Path

import aiohttp
import pytest
from aiohttp import web
from slack_sdk.web.async_client import AsyncWebClient

from bot.local_slack import LocalSlack, Options
from bot.local_slack.state import StateError


async def test_a_restart_brings_everything_back(tmp_path: Path) -> None:
    options = Options(state_file=tmp_path / "home" / "slack.json", hold_while_offline=True)
    async with LocalSlack(options) as slack:
        bot = AsyncWebClient(token=slack.options.bot_token, base_url=slack.api_url)
        alice = slack.person("alice")
        ts = await alice.say("#ops", "hi", files=[("a.bin", b"\x00\xff")])
        await alice.reply("#ops", ts, "more")
        await alice.react("#ops", ts, "eyes")
        await bot.views_publish(user_id="U0ALICE", view={"type": "home", "blocks": []})
        await bot.chat_postEphemeral(channel="C0OPS", user="U0ALICE", text="psst")
        await bot.agents_sessions_setStatus(channel_id="C0OPS", thread_ts=ts, status="processing")
        before = slack.thread("#ops", ts)
        pending = {p["event_id"] for p in slack.courier.pending.values()}
        old_url = slack.base_url
    async with LocalSlack(options) as slack:
        alice = slack.person("alice")
        after = slack.thread("#ops", ts)
        assert json.dumps(after) == json.dumps(before).replace(old_url, slack.base_url)
        assert alice.home() is not None
        assert [e["text"] for e in alice.ephemeral()] == ["psst"]
        assert slack.world.sessions.shown("C0OPS", ts)["stoppable"] is True
        assert {p["event_id"] for p in slack.courier.pending.values()} == pending
        assert len(pending) == 3
        headers = {"X-Page-Token": slack.options.page_token}
        async with aiohttp.ClientSession(headers=headers) as http:
            got = await http.get(after[0]["files"][0]["url_private"])
            assert await got.read() == b"\x00\xff"
        newer = await alice.reply("#ops", ts, "later")
        assert float(newer) > float(after[-1]["ts"])


async def test_changes_are_saved_while_running_as_a_whole_and_only_for_the_owner(
    tmp_path: Path,
) -> None:
    path = tmp_path / "slack.json"
    async with LocalSlack(Options(state_file=path)) as slack:
        await slack.person("alice").say("#ops", "saved soon")
        deadline = asyncio.get_running_loop().time() + 10
        while not path.exists() and asyncio.get_running_loop().time() < deadline:
            await asyncio.sleep(0.05)
        assert "saved soon" in path.read_text()
        assert path.stat().st_mode & 0o777 == 0o600
        assert slack.options.bot_token not in path.read_text()


async def test_what_the_app_was_answered_stands_in_the_file_already(tmp_path: Path) -> None:
    """Else an answer posted just before a `kill -9` would be lost: nobody posts it again."""
    path = tmp_path / "slack.json"
    async with LocalSlack(Options(state_file=path)) as slack:
        bot = AsyncWebClient(token=slack.options.bot_token, base_url=slack.api_url)
        for number in range(5):
            done = await bot.chat_postMessage(channel="C0OPS", text=f"answer {number}")
            assert str(done["ts"]) in path.read_text()
        ts = [str(message["ts"]) for message in slack.messages("#ops")[-5:]]
        await asyncio.gather(
            *(bot.chat_update(channel="C0OPS", ts=one, text=f"changed {one}") for one in ts)
        )
        assert all(f"changed {one}" in path.read_text() for one in ts)


async def test_what_a_person_has_sent_stands_in_the_file_before_the_page_or_the_app_is_told(
    tmp_path: Path,
) -> None:
    path = tmp_path / "slack.json"
    told: list[str] = []

    async def receive(request: web.Request) -> web.Response:
        event = (await request.json())["event"]
        told.append(event["text"] if event["text"] in path.read_text() else "not yet saved")
        return web.Response()

    app = web.Application()
    app.router.add_post("/", receive)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    url = f"http://127.0.0.1:{runner.addresses[0][1]}/"
    try:
        async with LocalSlack(Options(state_file=path, request_url=url)) as slack:
            headers = {"X-Page-Token": slack.options.page_token}
            async with aiohttp.ClientSession(headers=headers) as http:
                body = {"user": "U0ALICE", "channel": "C0OPS", "text": "from the page"}
                answer = await http.post(slack.base_url + "/control/post", json=body)
                assert (await answer.json())["ok"] is True
                assert "from the page" in path.read_text()
            await slack.until_delivered()
    finally:
        await runner.cleanup()
    assert told == ["from the page"]


@pytest.mark.parametrize("content", ["{", '{"version": 99}', "[]", '{"version": 1}'])
async def test_an_unreadable_state_stops_the_start_with_a_sentence(
    tmp_path: Path, content: str
) -> None:
    path = tmp_path / "slack.json"
    path.write_text(content)
    with pytest.raises(StateError, match=r"cannot be read .*; move it away"):
        await LocalSlack.start(Options(state_file=path))
    assert path.read_text() == content


async def test_the_module_prints_one_line_and_serves_until_it_is_told_to_stop() -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "bot.local_slack", "--port", "0", stdout=asyncio.subprocess.PIPE
    )
    try:
        assert process.stdout is not None
        started = json.loads(await asyncio.wait_for(process.stdout.readline(), 30))
        assert set(started) >= {"url", "token", "api_url", "bot_token", "app_token", "page_url"}
        bot = AsyncWebClient(token=started["bot_token"], base_url=started["api_url"])
        assert (await bot.auth_test())["team_id"] == "T0LOCAL"
        process.send_signal(signal.SIGTERM)
        assert await asyncio.wait_for(process.wait(), 10) == 0
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
        await process.wait()
