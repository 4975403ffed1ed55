"""Events as Slack sends them: doubled, repeated, out of order; acknowledged when stored."""

from __future__ import annotations

import asyncio
import logging
import sqlite3
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from bot.local_slack import messages
from bot.local_slack.events import envelope
from bot.local_slack.faults import Effect, FaultRule
from bot.local_slack.options import BOT_USER_ID, Options
from tests.doubles.desk import Desk, open_desk
from tests.doubles.model_endpoint import Say

ACKNOWLEDGED = 0.25
"""Seconds."""


def database(desk: Desk) -> Path:
    (path,) = (desk.home / ".treadle").glob("*.db")
    return path


async def test_mention_and_message_events_of_one_text_are_one_turn(desk: Desk) -> None:
    desk.model.play(lambda _: Say("Once."))
    async with desk.treadle():
        ts = await desk.slack.person("alice").say("#general", "@treadle hi")
        await desk.answered("#general", ts, covers=ts)
        await desk.slack.until_delivered()

    kinds = sorted(record.type for record in desk.slack.courier.records if record.ok)
    assert kinds[:2] == ["app_mention", "message"]
    assert len(desk.model.requests) == 1
    assert desk.bot_replies("#general", ts) == ["Once."]


@pytest.mark.parametrize("effect", [Effect.REPEAT, Effect.REPEAT_NEW_ID])
@pytest.mark.parametrize("retry_marks", [False, True])
async def test_repeated_events_change_nothing(
    desk: Desk, effect: Effect, retry_marks: bool
) -> None:
    """With the same id or a new one, with Slack's retry marks or without."""
    desk.slack.fail(FaultRule(effect, "*", channel="C0GENERAL", copies=3, retry_marks=retry_marks))
    desk.model.play(lambda _: Say("Once."))
    alice = desk.slack.person("alice")
    async with desk.treadle():
        root = await alice.say("#general", "@treadle one")
        await desk.answered("#general", root, covers=root)
        again = await alice.reply("#general", root, "two")
        await desk.answered("#general", root, covers=again)
        await desk.slack.until_delivered()

    assert len(desk.model.requests) == 2
    assert desk.bot_replies("#general", root) == ["Once.", "Once."]
    assert not desk.slack.courier.lost


async def test_an_event_that_only_ever_comes_as_a_retry_is_answered(desk: Desk) -> None:
    """Its first delivery got lost on the way: the retry mark is no reason to drop it."""
    desk.slack.fail(
        FaultRule(Effect.REPEAT, "app_mention", retry_marks=True),
        FaultRule(Effect.DELAY, "message", channel="C0GENERAL", seconds=60),
    )
    desk.model.play(lambda _: Say("Here."))
    async with desk.treadle():
        ts = await desk.slack.person("alice").say("#general", "@treadle hi")
        assert await desk.answered("#general", ts, covers=ts) == "Here."


async def test_a_reply_that_arrives_before_its_mention_is_not_lost(desk: Desk) -> None:
    desk.slack.fail(
        FaultRule(Effect.HOLD, "app_mention", count=1), FaultRule(Effect.HOLD, "message", count=1)
    )
    desk.model.play(lambda _: Say("Both read."))
    alice = desk.slack.person("alice")
    async with desk.treadle():
        root = await alice.say("#general", "@treadle remember this:")
        early = await alice.reply("#general", root, "the code is 4711")
        await desk.slack.until_delivered()
        assert desk.model.requests == []
        desk.slack.courier.release()
        await desk.answered("#general", root, covers=root)
        await desk.answered("#general", root, covers=early)

    asked = str(desk.model.requests[-1]["messages"])
    assert asked.index("remember this:") < asked.index("the code is 4711")


async def test_two_replies_that_arrive_swapped_are_read_in_the_order_they_were_written(
    desk: Desk,
) -> None:
    gate = asyncio.Event()
    desk.model.play([Say("One.", gate=gate), Say("Done.")])
    alice = desk.slack.person("alice")
    async with desk.treadle():
        root = await alice.say("#general", "@treadle begin")
        await desk.model.asked()
        await desk.slack.until_delivered()
        desk.slack.fail(FaultRule(Effect.HOLD, "message", count=1))
        first = await alice.reply("#general", root, "first I write")
        second = await alice.reply("#general", root, "then I read")
        await desk.slack.until_delivered()
        desk.slack.courier.release()
        await desk.slack.until_delivered()
        gate.set()
        await desk.answered("#general", root, covers=first)
        await desk.answered("#general", root, covers=second)

    asked = str(desk.model.requests[1]["messages"])
    assert asked.index("first I write") < asked.index("then I read")


async def test_a_later_delivery_that_holds_more_completes_the_waiting_message(desk: Desk) -> None:
    """The mention event came without the file that the message event names."""
    desk.slack.change(subscriptions=frozenset({"message.channels"}))
    gate = asyncio.Event()
    desk.model.play([Say("One.", gate=gate), Say("Two.")])
    alice = desk.slack.person("alice")
    async with desk.treadle():
        root = await alice.say("#general", "@treadle one")
        await desk.model.asked()
        await desk.slack.until_delivered()
        desk.slack.fail(FaultRule(Effect.HOLD, "message"))
        files = [("plan.txt", b"plan")]
        ts = await alice.say("#general", "@treadle two", thread_ts=root, files=files)
        bare = {"type": "app_mention", "channel": "C0GENERAL", "user": alice.id, "ts": ts}
        bare |= {"text": f"<@{BOT_USER_ID}> two", "thread_ts": root, "event_ts": ts}
        desk.slack.courier.event(envelope(desk.slack.world, bare))
        await desk.slack.until_delivered()
        desk.slack.courier.release()
        await desk.slack.until_delivered()
        gate.set()
        await desk.answered("#general", root, covers=ts)

    last = str(desk.model.requests[1]["messages"][-1]["content"])
    assert "two" in last
    assert "plan.txt" in last
    assert len(desk.model.requests) == 2


async def test_an_event_that_could_not_be_stored_is_not_acknowledged_and_comes_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """The database refuses the write once; Slack's repetition is then answered, once."""
    async with open_desk(tmp_path, options=Options(ack_seconds=0.5, retry_scale=0.002)) as desk:
        desk.model.play(lambda _: Say("Once."))
        async with desk.treadle():
            with sqlite3.connect(database(desk)) as other:
                other.execute(
                    "CREATE TRIGGER full BEFORE INSERT ON inbox "
                    "BEGIN SELECT RAISE(ABORT, 'disk full'); END"
                )
            ts = await desk.slack.person("alice").say("#general", "@treadle hi")
            records = desk.slack.courier.records
            await desk.until(lambda: len([r for r in records if not r.ok]) >= 2)
            assert desk.model.requests == []
            with sqlite3.connect(database(desk)) as other:
                other.execute("DROP TRIGGER full")
            other.close()
            assert await desk.answered("#general", ts, covers=ts) == "Once."
            await desk.slack.until_delivered()

    assert not desk.slack.courier.lost
    assert len(desk.model.requests) == 1
    assert "disk full" in caplog.text


async def test_a_busy_database_delays_the_acknowledgement_and_loses_nothing(
    tmp_path: Path,
) -> None:
    """Somebody else holds the write lock: Slack gives up waiting and sends the event again."""
    options = Options(ack_seconds=0.4, retry_scale=0.005)
    async with open_desk(tmp_path, options=options) as desk:
        desk.model.play(lambda _: Say("Once."))
        async with desk.treadle():
            other = sqlite3.connect(database(desk), isolation_level=None)
            other.execute("BEGIN IMMEDIATE")
            ts = await desk.slack.person("alice").say("#general", "@treadle hi")
            records = desk.slack.courier.records
            await desk.until(lambda: any(record.reason == "timeout" for record in records))
            other.execute("ROLLBACK")
            other.close()
            assert await desk.answered("#general", ts, covers=ts) == "Once."
            await desk.slack.until_delivered()

    assert not desk.slack.courier.lost
    assert len(desk.model.requests) == 1


async def test_every_listener_acknowledges_at_once_while_the_web_api_is_slow(desk: Desk) -> None:
    desk.model.play(lambda _: Say("Slowly."))
    alice = desk.slack.person("alice")
    async with desk.treadle():
        root = await alice.say("#general", "hello")
        desk.slack.world.sessions.set_session("C0GENERAL", root, "processing")
        desk.slack.fail(FaultRule(Effect.SLOW_BEFORE, "*", seconds=5))
        for act in surfaces(desk, root):
            await act()
        await desk.slack.until_delivered()
        commands = [await timed(lambda: alice.slash("#general", "/treadle", "help"))]
        commands.append(await timed(lambda: alice.shortcut("anything")))
        records = list(desk.slack.courier.records)

    assert {record.type for record in records} >= {
        *("message", "app_mention", "app_home_opened", "app_context_changed"),
        *("reaction_added", "reaction_removed", "member_joined_channel", "agent_session_stopped"),
    }
    late = [record for record in records if not record.ok or record.seconds > ACKNOWLEDGED]
    assert late == []
    assert max(commands) < ACKNOWLEDGED


def surfaces(desk: Desk, root: str) -> list[Callable[[], Awaitable[object]]]:
    """Everything that makes Slack send an event."""
    alice, bob, ada = (desk.slack.person(name) for name in ("alice", "bob", "ada"))
    return [
        lambda: alice.say("#general", "@treadle hi"),
        lambda: alice.say("dm", "hi"),
        lambda: bob.reply("#general", root, "hello"),
        lambda: alice.edit("#general", root, "hello again"),
        lambda: bob.react("#general", root, "wave"),
        lambda: bob.unreact("#general", root, "wave"),
        lambda: alice.open_home("home"),
        lambda: alice.open_home("messages"),
        lambda: alice.look_at("#general"),
        lambda: alice.stop("#general", root),
        lambda: ada.invite_bot("#random"),
        lambda: alice.delete("#general", root),
    ]


async def timed(act: Callable[[], Awaitable[object]]) -> float:
    began = asyncio.get_running_loop().time()
    await act()
    return asyncio.get_running_loop().time() - began


async def test_what_is_said_outside_its_threads_is_neither_stored_nor_logged(
    desk: Desk, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    desk.model.play(lambda _: Say("Hello."))
    alice, bob = desk.slack.person("alice"), desk.slack.person("bob")
    async with desk.treadle():
        root = await alice.say("#general", "zebra-root between us")
        reply = await bob.reply("#general", root, "zebra-reply between us")
        await alice.edit("#general", root, "zebra-edit between us")
        await bob.delete("#general", reply)
        ci = {"user": "U0CIBOT", "bot_id": "B0CIBOT", "text": f"<@{BOT_USER_ID}> zebra-bot"}
        messages.post(desk.slack.world, desk.slack.channel("#general"), ci)
        ts = await alice.say("#general", "@treadle giraffe-mention")
        await desk.answered("#general", ts, covers=ts)
        await desk.slack.until_delivered()
        stored = b"".join(
            path.read_bytes() for path in (desk.home / ".treadle").rglob("*") if path.is_file()
        )

    assert b"giraffe-mention" in stored
    assert b"zebra-" not in stored
    assert "zebra-" not in caplog.text


async def test_bolt_never_asks_slack_who_the_bot_is(desk: Desk) -> None:
    """Its own authorization would acknowledge events unheard whenever that call fails."""
    desk.model.play(lambda _: Say("Hello."))
    alice = desk.slack.person("alice")
    async with desk.treadle():
        desk.slack.fail(FaultRule(Effect.ERROR, "auth.test", error="invalid_auth"))
        for text in ("@treadle one", "@treadle two"):
            ts = await alice.say("#general", text)
            await desk.answered("#general", ts, covers=ts)

    assert len(desk.slack.log.of("auth.test")) == 1


async def test_an_engaged_threads_reply_survives_a_broken_first_read(desk: Desk) -> None:
    """The reply came before the mention, and reading the thread fails at first."""
    desk.slack.fail(
        FaultRule(Effect.HOLD, "app_mention", count=1),
        FaultRule(Effect.HOLD, "message", count=1),
        FaultRule(Effect.LOSE_ANSWER, "conversations.replies", count=1),
    )
    desk.model.play(lambda _: Say("Read."))
    alice = desk.slack.person("alice")
    async with desk.treadle():
        root = await alice.say("#general", "@treadle remember")
        early = await alice.reply("#general", root, "the code is 4711")
        await desk.slack.until_delivered()
        desk.slack.courier.release()
        assert await desk.answered("#general", root, covers=early) == "Read."
