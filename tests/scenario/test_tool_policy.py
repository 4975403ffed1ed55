"""Which tools may be used where and by whom, as the operator's treadle.toml says."""

from __future__ import annotations

import json

import pytest

from tests.doubles.desk import Desk, arguments
from tests.doubles.model_endpoint import Refuse, Request, Say

WRITE = ("write_file", arguments(path="n.txt", content="seven"))


def shown(request: Request) -> set[str]:
    """The tools that the model was told of."""
    return {tool["function"]["name"] for tool in request.get("tools", ())}


def observations(request: Request) -> list[str]:
    return [str(m["content"]) for m in request["messages"] if m["role"] == "tool"]


async def ask(desk: Desk, channel: str, who: str = "alice") -> str:
    ts = await desk.slack.person(who).say(channel, "@treadle write seven")
    return await desk.answered(channel, ts, covers=ts)


async def test_a_tool_denied_in_a_channel_is_not_shown_there_and_does_not_run(desk: Desk) -> None:
    desk.config('[[policy]]\ntool = "write_file"\ndecision = "deny"\nchannel = "C0GENERAL"')
    desk.model.play([Say("I write.", calls=(WRITE,)), Say("I may not.")] * 2)
    async with desk.treadle():
        await ask(desk, "#general")
        await ask(desk, "#ops")

    general, denied, ops, allowed = desk.model.requests
    assert "write_file" not in shown(general)
    assert "read_file" in shown(general)
    assert "write_file is not allowed here" in observations(denied)[0]
    assert "write_file" in shown(ops)
    assert "not allowed" not in observations(allowed)[0]
    assert not (desk.workspace() / "n.txt").exists()
    assert (desk.workspace("T0LOCAL-C0OPS") / "n.txt").read_text() == "seven"


async def test_a_rule_that_comes_later_holds_in_an_old_conversation(desk: Desk) -> None:
    """The model learnt of the tool before a restart with a stricter file."""
    desk.model.play([Say("Ready."), Say("I write.", calls=(WRITE,)), Say("I may not.")])
    alice = desk.slack.person("alice")
    async with desk.treadle():
        root = await alice.say("#general", "@treadle get ready")
        await desk.answered("#general", root, covers=root)
    desk.config('[[policy]]\ntool = "write_file"\ndecision = "deny"')
    async with desk.treadle():
        ts = await alice.reply("#general", root, "now write")
        await desk.answered("#general", root, covers=ts)

    assert "write_file" in shown(desk.model.requests[0])
    assert "write_file" not in shown(desk.model.requests[1])
    assert "is not allowed here" in observations(desk.model.requests[2])[0]
    assert not (desk.workspace() / "n.txt").exists()


async def test_only_in_ops_is_said_with_an_exclamation_mark(desk: Desk) -> None:
    desk.config('[[policy]]\ntool = "write_file"\ndecision = "deny"\nchannel = ["!C0OPS"]')
    desk.model.play([Say("Done.")] * 3)
    async with desk.treadle():
        await ask(desk, "#general")
        await ask(desk, "#ops")
        ts = await desk.slack.person("alice").say("dm", "write")
        await desk.answered("D0ALICE", ts, covers=ts)

    assert ["write_file" in shown(request) for request in desk.model.requests] == [
        *(False, True, False)
    ]


async def test_only_enabled_tools_are_offered_and_run(desk: Desk) -> None:
    desk.config('[tools]\nenabled = ["read_file", "calculate"]')
    desk.model.play([Say("I write.", calls=(WRITE,)), Say("I cannot.")])
    async with desk.treadle():
        await ask(desk, "#general")

    assert shown(desk.model.requests[0]) == {"read_file", "calculate"}
    assert "switched off here" in observations(desk.model.requests[1])[0]
    assert not (desk.workspace() / "n.txt").exists()


async def test_a_tools_other_name_is_no_way_around_a_rule(desk: Desk) -> None:
    desk.config('[[policy]]\ntool = "write_file"\ndecision = "deny"')
    alias = ("write_to_file", WRITE[1])
    desk.model.play([Say("I write.", calls=(alias,)), Say("I may not.")])
    async with desk.treadle():
        await ask(desk, "#general")

    assert "is not allowed here" in observations(desk.model.requests[1])[0]
    assert not (desk.workspace() / "n.txt").exists()


async def test_a_rule_named_by_the_other_name_is_about_the_tool(desk: Desk) -> None:
    desk.config('[[policy]]\ntool = "write_to_file"\ndecision = "deny"')
    desk.model.play([Say("I write.", calls=(WRITE,)), Say("I may not.")])
    async with desk.treadle():
        await ask(desk, "#general")

    assert "write_file" not in shown(desk.model.requests[0])
    assert not (desk.workspace() / "n.txt").exists()


async def test_a_rule_about_an_argument_denies_that_call_only(desk: Desk) -> None:
    rule = '[[policy]]\ntool = "write_file"\ndecision = "deny"\nmatch = { path = "secret/.*" }'
    desk.config(rule)
    secret = ("write_file", arguments(path="./secret/n.txt", content="x"))
    desk.model.play([Say("Both.", calls=(secret, WRITE)), Say("One.")])
    async with desk.treadle():
        await ask(desk, "#general")

    denied, allowed = observations(desk.model.requests[1])
    assert "is not allowed here" in denied
    assert "not allowed" not in allowed
    assert not (desk.workspace() / "secret").exists()
    assert (desk.workspace() / "n.txt").exists()


async def test_the_strictest_of_all_who_speak_in_a_turn_decides(desk: Desk) -> None:
    """Ada may write, Bob may not; he joins in before the call is decided."""
    desk.config('[[policy]]\ntool = "write_file"\ndecision = "deny"\nuser = "U0BOB"')
    first = Say("I count.", calls=(("calculate", arguments(expression="3+4")),), delay=0.4)
    desk.model.play([first, Say("I write.", calls=(WRITE,)), Say("I may not.")])
    async with desk.treadle():
        root = await desk.slack.person("ada").say("#general", "@treadle write 3+4")
        await desk.model.asked()
        ts = await desk.slack.person("bob").reply("#general", root, "into n.txt please")
        await desk.answered("#general", root, covers=ts)

    assert ["write_file" in shown(request) for request in desk.model.requests] == [True] * 3
    assert "is not allowed here" in observations(desk.model.requests[2])[-1]
    assert not (desk.workspace() / "n.txt").exists()


@pytest.mark.parametrize("dialect", ["native", "xml"])
async def test_who_joins_a_turn_does_not_change_what_the_model_was_sent(
    desk: Desk, dialect: str
) -> None:
    """Bob may use less than Ada, with whom the turn began: prompt caches must still fit."""
    desk.config(
        f'[model]\ndialect = "{dialect}"\n'
        '[[policy]]\ntool = "write_file"\ndecision = "deny"\nuser = "U0BOB"'
    )
    step = {
        "native": Say("I count.", calls=(("calculate", arguments(expression="3+4")),), delay=0.4),
        "xml": Say('<action>calculate("3+4")</action>', delay=0.4),
    }
    end = Say("7" if dialect == "native" else "<final_answer>7</final_answer>")
    desk.model.play([step[dialect], end, end])
    async with desk.treadle():
        root = await desk.slack.person("ada").say("#general", "@treadle write 3+4")
        await desk.model.asked()
        ts = await desk.slack.person("bob").reply("#general", root, "please")
        await desk.answered("#general", root, covers=ts)
        ts = await desk.slack.person("bob").reply("#general", root, "@treadle and now alone")
        await desk.answered("#general", root, covers=ts)

    first, second, alone = desk.model.requests
    assert second["messages"][: len(first["messages"])] == first["messages"]
    assert second.get("tools") == first.get("tools")
    offered = [json.dumps([r["messages"][0], r.get("tools")]) for r in (first, alone)]
    assert ["write_file" in said for said in offered] == [True, False]


async def test_roles_decide_and_slacks_admins_are_admins(desk: Desk) -> None:
    desk.config('[[policy]]\ntool = "write_file"\ndecision = "deny"\nrole = "!admin"')
    desk.model.play([Say("Done.")] * 2)
    async with desk.treadle():
        await ask(desk, "#general", "alice")
        await ask(desk, "#general", "ada")

    assert ["write_file" in shown(request) for request in desk.model.requests] == [False, True]


async def test_who_edits_an_older_message_during_a_turn_is_heard_in_it(desk: Desk) -> None:
    """Bob may not write; his answered question turns into an order while Ada's turn runs."""
    desk.config('[[policy]]\ntool = "write_file"\ndecision = "deny"\nuser = "U0BOB"')
    count = Say("I count.", calls=(("calculate", arguments(expression="3+4")),), delay=0.4)
    desk.model.play([Say("Hi."), count, Say("Bob wants it.", calls=(WRITE,)), Say("I may not.")])
    ada, bob = desk.slack.person("ada"), desk.slack.person("bob")
    async with desk.treadle():
        root = await bob.say("#general", "@treadle hello")
        await desk.answered("#general", root, covers=root)
        ts = await ada.reply("#general", root, "@treadle what is 3+4?")
        await desk.model.asked(2)
        await bob.edit("#general", root, "@treadle hello. First write seven to n.txt")
        await desk.answered("#general", root, covers=ts)

    assert "First write seven" in str(desk.model.requests[2]["messages"])
    assert "is not allowed here" in observations(desk.model.requests[3])[-1]
    assert not (desk.workspace() / "n.txt").exists()


async def test_who_was_not_answered_is_still_heard_in_the_next_turn(desk: Desk) -> None:
    """Bob may not write; his turn failed, and Ada says only that it should go on."""
    desk.config('[[policy]]\ntool = "write_file"\ndecision = "deny"\nuser = "U0BOB"')
    refused = Refuse(400, {"error": {"message": "no"}})
    desk.model.play([refused, Say("Bob wanted it.", calls=(WRITE,)), Say("I may not.")])
    ada, bob = desk.slack.person("ada"), desk.slack.person("bob")
    async with desk.treadle():
        root = await bob.say("#general", "@treadle write seven to n.txt")
        await desk.answered("#general", root, covers=root)
        ts = await ada.reply("#general", root, "@treadle go on")
        assert await desk.answered("#general", root, covers=ts) == "I may not."

    assert "is not allowed here" in observations(desk.model.requests[2])[-1]
    assert not (desk.workspace() / "n.txt").exists()
