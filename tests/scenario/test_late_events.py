"""Events that come late, in the wrong order, or while what they change is being judged."""

from __future__ import annotations

from bot.local_slack.events import envelope
from bot.local_slack.faults import Effect, FaultRule
from bot.local_slack.options import BOT_USER_ID
from bot.local_slack.shapes import Json
from tests.doubles.desk import Desk
from tests.doubles.model_endpoint import Say


def hold_one(desk: Desk) -> None:
    """Keep both events of the next mention back until `release`."""
    desk.slack.fail(*(FaultRule(Effect.HOLD, kind, count=1) for kind in ("app_mention", "message")))


async def test_a_thread_whose_root_comes_late_is_as_much_the_bots_as_any(desk: Desk) -> None:
    """Its root addressed the bot, so a reply needs no mention whoever wrote in between."""
    desk.model.play(lambda _: Say("Ok."))
    alice, bob = desk.slack.person("alice"), desk.slack.person("bob")
    async with desk.treadle():
        hold_one(desk)
        root = await alice.say("#general", "@treadle hello")
        ts = await alice.reply("#general", root, "@treadle more")
        await desk.answered("#general", root, covers=ts)
        desk.slack.courier.release()
        await desk.answered("#general", root, covers=root)
        await bob.reply("#general", root, "@alice look at this")
        last = await alice.reply("#general", root, "and one more thing")
        assert await desk.answered("#general", root, covers=last) == "Ok."


async def test_a_question_that_comes_after_its_own_deletion_is_not_answered(desk: Desk) -> None:
    desk.model.play(lambda _: Say("Ok."))
    alice = desk.slack.person("alice")
    async with desk.treadle():
        hold_one(desk)
        gone = await alice.say("#general", "@treadle hello")
        await alice.delete("#general", gone)
        await desk.slack.until_delivered()
        desk.slack.courier.release()
        await desk.slack.until_delivered()
        ts = await alice.say("#general", "@treadle are you there?")
        await desk.answered("#general", ts, covers=ts)

    (request,) = desk.model.requests
    assert "are you there?" in str(request["messages"])


async def test_what_completes_a_message_while_its_author_is_looked_up_is_not_lost(
    desk: Desk,
) -> None:
    """Slack's second event of a message brings its file when the first is already being judged."""
    desk.model.play(lambda _: Say("Ok."))
    general = desk.slack.channel("#general")
    async with desk.treadle():
        desk.slack.fail(FaultRule(Effect.SLOW_BEFORE, "users.info", seconds=2.0))
        ts = desk.slack.clock.ts()
        message: Json = {"channel": general.id, "ts": ts, "user": "U0ALICE"}
        message["text"] = f"<@{BOT_USER_ID}> see"
        general.messages[ts] = message
        mention = {**message, "type": "app_mention"}
        desk.slack.courier.event(envelope(desk.slack.world, mention, general))
        await desk.until(lambda: desk.slack.status("#general", ts))
        fuller = {**message, "type": "message", "text": f"<@{BOT_USER_ID}> see the plan"}
        fuller["files"] = [{"name": "plan.pdf"}]
        desk.slack.courier.event(envelope(desk.slack.world, fuller, general))
        await desk.answered("#general", ts, covers=ts)

    (request,) = desk.model.requests
    assert "see the plan" in str(request["messages"][-1])
    assert "plan.pdf" in str(request["messages"][-1])


async def test_a_change_that_is_taken_before_its_message_is_what_the_model_reads(
    desk: Desk,
) -> None:
    """Slack keeps the message back and delivers its change, while nothing else is to be done."""
    desk.model.play([Say("Hello."), Say("Deleted.")])
    alice = desk.slack.person("alice")
    async with desk.treadle():
        root = await alice.say("#general", "@treadle hello")
        await desk.answered("#general", root, covers=root)
        desk.slack.fail(FaultRule(Effect.HOLD, "message", channel="C0GENERAL", count=1))
        ts = await alice.reply("#general", root, "delete the first file")
        await alice.edit("#general", ts, "delete the second file")
        await desk.slack.until_delivered()
        await desk.nothing_is_left_to_do()
        desk.slack.courier.release()
        assert await desk.answered("#general", root, covers=ts) == "Deleted."

    asked = str(desk.model.requests[1]["messages"])
    assert "delete the second file" in asked
    assert "first file" not in asked
