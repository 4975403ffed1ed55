"""The Home tab through Slack: what people see there, what admins change, and who may not."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any

import pytest

from bot.local_slack.delivery import Kind
from bot.local_slack.interactions import slash
from bot.local_slack.options import OTHER_TEAM_ID, TEAM_ID
from bot.local_slack.people import Person
from bot.local_slack.world import Member
from tests.doubles.desk import Desk, arguments
from tests.doubles.model_endpoint import Say

WRITE = ("write_file", arguments(path="n.txt", content="seven"))
Values = dict[str, dict[str, object]]


async def opened(desk: Desk, who: str) -> str:
    """The person opens the Home; what they read there."""
    before = published(desk)
    await desk.slack.person(who).open_home()
    return await changed(desk, who, before)


async def changed(desk: Desk, who: str, before: int) -> str:
    """What stands on the Home as soon as it is published anew."""
    await desk.until(lambda: published(desk) > before)
    return text_of(desk, desk.slack.person(who))


def published(desk: Desk) -> int:
    return len(desk.slack.log.of("views.publish"))


async def click(desk: Desk, who: str, action: str, block: str = "", **more: Any) -> str:
    """Click on the Home; what stands there then."""
    person = desk.slack.person(who)
    home = person.home()
    assert home is not None
    before = published(desk)
    await person.click(home, action, block_id=block, **more)
    return await changed(desk, who, before)


async def window(desk: Desk, who: str, action: str) -> dict[str, Any]:
    """Click on what opens a window; the window."""
    person = desk.slack.person(who)
    home = person.home()
    assert home is not None
    await person.click(home, action)
    return await desk.until(person.modal)


def text_of(desk: Desk, person: Person) -> str:
    home = person.home()
    assert home is not None
    shown = desk.slack.visible_text({"text": "", "blocks": home["blocks"]})
    return shown.replace("`", "").replace("*", "")


def picked(value: str) -> dict[str, object]:
    return {"type": "static_select", "selected_option": {"value": value}}


def typed(text: str) -> dict[str, object]:
    return {"type": "plain_text_input", "value": text}


async def fill(desk: Desk, who: str, **values: object) -> dict[str, object]:
    """Fill the open window in and submit it; what Slack shows as wrong, by block."""
    person = desk.slack.person(who)
    modal = person.modal()
    assert modal is not None
    return await person.submit(modal["id"], {name: {name: value} for name, value in values.items()})


async def test_everybody_sees_what_they_may_use_and_nothing_of_the_administration(
    desk: Desk,
) -> None:
    desk.config(
        '[[policy]]\ntool = "write_file"\ndecision = "deny"\nuser = "U0BOB"\n'
        '[[policy]]\ntool = "wikipedia"\ndecision = "ask"\nchannel = "C0OPS"'
    )
    async with desk.treadle():
        bob, alice = await opened(desk, "bob"), await opened(desk, "alice")
        in_ops = await click(desk, "bob", "treadle_home_place", selected="C0OPS")

    assert "write_file: denied, as treadle.toml line 1 says." in bob
    assert "write_file: allowed. " in alice
    assert "wikipedia: allowed. " in bob
    assert "What you may use in #ops" in in_ops
    assert (
        "wikipedia: allowed after a person's yes, as treadle.toml line 5 says."
        in in_ops.replace("`", "")
    )
    for home in (bob, alice, in_ops):
        assert "What you have used" in home
        for hidden in ("Administration", "Add a rule", "Switch off", "Sandbox"):
            assert hidden not in home


async def test_an_admin_sees_health_turns_tools_rules_and_settings(desk: Desk) -> None:
    desk.config('[[policy]]\ntool = "wikipedia"\ndecision = "deny"')
    gate = asyncio.Event()
    desk.model.play(lambda _: Say("Done.", gate=gate))
    async with desk.treadle():
        await desk.command("ada", "deny write_file for @bob")
        await desk.command("ada", "verbosity quiet in #ops")
        ts = await desk.slack.person("bob").say("#general", "@treadle think")
        await desk.model.asked()
        home = await opened(desk, "ada")
        gate.set()
        await desk.answered("#general", ts, covers=ts)

    assert "Model: scripted" in home
    assert "Sandbox: " in home
    assert "for @Bob in #general since" in home
    assert "wikipedia is on" in home
    assert "treadle.toml line 1: deny wikipedia" in home
    assert "Rule 1 (set in Slack by ada on" in home
    assert "deny write_file for @Bob" in home
    assert "What a thread shows in #ops: quiet (chosen by ada)" in home


async def test_an_admin_sees_what_was_lately_asked_and_answered(desk: Desk) -> None:
    desk.config('[[policy]]\ntool = "write_file"\ndecision = "ask"')
    async with desk.treadle():
        for button in ("treadle_deny", "treadle_approve"):
            desk.model.play([Say("I write.", calls=(WRITE,)), Say("Done.")])
            ts = await desk.slack.person("bob").say("#general", "@treadle write seven")
            card = await desk.until(partial(_with, desk, ts, button))
            assert "1 waiting for a person's yes" in await opened(desk, "ada")
            await desk.slack.person("ada").click(card, button)
            await desk.answered("#general", ts, covers=ts)
        home = await opened(desk, "ada")
        assert "said yes" not in await opened(desk, "bob")

    yes, no = (
        home.index(f"write_file (n.txt) for @Bob: ada said {word}") for word in ("yes", "no")
    )
    assert yes < no


def _with(desk: Desk, ts: str, part: str) -> dict[str, Any] | None:
    return next((m for m in desk.slack.thread("#general", ts) if part in str(m)), None)


async def test_guests_see_why_there_is_nothing_for_them(desk: Desk) -> None:
    async with desk.treadle():
        home = await opened(desk, "gus")
    assert "I don't take questions from guests here" in home
    assert "read_file" not in home


async def test_where_refusals_are_silent_the_home_gives_no_reason(desk: Desk) -> None:
    desk.config('[access]\nrefusal = "silent"')
    async with desk.treadle():
        home = await opened(desk, "gus")
    assert "There is nothing here for you." in home
    assert "guest" not in home


async def test_a_rule_is_made_in_the_window_and_forgotten_by_a_button(desk: Desk) -> None:
    desk.model.play([Say("I write.", calls=(WRITE,)), Say("I may not.")])
    async with desk.treadle():
        await opened(desk, "ada")
        modal = await window(desk, "ada", "treadle_home_add")
        assert modal["title"]["text"] == "Add a rule"
        before = published(desk)
        wrong = await fill(
            desk,
            "ada",
            decision=picked("deny"),
            tool=picked("write_file"),
            channels={"type": "multi_conversations_select", "selected_conversations": ["C0OPS"]},
            where=picked("but"),
            people={"type": "multi_users_select", "selected_users": ["U0BOB"]},
        )
        assert wrong == {}
        home = await changed(desk, "ada", before)
        assert "Done: rule 1 says deny write_file outside #ops for @Bob." in home
        ts = await desk.slack.person("bob").say("#general", "@treadle write seven")
        assert await desk.answered("#general", ts, covers=ts) == "I may not."
        assert not (desk.workspace() / "n.txt").exists()
        home = await click(desk, "ada", "treadle_home_forget", "rule 1")
        assert "no longer holds" in home
        assert "no rule" in (await desk.command("ada", "rules")).lower()


async def test_what_is_wrong_in_the_window_is_said_beside_it(desk: Desk) -> None:
    async with desk.treadle():
        await opened(desk, "ada")
        await window(desk, "ada", "treadle_home_add")
        wrong = await fill(
            desk,
            "ada",
            people={"type": "multi_users_select", "selected_users": ["U0BOB"]},
            roles={"type": "multi_static_select", "selected_options": [{"value": "guest"}]},
            argument={"type": "plain_text_input", "value": "command"},
            pattern={"type": "plain_text_input", "value": "git ("},
        )
        assert wrong.keys() == {"decision", "tool", "roles", "pattern"}
        assert "The pattern `git (`" in str(wrong["pattern"])
        wrong = await fill(
            desk,
            "ada",
            decision=picked("deny"),
            tool=picked("run_command"),
            pattern={"type": "plain_text_input", "value": "git .*"},
        )
        assert wrong.keys() == {"argument"}
        assert await desk.command("ada", "rules") == (
            "There is no rule: everybody who may talk to me may use every tool that is on."
        )


async def test_a_channels_settings_are_changed_in_the_window(desk: Desk) -> None:
    async with desk.treadle():
        await opened(desk, "ada")
        await window(desk, "ada", "treadle_home_settings")
        before = published(desk)
        channel = {"type": "conversations_select", "selected_conversation": "C0OPS"}
        wrong = await fill(
            desk,
            "ada",
            channel=channel,
            verbosity=picked("quiet"),
            reply_in_threads=picked("mention"),
        )
        assert wrong == {}
        home = await changed(desk, "ada", before)
        assert "verbosity is quiet in #ops now" in home
        assert "replies is mention in #ops now" in home
        await window(desk, "ada", "treadle_home_settings")
        before = published(desk)
        await fill(desk, "ada", channel=channel, verbosity=picked("default"))
        home = await changed(desk, "ada", before)
        assert "verbosity is steps in #ops now" in home
        assert "Replies without mention in #ops: mention" in home


async def test_a_tool_is_switched_by_a_button(desk: Desk) -> None:
    async with desk.treadle():
        await opened(desk, "ada")
        home = await click(desk, "ada", "treadle_home_switch", "tool write_file")
        assert "write_file is off" in home
        assert "denied, as the switch set in Slack by ada" in home
        home = await click(desk, "ada", "treadle_home_switch", "tool write_file")
        assert "write_file is on" in home


async def test_people_stop_their_own_work_there_and_admins_anybodys(desk: Desk) -> None:
    gate = asyncio.Event()
    desk.model.play(lambda _: Say("Never.", gate=gate))
    alice, bob = desk.slack.person("alice"), desk.slack.person("bob")
    async with desk.treadle():
        first = await alice.say("#general", "@treadle think")
        other = await bob.say("#general", "@treadle think")
        await desk.model.asked(2)
        home = await opened(desk, "alice")
        assert "for @Alice in #general" in home
        assert "@Bob" not in home
        assert "Stopping the running work" in await click(desk, "alice", "treadle_home_stop")
        assert "Stopped by alice" in await desk.answered("#general", first, covers=first)
        await opened(desk, "ada")
        await click(desk, "ada", "treadle_home_stop")
        assert "Stopped by ada" in await desk.answered("#general", other, covers=other)
        gate.set()


@pytest.mark.parametrize("who", ["alice", "gus"])
async def test_nobody_else_changes_anything_by_an_admins_page(desk: Desk, who: str) -> None:
    """The clicks and submissions of an admin's own view, sent by somebody who is none."""
    gate = asyncio.Event()
    desk.model.play(lambda _: Say("Done.", gate=gate))
    ada, thief = desk.slack.person("ada"), desk.slack.person(who)
    async with desk.treadle():
        await desk.command("ada", "deny wikipedia")
        ts = await desk.slack.person("bob").say("#general", "@treadle think")
        await desk.model.asked()
        await opened(desk, "ada")
        windows = [await window(desk, "ada", "treadle_home_settings")]
        await ada.close_view(windows[0]["id"])
        windows.append(await window(desk, "ada", "treadle_home_add"))
        rules = await desk.command("ada", "rules")
        home = ada.home()
        assert home is not None
        stop = next(b["block_id"] for b in home["blocks"] if b["block_id"].startswith("stop "))
        for action, block in [
            ("treadle_home_forget", "rule 1"),
            ("treadle_home_switch", "tool write_file"),
            ("treadle_home_stop", stop),
            ("treadle_home_add", ""),
            ("treadle_home_settings", ""),
        ]:
            await thief.forge_click(home, action, block)
        rule = {
            name: {name: picked(value)} for name, value in [("decision", "allow"), ("tool", "*")]
        }
        channel = {"type": "conversations_select", "selected_conversation": "C0OPS"}
        choice = {"channel": {"channel": channel}, "verbosity": {"verbosity": picked("quiet")}}
        for modal in windows:
            await thief.forge_submission(modal, {**rule, **choice})
        await desk.until(lambda: len(desk.slack.log.of("views.publish")) >= 8 or None)

        assert thief.modal() is None
        assert await desk.command("ada", "rules") == rules
        assert "in #ops" not in (await opened(desk, "ada"))
        gate.set()
        assert await desk.answered("#general", ts, covers=ts) == "Done."
        assert "Administration" not in text_of(desk, thief)


async def test_who_is_no_admin_any_more_changes_nothing_by_an_old_page(desk: Desk) -> None:
    async with desk.treadle():
        await opened(desk, "ada")
    desk.slack.world.members["U0ADA"] = Member("U0ADA", "ada", "Ada", "member")
    async with desk.treadle():
        home = await click(desk, "ada", "treadle_home_switch", "tool write_file")
        assert "Only admins can change this" in home
        assert "Administration" not in home
        assert "write_file: allowed" in await desk.command("bob", "tools")


@pytest.mark.parametrize(
    "payload",
    [
        {},
        {"view": {"type": "modal"}},
        {"actions": [{"action_id": "treadle_home_forget", "value": "9" * 400}]},
        {"actions": [{"action_id": "treadle_home_switch", "value": "no_such_tool off"}]},
        {"actions": [{"action_id": "treadle_home_stop", "value": "T0LOCAL:C0GENERAL:1.0"}]},
        {"actions": [{"action_id": "treadle_home_place", "selected_conversation": 7}]},
        {"actions": [{"action_id": "treadle_home_nothing"}]},
    ],
)
async def test_a_strange_click_is_acknowledged_and_changes_nothing(
    desk: Desk, payload: dict[str, object]
) -> None:
    ada = desk.slack.person("ada")
    view = {"type": "home", "private_metadata": "{", "id": "V1"}
    async with desk.treadle():
        await desk.command("ada", "deny wikipedia")
        rules = await desk.command("ada", "rules")
        body = {
            "type": "block_actions",
            "user": {"id": ada.id},
            "team": {"id": TEAM_ID},
            "trigger_id": "1.2",
            "view": view,
            "actions": [{"action_id": "treadle_home_x"}],
            **payload,
        }
        await ada.send_interaction(body)
        assert await desk.command("ada", "rules") == rules
        assert "What you may use" in await opened(desk, "ada")


async def test_many_tools_turns_and_rules_still_fit_on_the_page(desk: Desk) -> None:
    async with desk.treadle():
        for number in range(45):
            await desk.command("ada", f"deny read_file when path matches {number:03} {'x' * 900}")
        home = await opened(desk, "ada")
    (publication,) = desk.slack.log.of("views.publish")
    assert publication.ok
    assert "And 25 more: /treadle rules." in home


@pytest.mark.parametrize("kind", ["block_actions", "view_submission", "slash"])
async def test_an_admin_of_another_organisation_is_none_here_whatever_the_payload_says(
    desk: Desk, kind: str
) -> None:
    """In a shared channel Slack sends their own workspace as the team of what they do."""
    frank = Member("U0FRANK", "frank", "Frank", "admin", OTHER_TEAM_ID)
    desk.slack.world.add_member(frank)
    partners = desk.slack.channel("#partners")
    typed = slash(desk.slack.world, frank, partners, "/treadle", "forget 1")
    actions = [{"action_id": "treadle_home_forget", "value": "1"}]
    rule = {name: {name: picked(value)} for name, value in [("decision", "deny"), ("tool", "*")]}
    modal = {"callback_id": "treadle_home_rule", "state": {"values": rule}, "type": "modal"}
    sent: dict[str, Any] = {
        "type": kind,
        "user": {"id": "U0FRANK", "team_id": OTHER_TEAM_ID},
        "team": {"id": OTHER_TEAM_ID},
        "trigger_id": "1.2",
    }
    more: dict[str, dict[str, Any]] = {
        "block_actions": {"view": {"type": "home", "id": "V1"}, "actions": actions},
        "view_submission": {"view": modal},
        "slash": {**typed, "team_id": OTHER_TEAM_ID},
    }
    sent |= more[kind]
    desk.config("[access]\nexternal = true")
    async with desk.treadle():
        await desk.command("ada", "deny wikipedia")
        rules = await desk.command("ada", "rules")
        before = len(desk.slack.log.of("users.info"))
        way = Kind.SLASH if kind == "slash" else Kind.INTERACTIVE
        assert (await desk.slack.courier.ask(way, sent)).ok
        await desk.until(lambda: len(desk.slack.log.of("users.info")) > before)
        if kind != "slash":
            await desk.until(lambda: published(desk))
        assert await desk.command("ada", "rules") == rules


async def test_an_admin_adds_to_a_budget_for_today_and_nobody_else_does(desk: Desk) -> None:
    desk.config("[budget]\nturns_per_user_day = 1")
    desk.model.play([Say("One."), Say("Two.")])
    alice, bob = (desk.slack.person(name) for name in ("alice", "bob"))
    more = {"person": {"type": "users_select", "selected_user": alice.id}, "unit": picked("turns")}

    async def asked() -> str:
        root = await alice.say("#general", "@treadle look")
        return await desk.answered("#general", root, covers=root)

    async with desk.treadle():
        assert (await asked()).startswith("One.")
        await opened(desk, "ada")
        await opened(desk, "bob")
        modal = await window(desk, "ada", "treadle_home_more")
        wrong = await fill(desk, "ada", amount=typed("-3"), **more)
        both = {"type": "conversations_select", "selected_conversation": "C0GENERAL"}
        two = await fill(desk, "ada", amount=typed("3"), **more, channel=both)
        filled: Values = {name: {name: value} for name, value in more.items()}
        before = published(desk)
        await bob.forge_submission(modal, {**filled, "amount": {"amount": typed("9")}})
        refused = await changed(desk, "bob", before)
        assert "has no room" in await asked()
        before = published(desk)
        assert await fill(desk, "ada", amount=typed("1"), **more) == {}
        said = await changed(desk, "ada", before)
        assert (await asked()).startswith("Two.")
    assert "above 0" in str(wrong)
    assert "either a person or a channel" in str(two)
    assert "Only admins can change this" in refused
    assert "Done: 1 turns more for" in said
