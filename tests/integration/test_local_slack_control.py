"""The page's API: what it can do, and whom it refuses."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from slack_sdk.web.async_client import AsyncWebClient

from bot.local_slack import LocalSlack, Options
from bot.local_slack.static_page import PAGE

Json = dict[str, Any]
ROUTES = [
    ("GET", "/"),
    ("GET", "/control/state?user=U0ALICE"),
    ("GET", "/control/log"),
    ("GET", "/control/live?user=U0ALICE"),
    ("POST", "/control/post"),
    ("POST", "/control/faults"),
    ("POST", "/control/nonsense"),
]


@pytest.fixture
async def slack() -> AsyncIterator[LocalSlack]:
    async with LocalSlack(Options(retry_scale=0.0, ack_seconds=0.05)) as running:
        yield running


@pytest.fixture
async def page(slack: LocalSlack) -> AsyncIterator[aiohttp.ClientSession]:
    """A session as the page's own script has it."""
    headers = {"X-Page-Token": slack.options.page_token, "Origin": slack.base_url}
    async with aiohttp.ClientSession(slack.base_url, headers=headers) as session:
        yield session


@pytest.fixture
async def stranger(slack: LocalSlack) -> AsyncIterator[aiohttp.ClientSession]:
    """A session without the token."""
    async with aiohttp.ClientSession(slack.base_url) as session:
        yield session


async def do(page: aiohttp.ClientSession, action: str, **body: object) -> Json:
    """One control call; its answer with the HTTP status under ``status``."""
    response = await page.post(f"/control/{action}", json=body)
    answer: Json = await response.json()
    return {**answer, "status": response.status}


@pytest.mark.parametrize(("method", "path"), ROUTES)
async def test_nothing_is_given_to_whoever_lacks_the_token(
    slack: LocalSlack, stranger: aiohttp.ClientSession, method: str, path: str
) -> None:
    body = {"user": "U0ALICE", "channel": "C0OPS", "text": "@treadle run rm"}
    for token in (None, "", "wrong", "ü", slack.options.page_token[:-1]):
        params = {} if token is None else {"token": token}
        json = body if method == "POST" else None
        response = await stranger.request(method, path, params=params, json=json)
        assert response.status == 403
        answer = await response.json()
        assert answer["error"].startswith("Open the page with the address")
    assert slack.messages("#ops") == []


@pytest.mark.parametrize(("method", "path"), [*ROUTES, ("POST", "/api/auth.test")])
@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "evil.example"},
        {"Host": "127.0.0.1"},
        {"Host": "127.0.0.1:1"},
        {"Host": ""},
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1"},
        {"Origin": "http://127.0.0.1:1"},
        {"Origin": ""},
    ],
    ids=str,
)
async def test_foreign_hosts_and_origins_are_refused_even_with_the_token(
    slack: LocalSlack,
    stranger: aiohttp.ClientSession,
    method: str,
    path: str,
    headers: dict[str, str],
) -> None:
    response = await stranger.request(
        method,
        path,
        params={"token": slack.options.page_token},
        json={"user": "U0ALICE", "channel": "C0OPS", "text": "x"} if method == "POST" else None,
        headers={"Authorization": f"Bearer {slack.options.bot_token}", **headers},
    )
    assert response.status in (400, 403)
    assert slack.messages("#ops") == []
    assert slack.log.total == 0


async def test_the_localhost_name_with_the_port_is_the_own_one(slack: LocalSlack) -> None:
    port = slack.base_url.rpartition(":")[2]
    headers = {"Host": f"localhost:{port}", "Origin": f"http://localhost:{port}"}
    async with aiohttp.ClientSession(slack.base_url, headers=headers) as session:
        params = {"user": "U0ALICE", "token": slack.options.page_token}
        assert (await session.get("/control/state", params=params)).status == 200


async def test_a_foreign_page_cannot_open_the_live_socket(
    slack: LocalSlack, stranger: aiohttp.ClientSession
) -> None:
    params = {"user": "U0ALICE", "token": slack.options.page_token}
    for headers in ({"Origin": "https://evil.example"}, {"Host": "evil.example"}):
        with pytest.raises(aiohttp.WSServerHandshakeError) as caught:
            await stranger.ws_connect("/control/live", params=params, headers=headers)
        assert caught.value.status == 403
    with pytest.raises(aiohttp.WSServerHandshakeError) as caught:
        await stranger.ws_connect("/control/live", params={"user": "U0ALICE"})
    assert caught.value.status == 403


async def test_what_a_foreign_form_can_send_is_no_json_and_is_refused(
    slack: LocalSlack, page: aiohttp.ClientSession
) -> None:
    body = b'{"user":"U0ALICE","channel":"C0OPS","text":"x"}'
    for kind in ("text/plain", "application/x-www-form-urlencoded"):
        response = await page.post("/control/post", data=body, headers={"Content-Type": kind})
        assert response.status == 400
    assert slack.messages("#ops") == []


@pytest.mark.parametrize(
    "path",
    [
        "/static/../server.py",
        "/static/%2e%2e/server.py",
        "/static/..%2fserver.py",
        "/static/..%5cserver.py",
        "/static//etc/passwd",
        "/static/%00",
        "/static/.hidden.js",
        "/static/nothing.js",
        "/static/index.html",
        "/files-pri/T0LOCAL-F1/../../server.py",
    ],
)
async def test_paths_outside_the_page_are_not_served(slack: LocalSlack, path: str) -> None:
    host, port = slack.base_url.removeprefix("http://").split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    lines = [f"GET {path} HTTP/1.1", f"Host: {host}:{port}", "Connection: close", "", ""]
    writer.write("\r\n".join(lines).encode())
    answer = await reader.read()
    writer.close()
    await writer.wait_closed()
    status = int(answer.split(b" ", 2)[1])
    assert status in (400, 404) or b"Sign in" in answer
    assert b"class LocalSlack" not in answer
    assert b"root:" not in answer


@pytest.mark.skipif(not (PAGE / "index.html").is_file(), reason="the page is not built here")
async def test_the_page_is_served_with_headers_that_hold_it_in(
    slack: LocalSlack, stranger: aiohttp.ClientSession
) -> None:
    response = await stranger.get(slack.page_url.removeprefix(slack.base_url))
    assert (response.status, response.content_type) == (200, "text/html")
    assert "default-src 'self'" in response.headers["Content-Security-Policy"]
    assert response.headers["Referrer-Policy"] == "no-referrer"
    assert response.headers["X-Frame-Options"] == "DENY"
    assert slack.options.page_token not in await response.text()


async def test_a_file_is_never_a_page_of_this_server(
    slack: LocalSlack, page: aiohttp.ClientSession
) -> None:
    script = b"<script>fetch('/control/post')</script>"
    for name in ("x.html", "x.svg", "x.xhtml", "x.htm"):
        await slack.person("alice").say("#ops", "file", files=[(name, script)])
        url = slack.messages("#ops")[-1]["files"][0]["url_private"]
        response = await page.get(url.removeprefix(slack.base_url))
        assert await response.read() == script
        assert response.content_type == "application/octet-stream"
        assert response.headers["Content-Disposition"].startswith("attachment")
        assert response.headers["Content-Security-Policy"].startswith("sandbox")
        assert response.headers["X-Content-Type-Options"] == "nosniff"


async def test_the_state_shows_a_person_only_what_they_may_see(
    slack: LocalSlack, page: aiohttp.ClientSession
) -> None:
    bot = AsyncWebClient(token=slack.options.bot_token, base_url=slack.api_url)
    await slack.person("alice").say("#ops", "secret of ops")
    await slack.person("alice").say("dm", "secret of alice")
    await bot.chat_postEphemeral(channel="C0OPS", user="U0BOB", text="for bob")
    gus = await (await page.get("/control/state", params={"user": "U0GUS"})).json()
    assert "secret" not in str(gus)
    assert "for bob" not in str(gus)
    assert [c["id"] for c in gus["channels"]] == ["D0GUS", "C0GENERAL"]
    eve = await (await page.get("/control/state", params={"user": "U0EVE"})).json()
    assert [c["name"] for c in eve["channels"]] == ["partners"]
    bob = await (await page.get("/control/state", params={"user": "U0BOB"})).json()
    assert bob["ephemeral"][0]["text"] == "for bob"
    assert [m["text"] for m in bob["messages"]["C0OPS"]] == ["secret of ops"]
    assert bob["me"] == {"id": "U0BOB", "name": "bob", "real_name": "Bob", "role": "member"}
    assert set(bob) >= {"team", "bot", "users", "statuses", "home", "prompts", "connected"}
    assert bob["connected"] is False
    nobody = await page.get("/control/state", params={"user": "U0NOBODY"})
    assert nobody.status == 400
    assert (await page.get("/control/state", params={"user": "U0TREADLE"})).status == 400


async def test_the_page_can_do_what_people_do(
    slack: LocalSlack, page: aiohttp.ClientSession
) -> None:
    posted = await do(page, "post", user="U0ALICE", channel="C0OPS", text="@Bob see #general")
    assert (posted["status"], posted["ok"]) == (200, True)
    ts = posted["ts"]
    assert slack.messages("#ops")[0]["text"] == "<@U0BOB> see <#C0GENERAL|general>"
    await do(page, "post", user="U0BOB", channel="C0OPS", text="yes", thread_ts=ts)
    await do(page, "edit", user="U0ALICE", channel="C0OPS", ts=ts, text="@Bob?")
    await do(page, "react", user="U0BOB", channel="C0OPS", ts=ts, name="eyes")
    thread = slack.thread("#ops", ts)
    assert [slack.visible_text(m) for m in thread] == ["@Bob?", "yes"]
    assert thread[0]["reactions"][0]["name"] == "eyes"
    await do(page, "unreact", user="U0BOB", channel="C0OPS", ts=ts, name="eyes")
    assert "reactions" not in slack.thread("#ops", ts)[0]
    reply = thread[1]["ts"]
    await do(page, "delete", user="U0BOB", channel="C0OPS", ts=reply)
    assert len(slack.thread("#ops", ts)) == 1


@pytest.mark.parametrize(
    ("action", "body", "sentence"),
    [
        ("post", {"channel": "C0OPS", "text": "x"}, "The field 'user' is missing"),
        ("post", {"user": "U0ALICE", "channel": "C0OPS", "text": " "}, "Write something first"),
        ("post", {"user": "U0ALICE", "channel": "C0NO", "text": "x"}, "There is no channel"),
        ("post", {"user": "U0GUS", "channel": "C0OPS", "text": "x"}, "Gus is not in this channel"),
        ("post", {"user": "U0TREADLE", "channel": "C0OPS", "text": "x"}, "cannot be the bot"),
        ("post", {"user": "U0ALICE", "channel": "C0OPS", "text": 5}, "The field 'text'"),
        (
            "post",
            {"user": "U0ALICE", "channel": "C0OPS", "text": "x", "thread_ts": "1.2"},
            "The message that this should answer is not there",
        ),
        ("post", {"user": "U0ALICE", "channel": "C0OPS", "text": "x" * 12001}, "too long"),
        ("edit", {"user": "U0ALICE", "channel": "C0OPS", "ts": "1.2", "text": "x"}, "not there"),
        ("click", {"user": "U0ALICE", "action_id": "a"}, "needs message_ts or view_id"),
        ("submit", {"user": "U0ALICE", "view_id": "V1", "values": {}}, "closed already"),
        ("stop", {"user": "U0ALICE", "channel": "C0OPS", "thread_ts": "1.2"}, "no stop button"),
        ("slash", {"user": "U0ALICE", "channel": "C0OPS", "command": "/x"}, "not a valid command"),
        ("slash", {"user": "U0ALICE", "channel": "C0OPS", "command": "/treadle"}, "did not answer"),
        ("faults", {"rules": [{"effect": "explode"}]}, "needs an effect"),
        ("faults", {"rules": [{"effect": "hold", "when": 1}]}, "no field 'when'"),
        ("faults", {"rules": "all"}, "as a list"),
    ],
)
async def test_what_cannot_be_done_is_said_in_one_sentence(
    page: aiohttp.ClientSession, action: str, body: Json, sentence: str
) -> None:
    answer = await do(page, action, **body)
    assert (answer["status"], answer["ok"]) == (400, False)
    assert sentence in answer["error"]
    assert answer["error"].endswith((".", "?"))


async def test_people_cannot_change_what_others_wrote(
    slack: LocalSlack, page: aiohttp.ClientSession
) -> None:
    ts = await slack.person("alice").say("#ops", "mine")
    edit = await do(page, "edit", user="U0BOB", channel="C0OPS", ts=ts, text="yours")
    assert edit["error"] == "This message is somebody else's."
    assert (await do(page, "delete", user="U0BOB", channel="C0OPS", ts=ts))["status"] == 400
    assert (await do(page, "delete", user="U0ADA", channel="C0OPS", ts=ts))["ok"] is True


async def test_faults_and_the_log_serve_benchmarks_in_other_processes(
    slack: LocalSlack, page: aiohttp.ClientSession
) -> None:
    bot = AsyncWebClient(token=slack.options.bot_token, base_url=slack.api_url)
    rule = {"effect": "error", "target": "auth.test", "error": "account_inactive", "count": 1}
    assert (await do(page, "faults", rules=[rule]))["ok"] is True
    answer = await bot.api_call("users.info", params={"user": "U0BOB"})
    assert answer["ok"]
    with pytest.raises(Exception, match="account_inactive"):
        await bot.auth_test()
    log = await (await page.get("/control/log")).json()
    assert [(c["method"], c["ok"], c["error"]) for c in log["calls"]] == [
        ("users.info", True, ""),
        ("auth.test", False, "account_inactive"),
    ]
    assert slack.options.bot_token not in str(log)


async def test_the_page_gets_file_addresses_that_work_in_a_link(
    slack: LocalSlack, page: aiohttp.ClientSession, stranger: aiohttp.ClientSession
) -> None:
    await slack.person("alice").say("#ops", "file", files=[("a b?.txt", b"words")])
    state = await (await page.get("/control/state", params={"user": "U0BOB"})).json()
    url = state["messages"]["C0OPS"][0]["files"][0]["url_private_download"]
    response = await stranger.get(url.removeprefix(slack.base_url))
    assert await response.read() == b"words"
    assert slack.options.page_token not in str(slack.messages("#ops"))


async def test_live_pages_are_told_what_concerns_them(
    slack: LocalSlack, page: aiohttp.ClientSession
) -> None:
    bot = AsyncWebClient(token=slack.options.bot_token, base_url=slack.api_url)
    params = {"user": "U0GUS"}
    async with page.ws_connect("/control/live", params=params) as gus:
        await slack.person("alice").say("#ops", "not for gus")
        ts = await slack.person("alice").say("#general", "for all")
        await bot.chat_postEphemeral(channel="C0GENERAL", user="U0ALICE", text="not for gus")
        await bot.assistant_threads_setStatus(
            channel_id="C0GENERAL", thread_ts=ts, status="is thinking…"
        )
        started = await bot.chat_startStream(
            channel="C0GENERAL",
            thread_ts=ts,
            markdown_text="Hi",
            recipient_user_id="U0GUS",
            recipient_team_id="T0LOCAL",
        )
        await bot.chat_stopStream(channel="C0GENERAL", ts=started["ts"])
        await bot.chat_delete(channel="C0GENERAL", ts=started["ts"])
        await bot.views_publish(user_id="U0GUS", view={"type": "home", "blocks": []})
        slack.world.set_banner("A scripted model answers.")
        seen: list[Json] = []
        while not seen or seen[-1]["type"] != "banner":
            seen.append(await gus.receive_json(timeout=5))
    assert "not for gus" not in str(seen)
    assert {e["type"] for e in seen} == {"message", "status", "deleted", "home", "banner"}
    first = seen[0]
    assert (first["channel"], first["message"]["text"]) == ("C0GENERAL", "for all")
    statuses = [e for e in seen if e["type"] == "status"]
    assert [s["status"] for s in statuses] == ["is thinking…", ""]
    streaming = [e["message"] for e in seen if e.get("message", {}).get("ts") == started["ts"]]
    assert [m.get("streaming", False) for m in streaming] == [False, True, False]


async def test_the_stand_in_listens_on_loopback_only(slack: LocalSlack) -> None:
    listening = [
        line.split()
        for table in ("tcp", "tcp6")
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]
    ]
    port = f"{int(slack.base_url.rpartition(':')[2]):04X}"
    own = [row[1] for row in listening if row[1].endswith(":" + port) and row[3] == "0A"]
    assert own == [f"0100007F:{port}"]
