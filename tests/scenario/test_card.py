"""Verbosity `card`: one live message for the turn, then the answer, which never depends on it."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator
from contextlib import closing
from pathlib import Path

import pytest

from bot.local_slack.faults import Effect, FaultRule
from bot.local_slack.options import Options
from bot.local_slack.shapes import Json
from bot.slack.patience import Patience
from tests.doubles.desk import Desk, arguments, open_desk
from tests.doubles.model_endpoint import Say
from tests.doubles.process import kill, process

START, APPEND, STOP = "chat.startStream", "chat.appendStream", "chat.stopStream"
CARD = '[slack]\nverbosity = "card"'
COUNT = Say("I count.", calls=(("calculate", arguments(expression="17 * 23")),))
MISSES = Say("I look.", calls=(("read_file", arguments(path="nowhere.txt")),))
NO_STREAMS = Options(absent_methods=frozenset({START, APPEND, STOP}))
WAITING_TOOL = '''
"""A tool that is done when a file is there."""

import asyncio
from pathlib import Path

from tools.base import tool


@tool()
async def wait_for(name: str) -> str:
    """Wait until a file of this name is there.

    Args:
        name: the file
    """
    while not (Path(__file__).parent / name).exists():
        await asyncio.sleep(0.02)
    return "It is there."
'''
WAIT = Say("I wait.", calls=(("wait_for", arguments(name="go")),))


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    async with open_desk(tmp_path) as opened:
        opened.config(CARD)
        yield opened


@pytest.fixture
async def waiting(desk: Desk) -> Desk:
    """With a tool that the test lets go on by making the file "go"."""
    (desk.home / "waiting.py").write_text(WAITING_TOOL, "utf-8")
    desk.config(f'{CARD}\n[tools]\nmodules = ["waiting.py"]')
    return desk


def ours(desk: Desk, ts: str, channel: str = "#general") -> list[Json]:
    return [m for m in desk.slack.thread(channel, ts)[1:] if m.get("bot_id")]


def cards(message: Json) -> list[tuple[str, str]]:
    """Title and status of each task card of a message."""
    blocks = message.get("blocks", ())
    return [(b["title"], b["status"]) for b in blocks if b["type"] == "task_card"]


def first_cards(desk: Desk, ts: str) -> list[tuple[str, str]]:
    """Those of the bot's first message, if there is one yet."""
    return [card for message in ours(desk, ts)[:1] for card in cards(message)]


def open_streams(desk: Desk, ts: str, channel: str = "C0GENERAL") -> list[str]:
    return desk.slack.world.streams.of_thread(channel, ts)


async def streaming(desk: Desk, ts: str) -> None:
    await desk.until(lambda: open_streams(desk, ts))


async def test_the_steps_stand_in_one_stream_of_task_cards_and_the_answer_below(
    desk: Desk,
) -> None:
    desk.model.play([COUNT, MISSES, Say("It is 391.", delay=0.3)])
    async with desk.treadle():
        ts = await desk.slack.person("alice").say("#general", "@treadle 17 * 23?")
        assert await desk.answered("#general", ts, covers=ts) == "It is 391."
        await desk.nothing_is_left_to_do()

    live, answer = ours(desk, ts)
    assert cards(live) == [("Calculate 17 * 23", "complete"), ("Read nowhere.txt", "error")]
    shown = str(live["blocks"])
    assert [shown.count(text) for text in ("I count.", "I look.", "'391'")] == [1, 1, 1]
    assert all(block["output"] for block in live["blocks"])
    assert desk.slack.visible_text(answer) == "It is 391."
    assert open_streams(desk, ts) == []


async def test_a_turn_without_tools_has_no_live_message(desk: Desk) -> None:
    desk.model.play([Say("Hello.")])
    async with desk.treadle():
        ts = await desk.slack.person("alice").say("#general", "@treadle hi")
        await desk.answered("#general", ts, covers=ts)
        await desk.nothing_is_left_to_do()

    assert desk.bot_replies("#general", ts) == ["Hello."]
    assert {call.method for call in desk.slack.log if call.method.startswith("chat.")} == {
        "chat.postMessage"
    }


async def test_each_turn_has_its_own_live_message_in_direct_messages_too(desk: Desk) -> None:
    desk.model.play([COUNT, Say("One.", delay=0.2), COUNT, Say("Two.", delay=0.2)])
    alice = desk.slack.person("alice")
    async with desk.treadle():
        root = await alice.say("dm", "count")
        await desk.answered("D0ALICE", root, covers=root)
        again = await alice.reply("D0ALICE", root, "again")
        await desk.answered("D0ALICE", root, covers=again)
        await desk.nothing_is_left_to_do()

    first, one, second, two = ours(desk, root, "D0ALICE")
    assert cards(first) == cards(second) == [("Calculate 17 * 23", "complete")]
    assert [desk.slack.visible_text(m) for m in (one, two)] == ["One.", "Two."]


async def test_a_running_call_is_shown_as_such(waiting: Desk) -> None:
    waiting.model.play([COUNT, WAIT, Say("Done.")])
    async with waiting.treadle():
        ts = await waiting.slack.person("alice").say("#general", "@treadle wait")
        wanted = [("Calculate 17 * 23", "complete"), ("wait_for go", "in_progress")]
        await waiting.until(lambda: first_cards(waiting, ts) == wanted)
        (waiting.home / "go").touch()
        await waiting.answered("#general", ts, covers=ts)
        await waiting.nothing_is_left_to_do()

    assert cards(ours(waiting, ts)[0])[1] == ("wait_for go", "complete")
    assert len(waiting.slack.log.of(START)) == len(waiting.slack.log.of(STOP)) == 1


@pytest.mark.wall_clock
async def test_a_stream_is_begun_anew_before_slack_closes_it(tmp_path: Path) -> None:
    async with open_desk(tmp_path, options=Options(stream_seconds=2.5)) as desk:
        (desk.home / "waiting.py").write_text(WAITING_TOOL, "utf-8")
        desk.config(f'{CARD}\n[tools]\nmodules = ["waiting.py"]')
        desk.patience = Patience(stream=1.0)
        desk.model.play([COUNT, WAIT, Say("Done.")])
        async with desk.treadle():
            ts = await desk.slack.person("alice").say("#general", "@treadle wait")
            await desk.until(lambda: len(desk.slack.log.of(START)) >= 3)
            assert desk.slack.world.sessions.shown("C0GENERAL", ts)["stoppable"]
            (desk.home / "go").touch()
            await desk.answered("#general", ts, covers=ts)
            await desk.nothing_is_left_to_do()

        first, second, *_, last, answer = ours(desk, ts)
        assert cards(first) == [("Calculate 17 * 23", "complete"), ("wait_for go", "pending")]
        assert cards(second) == [("wait_for go", "pending")]
        assert cards(last) == [("wait_for go", "complete")]
        assert desk.slack.visible_text(answer) == "Done."
        assert not [c for c in desk.slack.log if c.error == "message_not_in_streaming_state"]


async def test_a_stream_that_slack_closed_is_brought_to_its_end_all_the_same(
    tmp_path: Path,
) -> None:
    async with open_desk(tmp_path, options=Options(stream_seconds=0.5)) as desk:
        (desk.home / "waiting.py").write_text(WAITING_TOOL, "utf-8")
        desk.config(f'{CARD}\n[tools]\nmodules = ["waiting.py"]')
        desk.model.play([WAIT, Say("Done.")])
        async with desk.treadle():
            ts = await desk.slack.person("alice").say("#general", "@treadle wait")
            await desk.until(lambda: ours(desk, ts))
            await desk.until(lambda: not open_streams(desk, ts))
            (desk.home / "go").touch()
            assert await desk.answered("#general", ts, covers=ts) == "Done."
            await desk.nothing_is_left_to_do()

        *_, live, _ = ours(desk, ts)  # on a busy host a later stream, which nobody closed
        updated = "✅ wait_for go" in desk.slack.visible_text(live)
        assert updated or cards(live) == [("wait_for go", "complete")]


async def test_more_calls_than_a_message_takes_go_on_in_the_next(desk: Desk) -> None:
    calls = tuple(("calculate", arguments(expression=f"1000 + {n}")) for n in range(8))
    desk.model.play([*[Say("Many.", calls=calls)] * 3, Say("Done.", delay=1.5)])
    desk.config(f"{CARD}\n[guard]\nrepeat = 99\ncycle = 99\nstall = 99")
    async with desk.treadle():
        ts = await desk.slack.person("alice").say("#general", "@treadle go")
        await desk.answered("#general", ts, covers=ts)
        await desk.nothing_is_left_to_do()

    lives = [cards(m) for m in ours(desk, ts) if cards(m)]
    assert sum(len(shown) for shown in lives) == 24
    assert max(len(shown) for shown in lives) <= 18
    assert {status for shown in lives for _, status in shown} == {"complete"}


@pytest.mark.parametrize("code", ["unknown_method", "channel_type_not_supported"])
async def test_where_there_are_no_streams_a_message_is_updated(desk: Desk, code: str) -> None:
    desk.slack.fail(FaultRule(Effect.ERROR, START, error=code))
    desk.model.play([COUNT, MISSES, Say("391.", delay=1.2), COUNT, Say("Again.", delay=1.2)])
    alice = desk.slack.person("alice")
    async with desk.treadle():
        ts = await alice.say("#general", "@treadle go")
        await desk.answered("#general", ts, covers=ts)
        await desk.nothing_is_left_to_do()
        again = await alice.reply("#general", ts, "again")
        await desk.answered("#general", ts, covers=again)
        await desk.nothing_is_left_to_do()

    live, answer, *_ = ours(desk, ts)
    shown = desk.slack.visible_text(live)
    assert "✅ Calculate 17 * 23" in shown
    assert "→ 391" in shown
    assert "⚠️ Read nowhere.txt" in shown
    assert desk.slack.visible_text(answer) == "391."
    assert desk.slack.log.of("chat.update")
    assert len(desk.slack.log.of(START)) == (1 if code == "unknown_method" else 2)


@pytest.mark.parametrize(
    "rule",
    [
        FaultRule(Effect.SERVER_ERROR, "chat.*Stream"),
        FaultRule(Effect.LOSE_ANSWER, "chat.*Stream"),
        FaultRule(Effect.RATE_LIMIT, "chat.*Stream", seconds=60),
        FaultRule(Effect.ERROR, APPEND, error="invalid_chunks"),
        FaultRule(Effect.ERROR, "chat.*Stream", error="fatal_error"),
        FaultRule(Effect.SLOW_BEFORE, "chat.*Stream", seconds=1.0),
    ],
)
async def test_the_answer_comes_whatever_becomes_of_the_stream(desk: Desk, rule: FaultRule) -> None:
    desk.slack.fail(rule)
    desk.model.play([COUNT, COUNT, Say("391.", delay=1.2)])
    async with desk.treadle():
        ts = await desk.slack.person("alice").say("#general", "@treadle go")
        assert await desk.answered("#general", ts, covers=ts) == "391."
        desk.slack.fail()

    assert [m for m in desk.bot_replies("#general", ts) if m == "391."] == ["391."]


async def test_a_stop_ends_the_stream(waiting: Desk) -> None:
    waiting.model.play([WAIT])
    alice = waiting.slack.person("alice")
    async with waiting.treadle():
        ts = await alice.say("#general", "@treadle wait")
        await streaming(waiting, ts)
        await alice.reply("#general", ts, "stop")
        notice = await waiting.answered("#general", ts, covers=ts)
        await waiting.nothing_is_left_to_do()

    assert notice.startswith("Stopped by alice.")
    assert cards(ours(waiting, ts)[0]) == [("wait_for go", "error")]
    assert open_streams(waiting, ts) == []


async def test_slacks_own_stop_button_closes_the_stream_and_no_other_is_begun(
    waiting: Desk,
) -> None:
    waiting.model.play([WAIT])
    async with waiting.treadle():
        ts = await waiting.slack.person("alice").say("#general", "@treadle wait")
        await streaming(waiting, ts)
        await waiting.until(
            lambda: waiting.slack.world.sessions.shown("C0GENERAL", ts)["stoppable"]
        )
        await waiting.slack.person("bob").stop("#general", ts)
        notice = await waiting.answered("#general", ts, covers=ts)
        await waiting.nothing_is_left_to_do()

    assert notice.startswith("Stopped by bob.")
    assert len(ours(waiting, ts)) == 2


async def test_the_end_of_the_process_ends_the_stream_and_the_next_one_goes_on(
    waiting: Desk,
) -> None:
    waiting.model.play([COUNT, WAIT, Say("Done.")])
    async with waiting.treadle():
        ts = await waiting.slack.person("alice").say("#general", "@treadle wait")
        await waiting.until(lambda: len(first_cards(waiting, ts)) == 2)
    assert open_streams(waiting, ts) == []
    async with waiting.treadle():
        await waiting.answered("#general", ts, covers=ts)
        await waiting.nothing_is_left_to_do()

    assert cards(ours(waiting, ts)[0])[0] == ("Calculate 17 * 23", "complete")
    assert open_streams(waiting, ts) == []


async def test_a_question_to_people_ends_the_stream_and_what_follows_has_its_own(
    desk: Desk,
) -> None:
    desk.config(f'{CARD}\n[[policy]]\ntool = "calculate"\ndecision = "ask"')
    desk.model.play([MISSES, COUNT, Say("It is 391.", delay=0.3)])
    alice = desk.slack.person("alice")
    async with desk.treadle():
        ts = await alice.say("#general", "@treadle go")
        card = await desk.until(
            lambda: next((m for m in ours(desk, ts) if "approve" in str(m)), None)
        )
        await desk.nothing_is_left_to_do()
        assert open_streams(desk, ts) == []
        ada = desk.slack.person("ada")
        await ada.click(card["ts"], "treadle_approve")
        await desk.answered("#general", ts, covers=ts)
        await desk.nothing_is_left_to_do()

    lives = [cards(m) for m in ours(desk, ts) if cards(m)]
    assert lives[0] == [("Read nowhere.txt", "error"), ("Calculate 17 * 23", "pending")]
    assert lives[1] == [("Calculate 17 * 23", "complete")]


async def test_what_a_tool_returns_is_inert_in_the_live_message(desk: Desk) -> None:
    text = "<!channel> see [this](https://evil.example/x) \u202eabc <@U0BOB> `x`"
    (desk.workspace() / "evil.txt").write_text(text, "utf-8")
    read = Say(text, calls=(("read_file", arguments(path="evil.txt")),))
    desk.model.play([read, Say("Read.", delay=0.3)])
    async with desk.treadle():
        ts = await desk.slack.person("alice").say("#general", "@treadle read")
        await desk.answered("#general", ts, covers=ts)
        await desk.nothing_is_left_to_do()

    sent = [c.args for c in desk.slack.log if c.method in (START, APPEND, STOP)]
    chunks = str([args.get("chunks") for args in sent])
    assert "channel" in chunks
    assert not [live for live in ("<", ">", "](", "://", "\u202e", "`") if live in chunks]


async def test_no_secret_reaches_the_live_message(desk: Desk) -> None:
    key = desk.environment()["OPENAI_API_KEY"]
    desk.model.play([Say(f"The key is {key}.", calls=COUNT.calls), Say("Done.", delay=0.3)])
    async with desk.treadle():
        ts = await desk.slack.person("alice").say("#general", "@treadle go")
        await desk.answered("#general", ts, covers=ts)
        await desk.nothing_is_left_to_do()

    assert "The key is" in str(ours(desk, ts)[0])
    assert key not in str([call.args for call in desk.slack.log])


async def test_a_stream_whose_beginning_got_no_answer_is_closed_as_well(desk: Desk) -> None:
    desk.slack.fail(FaultRule(Effect.LOSE_ANSWER, START, count=1))
    desk.model.play([COUNT, Say("391.", delay=0.5)])
    async with desk.treadle():
        ts = await desk.slack.person("alice").say("#general", "@treadle go")
        await streaming(desk, ts)
        await desk.answered("#general", ts, covers=ts)
        await desk.nothing_is_left_to_do()

    assert open_streams(desk, ts) == []
    assert len(ours(desk, ts)) == 2


async def test_a_stream_that_was_just_begun_is_closed_after_a_kill_whatever_the_hosts_clock(
    desk: Desk,
) -> None:
    """Slack has begun it, but Treadle died before it read so; the host's clock was wrong."""
    desk.slack.fail(FaultRule(Effect.SLOW_AFTER, START, seconds=60, count=1))
    desk.model.play([COUNT, Say("Never.", delay=60), Say("391.")])
    async with process(desk) as first:
        ts = await desk.slack.person("alice").say("#general", "@treadle go")
        await streaming(desk, ts)
        await desk.model.asked(2)
        await kill(first)
    with closing(sqlite3.connect(desk.home / ".treadle" / "treadle.db")) as database, database:
        changed = database.execute(
            "UPDATE deliveries SET tried_at = tried_at + 3600 WHERE state = 'trying'"
        )
        assert changed.rowcount == 1
    async with process(desk):
        assert await desk.answered("#general", ts, covers=ts) == "391."
        await desk.nothing_is_left_to_do()

    assert open_streams(desk, ts) == []
