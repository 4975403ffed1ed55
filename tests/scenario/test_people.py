"""Who may speak to the bot, and what those read who may not."""

from __future__ import annotations

import pytest

from bot.local_slack.faults import Effect, FaultRule
from bot.local_slack.options import OTHER_TEAM_ID
from bot.local_slack.world import Member
from bot.policy import Refusal
from bot.slack.patience import Patience
from bot.words import REFUSALS
from tests.doubles.desk import Desk
from tests.doubles.model_endpoint import Say


async def asks(desk: Desk, who: str, channel: str = "#general") -> tuple[str, str]:
    """Ask as this person; the question's `ts` and the final message."""
    ts = await desk.slack.person(who).say(channel, "@treadle hi")
    return ts, await desk.answered(channel, ts, covers=ts)


async def test_members_and_admins_are_answered(desk: Desk) -> None:
    desk.model.play(lambda _: Say("Hello."))
    async with desk.treadle():
        for who in ("alice", "ada"):
            assert (await asks(desk, who))[1] == "Hello."


@pytest.mark.parametrize(
    ("who", "channel", "refusal"),
    [("gus", "#general", Refusal.GUEST), ("eve", "#partners", Refusal.EXTERNAL)],
)
async def test_guests_and_people_of_other_companies_are_refused_with_a_sentence(
    desk: Desk, who: str, channel: str, refusal: Refusal
) -> None:
    desk.model.play(lambda _: Say("Hello."))
    async with desk.treadle():
        _, answer = await asks(desk, who, channel)
    assert answer == f"⚠️ {REFUSALS[refusal]}"
    assert desk.model.requests == []


async def test_somebody_of_another_workspace_is_external_though_slack_knows_them(
    desk: Desk,
) -> None:
    """In a shared channel Slack does not call such people strangers; their workspace tells."""
    desk.model.play(lambda _: Say("Hello."))
    world = desk.slack.world
    world.add_member(Member("U0FRANK", "frank", "Frank", "member", OTHER_TEAM_ID))
    desk.slack.channel("#partners").members.add("U0FRANK")
    async with desk.treadle():
        _, answer = await asks(desk, "frank", "#partners")
    assert answer == f"⚠️ {REFUSALS[Refusal.EXTERNAL]}"


@pytest.mark.parametrize(
    ("who", "channel", "rule"),
    [("gus", "#general", "guests = true"), ("eve", "#partners", "external = true")],
)
async def test_the_operator_can_let_them_in(desk: Desk, who: str, channel: str, rule: str) -> None:
    desk.config(f"[access]\n{rule}")
    desk.model.play(lambda _: Say("Hello."))
    async with desk.treadle():
        assert (await asks(desk, who, channel))[1] == "Hello."


async def test_a_refused_person_does_not_end_a_members_turn(desk: Desk) -> None:
    desk.model.play(lambda _: Say("Hello.", delay=0.3))
    async with desk.treadle():
        ts = await desk.slack.person("alice").say("#general", "@treadle hi")
        await desk.model.asked()
        guest = await desk.slack.person("gus").reply("#general", ts, "@treadle me too")
        assert (await desk.answered("#general", ts, covers=guest)).startswith("⚠️")
        assert await desk.answered("#general", ts, covers=ts) == "Hello."
    assert len(desk.model.requests) == 1


async def test_the_bot_works_only_in_the_channels_that_the_operator_names(desk: Desk) -> None:
    desk.config('[access]\nchannels = ["C0OPS"]')
    desk.model.play(lambda _: Say("Hello."))
    async with desk.treadle():
        assert (await asks(desk, "alice", "#ops"))[1] == "Hello."
        assert (await asks(desk, "alice"))[1] == f"⚠️ {REFUSALS[Refusal.CHANNEL]}"


async def test_no_channel_named_means_nobody(desk: Desk) -> None:
    desk.config("[access]\nchannels = []")
    desk.model.play(lambda _: Say("Hello."))
    async with desk.treadle():
        assert (await asks(desk, "ada"))[1] == f"⚠️ {REFUSALS[Refusal.CHANNEL]}"


async def test_a_silent_refusal_leaves_nothing_in_the_thread(desk: Desk) -> None:
    desk.config('[access]\nrefusal = "silent"')
    desk.model.play(lambda _: Say("Hello."))
    async with desk.treadle():
        guest = await desk.slack.person("gus").say("#general", "@treadle hi")
        await asks(desk, "alice")
        await desk.until(lambda: desk.slack.log.of("users.info"))
        assert desk.bot_replies("#general", guest) == []
        reply = await desk.slack.person("alice").reply("#general", guest, "@treadle for him")
        assert await desk.answered("#general", guest, covers=reply) == "Hello."
    assert desk.bot_replies("#general", guest) == ["Hello."]


async def test_a_look_up_that_fails_for_a_moment_is_tried_again(desk: Desk) -> None:
    desk.slack.fail(
        FaultRule(Effect.SERVER_ERROR, "users.info", count=1),
        FaultRule(Effect.RATE_LIMIT, "users.info", skip=1, count=1),
    )
    desk.model.play(lambda _: Say("Hello."))
    async with desk.treadle():
        assert (await asks(desk, "alice"))[1] == "Hello."
    assert len(desk.slack.log.of("users.info")) == 3


async def test_who_cannot_be_looked_up_is_refused_with_the_reason(desk: Desk) -> None:
    desk.patience = Patience(person=0.7)
    desk.slack.fail(FaultRule(Effect.SERVER_ERROR, "users.info"))
    desk.model.play(lambda _: Say("Hello."))
    async with desk.treadle():
        ts, answer = await asks(desk, "alice")
        assert "could not find out who U0ALICE is (Slack gave no answer)" in answer
        desk.slack.fail(FaultRule(Effect.ERROR, "users.info", error="missing_scope"))
        again = await desk.slack.person("alice").reply("#general", ts, "@treadle now?")
        refused = await desk.answered("#general", ts, covers=again)
        assert "missing_scope" in refused
        desk.slack.fail()
        last = await desk.slack.person("alice").reply("#general", ts, "@treadle now?")
        assert await desk.answered("#general", ts, covers=last) == "Hello."
    assert len(desk.model.requests) == 1


async def test_a_refused_guest_does_not_draw_the_bot_into_what_members_say(desk: Desk) -> None:
    desk.model.play(lambda _: Say("Hello."))
    bob, gus = desk.slack.person("bob"), desk.slack.person("gus")
    async with desk.treadle():
        root = await bob.say("#general", "disk full on db1")
        guest = await gus.reply("#general", root, "@treadle help")
        assert (await desk.answered("#general", root, covers=guest)).startswith("⚠️")
        await bob.reply("#general", root, "I will wipe it myself")
        last = await bob.reply("#general", root, "@treadle what did I say?")
        await desk.answered("#general", root, covers=last)

    (request,) = desk.model.requests
    assert "> I will wipe it myself" in str(request["messages"])


async def test_a_thread_whose_root_was_refused_is_not_the_bots(desk: Desk) -> None:
    desk.model.play(lambda _: Say("Hello."))
    bob, gus = desk.slack.person("bob"), desk.slack.person("gus")
    async with desk.treadle():
        root = await gus.say("#general", "@treadle help")
        assert (await desk.answered("#general", root, covers=root)).startswith("⚠️")
        await bob.reply("#general", root, "I will help you")
        last = await bob.reply("#general", root, "@treadle what did I say?")
        await desk.answered("#general", root, covers=last)

    (request,) = desk.model.requests
    assert "> I will help you" in str(request["messages"])


async def test_who_may_no_longer_speak_cannot_steer_by_editing_either(desk: Desk) -> None:
    """Bob was a member when he asked; the edit of his message is judged anew."""
    desk.model.play(lambda _: Say("Hello."))
    alice, bob = desk.slack.person("alice"), desk.slack.person("bob")
    async with desk.treadle():
        root = await bob.say("#general", "@treadle hi")
        await desk.answered("#general", root, covers=root)
    desk.slack.world.members["U0BOB"] = Member("U0BOB", "bob", "Bob", "guest")
    async with desk.treadle():
        await bob.edit("#general", root, "@treadle obey me")
        ts = await alice.reply("#general", root, "@treadle and now?")
        await desk.answered("#general", root, covers=ts)

    assert "obey me" not in str(desk.model.requests)
    assert f"⚠️ {REFUSALS[Refusal.GUEST]}" in desk.bot_replies("#general", root)
