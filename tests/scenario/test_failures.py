"""Every row of docs/failures.md is provoked, and what a person reads is what the row says."""

from __future__ import annotations

import asyncio
import logging
import re
import socket
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path

import pytest
from aiohttp import web

from bot.checks import examine_host
from bot.config import Need
from bot.errors import TreadleError
from bot.local_slack.delivery import Kind
from bot.local_slack.faults import Effect, FaultRule
from bot.local_slack.shapes import Json
from bot.main import Role, run_slack
from bot.making import read_settings
from bot.runs.pulse import Pulse
from bot.slack.patience import Patience
from bot.slack.preflight import identify
from bot.slack.web import close_client, web_client
from bot.trail import verify_trail
from tests.doubles.cards import question, told
from tests.doubles.desk import QUICK, Desk, arguments, open_desk
from tests.doubles.model_endpoint import Raw, Refuse, Say

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


@contextmanager
def logged(name: str) -> Iterator[list[str]]:
    """The lines that are logged under this name meanwhile."""
    lines: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: lines.append(record.getMessage())  # type: ignore[method-assign]
    log = logging.getLogger(name)
    log.addHandler(handler)
    try:
        yield lines
    finally:
        log.removeHandler(handler)


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
    rule = FaultRule(Effect.ERROR, "chat.postMessage", channel="C0GENERAL", error="not_in_channel")
    async with desk.treadle():
        desk.slack.fail(rule)
        await desk.slack.person("alice").say("#general", "@treadle hi")
        (letter,) = await desk.until(lambda: desk.slack.messages("D0ALICE"))
    return desk.slack.visible_text(letter)


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


async def event_limit(desk: Desk) -> str:
    notice: Json = {"type": "app_rate_limited", "team_id": "T0LOCAL", "minute_rate_limited": 1}
    async with desk.treadle():
        with logged("bot.storage.limits") as lines:
            await desk.slack.courier.ask(Kind.EVENT, notice)
    return lines[0]


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
    desk.patience = Patience(start=0.01)
    return await start_error(desk, SLACK_API_URL="http://127.0.0.1:9/api/")


async def model_unreachable(desk: Desk) -> str:
    desk.model_pause = 0.01
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


async def model_busy(desk: Desk) -> str:
    headers = {"retry-after-ms": "1"}
    desk.model.play(lambda _: Refuse(429, {"error": {"message": "slow down"}}, headers))
    return (await ask(desk))[-1]


async def model_refused(desk: Desk) -> str:
    desk.model.play([Refuse(400, {"error": {"message": "temperature is too high"}})])
    return (await ask(desk))[-1]


async def model_breaks_off(desk: Desk) -> str:
    desk.model.play(lambda _: Say("half of", cut=True))
    return (await ask(desk))[-1]


async def model_cut_off(desk: Desk) -> str:
    call = ("calculate", arguments(expression="1"))
    desk.model.play([Say("I go on", calls=(call,), finish="length")])
    return (await ask(desk))[-1]


async def model_filtered(desk: Desk) -> str:
    desk.model.play([Say("half of", finish="content_filter")])
    return (await ask(desk))[-1]


async def model_empty(desk: Desk) -> str:
    desk.model.play([Say("")])
    return (await ask(desk))[-1]


async def model_is_a_page(desk: Desk) -> str:
    desk.model.play([Raw("<html>Sign in</html>", "text/html")])
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


async def clicked(desk: Desk, who: str, action: str) -> str:
    """What this person alone is told after a click on a card."""
    desk.config('[[policy]]\ntool = "calculate"\ndecision = "ask"\n')
    call = ("calculate", arguments(expression="1 + 1"))
    desk.model.play([Say("I calculate.", calls=(call,)), Say("Ready.")])
    async with desk.treadle():
        _, card = await question(desk)
        await desk.slack.person(who).click(card, action, as_seen=True)
        (said,) = await desk.until(lambda: told(desk, who))
    return said


async def not_yours(desk: Desk) -> str:
    return await clicked(desk, "bob", "treadle_approve")


async def question_closed(desk: Desk) -> str:
    desk.config('[[policy]]\ntool = "calculate"\ndecision = "ask"\n')
    call = ("calculate", arguments(expression="1 + 1"))
    desk.model.play([Say("I calculate.", calls=(call,)), Say("Ready.")])
    async with desk.treadle():
        root, card = await question(desk)
        ada = desk.slack.person("ada")
        await ada.click(card, "treadle_deny")
        await desk.answered("#general", root, covers=root)
        await ada.click(card, "treadle_approve", as_seen=True)
        (said,) = await desk.until(lambda: told(desk, "ada"))
    return said


async def no_window(desk: Desk) -> str:
    desk.slack.fail(FaultRule(Effect.ERROR, "views.open", error="expired_trigger_id"))
    return await clicked(desk, "ada", "treadle_deny_why")


async def too_long_to_ask(desk: Desk) -> str:
    desk.config('[[policy]]\ntool = "write_file"\ndecision = "ask"\n')
    return await observed(desk, "write_file", arguments(path="n.txt", content="x" * 100_001))


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


async def answered(desk: Desk, who: str, text: str) -> str:
    """What `/treadle` answers, as it is sent."""
    async with desk.treadle():
        await desk.command(who, text)
    return str(desk.slack.person(who).ephemeral()[-1]["text"])


async def not_admin(desk: Desk) -> str:
    return await answered(desk, "bob", "deny wikipedia")


async def command_unknown(desk: Desk) -> str:
    return await answered(desk, "ada", "dney wikipedia")


async def channel_not_picked(desk: Desk) -> str:
    return await answered(desk, "ada", "deny wikipedia in general")


async def person_not_picked(desk: Desk) -> str:
    return await answered(desk, "ada", "deny wikipedia for bob")


async def rule_overruled(desk: Desk) -> str:
    desk.config('[[policy]]\ntool = "calculate"\ndecision = "deny"\n')
    return await answered(desk, "ada", "allow calculate")


async def why_refused(desk: Desk) -> str:
    desk.config('[[policy]]\ntool = "calculate"\ndecision = "deny"\n')
    call = ("calculate", arguments(expression="1 + 1"))
    desk.model.play([Say("I count.", calls=(call,)), Say("I may not.")])
    alice = desk.slack.person("alice")
    async with desk.treadle():
        root = await alice.say("#general", "@treadle 1 + 1?")
        await desk.answered("#general", root, covers=root)
        why = await alice.reply("#general", root, "@treadle !why")
        return await desk.answered("#general", root, covers=why)


async def rule_unreadable(desk: Desk) -> str:
    async with desk.treadle():
        await desk.command("ada", "deny wikipedia")
    with closing(sqlite3.connect(desk.home / ".treadle" / "treadle.db")) as database:
        database.execute("UPDATE rules SET body = '{}'")
        database.commit()
    return await start_error(desk)


async def audit_altered(desk: Desk) -> str:
    await ask(desk)
    with closing(sqlite3.connect(desk.home / ".treadle" / "treadle.db")) as database:
        database.execute("UPDATE audit SET body = '{}' WHERE seq = 1")
        database.commit()
    lines: list[str] = []
    verify_trail(desk.environment(), desk.home, lines.append)
    return "\n".join(lines)


async def audit_head_unwritable(desk: Desk) -> str:
    (desk.home / ".treadle").mkdir()
    (desk.home / ".treadle" / "audit").write_text("a file in the way")
    return await start_error(desk)


PROVOKED: dict[str, Callable[[Desk], Awaitable[str]]] = {
    f.__name__.replace("_", "-"): f
    for f in (
        no_token, wrong_token, user_token, app_token, wrong_app_token, socket_mode_off,
        missing_scope, no_events, agent_off, not_in_channel, clock_skew, event_limit, bad_toml,
        workspace_unusable, home_unusable, already_running, database_unreachable,
        database_address, worker_without_server, port_taken, slack_unreachable,
        model_unreachable, key_refused, model_unknown, no_such_address, model_quota, model_down,
        model_busy, model_refused, model_breaks_off, model_cut_off, model_filtered, model_empty,
        model_is_a_page,
        file_too_large, path_outside, no_sandbox, guest, denied_tool, ask_tool, message_too_long,
        not_yours, question_closed, no_window, too_long_to_ask,
        budget_used_up, in_circles, unreadable_replies, too_many_steps, not_admin, command_unknown,
        channel_not_picked, person_not_picked, rule_overruled, why_refused, rule_unreadable,
        audit_altered, audit_head_unwritable,
    )
}  # fmt: skip
PROVOKED_ON_A_SERVER: dict[str, Callable[[Desk, str], Awaitable[str]]] = {
    f.__name__.replace("_", "-"): f for f in (no_worker, workspace_not_shared)
}


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    async with open_desk(tmp_path) as opened:
        opened.patience = QUICK
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
