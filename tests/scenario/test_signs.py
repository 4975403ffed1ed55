"""A sign of life within a second of the question, gone at the end."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path

import pytest

from bot.local_slack.faults import Effect, FaultRule
from bot.local_slack.options import Options
from bot.slack.patience import Patience
from tests.doubles.desk import Desk, arguments, open_desk
from tests.doubles.model_endpoint import Refuse, Say

pytestmark = pytest.mark.usefixtures("slacks_pace")

SESSION = "agents.sessions.setStatus"
SOON = 1.0
"""Seconds from the question to the sign."""
OLDER = Options(absent_methods=frozenset({"assistant.threads.setStatus", SESSION}))
"""A Slack that has neither agent sessions nor an assistant status."""
SESSIONLESS = Options(absent_methods=frozenset({SESSION}))
"""A Slack that has an assistant status only."""


def reactions(desk: Desk, ts: str, channel: str = "#general") -> list[str]:
    message = desk.slack.message(channel, ts) or {}
    return [str(row["name"]) for row in message.get("reactions", ())]


@pytest.mark.wall_clock
async def test_a_slow_model_shows_a_status_within_a_second_which_goes_with_the_answer(
    desk: Desk,
) -> None:
    gate = asyncio.Event()
    desk.model.play([Say("At last.", gate=gate)])
    async with desk.treadle():
        began = time.monotonic()
        ts = await desk.slack.person("alice").say("#general", "@treadle think")
        status = await desk.until(lambda: desk.slack.status("#general", ts))
        assert time.monotonic() - began < SOON
        assert "working" in status
        gate.set()
        await desk.answered("#general", ts, covers=ts)
        await desk.until(lambda: not desk.slack.status("#general", ts))

    assert reactions(desk, ts) == []


async def test_a_status_that_was_shown_while_slack_took_the_answer_goes_too(tmp_path: Path) -> None:
    """Slack took the answer before the status and said so after: the answer clears nothing."""
    async with open_desk(tmp_path, options=SESSIONLESS) as desk:
        desk.slack.fail(
            FaultRule(Effect.SLOW_BEFORE, "assistant.threads.setStatus", seconds=2, count=1),
            FaultRule(Effect.SLOW_AFTER, "chat.postMessage", seconds=4),
        )
        desk.model.play([Say("Yes.")])
        async with desk.treadle():
            ts = await desk.slack.person("alice").say("#general", "@treadle hi")
            await desk.until(lambda: desk.slack.status("#general", ts))
            assert desk.bot_replies("#general", ts) == ["Yes."]
            await desk.until(lambda: not desk.slack.status("#general", ts))


@pytest.mark.wall_clock
async def test_a_slow_look_up_of_the_person_does_not_delay_the_sign(desk: Desk) -> None:
    desk.model.play([Say("Hello.")])
    async with desk.treadle():
        desk.slack.fail(FaultRule(Effect.SLOW_BEFORE, "users.info", seconds=1.5))
        began = time.monotonic()
        ts = await desk.slack.person("alice").say("#general", "@treadle hi")
        await desk.until(lambda: desk.slack.status("#general", ts))
        assert time.monotonic() - began < SOON
        await desk.answered("#general", ts, covers=ts)
        await desk.until(lambda: not desk.slack.status("#general", ts))


async def test_no_sign_is_shown_for_messages_that_are_not_for_the_bot(desk: Desk) -> None:
    desk.model.play(lambda _: Say("Hello."))
    alice = desk.slack.person("alice")
    async with desk.treadle():
        root = await alice.say("#general", "@treadle hi")
        await desk.answered("#general", root, covers=root)
        await desk.nothing_is_left_to_do()
        desk.slack.log.clear()
        desk.slack.fail(FaultRule(Effect.SLOW_BEFORE, "users.info", seconds=0.8))
        await desk.slack.person("bob").reply("#general", root, "@alice shall we?")
        await desk.until(lambda: desk.slack.log.of("users.info"))

    assert {call.method for call in desk.slack.log} == {"users.info"}


@pytest.mark.wall_clock
@pytest.mark.parametrize("refusal", ["unknown_method", "missing_scope", "not_authorized"])
async def test_where_there_is_no_status_a_reaction_shows_life_and_goes_at_the_end(
    tmp_path: Path, refusal: str
) -> None:
    async with open_desk(tmp_path) as desk:
        gate, second = asyncio.Event(), asyncio.Event()
        desk.model.play([Say("At last.", gate=gate), Say("Quick.", gate=second)])
        desk.slack.fail(FaultRule(Effect.ERROR, "*.setStatus", error=refusal))
        alice = desk.slack.person("alice")
        async with desk.treadle():
            began = time.monotonic()
            ts = await alice.say("#general", "@treadle think")
            await desk.until(lambda: reactions(desk, ts) == ["eyes"])
            assert time.monotonic() - began < SOON
            gate.set()
            await desk.answered("#general", ts, covers=ts)
            await desk.until(lambda: reactions(desk, ts) == [])
            again = await alice.reply("#general", ts, "and now?")
            await desk.until(lambda: reactions(desk, again) == ["eyes"])
            second.set()
            await desk.answered("#general", ts, covers=again)
            await desk.until(lambda: reactions(desk, again) == [])

        for method in (SESSION, "assistant.threads.setStatus"):
            assert len(desk.slack.log.of(method)) == 1


async def test_a_thread_without_status_does_not_cost_the_others_theirs(desk: Desk) -> None:
    """Slack refuses it for one thread; the next thread shows a status again."""
    gates = [asyncio.Event(), asyncio.Event()]
    desk.model.play([Say("One.", gate=gates[0]), Say("Two.", gate=gates[1])])
    desk.slack.fail(FaultRule(Effect.ERROR, "*.setStatus", error="invalid_thread_ts", count=2))
    alice = desk.slack.person("alice")
    async with desk.treadle():
        first = await alice.say("#general", "@treadle one")
        await desk.until(lambda: reactions(desk, first) == ["eyes"])
        second = await alice.say("#general", "@treadle two")
        await desk.until(lambda: desk.slack.status("#general", second))
        for gate in gates:
            gate.set()
        await desk.answered("#general", first, covers=first)
        await desk.answered("#general", second, covers=second)
        await desk.until(lambda: reactions(desk, first) == [])


async def test_the_sign_comes_back_while_a_long_tool_runs_after_a_step_was_posted(
    tmp_path: Path,
) -> None:
    """Slack takes the status away with each message of the app."""
    async with open_desk(tmp_path, options=SESSIONLESS) as desk:
        desk.patience = Patience(silent=0.5)
        gate = asyncio.Event()
        step = Say("First step.", calls=(("calculate", arguments(expression="1+1")),))
        desk.model.play([step, Say("Done.", gate=gate)])
        async with desk.treadle():
            ts = await desk.slack.person("alice").say("#general", "@treadle go")
            await desk.replies("#general", ts, 1)
            await desk.until(lambda: desk.slack.status("#general", ts))
            gate.set()
            await desk.answered("#general", ts, covers=ts)
            await desk.until(lambda: not desk.slack.status("#general", ts))


async def test_the_sign_goes_when_the_turn_fails_and_when_treadle_stops(desk: Desk) -> None:
    desk.model.play([Refuse(400, {"error": {"message": "no"}}), Say("Never.", delay=30)])
    alice = desk.slack.person("alice")
    async with desk.treadle():
        failed = await alice.say("#general", "@treadle one")
        await desk.answered("#general", failed, covers=failed)
        stopped = await alice.say("#general", "@treadle two")
        await desk.until(lambda: desk.slack.status("#general", stopped))

    assert desk.slack.status("#general", failed) == ""
    assert desk.slack.status("#general", stopped) == ""


def session(desk: Desk, ts: str) -> str:
    found = desk.slack.world.sessions.session("C0GENERAL", ts)
    return found.status if found else ""


@pytest.mark.wall_clock
async def test_where_slack_has_agent_sessions_the_thread_is_processing_until_the_answer(
    desk: Desk,
) -> None:
    gate = asyncio.Event()
    step = Say("First step.", calls=(("calculate", arguments(expression="1+1")),))
    desk.model.play([step, Say("At last.", gate=gate)])
    async with desk.treadle():
        began = time.monotonic()
        ts = await desk.slack.person("alice").say("#general", "@treadle think")
        await desk.until(lambda: session(desk, ts) == "processing")
        assert time.monotonic() - began < SOON
        await desk.replies("#general", ts, 1)
        assert session(desk, ts) == "processing"
        gate.set()
        await desk.answered("#general", ts, covers=ts)
        await desk.until(lambda: session(desk, ts) == "active")

    assert len(desk.slack.log.of(SESSION)) == 2
    assert not desk.slack.log.of("assistant.threads.setStatus")


@pytest.mark.wall_clock
async def test_slacks_stop_button_stops_the_turn_and_goes_away(desk: Desk) -> None:
    desk.model.play([Say("Never.", delay=30)])
    bob = desk.slack.person("bob")
    async with desk.treadle():
        ts = await desk.slack.person("alice").say("#general", "@treadle think")
        await desk.until(lambda: desk.slack.world.sessions.shown("C0GENERAL", ts)["stoppable"])
        at = time.monotonic()
        await bob.stop("#general", ts)
        notice = await desk.answered("#general", ts, covers=ts)
        assert time.monotonic() - at < SOON
        await desk.until(lambda: session(desk, ts) == "active")

    assert notice == "Stopped by bob. Nothing is running any more; reply here to go on."


async def test_where_sessions_are_limited_for_now_a_status_is_shown_instead(desk: Desk) -> None:
    gate = asyncio.Event()
    desk.model.play([Say("At last.", gate=gate)])
    desk.slack.fail(FaultRule(Effect.RATE_LIMIT, SESSION, seconds=60))
    async with desk.treadle():
        ts = await desk.slack.person("alice").say("#general", "@treadle think")
        await desk.until(lambda: desk.slack.log.of("assistant.threads.setStatus"))
        assert "working" in desk.slack.status("#general", ts)
        gate.set()
        await desk.answered("#general", ts, covers=ts)
        await desk.until(lambda: not desk.slack.status("#general", ts))


async def test_a_session_is_set_back_even_if_slack_asks_to_wait_with_that(desk: Desk) -> None:
    gate = asyncio.Event()
    desk.model.play([Say("At last.", gate=gate)])
    async with desk.treadle():
        ts = await desk.slack.person("alice").say("#general", "@treadle think")
        await desk.until(lambda: session(desk, ts) == "processing")
        desk.slack.fail(FaultRule(Effect.RATE_LIMIT, SESSION, seconds=1, count=1))
        gate.set()
        await desk.answered("#general", ts, covers=ts)
        await desk.until(lambda: session(desk, ts) == "active")


@pytest.mark.parametrize("sign", ["reactions.remove", "assistant.threads.setStatus"])
async def test_a_sign_goes_even_if_slack_breaks_down_when_it_is_taken_away(
    tmp_path: Path, sign: str
) -> None:
    absent = {SESSION} | ({"assistant.threads.setStatus"} if sign == "reactions.remove" else set())
    async with open_desk(tmp_path, options=Options(absent_methods=frozenset(absent))) as desk:
        gate = asyncio.Event()
        desk.model.play([Say("At last.", gate=gate, calls=()), Say("Never.")])
        async with desk.treadle():
            ts = await desk.slack.person("alice").say("#general", "@treadle think")
            await desk.until(lambda: desk.slack.status("#general", ts) or reactions(desk, ts))
            desk.slack.fail(
                FaultRule(Effect.SERVER_ERROR, sign, count=1),
                FaultRule(Effect.ERROR, "chat.postMessage", error="is_archived"),
            )
            gate.set()
            await desk.until(lambda: not (desk.slack.status("#general", ts) or reactions(desk, ts)))


async def test_a_session_is_set_back_even_if_a_stop_comes_while_slack_asks_to_wait_with_that(
    desk: Desk,
) -> None:
    gate = asyncio.Event()
    desk.model.play([Say("At last.", gate=gate)])
    alice = desk.slack.person("alice")
    async with desk.treadle():
        ts = await alice.say("#general", "@treadle think")
        await desk.until(lambda: session(desk, ts) == "processing")
        desk.slack.fail(FaultRule(Effect.RATE_LIMIT, SESSION, seconds=2, count=1))
        gate.set()
        await desk.until(lambda: len(desk.slack.log.of(SESSION)) == 2)
        stop = await alice.reply("#general", ts, "stop")
        await desk.answered("#general", ts, covers=stop)
        await desk.until(lambda: session(desk, ts) == "active")
        await desk.nothing_is_left_to_do()


async def test_a_session_is_set_back_even_if_a_stop_comes_while_slack_takes_it(desk: Desk) -> None:
    """The answer is there before Slack has shown that it is worked on."""
    gate = asyncio.Event()
    desk.model.play([Say("At last.", gate=gate)])
    alice = desk.slack.person("alice")
    desk.slack.fail(FaultRule(Effect.SLOW_BEFORE, SESSION, seconds=1.5, count=1))
    async with desk.treadle():
        ts = await alice.say("#general", "@treadle think")
        await desk.until(lambda: desk.slack.log.of(SESSION))
        gate.set()
        await desk.answered("#general", ts, covers=ts)
        stop = await alice.reply("#general", ts, "stop")
        await desk.answered("#general", ts, covers=stop)
        await desk.nothing_is_left_to_do()
        assert session(desk, ts) == "active"


@pytest.mark.parametrize("absent", [OLDER.absent_methods, frozenset[str]()])
async def test_a_sign_that_slack_will_not_take_away_now_is_taken_away_by_the_next_process(
    tmp_path: Path, absent: frozenset[str]
) -> None:
    """Also where Slack asks that one to wait, and where its thread has been answered by then."""
    async with open_desk(tmp_path, options=Options(absent_methods=absent)) as desk:
        desk.model.play([Say("At last.")])
        method = "reactions.remove" if absent else SESSION
        alice = desk.slack.person("alice")

        def shown() -> bool:
            return session(desk, ts) == "processing" or bool(reactions(desk, ts))

        desk.slack.fail(FaultRule(Effect.SLOW_BEFORE, "chat.postMessage", seconds=1.0))
        async with desk.treadle():
            ts = await alice.say("#general", "@treadle think")
            await desk.until(shown)
            desk.slack.fail(FaultRule(Effect.SERVER_ERROR, method))
            await desk.answered("#general", ts, covers=ts)
        assert shown()
        desk.slack.fail(FaultRule(Effect.RATE_LIMIT, method, seconds=1, count=2))
        async with desk.treadle():
            await desk.until(lambda: not shown())
            await desk.nothing_is_left_to_do()

        assert desk.bot_replies("#general", ts) == ["At last."]
