"""Messages that are changed or taken back before, during and after the turn about them."""

from __future__ import annotations

import asyncio

from bot.local_slack import messages
from bot.local_slack.faults import Effect, FaultRule
from tests.doubles.desk import Desk, arguments
from tests.doubles.model_endpoint import Say


async def test_a_mention_added_by_an_edit_calls_the_bot(desk: Desk) -> None:
    desk.model.play([Say("Sorted.")])
    alice = desk.slack.person("alice")
    async with desk.treadle():
        ts = await alice.say("#general", "please sort the list")
        await alice.edit("#general", ts, "@treadle please sort the list")
        assert await desk.answered("#general", ts, covers=ts) == "Sorted."

    assert "please sort the list" in str(desk.model.requests[0]["messages"][-1]["content"])


async def test_a_mention_added_by_an_edit_in_a_thread_that_needs_mentions_calls_the_bot(
    desk: Desk,
) -> None:
    desk.config('[slack]\nreply_in_threads = "mention"')
    desk.model.play([Say("Hello."), Say("Sorted.")])
    alice = desk.slack.person("alice")
    async with desk.treadle():
        root = await alice.say("#general", "@treadle hello")
        await desk.answered("#general", root, covers=root)
        ts = await alice.reply("#general", root, "sort the list")
        await alice.edit("#general", ts, "@treadle sort the list")
        assert await desk.answered("#general", root, covers=ts) == "Sorted."


async def test_an_edit_before_the_turn_is_what_the_model_reads(desk: Desk) -> None:
    """The edit arrives while the message still waits, even if Slack delivers it first."""
    gate = asyncio.Event()
    desk.model.play([Say("One.", gate=gate), Say("Two.")])
    alice = desk.slack.person("alice")
    async with desk.treadle():
        root = await alice.say("#general", "@treadle one")
        await desk.model.asked()
        desk.slack.fail(FaultRule(Effect.HOLD, "message", count=2))
        ts = await alice.reply("#general", root, "delete the first file")
        await alice.edit("#general", ts, "delete the second file")
        await alice.edit("#general", ts, "delete the third file")
        await desk.slack.until_delivered()
        desk.slack.courier.release()
        await desk.slack.until_delivered()
        gate.set()
        await desk.answered("#general", root, covers=ts)

    asked = str(desk.model.requests[1]["messages"])
    assert "delete the third file" in asked
    assert "first file" not in asked
    assert "second file" not in asked


async def test_an_edit_during_the_turn_reaches_the_model_at_its_next_call(desk: Desk) -> None:
    gate = asyncio.Event()
    step = Say("Hm.", calls=(("calculate", arguments(expression="2*2")),), gate=gate)
    desk.model.play([step, Say("Six.")])
    alice = desk.slack.person("alice")
    async with desk.treadle():
        ts = await alice.say("#general", "@treadle what is 2*2?")
        await desk.model.asked()
        await alice.edit("#general", ts, "@treadle what is 2*3?")
        await desk.slack.until_delivered()
        gate.set()
        await desk.answered("#general", ts, covers=ts)

    change = desk.model.requests[1]["messages"][-1]
    assert "was changed by its author" in change["content"]
    assert "what is 2*3?" in change["content"]


async def test_an_edit_after_the_answer_asks_nothing_anew_but_is_known_later(desk: Desk) -> None:
    desk.model.play([Say("Four."), Say("Six.")])
    alice = desk.slack.person("alice")
    async with desk.treadle():
        root = await alice.say("#general", "@treadle what is 2*2?")
        await desk.answered("#general", root, covers=root)
        await alice.edit("#general", root, "@treadle what is 2*3?")
        await desk.slack.until_delivered()
        ts = await alice.reply("#general", root, "well?")
        assert await desk.answered("#general", root, covers=ts) == "Six."

    assert len(desk.model.requests) == 2
    assert "what is 2*3?" in str(desk.model.requests[1]["messages"])


async def test_a_preview_that_slack_adds_to_a_message_is_not_an_edit(desk: Desk) -> None:
    desk.model.play([Say("A page."), Say("Still a page.")])
    alice = desk.slack.person("alice")
    general = desk.slack.channel("#general")
    async with desk.treadle():
        root = await alice.say("#general", "@treadle what is at https://example.com?")
        await desk.answered("#general", root, covers=root)
        preview = {"attachments": [{"title": "Example"}]}
        messages.change(desk.slack.world, general, root, preview)
        await desk.slack.until_delivered()
        ts = await alice.reply("#general", root, "sure?")
        await desk.answered("#general", root, covers=ts)

    roles = [message["role"] for message in desk.model.requests[1]["messages"]]
    assert roles == ["system", "user", "assistant", "user"]


async def test_a_question_deleted_before_its_turn_is_not_asked(desk: Desk) -> None:
    gate = asyncio.Event()
    desk.model.play([Say("One.", gate=gate), Say("Three.")])
    alice = desk.slack.person("alice")
    async with desk.treadle():
        root = await alice.say("#general", "@treadle one")
        await desk.model.asked()
        ts = await alice.reply("#general", root, "drop the table")
        await desk.slack.until_delivered()
        await alice.delete("#general", ts)
        await desk.slack.until_delivered()
        gate.set()
        await desk.answered("#general", root, covers=root)
        last = await alice.reply("#general", root, "three")
        await desk.answered("#general", root, covers=last)

    assert "drop the table" not in str(desk.model.requests)
    assert desk.bot_replies("#general", root) == ["One.", "Three."]


async def test_deleting_the_question_during_its_turn_stops_the_turn(desk: Desk) -> None:
    """The thread says so, and no further tool runs."""
    step = Say("I count.", calls=(("calculate", arguments(expression="1+1")),), delay=60)
    desk.model.play([step, Say("Never.")])
    alice = desk.slack.person("alice")
    async with desk.treadle():
        root = await alice.say("#general", "@treadle count")
        await desk.model.asked()
        await alice.reply("#general", root, "@bob hm")  # so that the root leaves a tombstone
        await alice.delete("#general", root)
        notice = await desk.answered("#general", root, covers=root)

    assert notice.startswith("Stopped by deleting the question.")
    assert len(desk.model.requests) == 1


async def test_deleting_a_question_after_its_answer_takes_nothing_back(desk: Desk) -> None:
    desk.model.play([Say("Four."), Say("Nothing to add.")])
    alice = desk.slack.person("alice")
    async with desk.treadle():
        root = await alice.say("#general", "@treadle what is 2*2?")
        await desk.answered("#general", root, covers=root)
        await alice.delete("#general", root)
        ts = await alice.reply("#general", root, "anything else?")
        assert await desk.answered("#general", root, covers=ts) == "Nothing to add."

    assert desk.bot_replies("#general", root) == ["Four.", "Nothing to add."]
    assert "was deleted by its author" in str(desk.model.requests[1]["messages"])


async def test_a_question_whose_thread_is_gone_is_let_go_without_end_or_noise(desk: Desk) -> None:
    """The root is deleted before anything stands under it: Slack then takes no reply."""
    gate = asyncio.Event()
    desk.model.play([Say("Lost.", gate=gate), Say("Here.")])
    alice = desk.slack.person("alice")
    async with desk.treadle():
        gone = await alice.say("#general", "@treadle never mind")
        await desk.model.asked()
        await alice.delete("#general", gone)
        gate.set()
        ts = await alice.say("#general", "@treadle are you there?")
        assert await desk.answered("#general", ts, covers=ts) == "Here."
        refused = [c for c in desk.slack.log.of("chat.postMessage") if not c.ok]

    assert len(refused) <= 1


async def test_a_deleted_message_that_was_not_for_the_bot_is_not_sent_to_the_model_again(
    desk: Desk,
) -> None:
    desk.model.play(lambda _: Say("Ok."))
    alice, bob = desk.slack.person("alice"), desk.slack.person("bob")
    async with desk.treadle():
        root = await bob.say("#general", "the build is broken")
        secret = await bob.reply("#general", root, "the door code is 4711")
        first = await alice.reply("#general", root, "@treadle what is this about?")
        await desk.answered("#general", root, covers=first)
        await bob.delete("#general", secret)
        second = await alice.reply("#general", root, "@treadle and now?")
        await desk.answered("#general", root, covers=second)

    before, after = (str(request["messages"]) for request in desk.model.requests)
    assert "> the door code is 4711" in before
    assert "4711" not in after
    assert "> the build is broken" in after


async def test_an_edited_message_that_was_not_for_the_bot_is_quoted_as_it_reads_now(
    desk: Desk,
) -> None:
    """It stays data: nobody is asked anything by it."""
    desk.model.play(lambda _: Say("Ok."))
    alice, bob = desk.slack.person("alice"), desk.slack.person("bob")
    async with desk.treadle():
        root = await alice.say("#general", "@treadle hello")
        await desk.answered("#general", root, covers=root)
        aside = await bob.reply("#general", root, "@alice Friday suits me")
        first = await alice.reply("#general", root, "@treadle which day?")
        await desk.answered("#general", root, covers=first)
        await bob.edit("#general", aside, "@alice Monday suits me")
        second = await alice.reply("#general", root, "@treadle which day now?")
        await desk.answered("#general", root, covers=second)

    before, after = (str(request["messages"]) for request in desk.model.requests[1:])
    assert "Friday suits me" in before
    assert "> @alice Monday suits me" in after
    assert "Friday suits me" not in after
    assert "changed by its author" not in after
