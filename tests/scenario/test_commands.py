"""`/treadle` and `@bot !why`, through Slack: what is answered, to whom, and what changes."""

from __future__ import annotations

import asyncio
import re

import pytest

from bot.local_slack.faults import Effect, FaultRule
from bot.slack.patience import Patience
from tests.doubles.desk import Desk, arguments
from tests.doubles.model_endpoint import Say

WRITE = ("write_file", arguments(path="n.txt", content="seven"))
CHANGES = [
    "deny write_file",
    "allow write_file",
    "ask everything for @bob",
    "forget 1",
    "switch write_file off",
    "verbosity quiet",
    "replies mention",
]


async def refused(desk: Desk, who: str, channel: str = "#general") -> str:
    """Somebody asks for a file that they may not write; the thread."""
    desk.model.play([Say("I write.", calls=(WRITE,)), Say("I may not.")])
    ts = await desk.slack.person(who).say(channel, "@treadle write seven")
    assert await desk.answered(channel, ts, covers=ts) == "I may not."
    return ts


async def test_help_names_every_command_and_only_its_author_sees_it(desk: Desk) -> None:
    async with desk.treadle():
        said = await desk.command("alice", "help")
        assert await desk.command("alice", "") == said

    for word in ("tools", "why", "stop", "usage", "status", "rules", "forget", "switch"):
        assert f"/treadle {word}" in said
    assert desk.slack.person("bob").ephemeral() == []


async def test_tools_says_what_somebody_may_use_here_and_why(desk: Desk) -> None:
    desk.config(
        '[[policy]]\ntool = "write_file"\ndecision = "ask"\nuser = "U0BOB"\n'
        '[[policy]]\ntool = "wikipedia"\ndecision = "deny"\nchannel = "!C0OPS"\n'
        '[[policy]]\ntool = "read_file"\ndecision = "deny"\nmatch = { path = "secret/.*" }\n'
    )
    async with desk.treadle():
        bob = (await desk.command("bob", "tools")).splitlines()
        alice = (await desk.command("alice", "tools", "#ops")).splitlines()

    def line(lines: list[str], tool: str) -> str:
        return next(found for found in lines if f"{tool}" in found)

    assert "allowed after a person's yes, as treadle.toml line 1 says." in line(bob, "write_file")
    assert "denied, as treadle.toml line 5 says." in line(bob, "wikipedia")
    assert "depends on what it is called with, as treadle.toml line 9 says." in line(
        bob, "read_file"
    )
    assert "write_file: allowed. " in line(alice, "write_file")
    assert "wikipedia: allowed. " in line(alice, "wikipedia")
    assert "wikipedia" in bob[-1]


async def test_where_a_rule_was_made_is_said_without_brackets_in_brackets(desk: Desk) -> None:
    by = r"\(set in Slack by ada on \d{4}-\d\d-\d\d\)"
    async with desk.treadle():
        await desk.command("ada", "deny write_file for @bob")
        await desk.command("ada", "deny read_file in #ops when path matches secret/.*")
        denied = await desk.command("bob", "tools", "#ops")
        noted = await desk.command("ada", "allow write_file for @bob in #ops")
        await desk.command("ada", "switch wikipedia off")
        off = await desk.command("bob", "tools")

    assert re.search(rf"write_file: denied, as rule 1 {by} says\. ", denied)
    assert re.search(rf"depends on what it is called with, as rule 2 {by} says\. ", denied)
    assert re.search(rf"is denied there: rule 1 {by} says deny write_file for @Bob\. It is", noted)
    assert re.search(r"wikipedia: denied, as the switch set in Slack by ada on [-\d]+ says\. ", off)


@pytest.mark.parametrize("who", ["alice", "bob"])
async def test_only_admins_change_anything(desk: Desk, who: str) -> None:
    async with desk.treadle():
        await desk.command("ada", "deny wikipedia")
        for change in CHANGES:
            assert "Only admins can change this" in await desk.command(who, change)
        assert "Only admins can see every rule" in await desk.command(who, "rules")
        assert re.findall(r"Rule \d+", await desk.command("ada", "rules")) == ["Rule 1"]


async def test_guests_get_the_reason_and_nothing_else(desk: Desk) -> None:
    async with desk.treadle():
        for text in ("help", "tools", "status", "deny write_file"):
            said = await desk.command("gus", text)
            assert "I don't take questions from guests here" in said
            assert "[access] guests is false" in said


async def test_where_refusals_are_silent_a_guests_command_is_too(desk: Desk) -> None:
    desk.config('[access]\nrefusal = "silent"')
    async with desk.treadle():
        gus = desk.slack.person("gus")
        assert await gus.slash("#general", "/treadle", "help") is None
        await desk.until(lambda: desk.slack.log.of("users.info"))
        assert "Mention me" in await desk.command("alice", "help")
        assert gus.ephemeral() == []


async def test_who_cannot_be_looked_up_changes_nothing(desk: Desk) -> None:
    desk.patience = Patience(person=0.2)
    desk.slack.fail(FaultRule(Effect.SERVER_ERROR, "users.info"))
    async with desk.treadle():
        said = await desk.command("ada", "deny write_file")
        assert "could not find out who U0ADA is" in said
        desk.slack.fail()
        assert "There is no rule" in await desk.command("ada", "rules")


async def test_a_slow_web_api_does_not_keep_slack_waiting(desk: Desk) -> None:
    desk.slack.fail(FaultRule(Effect.DELAY, "users.info", seconds=3.2))
    async with desk.treadle():
        # The stand-in raises if the command is not acknowledged within 3 s.
        assert "Done: rule 1" in await desk.command("ada", "deny write_file")


async def test_a_rule_is_in_force_at_once_and_taken_back_at_once(desk: Desk) -> None:
    async with desk.treadle():
        said = await desk.command("ada", "deny write_file in #general for @bob")
        assert said.startswith("Done: rule 1 says deny write_file in #general for @Bob.")
        await refused(desk, "bob")
        assert not (desk.workspace() / "n.txt").exists()

        assert "no longer holds" in await desk.command("ada", "forget 1")
        desk.model.play([Say("I write.", calls=(WRITE,)), Say("Done.")])
        ts = await desk.slack.person("bob").say("#general", "@treadle write seven")
        assert await desk.answered("#general", ts, covers=ts) == "Done."
    assert (desk.workspace() / "n.txt").read_text() == "seven"


async def test_a_rule_made_in_slack_survives_a_restart(desk: Desk) -> None:
    async with desk.treadle():
        await desk.command("ada", "deny write_file for @bob")
    async with desk.treadle():
        await refused(desk, "bob")
        assert "deny write_file for @Bob" in await desk.command("ada", "rules")


async def test_a_change_bites_in_the_middle_of_a_turn(desk: Desk) -> None:
    """Both where tools are shown and where they run: the model has the tool already."""
    gate = asyncio.Event()
    desk.model.play(
        [
            Say("I write.", calls=(WRITE,), gate=gate),
            Say("Once more.", calls=(WRITE,)),
            Say("I may not."),
        ]
    )
    async with desk.treadle():
        ts = await desk.slack.person("bob").say("#general", "@treadle write seven")
        first = await desk.model.asked()
        await desk.command("ada", "deny write_file for @bob")
        gate.set()
        assert await desk.answered("#general", ts, covers=ts) == "I may not."

    def shown(request: dict[str, object]) -> bool:
        return "write_file" in str(request["tools"])

    assert shown(first)
    assert not shown(desk.model.requests[1])
    seen = [m["content"] for m in desk.model.requests[2]["messages"] if m["role"] == "tool"]
    assert [str(text).startswith("write_file is not allowed here") for text in seen] == [True] * 2
    assert not (desk.workspace() / "n.txt").exists()


async def test_slack_cannot_loosen_the_file_and_says_so(desk: Desk) -> None:
    desk.config('[[policy]]\ntool = "write_file"\ndecision = "deny"')
    async with desk.treadle():
        said = await desk.command("ada", "allow write_file for @bob")
        assert "still is denied there: treadle.toml line 1 says deny write_file." in said
        await refused(desk, "bob")
    assert not (desk.workspace() / "n.txt").exists()


async def test_slack_may_loosen_where_the_file_says_so(desk: Desk) -> None:
    desk.config(
        '[access]\nslack_may_loosen = true\n[[policy]]\ntool = "write_file"\ndecision = "deny"'
    )
    async with desk.treadle():
        said = await desk.command("ada", "allow write_file")
        assert "Note" not in said
        desk.model.play([Say("I write.", calls=(WRITE,)), Say("Done.")])
        ts = await desk.slack.person("bob").say("#general", "@treadle write seven")
        assert await desk.answered("#general", ts, covers=ts) == "Done."
    assert (desk.workspace() / "n.txt").read_text() == "seven"


async def test_a_tool_is_switched_off_for_everybody_and_on_again(desk: Desk) -> None:
    desk.config("[access]\nslack_may_loosen = true")
    async with desk.treadle():
        await desk.command("ada", "switch write_file off")
        await desk.command("ada", "allow write_file for @ada")
        await refused(desk, "ada")
        why = await desk.command("ada", "why")
        assert "The switch set in Slack by ada" in why
        assert "/treadle switch write_file on" in why
        await desk.command("ada", "switch write_file on")
        desk.model.play([Say("I write.", calls=(WRITE,)), Say("Done.")])
        ts = await desk.slack.person("ada").say("#general", "@treadle write seven")
        assert await desk.answered("#general", ts, covers=ts) == "Done."


async def test_verbosity_is_chosen_for_a_channel(desk: Desk) -> None:
    count = ("calculate", arguments(expression="3+4"))
    desk.model.play([Say("I count.", calls=(count,)), Say("7")] * 3)
    alice = desk.slack.person("alice")
    async with desk.treadle():
        said = await desk.command("ada", "verbosity quiet in #general")
        assert said == "Done: verbosity is quiet in #general now."
        shown = []
        for channel in ("#general", "#ops"):
            ts = await alice.say(channel, "@treadle 3+4?")
            await desk.answered(channel, ts, covers=ts)
            shown.append(len(desk.bot_replies(channel, ts)))
        assert shown == [1, 2]
        assert "is steps in #general" in await desk.command("ada", "verbosity default")
        ts = await alice.say("#general", "@treadle 3+4?")
        await desk.answered("#general", ts, covers=ts)
        assert len(desk.bot_replies("#general", ts)) == 2


async def test_replies_can_be_made_to_need_a_mention(desk: Desk) -> None:
    desk.model.play(lambda _: Say("Hello."))
    alice = desk.slack.person("alice")
    async with desk.treadle():
        root = await alice.say("#general", "@treadle hi")
        await desk.answered("#general", root, covers=root)
        await desk.command("ada", "replies mention in #general")
        await alice.reply("#general", root, "not for you")
        last = await alice.reply("#general", root, "@treadle for you")
        await desk.answered("#general", root, covers=last)

    assert len(desk.model.requests) == 2
    assert "> not for you" in str(desk.model.requests[1]["messages"])


async def test_why_explains_the_last_refusal_wherever_it_was(desk: Desk) -> None:
    async with desk.treadle():
        assert "Nothing was refused to you" in await desk.command("bob", "why")
        await desk.command("ada", "deny write_file outside #ops")
        await refused(desk, "bob")
        why = await desk.command("bob", "why", "#random")
        assert await desk.command("alice", "why") != why

    head, call, rule, way = why.splitlines()
    assert head.startswith("Your last refusal, in #general, ")
    assert call == "I did not make this call: write_file (n.txt)."
    assert rule.endswith("decided it: deny write_file outside #ops.")
    assert rule.startswith("Rule 1 (set in Slack by ada on ")
    assert (
        way == "What you can do: ask me in #ops, or ask an admin, who can type /treadle forget 1."
    )


async def test_why_in_a_thread_is_answered_there_and_is_no_question_for_the_model(
    desk: Desk,
) -> None:
    desk.config('[[policy]]\ntool = "write_file"\ndecision = "deny"')
    async with desk.treadle():
        root = await refused(desk, "bob")
        ts = await desk.slack.person("bob").reply("#general", root, "@treadle !why")
        said = await desk.answered("#general", root, covers=ts)
        alice = await desk.slack.person("alice").reply("#general", root, "@treadle !WHY")
        other = await desk.answered("#general", root, covers=alice)

    assert "write_file (n.txt). treadle.toml line 1 decided it: deny write_file." in said
    assert "ask the operator, who can change treadle.toml line 1" in said
    assert "Nothing was refused to you in this thread" in other
    assert len(desk.model.requests) == 2


async def test_why_names_the_other_person_whose_rights_held(desk: Desk) -> None:
    """Bob joins Ada's turn: his rule holds for the call, and Ada learns that it is his."""
    gate = asyncio.Event()
    desk.model.play(
        [
            Say("I count.", calls=(("calculate", arguments(expression="1")),), gate=gate),
            Say("I write.", calls=(WRITE,)),
            Say("I may not."),
        ]
    )
    async with desk.treadle():
        await desk.command("ada", "deny write_file for @bob")
        root = await desk.slack.person("ada").say("#general", "@treadle write seven")
        await desk.model.asked()
        ts = await desk.slack.person("bob").reply("#general", root, "@treadle quickly please")
        gate.set()
        await desk.answered("#general", root, covers=ts)
        why = await desk.command("ada", "why")
        assert "The rule is about @Bob, who wrote since my last answer too" in why
        assert "The rule is about" not in await desk.command("bob", "why")


async def test_why_tells_of_a_persons_no(desk: Desk) -> None:
    desk.config('[[policy]]\ntool = "write_file"\ndecision = "ask"')
    desk.model.play([Say("I write.", calls=(WRITE,)), Say("Then not.")])
    async with desk.treadle():
        ts = await desk.slack.person("bob").say("#general", "@treadle write seven")
        card = await desk.until(
            lambda: next((m for m in desk.slack.thread("#general", ts) if "Deny" in str(m)), None)
        )
        assert "waits for a person's yes" not in await desk.command("bob", "why")
        waiting = await desk.slack.person("bob").reply("#general", ts, "@treadle !why")
        said = await desk.answered("#general", ts, covers=waiting)
        assert "Nothing was refused to you in this thread" in said
        await desk.slack.person("ada").click(card, "treadle_deny")
        await desk.answered("#general", ts, covers=ts)
        why = await desk.command("bob", "why")

    assert "treadle.toml line 1 decided it: ask write_file." in why
    assert "ada was asked and said no." in why


async def test_stop_stops_ones_own_turn_here(desk: Desk) -> None:
    gate = asyncio.Event()
    desk.model.play(lambda _: Say("Never.", gate=gate))
    alice, bob = desk.slack.person("alice"), desk.slack.person("bob")
    async with desk.treadle():
        assert "Nothing of yours is running" in await desk.command("alice", "stop")
        ts = await alice.say("#general", "@treadle think")
        other = await bob.say("#general", "@treadle think")
        await desk.model.asked(2)
        assert "Nothing of yours is running" in await desk.command("alice", "stop", "#ops")
        assert "no number 2" in await desk.command("alice", "stop 2")
        assert "Stopping the running work" in await desk.command("alice", "stop")
        assert "Stopped by alice" in await desk.answered("#general", ts, covers=ts)
        assert desk.bot_replies("#general", other) == []
        gate.set()
        assert await desk.answered("#general", other, covers=other) == "Never."


async def test_of_several_turns_one_is_named_and_an_admin_stops_all(desk: Desk) -> None:
    gate = asyncio.Event()
    desk.model.play(lambda _: Say("Never.", gate=gate))
    alice, bob = desk.slack.person("alice"), desk.slack.person("bob")
    async with desk.treadle():
        roots = [await alice.say("#general", f"@treadle think {n}") for n in range(2)]
        ops = await bob.say("#ops", "@treadle think")
        await desk.model.asked(3)
        several = (await desk.command("alice", "stop")).splitlines()
        assert several[0].startswith("More than one is running")
        assert [line[:25] for line in several[1:]] == [
            "1. for @Alice in #general",
            "2. for @Alice in #general",
        ]
        assert "Nothing of yours" in await desk.command("alice", "stop all")
        await desk.command("alice", "stop 1")
        assert "Stopped by alice" in await desk.answered("#general", roots[0], covers=roots[0])
        assert "2 pieces of running work" in await desk.command("ada", "stop all")
        assert "Stopped by ada" in await desk.answered("#general", roots[1], covers=roots[1])
        assert "Stopped by ada" in await desk.answered("#ops", ops, covers=ops)
        gate.set()


async def test_usage_tells_what_was_used_today_and_an_admin_adds_to_a_cap(desk: Desk) -> None:
    desk.config("[budget]\nturns_per_user_day = 1\n")
    desk.model.play(lambda _: Say("Hello."))
    bob = desk.slack.person("bob")
    async with desk.treadle():
        assert "You today: 0 turns, 0 tokens" in await desk.command("bob", "usage")
        for more in ("nothing", "one turn"):
            ts = await bob.say("#general", "@treadle hi")
            said = await desk.answered("#general", ts, covers=ts)
            assert ("I stopped here: the budget of 1 turns" in said) is (more == "one turn")
        used = (await desk.command("bob", "usage")).splitlines()
        assert used[0].startswith("You today: 1 turn, 15 tokens")
        assert used[1].startswith("This channel today: 1 turn, 15 tokens")
        assert used[2] == "Cap for one person a day: 1 turns of 1 turns"
        assert "You today: 0 turns" in await desk.command("alice", "usage")
        for text in ("budget add 1 turns for @bob", "budget"):
            assert "Only admins can change this" in await desk.command("bob", text)
        assert "no cap of money for one person" in await desk.command(
            "ada", "budget add 1 money for @bob"
        )
        said = await desk.command("ada", "budget add 1 turns for @bob")
        assert said == "Done: 1 turns more for @Bob, today only."
        ts = await bob.say("#general", "@treadle hi")
        assert await desk.answered("#general", ts, covers=ts) == "Hello."
        assert "Everybody together today: 2 turns, 30 tokens" in await desk.command("ada", "budget")


async def test_a_cap_of_a_channel_is_raised_in_that_channel_alone(desk: Desk) -> None:
    desk.config("[budget]\nturns_per_channel_day = 1\n")
    desk.model.play(lambda _: Say("Hello."))
    alice = desk.slack.person("alice")
    async with desk.treadle():
        await desk.command("ada", "budget add 1 turns in #general")
        said = {}
        for channel in ("#general", "#general", "#ops", "#ops"):
            ts = await alice.say(channel, "@treadle hi")
            said[channel] = await desk.answered(channel, ts, covers=ts)
    assert said["#general"] == "Hello."
    assert "I stopped here" in said["#ops"]


async def test_status_tells_how_things_are(desk: Desk) -> None:
    desk.config('[sandbox]\nmode = "off"')
    gate = asyncio.Event()
    desk.model.play([Say("Hi."), Say("Later.", gate=gate)])
    alice = desk.slack.person("alice")
    async with desk.treadle():
        assert "scripted; not asked since I started" in await desk.command("alice", "status")
        ts = await alice.say("#general", "@treadle hi")
        await desk.answered("#general", ts, covers=ts)
        other = await alice.say("#general", "@treadle hi")
        await desk.model.asked(2)
        said = await desk.command("alice", "status")
        gate.set()
        await desk.answered("#general", other, covers=other)

    assert "scripted; last replied at" in said
    assert "Sandbox: switched off by the operator" in said
    assert "Turns: 1 running, 0 waiting" in said
    assert "Database: treadle.db, schema" in said


async def test_a_pattern_that_lets_a_second_command_through_is_said_when_the_rule_is_made(
    desk: Desk,
) -> None:
    async with desk.treadle():
        said = await desk.command("ada", "allow run_command when command matches git .*")
        assert "Careful: the pattern git .* also matches commands with ;" in said
        strict = await desk.command("ada", "allow run_command when command matches git log")
        assert "Careful" not in strict


async def test_nothing_in_an_answer_is_live_but_the_names_it_means(desk: Desk) -> None:
    """A pattern that an admin typed comes back to another admin as plain text."""
    async with desk.treadle():
        pattern = "<!channel> <https://evil.example|click> *bold* \u202e"
        await desk.command("ada", f"deny write_file when path matches {pattern}")
        await desk.command("ada", "rules")
        (body,) = [e["text"] for e in desk.slack.person("ada").ephemeral() if "All of" in e["text"]]

    assert "<!" not in body
    assert "<http" not in body
    assert "\u202e" not in body
    assert "&lt;!channel&gt;" in body
