"""Which messages are for the bot: `reply_in_threads`, mentions, other bots, Slack's own notices."""

from __future__ import annotations

import pytest

from bot.local_slack import messages
from bot.local_slack.events import envelope
from bot.local_slack.options import BOT_USER_ID, TEAM_ID
from bot.local_slack.shapes import Json
from tests.doubles.desk import Desk
from tests.doubles.model_endpoint import Say


async def asked(desk: Desk, root: str = "") -> list[str]:
    """What the model was asked so far, after one more message that is certainly for the bot."""
    ada = desk.slack.person("ada")
    last = await (
        ada.reply("#general", root, "@treadle last")
        if root
        else ada.say("#general", "@treadle last")
    )
    await desk.answered("#general", root or last, covers=last)
    return [
        str(request["messages"][-1]["content"]).partition("\n")[2]
        for request in desk.model.requests
    ]


def by_bot(desk: Desk, text: str, **fields: object) -> Json:
    """A message of another app in #general, with its events."""
    body = {"user": "U0CIBOT", "bot_id": "B0CIBOT", "app_id": "A0CIBOT", "text": text, **fields}
    return messages.post(desk.slack.world, desk.slack.channel("#general"), body)


async def test_a_message_without_mention_outside_the_bots_threads_is_not_for_it(desk: Desk) -> None:
    desk.model.play(lambda _: Say("Here."))
    alice, bob = desk.slack.person("alice"), desk.slack.person("bob")
    async with desk.treadle():
        root = await alice.say("#general", "good morning")
        await bob.reply("#general", root, "good morning to you")
        assert await asked(desk) == ["last"]
        assert desk.bot_replies("#general", root) == []


async def test_a_reply_is_for_the_bot_when_the_root_addressed_it_whoever_writes(desk: Desk) -> None:
    desk.model.play(lambda _: Say("Yes."))
    alice, bob = desk.slack.person("alice"), desk.slack.person("bob")
    async with desk.treadle():
        root = await alice.say("#general", "hello @treadle")
        await desk.answered("#general", root, covers=root)
        for person in (bob, alice, bob):
            ts = await person.reply("#general", root, "and then?")
            assert await desk.answered("#general", root, covers=ts) == "Yes."


async def test_a_reply_that_begins_by_mentioning_another_person_is_not_for_the_bot(
    desk: Desk,
) -> None:
    desk.model.play(lambda _: Say("Yes."))
    alice = desk.slack.person("alice")
    async with desk.treadle():
        root = await alice.say("#general", "@treadle hello")
        await desk.answered("#general", root, covers=root)
        await alice.reply("#general", root, "@bob look at this")
        ts = await alice.reply("#general", root, "ask @bob about it")
        await desk.answered("#general", root, covers=ts)

    assert len(desk.model.requests) == 2


async def test_a_mention_wins_over_another_persons_mention_before_it(desk: Desk) -> None:
    desk.model.play(lambda _: Say("Yes."))
    async with desk.treadle():
        ts = await desk.slack.person("alice").say("#general", "@bob, let us ask @treadle")
        assert await desk.answered("#general", ts, covers=ts) == "Yes."


async def test_in_others_threads_a_reply_is_for_the_bot_while_nobody_else_wrote_since(
    desk: Desk,
) -> None:
    """Two people talk to it in turn; when a third party speaks in between, a mention is needed."""
    desk.model.play(lambda _: Say("Yes."))
    alice, bob = desk.slack.person("alice"), desk.slack.person("bob")
    async with desk.treadle():
        root = await bob.say("#general", "the disk is full")
        first = await alice.reply("#general", root, "@treadle help us")
        await desk.answered("#general", root, covers=first)
        follow_up = await alice.reply("#general", root, "and now?")
        await desk.answered("#general", root, covers=follow_up)
        await bob.reply("#general", root, "@alice I shall free some space")
        unheard = await alice.reply("#general", root, "thank you")
        questions = await asked(desk, root)

    assert questions == ["help us", "and now?", "last"]
    assert all(unheard not in covers for covers in covered(desk, root))


def covered(desk: Desk, root: str) -> list[list[str]]:
    found = []
    for message in desk.slack.thread("#general", root):
        payload = (message.get("metadata") or {}).get("event_payload", {})
        found.append(payload.get("covers", []))
    return found


async def test_with_mention_needed_a_reply_without_one_is_not_for_the_bot(desk: Desk) -> None:
    desk.config('[slack]\nreply_in_threads = "mention"')
    desk.model.play(lambda _: Say("Yes."))
    alice = desk.slack.person("alice")
    async with desk.treadle():
        root = await alice.say("#general", "@treadle hello")
        await desk.answered("#general", root, covers=root)
        await alice.reply("#general", root, "just thinking aloud")
        questions = await asked(desk, root)

    assert questions == ["hello", "last"]
    assert "> just thinking aloud" in str(desk.model.requests[1]["messages"])


async def test_a_channel_may_need_mentions_while_others_do_not(desk: Desk) -> None:
    desk.config('[[channel]]\nid = "C0OPS"\nreply_in_threads = "mention"')
    desk.model.play(lambda _: Say("Yes."))
    alice = desk.slack.person("alice")
    async with desk.treadle():
        ops = await alice.say("#ops", "@treadle hello")
        general = await alice.say("#general", "@treadle hello")
        await desk.answered("#ops", ops, covers=ops)
        await desk.answered("#general", general, covers=general)
        await alice.reply("#ops", ops, "in ops")
        ts = await alice.reply("#general", general, "in general")
        await desk.answered("#general", general, covers=ts)
        again = await alice.reply("#ops", ops, "@treadle again")
        await desk.answered("#ops", ops, covers=again)

    assert desk.bot_replies("#ops", ops) == ["Yes.", "Yes."]


async def test_direct_messages_need_no_mention_even_where_mentions_are_needed(desk: Desk) -> None:
    desk.config('[slack]\nreply_in_threads = "mention"')
    desk.model.play(lambda _: Say("Yes."))
    async with desk.treadle():
        ts = await desk.slack.person("alice").say("dm", "hello")
        assert await desk.answered("D0ALICE", ts, covers=ts) == "Yes."


async def test_other_bots_are_not_heard_even_when_they_mention_it(desk: Desk) -> None:
    desk.model.play(lambda _: Say("Yes."))
    alice = desk.slack.person("alice")
    async with desk.treadle():
        shout = by_bot(desk, f"<@{BOT_USER_ID}> the build failed")
        await alice.reply("#general", shout["ts"], "who broke it?")
        root = await alice.say("#general", "@treadle hello")
        await desk.answered("#general", root, covers=root)
        by_bot(desk, "beep", thread_ts=root)
        by_bot(desk, f"<@{BOT_USER_ID}> beep", thread_ts=root, subtype="bot_message", user="")
        assert await asked(desk, root) == ["hello", "last"]

    assert desk.bot_replies("#general", shout["ts"]) == []


@pytest.mark.parametrize("named", ["B0CIBOT", "U0CIBOT", "A0CIBOT"])
async def test_a_bot_that_the_operator_names_is_answered_when_it_mentions_the_bot(
    desk: Desk, named: str
) -> None:
    """By its bot id, its user's or its app's."""
    desk.config(f'[access]\nbots = ["{named}"]')
    desk.model.play(lambda _: Say("I look into it."))
    async with desk.treadle():
        shout = by_bot(desk, f"<@{BOT_USER_ID}> the build failed")
        answer = await desk.answered("#general", shout["ts"], covers=shout["ts"])
        assert answer == "I look into it."
        by_bot(desk, "and no mention here", thread_ts=shout["ts"])
        assert await asked(desk, shout["ts"]) == ["the build failed", "last"]


async def test_its_own_messages_never_come_back_to_it(desk: Desk) -> None:
    """The answer mentions the bot itself, and Slack sends it back as an event."""
    desk.model.play(lambda _: Say(f"I am <@{BOT_USER_ID}>, call me @treadle."))
    async with desk.treadle():
        root = await desk.slack.person("alice").say("#general", "@treadle who are you?")
        await desk.answered("#general", root, covers=root)
        await desk.slack.until_delivered()
        assert await asked(desk, root) == ["who are you?", "last"]


async def test_joins_topics_and_other_notices_of_slack_are_not_messages(desk: Desk) -> None:
    desk.model.play(lambda _: Say("Yes."))
    alice = desk.slack.person("alice")
    general = desk.slack.channel("#general")
    async with desk.treadle():
        root = await alice.say("#general", "@treadle hello")
        await desk.answered("#general", root, covers=root)
        notices = (
            "channel_join",
            "channel_topic",
            "pinned_item",
            "reminder_add",
            "message_replied",
        )
        for subtype in notices:
            text = f"<@U0ALICE> did something with <@{BOT_USER_ID}>"
            event = {"type": "message", "subtype": subtype, "user": "U0ALICE", "text": text}
            event |= {"ts": desk.slack.clock.ts(), "channel": "C0GENERAL", "thread_ts": root}
            desk.slack.courier.event(envelope(desk.slack.world, event, general))
        await desk.slack.until_delivered()
        assert await asked(desk, root) == ["hello", "last"]

    assert not desk.slack.courier.lost


async def test_a_message_older_than_six_hours_gets_one_line_instead_of_an_answer(
    desk: Desk,
) -> None:
    desk.model.play(lambda _: Say("Yes."))
    world, general = desk.slack.world, desk.slack.channel("#general")
    ts = f"{int(desk.slack.clock.now()) - 7 * 3600}.000100"
    message = {"type": "message", "ts": ts, "team": TEAM_ID, "user": "U0ALICE", "thread_ts": ts}
    message["text"] = f"<@{BOT_USER_ID}> are you there?"
    general.messages[ts] = message
    async with desk.treadle():
        event = {**message, "channel": general.id, "channel_type": "channel", "event_ts": ts}
        desk.slack.courier.event(envelope(world, event, general))
        notice = await desk.answered("#general", ts, covers=ts)

    assert "more than six hours ago" in notice
    assert desk.model.requests == []


async def test_a_mention_added_by_an_edit_counts_from_the_time_of_the_edit(desk: Desk) -> None:
    """The message itself is older than six hours."""
    desk.model.play([Say("Yes.")])
    general = desk.slack.channel("#general")
    ts = f"{int(desk.slack.clock.now()) - 7 * 3600}.000100"
    message = {"type": "message", "ts": ts, "team": TEAM_ID, "user": "U0ALICE", "thread_ts": ts}
    general.messages[ts] = {**message, "text": "are you there?"}
    async with desk.treadle():
        await desk.slack.person("alice").edit("#general", ts, "@treadle are you there?")
        assert await desk.answered("#general", ts, covers=ts) == "Yes."
