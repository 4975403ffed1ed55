"""Who is an admin here, and what is let in: from the settings, from Slack, and when that fails."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import Any

import pytest

from bot.local_slack.faults import Effect, FaultRule
from bot.local_slack.world import Member
from bot.policy import Refusal
from bot.slack.patience import Patience
from bot.words import REFUSALS
from tests.doubles.desk import Desk
from tests.doubles.model_endpoint import Say

REFUSED = "Only admins can change this"


@pytest.mark.parametrize(
    ("toml", "who", "admin"),
    [
        ("", "ada", True),
        ("", "alice", False),
        ("slack_admins = false", "ada", False),
        ('admins = ["U0ALICE"]', "alice", True),
        ('admins = ["U0ALICE"]', "ada", True),
        ('slack_admins = false\nadmins = ["U0ALICE"]', "alice", True),
        ('slack_admins = false\nadmins = ["U0ALICE"]', "ada", False),
        ("admins = []\nslack_admins = false", "bob", False),
    ],
)
async def test_who_is_an_admin_comes_from_the_settings_and_if_wished_from_slack(
    desk: Desk, toml: str, who: str, admin: bool
) -> None:
    desk.config(f"[access]\n{toml}")
    async with desk.treadle():
        said = await desk.command(who, "deny wikipedia")
    assert (REFUSED in said) is not admin


async def test_a_person_of_another_organisation_is_no_admin_whatever_the_settings_say(
    desk: Desk,
) -> None:
    desk.config('[access]\nexternal = true\nadmins = ["U0EVE"]')
    async with desk.treadle():
        assert REFUSED in await desk.command("eve", "deny wikipedia", "#partners")


@pytest.mark.parametrize("effect", [Effect.SERVER_ERROR, Effect.RATE_LIMIT, Effect.ERROR])
async def test_where_slack_does_not_say_who_somebody_is_they_are_nobody(
    desk: Desk, effect: Effect
) -> None:
    """Not even an admin whom the file names: their account may be gone."""
    desk.patience = Patience(person=0.2)
    desk.config('[access]\nadmins = ["U0ALICE"]')
    more: dict[str, Any] = {"error": "user_not_found"} if effect is Effect.ERROR else {}
    desk.slack.fail(FaultRule(effect, "users.info", **more))
    async with desk.treadle():
        said = await desk.command("alice", "deny wikipedia")
        assert "could not find out who U0ALICE is" in said
        await desk.slack.person("alice").open_home()
        home = await desk.until(lambda: desk.slack.person("alice").home())
        assert "I could not find out who you are" in str(home)
        assert "Administration" not in str(home)
    with closing(sqlite3.connect(desk.home / ".treadle" / "treadle.db")) as database:
        assert database.execute("SELECT count(*) FROM rules").fetchone() == (0,)


async def test_somebody_is_looked_up_once_in_ten_minutes(desk: Desk) -> None:
    async with desk.treadle():
        for _ in range(3):
            await desk.command("ada", "rules")
    assert len(desk.slack.log.of("users.info")) == 1


async def test_who_has_become_a_guest_is_refused_from_the_next_look_up_on(desk: Desk) -> None:
    desk.model.play(lambda _: Say("Hello."))
    async with desk.treadle():
        assert "What you may use here" in await desk.command("bob", "tools")
    desk.slack.world.members["U0BOB"] = Member("U0BOB", "bob", "Bob", "guest")
    async with desk.treadle():
        assert REFUSALS[Refusal.GUEST] in await desk.command("bob", "tools")


async def test_in_a_channel_that_is_not_listed_a_command_says_so(desk: Desk) -> None:
    desk.config('[access]\nchannels = ["C0OPS"]')
    async with desk.treadle():
        said = await desk.command("ada", "deny wikipedia")
        assert "I don't work in this channel." in said
        assert "[access] channels does not name this one" in said
        assert "Done: rule 1" in await desk.command("ada", "deny wikipedia", "#ops")


@pytest.mark.parametrize(
    ("who", "channel", "toml"),
    [
        ("gus", "#general", ""),
        ("eve", "#partners", ""),
        ("alice", "#general", 'channels = ["C0OPS"]'),
    ],
)
async def test_each_refusal_can_be_silent(desk: Desk, who: str, channel: str, toml: str) -> None:
    desk.config(f'[access]\nrefusal = "silent"\n{toml}')
    desk.model.play(lambda _: Say("Hello."))
    async with desk.treadle():
        ts = await desk.slack.person(who).say(channel, "@treadle hi")
        await desk.until(lambda: desk.slack.log.of("users.info"))
        await desk.nothing_is_left_to_do()
        assert desk.bot_replies(channel, ts) == []
    assert desk.model.requests == []
