"""Treadle killed or stopped in the middle of a turn: a new one goes on, nothing happens twice."""

from __future__ import annotations

import asyncio
import signal
import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path

import pytest

from bot.local_slack.faults import Effect, FaultRule
from bot.local_slack.options import Options
from bot.slack.patience import Patience
from tests.doubles.desk import Desk, arguments, open_desk
from tests.doubles.model_endpoint import Request, Say
from tests.doubles.process import BRISK, kill, process

RETRIES = Options(ack_seconds=2.0, retry_scale=0.02)
LONG_TOOL = '''
"""A tool that never ends by itself and tells how often it was started."""

import asyncio
from pathlib import Path

from tools.base import tool


@tool(changes=True)
async def deploy(version: str) -> str:
    """Deploy a version.

    Args:
        version: which one
    """
    with Path("starts.txt").open("a") as starts:
        starts.write(version + "\\n")
    await asyncio.sleep(600)
    return "Deployed."
'''


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    """A desk whose Slack repeats lost events quickly."""
    async with open_desk(tmp_path, options=RETRIES) as opened:
        yield opened


def reactions(desk: Desk, ts: str) -> list[str]:
    message = desk.slack.message("#general", ts) or {}
    return [str(row["name"]) for row in message.get("reactions", ())]


async def lines_of(path: Path, count: int) -> list[str]:
    """The file's lines as soon as there are so many."""
    async with asyncio.timeout(10):
        while not path.exists() or len(path.read_text().splitlines()) < count:
            await asyncio.sleep(0.02)
    return path.read_text().splitlines()


async def test_a_turn_killed_while_the_model_thinks_is_answered_once_after_a_restart(
    desk: Desk,
) -> None:
    desk.model.play([Say("Never.", delay=60), Say("Here again.")])
    async with process(desk) as first:
        ts = await desk.slack.person("alice").say("#general", "@treadle think")
        await desk.until(lambda: desk.slack.status("#general", ts))
        await desk.model.asked()
        await kill(first)
    assert desk.bot_replies("#general", ts) == []
    async with process(desk):
        assert await desk.answered("#general", ts, covers=ts) == "Here again."
        await desk.until(lambda: not desk.slack.status("#general", ts))
        await desk.slack.until_delivered()

    assert desk.bot_replies("#general", ts) == ["Here again."]
    assert len(desk.model.requests) == 2


async def test_a_tool_that_was_started_is_not_started_again_and_the_model_is_told(
    desk: Desk,
) -> None:
    (desk.home / "own.py").write_text(LONG_TOOL, "utf-8")
    desk.config('[tools]\nmodules = ["own.py"]')
    calls = (("deploy", arguments(version="v7")),)
    desk.model.play([Say("I deploy.", calls=calls), Say("It may have happened.")])
    async with process(desk) as first:
        ts = await desk.slack.person("alice").say("#general", "@treadle deploy v7")
        await lines_of(desk.home / "starts.txt", 1)
        await desk.replies("#general", ts, 1)
        await kill(first)
    async with process(desk):
        await desk.answered("#general", ts, covers=ts)

    assert await lines_of(desk.home / "starts.txt", 1) == ["v7"]
    told = str(desk.model.requests[1]["messages"][-1]["content"])
    assert told.startswith("deploy was started, then Treadle was interrupted.")
    call, observation, answer = desk.bot_replies("#general", ts)
    assert call.splitlines() == ["I deploy.", "🔧 deploy v7"]
    assert "It may or may not have happened" in observation
    assert answer == "It may have happened."


def counting(request: Request) -> Say:
    """Four steps, then the answer: what comes next depends on the conversation alone."""
    done = sum(message["role"] == "tool" for message in request["messages"])
    if done == 4:
        return Say("Counted to four.")
    call = ("calculate", arguments(expression=f"{done + 1} * 1000"))
    return Say(f"Step {done + 1}.", calls=(call,), delay=0.15)


@pytest.mark.parametrize("asked", [1, 3, 5])
async def test_whenever_it_is_killed_each_step_and_the_answer_stand_there_once(
    desk: Desk, asked: int
) -> None:
    """Killed when the model has just been asked for the first, third or last time."""
    desk.model.play(counting)
    async with process(desk, BRISK) as first:
        ts = await desk.slack.person("alice").say("#general", "@treadle count")
        await desk.model.asked(asked)
        await kill(first)
    async with process(desk, BRISK):
        assert await desk.answered("#general", ts, covers=ts) == "Counted to four."
        shown = await desk.until(lambda: all_steps(desk, ts))

    assert [shown.count(f"Step {n}.") for n in range(1, 5)] == [1] * 4
    assert [shown.count(f"→ {n}000") for n in range(1, 5)] == [1] * 4
    assert shown.count("Counted to four.") == 1


def all_steps(desk: Desk, ts: str) -> str:
    shown = "\n".join(desk.bot_replies("#general", ts))
    return shown if all(f"→ {n}000" in shown for n in range(1, 5)) else ""


async def killed_as_it_answered(desk: Desk) -> str:
    """The question: Slack has taken its answer, but Treadle died before it read so."""
    desk.slack.fail(FaultRule(Effect.SLOW_AFTER, "chat.postMessage", seconds=30, count=1))
    desk.model.play(lambda _: Say("Once."))
    async with process(desk, BRISK) as first:
        ts = await desk.slack.person("alice").say("#general", "@treadle go")
        await desk.answered("#general", ts, covers=ts)
        await kill(first)
    return ts


async def test_an_answer_that_was_posted_just_before_the_kill_is_found_and_not_repeated(
    desk: Desk,
) -> None:
    ts = await killed_as_it_answered(desk)
    async with process(desk, BRISK):
        await desk.until(lambda: desk.slack.log.of("conversations.replies"))
        again = await desk.slack.person("alice").reply("#general", ts, "and more")
        await desk.answered("#general", ts, covers=again)

    assert desk.bot_replies("#general", ts) == ["Once.", "Once."]
    assert len(desk.model.requests) == 2


async def test_a_post_is_found_whatever_clock_it_was_tried_by(desk: Desk) -> None:
    """It is looked for by Slack's clock: the host's may have been wrong, or long ago."""
    ts = await killed_as_it_answered(desk)
    with closing(sqlite3.connect(desk.home / ".treadle" / "treadle.db")) as database, database:
        database.execute("UPDATE deliveries SET tried_at = tried_at + 3600 WHERE state = 'trying'")
    async with process(desk, BRISK):
        await desk.until(lambda: desk.slack.log.of("conversations.replies"))
        await desk.nothing_is_left_to_do()

    assert desk.bot_replies("#general", ts) == ["Once."]


def stepping(request: Request) -> Say:
    """One step for each question, then its answer."""
    if request["messages"][-1]["role"] == "tool":
        return Say("Done.")
    asked = sum(message["role"] == "user" for message in request["messages"])
    return Say(f"Step {asked}.", calls=(("calculate", arguments(expression=f"{asked} * 1000")),))


async def two_turns(desk: Desk) -> str:
    """The root of a thread with two answered questions, each of which took a step."""
    async with process(desk, BRISK) as running:
        ts = root = await desk.slack.person("alice").say("#general", "@treadle one")
        await desk.answered("#general", root, covers=ts)
        ts = await desk.slack.person("alice").reply("#general", root, "two")
        await desk.answered("#general", root, covers=ts)
        await desk.nothing_is_left_to_do()
        await kill(running)
    return root


async def test_steps_that_answers_had_overtaken_come_after_the_restart_from_every_turn(
    desk: Desk,
) -> None:
    """Answers go first: a kill may leave several turns without their steps."""
    desk.model.play(stepping)
    root = await two_turns(desk)
    before = "\n".join(desk.bot_replies("#general", root))
    with closing(sqlite3.connect(desk.home / ".treadle" / "treadle.db")) as database, database:
        database.execute("DELETE FROM deliveries WHERE pieces LIKE '[\"c%'")
        database.execute("UPDATE threads SET busy = 1, settled = 0")
    async with process(desk, BRISK):
        await desk.nothing_is_left_to_do()

    shown = "\n".join(desk.bot_replies("#general", root))
    for step in ("Step 1.", "Step 2.", "→ 1000", "→ 2000"):
        assert (before.count(step), shown.count(step)) == (1, 2)
    assert shown.count("Done.") == 2


async def test_what_a_thread_at_rest_does_not_show_stays_hidden_when_steps_are_switched_on(
    desk: Desk,
) -> None:
    desk.config('[slack]\nverbosity = "quiet"')
    desk.model.play(stepping)
    root = await two_turns(desk)
    desk.config('[slack]\nverbosity = "steps"')
    async with process(desk, BRISK):
        ts = await desk.slack.person("alice").reply("#general", root, "three")
        await desk.answered("#general", root, covers=ts)
        await desk.nothing_is_left_to_do()

    shown = "\n".join(desk.bot_replies("#general", root))
    assert [shown.count(f"Step {n}.") for n in (1, 2, 3)] == [0, 0, 1]


async def test_messages_written_while_it_was_dead_are_answered_after_the_restart(
    desk: Desk,
) -> None:
    desk.slack.change(hold_while_offline=True)
    desk.model.play(lambda _: Say("Here."))
    alice = desk.slack.person("alice")
    async with process(desk):
        root = await alice.say("#general", "@treadle hi")
        await desk.answered("#general", root, covers=root)
    missed = await alice.reply("#general", root, "are you there?")
    new = await alice.say("#general", "@treadle and here?")
    async with process(desk):
        assert await desk.answered("#general", root, covers=missed) == "Here."
        assert await desk.answered("#general", new, covers=new) == "Here."


@pytest.mark.parametrize("answered", [False, True])
async def test_the_reaction_of_a_killed_process_is_taken_away(
    tmp_path: Path, answered: bool
) -> None:
    """Where Slack has no status: killed while the model thinks, or just as the answer stands."""
    older = Options(
        ack_seconds=2.0,
        retry_scale=0.02,
        absent_methods=frozenset({"assistant.threads.setStatus", "agents.sessions.setStatus"}),
    )
    async with open_desk(tmp_path, options=older) as desk:
        desk.model.play([Say("First.", delay=0.8 if answered else 60), Say("Second.")])
        if answered:
            desk.slack.fail(FaultRule(Effect.SLOW_BEFORE, "reactions.remove", seconds=30, count=1))
        async with process(desk, BRISK) as first:
            ts = await desk.slack.person("alice").say("#general", "@treadle think")
            await desk.until(lambda: reactions(desk, ts) == ["eyes"])
            await desk.model.asked()
            if answered:
                await desk.answered("#general", ts, covers=ts)
            await kill(first)
        desk.slack.fail()
        assert reactions(desk, ts) == ["eyes"]
        async with process(desk, BRISK):
            await desk.answered("#general", ts, covers=ts)
            await desk.until(lambda: reactions(desk, ts) == [])

        assert desk.bot_replies("#general", ts) == ["First." if answered else "Second."]


async def test_a_session_that_a_killed_process_left_processing_is_set_back(desk: Desk) -> None:
    """Killed while the answer stands there already and the session could not be set back."""
    session = "agents.sessions.setStatus"

    def status(ts: str) -> str:
        found = desk.slack.world.sessions.session("C0GENERAL", ts)
        return found.status if found else ""

    desk.model.play([Say("First.", delay=0.8)])
    async with process(desk, BRISK) as first:
        ts = await desk.slack.person("alice").say("#general", "@treadle think")
        await desk.until(lambda: status(ts) == "processing")
        desk.slack.fail(FaultRule(Effect.SLOW_BEFORE, session, seconds=30, count=1))
        await desk.answered("#general", ts, covers=ts)
        await kill(first)
    desk.slack.fail()
    assert status(ts) == "processing"
    async with process(desk, BRISK):
        await desk.until(lambda: status(ts) == "active")

    assert desk.bot_replies("#general", ts) == ["First."]


def rewrite_journal(desk: Desk, before: str, after: str) -> None:
    database = sqlite3.connect(desk.home / ".treadle" / "treadle.db")
    database.execute("UPDATE journal SET body = replace(body, ?, ?)", (before, after))
    database.commit()
    database.close()


async def test_where_the_journal_cannot_be_read_each_message_is_told_so_once(desk: Desk) -> None:
    """Written by a newer release; when that one runs again, it finds the messages."""
    desk.model.play(lambda _: Say("Ok."))
    alice, bob = desk.slack.person("alice"), desk.slack.person("bob")
    async with desk.treadle():
        root = await alice.say("#general", "@treadle hello")
        await desk.answered("#general", root, covers=root)
        await desk.nothing_is_left_to_do()
    rewrite_journal(desk, '"v":1', '"v":99')

    async with desk.treadle():
        first = await alice.reply("#general", root, "again")
        said = await desk.answered("#general", root, covers=first)
        assert "version 99) that this release of Treadle cannot read. Run the release" in said
        await bob.reply("#general", root, "@alice that is not for the bot")
        second = await alice.reply("#general", root, "and again")
        assert await desk.answered("#general", root, covers=second) == said
    async with desk.treadle():
        other = await alice.say("#general", "@treadle hello")
        await desk.answered("#general", other, covers=other)
        third = await bob.reply("#general", root, "@treadle and now?")
        assert await desk.answered("#general", root, covers=third) == said
    assert desk.bot_replies("#general", root) == ["Ok.", said, said, said]

    rewrite_journal(desk, '"v":99', '"v":1')
    async with desk.treadle():
        await desk.until(lambda: desk.bot_replies("#general", root)[4:])
    assert desk.bot_replies("#general", root)[4:] == ["Ok."]


async def test_a_turn_whose_journal_cannot_be_read_any_more_is_told_so_once(desk: Desk) -> None:
    """A newer release began it and was killed: its messages are taken, so none of them waits."""
    desk.model.play([Say("Ok."), Say("Never.", delay=60)])
    alice = desk.slack.person("alice")
    async with desk.treadle():
        root = await alice.say("#general", "@treadle hello")
        await desk.answered("#general", root, covers=root)
        await desk.nothing_is_left_to_do()
    async with process(desk) as first:
        await alice.reply("#general", root, "again")
        await desk.model.asked(2)
        await kill(first)
    rewrite_journal(desk, '"v":1', '"v":99')

    for _ in range(2):
        async with process(desk, BRISK):
            said = await desk.replies("#general", root, 2)
            await desk.until(lambda: not desk.slack.status("#general", root))
            assert "that this release of Treadle cannot read" in said[1]
    assert len(desk.bot_replies("#general", root)) == 2


async def test_a_notice_whose_outcome_is_unknown_stands_there_once(desk: Desk) -> None:
    desk.patience = Patience(look_up=0.3)
    desk.model.play([Say("Ok.")])
    alice = desk.slack.person("alice")
    async with desk.treadle():
        root = await alice.say("#general", "@treadle hello")
        await desk.answered("#general", root, covers=root)
        await desk.nothing_is_left_to_do()
    rewrite_journal(desk, '"v":1', '"v":99')

    async with desk.treadle():
        for effect in (Effect.LOSE_ANSWER, Effect.SERVER_ERROR):  # it happened, it did not
            desk.slack.fail(FaultRule(effect, "chat.postMessage", count=1))
            ts = await alice.reply("#general", root, "again")
            await desk.answered("#general", root, covers=ts)
            await desk.until(lambda: not desk.slack.courier.pending)
        last = await alice.reply("#general", root, "and again")
        await desk.answered("#general", root, covers=last)

    assert len(desk.bot_replies("#general", root)) == 4


DEADLY_TOOL = '''
"""A tool that takes the whole process down, and counts."""

import os
import signal
from pathlib import Path

from tools.base import tool


@tool()
async def poison(dose: int) -> str:
    """Take poison.

    Args:
        dose: how much
    """
    with Path("starts.txt").open("a") as starts:
        starts.write("once more\\n")
    os.kill(os.getpid(), signal.SIGKILL)
    return "Survived."
'''


@pytest.mark.timeout(120)
async def test_a_turn_that_kills_every_process_is_ended_and_the_others_are_answered(
    desk: Desk,
) -> None:
    """The model wants the deadly tool again and again; a slow turn beside it is not lost."""
    (desk.home / "own.py").write_text(DEADLY_TOOL, "utf-8")
    desk.config('[tools]\nmodules = ["own.py"]')

    def reply(request: Request) -> Say:
        if "drink" in str(request["messages"]):
            dose = sum(message["role"] == "tool" for message in request["messages"])
            return Say("I drink.", calls=(("poison", arguments(dose=dose)),))
        return Say("Slow but sure.", delay=1.5)

    desk.model.play(reply)
    alice = desk.slack.person("alice")
    async with process(desk, BRISK) as first:
        slow = await alice.say("#general", "@treadle think")
        await desk.model.asked(1)
        deadly = await alice.say("#general", "@treadle drink")
        assert await first.wait() == -signal.SIGKILL
    for _ in range(3):
        async with process(desk, BRISK) as next_one:
            assert await asyncio.wait_for(next_one.wait(), 20) == -signal.SIGKILL
    async with process(desk, BRISK):
        notice = await desk.answered("#general", deadly, covers=deadly)
        assert await desk.answered("#general", slow, covers=slow) == "Slow but sure."

    assert notice == (
        "⚠️ I broke off 4 times while I worked on this, so I stopped trying. The operator finds "
        "the reason in the log; ask again in smaller steps."
    )
    assert len(await lines_of(desk.home / "starts.txt", 4)) == 4
    assert desk.bot_replies("#general", slow) == ["Slow but sure."]


async def test_a_stream_that_a_killed_process_left_open_is_closed_with_what_became_of_its_tasks(
    desk: Desk,
) -> None:
    (desk.home / "own.py").write_text(LONG_TOOL, "utf-8")
    desk.config('[slack]\nverbosity = "card"\n[tools]\nmodules = ["own.py"]')
    calls = (("calculate", arguments(expression="17 * 23")), ("deploy", arguments(version="v7")))
    desk.model.play([Say("Both.", calls=calls), Say("I check first.")])
    streams = desk.slack.world.streams
    async with process(desk) as first:
        ts = await desk.slack.person("alice").say("#general", "@treadle deploy v7")
        await lines_of(desk.home / "starts.txt", 1)
        (stream,) = await desk.until(lambda: streams.of_thread("C0GENERAL", ts))
        await kill(first)
    assert streams.of_thread("C0GENERAL", ts) == [stream]
    async with process(desk):
        assert await desk.answered("#general", ts, covers=ts) == "I check first."
        await desk.until(lambda: not streams.of_thread("C0GENERAL", ts))
        await desk.nothing_is_left_to_do()

    live = desk.slack.message("#general", stream) or {}
    shown = [(b["title"], b["status"]) for b in live["blocks"] if b["type"] == "task_card"]
    assert shown[0] == ("Calculate 17 * 23", "complete")
    assert shown[1][0] == "deploy v7"
    assert shown[1][1] in ("error", "pending")
