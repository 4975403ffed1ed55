"""Whoever may not change rules and tries to leaves a trace, and cannot flood the trail with it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from bot.admin.attempts import EACH
from bot.local_slack.faults import Effect, FaultRule
from bot.local_slack.world import Member
from bot.slack.patience import Patience
from bot.trail import Wanted, export_trail
from tests.doubles.desk import Desk


def refused(desk: Desk) -> list[dict[str, Any]]:
    lines: list[str] = []
    export_trail(desk.environment(), desk.home, lines.append, Wanted())
    rows = [json.loads(line) for line in lines]
    return [row["body"] for row in rows if row["kind"] == "change_refused"]


CHANGES = {
    "deny write_file for @bob": ("add", "rule"),
    "forget 7": ("remove", "rule 7"),
    "switch write_file off": ("set", "tool.write_file in *"),
    "verbosity quiet in #ops": ("set", "verbosity in C0OPS"),
    "budget add 5 tokens for everyone": ("add", "budget of tokens for all"),
}


@pytest.mark.parametrize("change", CHANGES)
async def test_a_change_by_somebody_who_is_no_admin_is_recorded(desk: Desk, change: str) -> None:
    async with desk.treadle():
        assert "Only admins can change this" in await desk.command("alice", change)
        await desk.command("ada", "help")

    (found,) = refused(desk)
    assert (found["who"], found["action"], found["subject"]) == ("U0ALICE", *CHANGES[change])
    assert "Only admins can change this" in found["why"]


async def test_what_the_rule_would_have_been_is_recorded_and_not_at_any_length(desk: Desk) -> None:
    async with desk.treadle():
        await desk.command("alice", "allow run_command when command matches git .*")
        await desk.command("alice", f"deny read_file when path matches {'x' * 900}")

    short, long = refused(desk)
    assert '"tool": "run_command"' in short["value"]
    assert "git .*" in short["value"]
    assert 100 < len(long["value"]) < 600


async def test_what_only_shows_something_is_no_attempt(desk: Desk) -> None:
    async with desk.treadle():
        for text in ("help", "tools", "rules", "status", "budget", "why", "stop", "deny nonsense"):
            await desk.command("alice", text)
        await desk.command("gus", "help")
        await desk.command("ada", "deny write_file")

    assert refused(desk) == []


@pytest.mark.parametrize("how", ["say", "silent"])
async def test_a_change_by_somebody_who_may_not_speak_is_recorded(desk: Desk, how: str) -> None:
    desk.config(f'[access]\nrefusal = "{how}"')
    async with desk.treadle():
        await desk.slack.person("gus").slash("#general", "/treadle", "deny write_file")
        await desk.until(lambda: refused(desk) or None)

    (found,) = refused(desk)
    assert (found["who"], found["subject"]) == ("U0GUS", "rule")
    assert "guests" in found["why"]


async def test_a_change_by_somebody_who_cannot_be_looked_up_is_recorded(desk: Desk) -> None:
    desk.patience = Patience(person=0.2)
    desk.slack.fail(FaultRule(Effect.SERVER_ERROR, "users.info"))
    async with desk.treadle():
        await desk.command("ada", "deny write_file")

    (found,) = refused(desk)
    assert (found["who"], found["subject"]) == ("U0ADA", "rule")
    assert "could not find out who U0ADA is" in found["why"]


@pytest.mark.parametrize("who", ["alice", "gus"])
async def test_a_forged_click_on_an_admins_home_is_recorded(desk: Desk, who: str) -> None:
    """And so is a window of an admin's that somebody else sends in."""
    ada, thief = desk.slack.person("ada"), desk.slack.person(who)
    async with desk.treadle():
        await ada.open_home()
        home = await desk.until(ada.home)
        await ada.click(home, "treadle_home_settings")
        modal = await desk.until(ada.modal)
        for action, block in [
            ("treadle_home_switch", "tool write_file"),
            ("treadle_home_add", ""),
        ]:
            await thief.forge_click(home, action, block)
        await desk.until(lambda: len(refused(desk)) == 2 or None)
        option = {"type": "static_select", "selected_option": {"value": "quiet"}}
        channel = {"type": "conversations_select", "selected_conversation": "C0OPS"}
        values = {"channel": {"channel": channel}, "verbosity": {"verbosity": option}}
        await thief.forge_submission(modal, values)
        await desk.until(lambda: len(refused(desk)) == 3 or None)

    assert {found["who"] for found in refused(desk)} == {thief.id}
    assert sorted((found["action"], found["subject"]) for found in refused(desk)) == [
        ("open", "window treadle_home_add"),
        ("set", "tool.write_file in *"),
        ("set", "verbosity in C0OPS"),
    ]


async def test_many_attempts_of_one_person_are_few_rows_that_say_how_many(desk: Desk) -> None:
    many = 4 * EACH
    async with desk.treadle():
        for _ in range(many):
            await desk.command("alice", "forget 1")
        await desk.command("bob", "forget 1")

    found = [(row["who"], row["attempt"]) for row in refused(desk)]
    each = [("U0ALICE", number + 1) for number in range(EACH)]
    assert found == [*each, ("U0ALICE", 2 * EACH), ("U0ALICE", 4 * EACH), ("U0BOB", 1)]


async def test_who_was_an_admin_a_moment_ago_changes_nothing(desk: Desk) -> None:
    """By a command, on a Home that still shows what admins change, or in a window of before."""
    ada = desk.slack.person("ada")
    async with desk.treadle():
        await ada.open_home()
        home = await desk.until(ada.home)
        await ada.click(home, "treadle_home_settings")
        modal = await desk.until(ada.modal)
        desk.slack.world.members["U0ADA"] = Member("U0ADA", "ada", "Ada", "member")
        option = {"type": "static_select", "selected_option": {"value": "quiet"}}
        channel = {"type": "conversations_select", "selected_conversation": "C0OPS"}
        values = {"channel": {"channel": channel}, "verbosity": {"verbosity": option}}
        assert await ada.submit(modal["id"], values) == {}
        await desk.until(lambda: refused(desk) or None)
        assert "Only admins can change this" in await desk.command("ada", "deny write_file")
        await ada.forge_click(home, "treadle_home_switch", "tool write_file")
        await desk.until(lambda: len(refused(desk)) == 3 or None)

    subjects = ["verbosity in C0OPS", "rule", "tool.write_file in *"]
    assert [found["subject"] for found in refused(desk)] == subjects


async def test_where_it_cannot_be_known_whether_somebody_is_still_an_admin_nothing_changes(
    desk: Desk,
) -> None:
    desk.patience = Patience(person=0.2)
    async with desk.treadle():
        assert "Done: rule 1" in await desk.command("ada", "deny write_file")
        desk.slack.fail(FaultRule(Effect.SERVER_ERROR, "users.info"))
        assert "could not find out who U0ADA is" in await desk.command("ada", "forget 1")
        desk.slack.fail()
        assert "Rule 1" in await desk.command("ada", "rules")

    assert [found["subject"] for found in refused(desk)] == ["rule 1"]
