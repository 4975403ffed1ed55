"""Stopping a turn: every door, in every phase, within a second, and nothing goes on."""

from __future__ import annotations

import asyncio
import re
import sqlite3
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import closing
from pathlib import Path

import pytest

from bot.local_slack.faults import Effect, FaultRule
from bot.local_slack.people import Person
from tests.doubles.desk import Desk, arguments, open_desk
from tests.doubles.model_endpoint import Say
from tests.doubles.shell import open_place

POST = "chat.postMessage"
SOON = 1.0
"""Seconds from the stop until nothing goes on and the thread says so."""
COUNT = Say("I count.", calls=(("calculate", arguments(expression="1+1")),))
SLOW_TOOL = '''
"""A tool that takes its time and tells whether it came to its end."""

import asyncio
from pathlib import Path

from tools.base import tool


@tool(changes=True)
async def deploy(version: str) -> str:
    """Deploy a version.

    Args:
        version: which one
    """
    Path("begun.txt").touch()
    try:
        await asyncio.sleep(30)
    except asyncio.CancelledError:
        Path("broken_off.txt").touch()
        raise
    return "Deployed."
'''
DEPLOY = ("deploy", arguments(version="v7"))
Door = Callable[[Desk, Person, str], Awaitable[object]]


async def word(desk: Desk, who: Person, root: str) -> str:
    return await who.reply("#general", root, "Stop")


async def exclaimed(desk: Desk, who: Person, root: str) -> str:
    return await who.reply("#general", root, "!stop")


async def mentioned(desk: Desk, who: Person, root: str) -> str:
    return await who.reply("#general", root, "@treadle stop")


async def mentioned_behind(desk: Desk, who: Person, root: str) -> str:
    return await who.reply("#general", root, "stop @treadle")


async def reaction_on_question(desk: Desk, who: Person, root: str) -> None:
    await who.react("#general", root, "x")


async def reaction_on_reply(desk: Desk, who: Person, root: str) -> None:
    (reply,) = [m for m in desk.slack.thread("#general", root) if m.get("bot_id")]
    await who.react("#general", reply["ts"], "octagonal_sign")


DOORS: list[Door] = [
    *(word, exclaimed, mentioned, mentioned_behind, reaction_on_question, reaction_on_reply)
]


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    (tmp_path / "own.py").write_text(SLOW_TOOL, "utf-8")
    async with open_desk(tmp_path) as opened:
        opened.config('[tools]\nmodules = ["own.py"]')
        yield opened


async def there(path: Path, timeout: float = 10.0) -> None:
    async with asyncio.timeout(timeout):
        while not path.exists():
            await asyncio.sleep(0.02)


@pytest.mark.wall_clock
@pytest.mark.parametrize("door", DOORS)
async def test_every_door_stops_a_model_that_thinks(desk: Desk, door: Door) -> None:
    """After a first step, so that there is a reply to react to."""
    desk.model.play([COUNT, Say("Never.", delay=30)])
    alice = desk.slack.person("alice")
    async with desk.treadle():
        root = await alice.say("#general", "@treadle count")
        await desk.model.asked(2)
        await desk.replies("#general", root, 1)
        at = time.monotonic()
        said = await door(desk, desk.slack.person("bob"), root)
        notice = await desk.answered("#general", root, covers=root)
        assert time.monotonic() - at < SOON
        if said:
            assert await desk.answered("#general", root, covers=str(said)) == notice

    assert notice == (
        "Stopped by bob. Done before that: Calculate. Nothing is running any more; reply here to "
        "go on."
    )
    assert len(desk.bot_replies("#general", root)) == 2
    assert len(desk.model.requests) == 2


@pytest.mark.parametrize("text", ["stop it", "don't stop", "stop?", "@bob stop"])
async def test_a_message_that_is_more_than_the_word_stops_nothing(desk: Desk, text: str) -> None:
    gate = asyncio.Event()
    desk.model.play([Say("Done.", gate=gate), Say("Yes?")])
    alice = desk.slack.person("alice")
    async with desk.treadle():
        root = await alice.say("#general", "@treadle think")
        await desk.model.asked()
        await alice.reply("#general", root, text)
        await desk.slack.until_delivered()
        gate.set()
        assert await desk.answered("#general", root, covers=root) == "Done."


@pytest.mark.wall_clock
async def test_the_call_of_the_model_is_broken_off_and_not_only_forgotten(desk: Desk) -> None:
    desk.model.play([Say("Never.", delay=30)])
    alice = desk.slack.person("alice")
    async with desk.treadle():
        root = await alice.say("#general", "@treadle think")
        await desk.model.asked()
        await alice.reply("#general", root, "stop")
        await desk.answered("#general", root, covers=root)
        await desk.model.broken_off(SOON)


@pytest.mark.wall_clock
async def test_a_tool_is_broken_off_and_the_notice_says_what_was_and_what_was_not_done(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(desk.home)
    add = ("calculate", arguments(expression="1+1"))
    desk.model.play([Say("All.", calls=(add, DEPLOY, add)), Say("I check first.")])
    alice = desk.slack.person("alice")
    async with desk.treadle():
        root = await alice.say("#general", "@treadle deploy v7")
        await there(desk.home / "begun.txt")
        at = time.monotonic()
        await alice.reply("#general", root, "stop")
        notice = await desk.answered("#general", root, covers=root)
        assert time.monotonic() - at < SOON
        await there(desk.home / "broken_off.txt", SOON)
        again = await alice.reply("#general", root, "go on")
        await desk.answered("#general", root, covers=again)

    assert notice == (
        "Stopped by alice. Done before that: Calculate. Broken off, so it may or may not have "
        "happened: deploy. Not begun: Calculate. Nothing is running any more; reply here to go on."
    )
    told = [str(m["content"]) for m in desk.model.requests[1]["messages"] if m["role"] == "tool"]
    assert [text.split(".")[0] for text in told] == [
        *("2", "deploy was started, then Treadle was interrupted"),
        "The turn ended before this call was run",
    ]


async def test_a_stop_before_the_turn_begins_lets_it_never_begin(desk: Desk) -> None:
    """The question waits behind another turn's answer, which Slack takes its time with."""
    desk.model.play([Say("One."), Say("Never.")])
    alice = desk.slack.person("alice")
    async with desk.treadle():
        desk.slack.fail(FaultRule(Effect.SLOW_BEFORE, "chat.postMessage", seconds=1.5, count=1))
        root = await alice.say("#general", "@treadle one")
        await desk.model.asked()
        queued = await alice.reply("#general", root, "two")
        await alice.react("#general", queued, "no_entry")
        notice = await desk.answered("#general", root, covers=queued)

    assert notice.startswith("Stopped by alice. Nothing is running")
    assert desk.bot_replies("#general", root)[0] == "One."
    assert len(desk.model.requests) == 1


@pytest.mark.parametrize("door", [word, reaction_on_question])
async def test_a_stop_that_slack_delivers_before_its_question_holds(desk: Desk, door: Door) -> None:
    desk.model.play([Say("Never.")])
    alice = desk.slack.person("alice")
    async with desk.treadle():
        desk.slack.fail(
            FaultRule(Effect.HOLD, "message", count=1), FaultRule(Effect.HOLD, "app_mention")
        )
        root = await alice.say("#general", "@treadle think")
        await door(desk, alice, root)
        await desk.slack.until_delivered()
        desk.slack.courier.release()
        notice = await desk.answered("#general", root, covers=root)

    assert notice.startswith("Stopped by alice.")
    assert desk.model.requests == []


async def reacting(alice: Person, reply: str) -> None:
    await alice.react("#general", reply, "no_entry")


async def deleting(alice: Person, reply: str) -> None:
    await alice.delete("#general", reply)


@pytest.mark.parametrize("door", [reacting, deleting])
async def test_a_stop_that_slack_delivers_before_a_reply_holds(
    desk: Desk, door: Callable[[Person, str], Awaitable[None]]
) -> None:
    """What it is about is not known yet, nor is its thread."""
    desk.model.play([Say("One."), Say("Never.")])
    alice = desk.slack.person("alice")
    async with desk.treadle():
        root = await alice.say("#general", "@treadle one")
        await desk.answered("#general", root, covers=root)
        desk.slack.fail(FaultRule(Effect.HOLD, "message", count=1))
        reply = await alice.reply("#general", root, "two")
        await door(alice, reply)
        await desk.slack.until_delivered()
        desk.slack.courier.release()
        await desk.slack.until_delivered()
        await desk.nothing_is_left_to_do()

    assert len(desk.model.requests) == 1


async def test_a_message_after_the_stop_begins_a_new_turn(desk: Desk) -> None:
    desk.model.play([Say("Never.", delay=30), Say("Two.")])
    alice = desk.slack.person("alice")
    async with desk.treadle():
        root = await alice.say("#general", "@treadle one")
        await desk.model.asked()
        await alice.reply("#general", root, "stop")
        ts = await alice.reply("#general", root, "two")
        assert await desk.answered("#general", root, covers=ts) == "Two."
        stopped = await desk.answered("#general", root, covers=root)

    assert stopped.startswith("Stopped by alice.")
    assert "The turn was stopped before you answered." in str(desk.model.requests[1]["messages"])


async def test_who_may_not_talk_to_the_bot_may_not_stop_it(desk: Desk) -> None:
    gate = asyncio.Event()
    desk.model.play([Say("Done.", gate=gate)])
    guest = desk.slack.person("gus")
    async with desk.treadle():
        root = await desk.slack.person("alice").say("#general", "@treadle think")
        await desk.model.asked()
        await guest.react("#general", root, "x")
        said = await guest.reply("#general", root, "@treadle stop")
        await desk.slack.until_delivered()
        gate.set()
        assert await desk.answered("#general", root, covers=root) == "Done."
        refusal = await desk.answered("#general", root, covers=said)

    assert "I don't take questions from guests here" in refusal


@pytest.mark.parametrize("name", ["eyes", "white_check_mark"])
async def test_other_reactions_stop_nothing(desk: Desk, name: str) -> None:
    gate = asyncio.Event()
    desk.model.play([Say("Done.", gate=gate)])
    alice = desk.slack.person("alice")
    async with desk.treadle():
        root = await alice.say("#general", "@treadle think")
        await desk.model.asked()
        await alice.react("#general", root, name)
        await desk.slack.until_delivered()
        gate.set()
        assert await desk.answered("#general", root, covers=root) == "Done."


async def test_where_nothing_runs_the_word_says_so_and_a_reaction_is_just_one(desk: Desk) -> None:
    desk.model.play([Say("Done.")])
    alice = desk.slack.person("alice")
    async with desk.treadle():
        root = await alice.say("#general", "@treadle think")
        await desk.answered("#general", root, covers=root)
        await alice.react("#general", root, "x")
        await desk.slack.until_delivered()
        ts = await alice.reply("#general", root, "stop")
        notice = await desk.answered("#general", root, covers=ts)

    assert notice.endswith("Nothing is running here, so there is nothing to stop.")
    assert len(desk.bot_replies("#general", root)) == 2


@pytest.mark.wall_clock
async def test_deleting_the_question_breaks_a_tool_off_at_once(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(desk.home)
    desk.model.play([Say("I deploy.", calls=(DEPLOY,))])
    alice = desk.slack.person("alice")
    async with desk.treadle():
        root = await alice.say("#general", "@treadle deploy v7")
        await there(desk.home / "begun.txt")
        await alice.reply("#general", root, "@bob hm")  # so that the root leaves a tombstone
        at = time.monotonic()
        await alice.delete("#general", root)
        notice = await desk.answered("#general", root, covers=root)
        assert time.monotonic() - at < SOON

    assert notice.startswith("Stopped by deleting the question. Broken off")


async def test_a_stop_while_treadle_is_away_holds_when_it_comes_back(desk: Desk) -> None:
    desk.slack.change(hold_while_offline=True)
    desk.model.play([Say("Never.", delay=30), Say("Never.")])
    alice = desk.slack.person("alice")
    async with desk.treadle():
        root = await alice.say("#general", "@treadle think")
        await desk.model.asked()
    await alice.react("#general", root, "x")
    async with desk.treadle():
        notice = await desk.answered("#general", root, covers=root)

    assert notice.startswith("Stopped by alice.")


async def test_steps_that_could_not_be_posted_in_time_do_not_follow_the_notice(desk: Desk) -> None:
    """Other threads of the channel wait for their slots too, so that the notice goes first."""
    calls = [("calculate", arguments(expression=f"1+{n}")) for n in range(3)]
    steps = [Say("I count.", calls=(call,)) for call in calls]
    desk.model.play([*steps, Say("Never.", delay=30)])
    alice = desk.slack.person("alice")
    async with desk.treadle():
        desk.slack.fail(FaultRule(Effect.RATE_LIMIT, "chat.postMessage", seconds=2, count=1))
        root = await alice.say("#general", "@treadle count")
        await desk.model.asked(4)
        await alice.reply("#general", root, "stop")
        await desk.answered("#general", root, covers=root)
        shown = desk.bot_replies("#general", root)
        last = await alice.reply("#general", root, "@treadle stop")
        await desk.answered("#general", root, covers=last)

    assert desk.bot_replies("#general", root)[: len(shown)] == shown
    assert "Nothing is running here" in desk.bot_replies("#general", root)[len(shown)]


@pytest.mark.wall_clock
async def test_a_command_and_all_that_it_started_are_killed() -> None:
    """A file that the command goes on writing to grows no more."""
    loop = "(while true; do date >> ticks.txt; sleep 0.05; done) & wait"
    with open_place() as place:
        async with open_desk(place) as desk:
            desk.model.play([Say("I run.", calls=(("run_command", arguments(command=loop)),))])
            ticks = desk.workspace() / "ticks.txt"
            async with desk.treadle():
                root = await desk.slack.person("alice").say("#general", "@treadle go")
                await there(ticks)
                at = time.monotonic()
                await desk.slack.person("alice").react("#general", root, "x")
                notice = await desk.answered("#general", root, covers=root)
                assert time.monotonic() - at < SOON
                size = ticks.stat().st_size
                again = await desk.slack.person("alice").say("#general", "@treadle stop")
                await desk.answered("#general", again, covers=again)
                await asyncio.sleep(0.3)  # six more lines, if it went on
                assert ticks.stat().st_size == size

    assert "Broken off, so it may or may not have happened: Run." in notice


async def test_a_stop_before_the_answers_turn_to_be_posted_leaves_it_out(desk: Desk) -> None:
    """Slack asks the channel to wait, so that the answer and what led to it are still held."""
    desk.model.play([COUNT, Say("Never shown."), Say("Here it is.")])
    alice = desk.slack.person("alice")
    async with desk.treadle():
        desk.slack.fail(FaultRule(Effect.RATE_LIMIT, POST, seconds=2, count=1))
        root = await alice.say("#general", "@treadle count")
        await desk.until(lambda: desk.slack.log.of(POST))
        await answer_is_written(desk)
        said = await alice.reply("#general", root, "stop")
        notice = await desk.answered("#general", root, covers=root)
        assert await desk.answered("#general", root, covers=said) == notice
        again = await alice.reply("#general", root, "and now?")
        await desk.answered("#general", root, covers=again)

    assert notice == (
        "Stopped by alice. The answer was ready and is left out. Done before that: Calculate. "
        "Nothing is running any more; reply here to go on."
    )
    assert desk.bot_replies("#general", root) == [notice, "Here it is."]
    told = str(desk.model.requests[-1]["messages"])
    assert "Never shown." in told
    assert "people saw 0 of its 1 messages" in told


async def test_a_stop_in_the_middle_of_a_long_answer_leaves_out_the_rest(desk: Desk) -> None:
    text = "\n\n".join(f"Paragraph {n} " + "of many words " * 40 for n in range(60))
    desk.model.play([Say(text)])
    alice = desk.slack.person("alice")
    async with desk.treadle():
        desk.slack.fail(FaultRule(Effect.RATE_LIMIT, POST, skip=1, seconds=2, count=1))
        root = await alice.say("#general", "@treadle report")
        await desk.until(lambda: len(desk.slack.log.of(POST)) == 2)
        said = await alice.reply("#general", root, "stop")
        notice = await desk.answered("#general", root, covers=root)
        assert await desk.answered("#general", root, covers=said) == notice
        await desk.nothing_is_left_to_do()

    first, last = desk.bot_replies("#general", root)
    assert first.startswith("Paragraph 0 ")
    assert last == notice
    assert re.match(
        r"Stopped by alice\. Of the answer's \d messages 1 were posted, the rest is left out\.",
        notice,
    )


async def test_a_stop_after_the_answer_leaves_out_the_steps_that_wait(desk: Desk) -> None:
    """In a busy channel the answer goes first."""
    desk.model.play([COUNT, COUNT, Say("It is 2."), *[Say("Yes.")] * 4])
    alice = desk.slack.person("alice")
    async with desk.treadle():
        desk.slack.fail(FaultRule(Effect.RATE_LIMIT, POST, seconds=2, count=1))
        root = await alice.say("#general", "@treadle count")
        await desk.model.asked(3)
        others = [await alice.say("#general", f"@treadle {n}") for n in range(4)]
        await desk.answered("#general", root, covers=root)
        said = await alice.reply("#general", root, "stop")
        notice = await desk.answered("#general", root, covers=said)
        for other in others:
            await desk.answered("#general", other, covers=other)
        await desk.nothing_is_left_to_do()

    assert desk.bot_replies("#general", root) == ["It is 2.", notice]
    assert "The answer was there already; what of the steps was not shown is left out." in notice


async def test_a_stop_behind_another_question_ends_the_delivery_and_that_question(
    desk: Desk,
) -> None:
    """Both came while the answer waited for its slot, in this order."""
    desk.model.play([Say("Never shown."), Say("Never asked.")])
    alice = desk.slack.person("alice")
    async with desk.treadle():
        desk.slack.fail(
            FaultRule(Effect.RATE_LIMIT, POST, seconds=2, count=1),
            FaultRule(Effect.HOLD, "message", channel="C0GENERAL", skip=1),
        )
        root = await alice.say("#general", "@treadle one")
        await desk.until(lambda: desk.slack.log.of(POST))
        more = await alice.reply("#general", root, "two")
        said = await alice.reply("#general", root, "stop")
        await desk.until(lambda: len(desk.slack.courier.unfinished()) == 2)
        desk.slack.courier.release()
        first = await desk.answered("#general", root, covers=root)
        second = await desk.answered("#general", root, covers=more)
        assert await desk.answered("#general", root, covers=said) == second
        await desk.nothing_is_left_to_do()

    assert "The answer was ready and is left out." in first
    assert second.startswith("Stopped by alice. Nothing is running")
    assert len(desk.model.requests) == 1


async def test_a_message_behind_the_stop_begins_a_new_turn_while_the_answer_waits(
    desk: Desk,
) -> None:
    desk.model.play([Say("Never shown."), Say("Two.")])
    alice = desk.slack.person("alice")
    async with desk.treadle():
        desk.slack.fail(FaultRule(Effect.RATE_LIMIT, POST, seconds=2, count=1))
        root = await alice.say("#general", "@treadle one")
        await desk.until(lambda: desk.slack.log.of(POST))
        await alice.reply("#general", root, "stop")
        more = await alice.reply("#general", root, "two")
        assert await desk.answered("#general", root, covers=more) == "Two."
        await desk.nothing_is_left_to_do()

    notice, answer = desk.bot_replies("#general", root)
    assert "The answer was ready and is left out." in notice
    assert answer == "Two."


async def test_who_may_not_talk_to_the_bot_does_not_keep_its_answer_from_the_others(
    desk: Desk,
) -> None:
    desk.model.play([Say("Shown.")])
    async with desk.treadle():
        desk.slack.fail(FaultRule(Effect.RATE_LIMIT, POST, seconds=2, count=1))
        root = await desk.slack.person("alice").say("#general", "@treadle count")
        await desk.until(lambda: desk.slack.log.of(POST))
        await desk.slack.person("gus").react("#general", root, "x")
        assert await desk.answered("#general", root, covers=root) == "Shown."


async def test_a_stop_while_the_question_to_people_waits_to_be_posted(desk: Desk) -> None:
    desk.config('[[policy]]\ntool = "calculate"\ndecision = "ask"')
    desk.model.play([COUNT])
    alice = desk.slack.person("alice")
    async with desk.treadle():
        desk.slack.fail(FaultRule(Effect.RATE_LIMIT, POST, seconds=2, count=1))
        root = await alice.say("#general", "@treadle count")
        await desk.until(lambda: desk.slack.log.of(POST))
        await alice.react("#general", root, "x")
        notice = await desk.answered("#general", root, covers=root)
        await desk.nothing_is_left_to_do()

    assert notice.startswith("Stopped by alice. Not begun: Calculate.")
    assert desk.bot_replies("#general", root)[-1] == notice
    assert not [m for m in desk.slack.thread("#general", root) if "treadle_approve" in str(m)]


async def answer_is_written(desk: Desk) -> None:
    """Until the journal of the only thread holds its answer."""
    with closing(sqlite3.connect(desk.home / ".treadle" / "treadle.db")) as database:
        async with asyncio.timeout(10):
            while not database.execute(
                "SELECT 1 FROM journal WHERE body LIKE '%\"Answered\"%'"
            ).fetchone():
                await asyncio.sleep(0.01)
