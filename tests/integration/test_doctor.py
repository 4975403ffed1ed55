"""`treadle doctor`: whatever is wrong is found, named and told what to do about."""

from __future__ import annotations

import asyncio
import os
import sys
from asyncio.subprocess import PIPE
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path

import pytest
from aiohttp import web

from bot import words
from bot.checks import examine_host
from bot.doctor import Check, Finding, examine
from bot.errors import ConfigError
from bot.local_slack.faults import Effect, FaultRule
from tests.doubles.desk import Desk, open_desk
from tests.doubles.model_endpoint import Refuse, Say
from tests.doubles.shell import open_place

pytestmark = pytest.mark.needs("bwrap")

ROOT = Path(__file__).parents[2]
SUBJECTS = [
    "settings", "database", "workspace", "tools", "shell", "model", "model format", "slack token",
    "slack agent features", "slack event limit", "socket mode",
]  # fmt: skip


@pytest.fixture
async def desk() -> AsyncIterator[Desk]:
    with open_place() as place:
        async with open_desk(place, lambda _: Say("ok")) as opened:
            yield opened


async def findings(desk: Desk, wait: int = 0, **environ: str) -> Sequence[Finding]:
    found = await examine_host(desk.environment(**environ), desk.home, wait)
    for finding in found:
        if finding.subject != "settings":  # which lists every problem, each on a line
            assert "\n" not in finding.text
            assert finding.text.endswith(".")
    return found


async def command(desk: Desk) -> tuple[int, list[str], str]:
    """The exit code of `treadle doctor`, what it prints, and its stderr."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "bot", "doctor"),
        cwd=desk.home,
        env={**os.environ, **desk.environment(), "PYTHONPATH": str(ROOT)},
        stdout=PIPE,
        stderr=PIPE,
    )
    out, err = await asyncio.wait_for(process.communicate(), 50)
    assert process.returncode is not None
    return process.returncode, out.decode().splitlines(), err.decode()


async def test_where_everything_is_right_each_check_says_so_and_it_exits_with_0(
    desk: Desk,
) -> None:
    code, lines, err = await command(desk)

    assert (code, err) == (0, "")
    assert [line.partition(":")[0] for line in lines] == [f"ok    {name}" for name in SUBJECTS]
    assert "the bot is @treadle in Treadle demo" in lines[7]


async def test_one_thing_wrong_is_told_beside_what_is_right_and_it_exits_with_1(
    desk: Desk,
) -> None:
    desk.model.play(lambda _: Refuse(401, {"error": {"message": "no"}}))

    code, lines, err = await command(desk)

    assert (code, err) == (1, "")
    failed = [line for line in lines if line.startswith("FAIL")]
    assert failed == [f"FAIL  model: {words.model_key_refused(desk.model.base_url)}"]
    assert len(lines) == len(SUBJECTS)


async def test_settings_that_cannot_be_read_are_the_only_finding_and_it_exits_with_1(
    desk: Desk,
) -> None:
    desk.config("[limits\nmax_steps = 3")

    code, lines, err = await command(desk)

    assert (code, err) == (1, "")
    assert lines[0].startswith("FAIL  settings: ")
    assert "treadle.toml is not TOML" in "\n".join(lines)


@dataclass(frozen=True)
class Fault:
    """One thing that is wrong, the check that must find it, and what it says."""

    name: str
    subject: str
    said: str
    spoil: Callable[[Desk], object] = lambda _: None
    environ: tuple[tuple[str, str], ...] = ()
    also: tuple[str, ...] = ()
    """The subjects that cannot be right either."""


def unscoped(desk: Desk) -> None:
    desk.slack.change(scopes=desk.slack.options.scopes - {"reactions:read", "commands"})


FAULTS = [
    Fault(
        "a token that Slack does not know",
        "slack token",
        "Slack refused SLACK_BOT_TOKEN (invalid_auth). Copy the Bot User OAuth Token anew",
        environ=(("SLACK_BOT_TOKEN", "xoxb-1234567890-nobody"),),
        also=("slack agent features",),
    ),
    Fault(
        "a person's token where the bot's belongs",
        "settings",
        "xoxp",
        environ=(("SLACK_BOT_TOKEN", "xoxp-1234567890-somebody"),),
    ),
    Fault(
        "the app-level token where the bot's belongs",
        "settings",
        "xapp",
        environ=(("SLACK_BOT_TOKEN", "xapp-1-A1-1234567890"),),
    ),
    Fault(
        "the bot's token where the app-level one belongs",
        "settings",
        "SLACK_APP_TOKEN",
        environ=(("SLACK_APP_TOKEN", "xoxb-1234567890-bot"),),
    ),
    Fault(
        "an app-level token that Slack does not know",
        "socket mode",
        "Slack refused SLACK_APP_TOKEN (invalid_auth). Make an app-level token with the scope",
        environ=(("SLACK_APP_TOKEN", "xapp-1-A1-1234567890-nobody"),),
    ),
    Fault(
        "scopes that were not granted",
        "slack token",
        "The app was installed without commands, reactions:read. Update it from manifest.yml",
        spoil=unscoped,
    ),
    Fault(
        "an app that is no agent",
        "slack agent features",
        "so no status is shown; a reaction is used instead. Update the app from manifest.yml",
        spoil=lambda desk: desk.slack.change(agent_app=False),
    ),
    Fault(
        "a Slack without statuses",
        "slack agent features",
        "(unknown_method)",
        spoil=lambda desk: desk.slack.change(
            absent_methods=frozenset({"assistant.threads.setStatus"})
        ),
    ),
    Fault(
        "Socket Mode that is off",
        "socket mode",
        "Turn Socket Mode on in the app's settings, or remove SLACK_APP_TOKEN",
        spoil=lambda desk: desk.slack.fail(
            FaultRule(Effect.ERROR, "apps.connections.open", error="not_allowed")
        ),
    ),
    Fault(
        "an unknown setting",
        "settings",
        "max_stepps",
        spoil=lambda desk: desk.config("[limits]\nmax_stepps = 3"),
    ),
    Fault(
        "a variable that nobody reads",
        "settings",
        "TREADLE_HOOME",
        environ=(("TREADLE_HOOME", "x"),),
    ),
    Fault(
        "a workspace that cannot be made",
        "workspace",
        "/proc/nowhere cannot be used: No such file or directory. Set TREADLE_WORKSPACE",
        environ=(("TREADLE_WORKSPACE", "/proc/nowhere"),),
        also=("shell",),
    ),
    Fault(
        "a home that cannot be made",
        "database",
        "cannot write to its home /proc/nowhere",
        environ=(("TREADLE_HOME", "/proc/nowhere"),),
        also=("model format", "slack event limit"),
    ),
    Fault(
        "a model that nobody serves",
        "model",
        "I could not reach the model at http://127.0.0.1:9/v1. Check OPENAI_BASE_URL",
        environ=(("OPENAI_BASE_URL", "http://127.0.0.1:9/v1"),),
    ),
    Fault(
        "a model that the endpoint does not know",
        "model",
        "does not know the model 'scripted'. Set OPENAI_MODEL",
        spoil=lambda desk: desk.model.play([Refuse(404, {"error": {"message": "no such model"}})]),
    ),
    Fault(
        "an address without /v1",
        "model",
        "Check OPENAI_BASE_URL (it usually ends in /v1), then OPENAI_MODEL",
        spoil=lambda desk: desk.model.play([Refuse(404, {"detail": "Not Found"})]),
    ),
    Fault(
        "an account without credit",
        "model",
        "has no credit left",
        spoil=lambda desk: desk.model.play(
            lambda _: Refuse(
                429, {"error": {"code": "insufficient_quota"}}, {"retry-after-ms": "1"}
            )
        ),
    ),
]


@pytest.mark.parametrize("fault", FAULTS, ids=[fault.name for fault in FAULTS])
async def test_what_is_wrong_is_found_by_its_check_with_a_sentence(
    desk: Desk, fault: Fault
) -> None:
    fault.spoil(desk)

    found = await findings(desk, 0, **dict(fault.environ))

    (finding,) = [one for one in found if one.subject == fault.subject]
    assert not finding.ok
    assert fault.said in finding.text
    others = [one.subject for one in found if not one.ok and one.subject != fault.subject]
    assert others == list(fault.also)


async def test_a_database_in_use_is_right_while_treadle_runs(desk: Desk) -> None:
    async with desk.treadle():
        found = await findings(desk)

    (database,) = [one for one in found if one.subject == "database"]
    assert database.ok
    assert f"process {os.getpid()} on " in database.text


async def test_without_a_key_the_rehearsal_model_is_named(desk: Desk) -> None:
    environ = desk.environment()
    del environ["OPENAI_BASE_URL"], environ["OPENAI_API_KEY"]

    found = await examine_host(environ, desk.home, 0)

    assert [one.subject for one in found if not one.ok] == ["settings"], "the key is a setting"
    assert "OPENAI_API_KEY" in found[0].text


def said(found: Sequence[Finding], subject: str) -> str:
    return next(one.text for one in found if one.subject == subject)


async def test_a_file_that_is_not_there_is_not_called_right(desk: Desk) -> None:
    assert said(await findings(desk), "settings") == (
        "there is no treadle.toml, so its defaults hold; the variables are right."
    )

    desk.config("")
    assert said(await findings(desk), "settings") == "treadle.toml and the variables are right."


async def test_the_tools_that_are_on_and_off_are_named(desk: Desk) -> None:
    text = said(await findings(desk), "tools")
    assert text.startswith("read_file, write_file, ")
    assert "off" not in text

    desk.config('[tools]\nenabled = ["read_file", "calculate"]')
    text = said(await findings(desk), "tools")
    assert text.startswith("read_file, calculate can be used; not named in [tools] enabled, so off")
    assert "off: write_file, edit_file, " in text
    assert text.endswith("not in this release: share_file.")


async def test_a_clock_that_is_wrong_is_told_with_the_seconds(desk: Desk) -> None:
    """A Slack that is seven minutes behind this machine."""

    async def answer(request: web.Request) -> web.Response:
        slow = format_datetime(datetime.now(UTC) - timedelta(minutes=7), usegmt=True)
        body = {"ok": True, "bot_id": "B1", "user_id": "U1", "team_id": "T1", "user": "treadle"}
        return web.json_response({**body, "url": "ws://127.0.0.1:9/"}, headers={"Date": slow})

    server = web.Application()
    server.router.add_route("*", "/{method}", answer)
    runner = web.AppRunner(server)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        url = f"http://127.0.0.1:{runner.addresses[0][1]}/"
        found = await findings(desk, SLACK_API_URL=url)
    finally:
        await runner.cleanup()

    (token,) = [one for one in found if not one.ok]
    assert token.subject == "slack token"
    assert "clock is 420 s ahead of Slack's" in token.text or "is 421 s ahead" in token.text


async def test_a_mention_that_arrives_while_it_waits_is_found_and_left_for_treadle(
    desk: Desk,
) -> None:
    desk.slack.change(retry_scale=0.0)
    looking = asyncio.create_task(findings(desk, wait=20))
    await desk.slack.until_connected(20)
    ts = await desk.slack.person("alice").say("#general", "@treadle hi")

    found = await looking

    assert [one for one in found if not one.ok] == []
    assert found[-1] == Finding("events", True, words.found_events())
    assert desk.bot_replies("#general", ts) == []


async def test_without_event_subscriptions_no_mention_arrives(desk: Desk) -> None:
    desk.slack.change(subscriptions=frozenset())
    looking = asyncio.create_task(findings(desk, wait=1))
    await desk.slack.until_connected(20)
    await desk.slack.person("alice").say("#general", "@treadle hi")

    found = await looking

    assert [one.subject for one in found if not one.ok] == ["events"]
    assert found[-1].text == words.no_event("treadle", 1)
    assert "app_mention and message.channels are subscribed" in found[-1].text


async def test_every_check_is_made_also_after_one_has_failed() -> None:
    async def wrong() -> str:
        raise ConfigError("It is wrong. Make it right.")

    async def right() -> str:
        return "it is right."

    found = await examine([Check("one", wrong), Check("two", right)])

    assert [str(finding) for finding in found] == [
        "FAIL  one: It is wrong. Make it right.",
        "ok    two: it is right.",
    ]
    assert replace(found[0], ok=True).ok
