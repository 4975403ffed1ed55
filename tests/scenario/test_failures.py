"""Every row of docs/failures.md is provoked, and what a person reads is what the row says."""

from __future__ import annotations

import asyncio
import logging
import re
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path

import pytest
from aiohttp import web

from bot.checks import examine_host
from bot.config import Need
from bot.errors import TreadleError
from bot.local_slack.faults import Effect, FaultRule
from bot.main import Role, run_slack
from bot.parts import read_settings
from bot.runs.pulse import Pulse
from bot.slack.patience import Patience
from bot.slack.preflight import identify
from bot.slack.web import close_client, web_client
from tests.doubles.desk import Desk, arguments, open_desk
from tests.doubles.model_endpoint import Refuse, Say

DOC = Path(__file__).parents[2] / "docs" / "failures.md"
ROWS = {
    cells[0]: cells[-1]
    for line in DOC.read_text("utf-8").splitlines()
    if line.startswith("| ") and (cells := [cell.strip() for cell in line.strip("|").split("|")])
    if cells[0] != "Key"
}


async def settings_error(desk: Desk, **environ: str) -> str:
    try:
        read_settings(desk.environment(**environ), desk.home, Need.RUN)
    except TreadleError as error:
        return str(error)
    raise AssertionError("the settings were accepted")


async def start_error(desk: Desk, **environ: str) -> str:
    try:
        async with desk.treadle(**environ):
            raise AssertionError("Treadle started")
    except TreadleError as error:
        return str(error)


async def finding(desk: Desk, subject: str, wait: int = 0, **environ: str) -> str:
    found = await examine_host(desk.environment(**environ), desk.home, wait)
    return next(f.text for f in found if f.subject == subject and not f.ok)


async def ask(desk: Desk, text: str = "@treadle hi", who: str = "alice") -> list[str]:
    """The bot's replies to one mention, once the last of them ends the turn."""
    async with desk.treadle():
        ts = await desk.slack.person(who).say("#general", text)
        await desk.answered("#general", ts, covers=ts)
    return desk.bot_replies("#general", ts)


async def no_token(desk: Desk) -> str:
    return await settings_error(desk, SLACK_BOT_TOKEN="")


async def wrong_token(desk: Desk) -> str:
    return await start_error(desk, SLACK_BOT_TOKEN="xoxb-000000-nobody-knows-this")


async def user_token(desk: Desk) -> str:
    return await settings_error(desk, SLACK_BOT_TOKEN="xoxp-1234567890-1234567890")


async def app_token(desk: Desk) -> str:
    return await settings_error(desk, SLACK_BOT_TOKEN="xapp-1-A0-1234567890-abc")


async def wrong_app_token(desk: Desk) -> str:
    return await start_error(desk, SLACK_APP_TOKEN="xapp-1-A0-nobody-knows-this")


async def socket_mode_off(desk: Desk) -> str:
    desk.slack.fail(FaultRule(Effect.ERROR, "apps.connections.open", error="socket_mode_disabled"))
    return await start_error(desk)


async def missing_scope(desk: Desk) -> str:
    desk.slack.change(scopes=desk.slack.options.scopes - {"files:read", "files:write"})
    return await finding(desk, "slack token")


async def no_events(desk: Desk) -> str:
    desk.slack.change(subscriptions=frozenset())
    return await finding(desk, "events", wait=1)


async def agent_off(desk: Desk) -> str:
    desk.slack.change(agent_app=False)
    return await finding(desk, "slack agent features")


async def not_in_channel(desk: Desk) -> str:
    desk.model.play([Say("too late", delay=0.2)])
    rule = FaultRule(Effect.ERROR, "chat.postMessage", error="not_in_channel")
    lines: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: lines.append(record.getMessage())  # type: ignore[method-assign]
    log = logging.getLogger("bot.slack.outbound")
    log.addHandler(handler)
    try:
        async with desk.treadle():
            desk.slack.fail(rule)
            await desk.slack.person("alice").say("#general", "@treadle hi")
            await desk.until(lambda: bool(desk.slack.log.of("chat.postMessage")))
    finally:
        log.removeHandler(handler)
    said = next(line for line in lines if "not_in_channel" in line)
    return said[said.index("Slack refused") :]


async def clock_skew(desk: Desk) -> str:
    slow = format_datetime(datetime.now(UTC) - timedelta(minutes=7), usegmt=True)

    async def auth_test(_: web.Request) -> web.Response:
        body = {"ok": True, "bot_id": "B1", "user_id": "U1", "team_id": "T1", "team": "t"}
        return web.json_response(body, headers={"Date": slow})

    server = web.Application()
    server.router.add_route("*", "/auth.test", auth_test)
    runner = web.AppRunner(server)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    client = web_client("xoxb-any", f"http://127.0.0.1:{runner.addresses[0][1]}")
    try:
        return (await identify(client)).warnings[0]
    finally:
        await close_client(client)
        await runner.cleanup()


async def bad_toml(desk: Desk) -> str:
    desk.config("[limits\nmax_steps = 3")
    return await settings_error(desk)


async def workspace_unusable(desk: Desk) -> str:
    (desk.home / "workspace").write_text("a file where the directory should be")
    return await start_error(desk)


async def home_unusable(desk: Desk) -> str:
    (desk.home / "blocked").write_text("a file where the directory should be")
    return await start_error(desk, TREADLE_HOME=str(desk.home / "blocked" / "home"))


async def already_running(desk: Desk) -> str:
    async with desk.treadle():
        return await start_error(desk)


async def database_unreachable(desk: Desk) -> str:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))  # and nobody listens
        url = f"postgresql://me:no-secret@127.0.0.1:{silent.getsockname()[1]}/db"
        return await start_error(desk, TREADLE_DATABASE_URL=url)


async def database_address(desk: Desk) -> str:
    url = "postgresql://me:no-secret@127.0.0.1/db?no_such_option=1"
    return await start_error(desk, TREADLE_DATABASE_URL=url)


async def worker_without_server(desk: Desk) -> str:
    settings = read_settings(desk.environment(), desk.home, Need.WORK)
    try:
        await run_slack(settings, stop=asyncio.Event(), ready=lambda _: None, role=Role.WORK)
    except TreadleError as error:
        return str(error)
    raise AssertionError("a worker without a server started")


async def no_worker(desk: Desk, url: str) -> str:
    return await finding(desk, "workers", TREADLE_DATABASE_URL=url)


async def workspace_not_shared(desk: Desk, url: str) -> str:
    desk.pulse = replace(Pulse(), proof=0.1)
    async with desk.treadle(TREADLE_DATABASE_URL=url):
        elsewhere = str(desk.home / "elsewhere")
        return await start_error(desk, TREADLE_DATABASE_URL=url, TREADLE_WORKSPACE=elsewhere)


async def port_taken(desk: Desk) -> str:
    with socket.create_server(("127.0.0.1", 0)) as other:
        desk.port = other.getsockname()[1]
        return await start_error(desk, SLACK_APP_TOKEN="", SLACK_SIGNING_SECRET="8f742231b10e8888")


async def slack_unreachable(desk: Desk) -> str:
    return await start_error(desk, SLACK_API_URL="http://127.0.0.1:9/api/")


async def model_unreachable(desk: Desk) -> str:
    await desk.model.stop()
    try:
        return (await ask(desk))[-1]
    finally:
        await desk.model.start()


async def key_refused(desk: Desk) -> str:
    desk.model.play([Refuse(401, {"error": {"message": "Incorrect API key"}})])
    return (await ask(desk))[-1]


async def model_unknown(desk: Desk) -> str:
    desk.model.play([Refuse(404, {"error": {"message": "no such model"}})])
    return (await ask(desk))[-1]


async def no_such_address(desk: Desk) -> str:
    desk.environ["OPENAI_BASE_URL"] = desk.model.base_url.removesuffix("/v1")
    return (await ask(desk))[-1]


async def model_quota(desk: Desk) -> str:
    body = {"error": {"message": "quota", "code": "insufficient_quota"}}
    desk.model.play(lambda _: Refuse(429, body, {"x-should-retry": "false"}))
    return (await ask(desk))[-1]


async def model_down(desk: Desk) -> str:
    headers = {"retry-after-ms": "1"}
    desk.model.play(lambda _: Refuse(500, {"error": {"message": "down"}}, headers))
    return (await ask(desk))[-1]


async def observed(desk: Desk, name: str, raw: str) -> str:
    """What the model is sent as the result of its call."""
    desk.model.play([Say("Let me see.", calls=((name, raw),)), Say("So be it.")])
    await ask(desk)
    return str(desk.model.requests[-1]["messages"][-1]["content"])


async def file_too_large(desk: Desk) -> str:
    with (desk.workspace() / "big.txt").open("wb") as file:
        file.truncate(50 * 1024**3)
    return await observed(desk, "read_file", arguments(path="big.txt"))


async def path_outside(desk: Desk) -> str:
    return await observed(desk, "read_file", arguments(path="../../treadle.toml"))


async def no_sandbox(desk: Desk) -> str:
    desk.config('[sandbox]\nread_only = ["/opt/not-there"]\n')
    said = await observed(desk, "run_command", arguments(command="true"))
    assert await finding(desk, "shell") in said
    return said


async def guest(desk: Desk) -> str:
    return (await ask(desk, who="gus"))[-1]


async def denied_tool(desk: Desk) -> str:
    desk.config('[[policy]]\ntool = "calculate"\ndecision = "deny"\n')
    return await observed(desk, "calculate", arguments(expression="1 + 1"))


async def ask_tool(desk: Desk) -> str:
    desk.config('[approvals]\nexpires_s = 1\n[[policy]]\ntool = "calculate"\ndecision = "ask"\n')
    desk.patience = Patience(sweep=0.1)
    return await observed(desk, "calculate", arguments(expression="1 + 1"))


async def too_many_steps(desk: Desk) -> str:
    desk.config("[limits]\nmax_steps = 2\n")
    call = ("calculate", arguments(expression="1 + 1"))
    desk.model.play(lambda _: Say("Again.", calls=(call,)))
    return (await ask(desk))[-1]


async def message_too_long(desk: Desk) -> str:
    desk.config("[model]\ncontext_tokens = 1000\n")
    return (await ask(desk, "@treadle " + "words " * 1_000))[-1]


async def in_circles(desk: Desk) -> str:
    call = ("calculate", arguments(expression="1 + 1"))
    desk.model.play(lambda _: Say("Again.", calls=(call,)))
    return (await ask(desk))[-1]


async def unreadable_replies(desk: Desk) -> str:
    desk.config('[model]\ndialect = "xml"\n')
    desk.model.play(lambda _: Say("<action>calculate(</action>"))
    return (await ask(desk))[-1]


async def budget_used_up(desk: Desk) -> str:
    desk.config("[budget]\ntokens_per_day = 100\n")
    return (await ask(desk))[-1]


PROVOKED: dict[str, Callable[[Desk], Awaitable[str]]] = {
    f.__name__.replace("_", "-"): f
    for f in (
        no_token, wrong_token, user_token, app_token, wrong_app_token, socket_mode_off,
        missing_scope, no_events, agent_off, not_in_channel, clock_skew, bad_toml,
        workspace_unusable, home_unusable, already_running, database_unreachable,
        database_address, worker_without_server, port_taken, slack_unreachable,
        model_unreachable, key_refused, model_unknown, no_such_address, model_quota, model_down,
        file_too_large, path_outside, no_sandbox, guest, denied_tool, ask_tool, message_too_long,
        budget_used_up, in_circles, unreadable_replies, too_many_steps,
    )
}  # fmt: skip
PROVOKED_ON_A_SERVER: dict[str, Callable[[Desk, str], Awaitable[str]]] = {
    f.__name__.replace("_", "-"): f for f in (no_worker, workspace_not_shared)
}


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    async with open_desk(tmp_path) as opened:
        yield opened


def test_every_row_of_the_table_is_provoked_here() -> None:
    assert set(ROWS) == {*PROVOKED, *PROVOKED_ON_A_SERVER}


@pytest.mark.parametrize("key", PROVOKED)
async def test_what_a_person_reads_is_what_the_table_says(key: str, desk: Desk) -> None:
    said = await asyncio.wait_for(PROVOKED[key](desk), 40)

    assert_said(key, said)


@pytest.mark.parametrize("key", PROVOKED_ON_A_SERVER)
async def test_what_is_read_of_several_processes_is_what_the_table_says(
    key: str, desk: Desk, postgres: str
) -> None:
    assert_said(key, await asyncio.wait_for(PROVOKED_ON_A_SERVER[key](desk, postgres), 40))


def assert_said(key: str, said: str) -> None:
    sentence = ROWS[key]
    pattern = ".*".join(re.escape(part) for part in sentence.split("…"))
    assert re.search(pattern, said, re.S), f"{key}: {said!r} is not {sentence!r}"
