"""What a thread shows of a turn: `steps`, `quiet`, `full`, and per channel."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from functools import partial

import pytest

from bot.local_slack.faults import Effect, FaultRule
from tests.doubles.desk import Desk, arguments
from tests.doubles.model_endpoint import Request, Say

pytestmark = pytest.mark.usefixtures("slacks_pace")

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
    (Path(__file__).parent / (name + ".started")).touch()
    while not (Path(__file__).parent / name).exists():
        await asyncio.sleep(0.02)
    return "It is there."
'''
MODULES = '[tools]\nmodules = ["waiting.py"]\n'


def with_waiting_tool(desk: Desk, more: str = "") -> None:
    (desk.home / "waiting.py").write_text(WAITING_TOOL, "utf-8")
    desk.config(MODULES + more)


def calculating(*answers: str) -> list[Say]:
    """One step, then an answer; for as many questions as there are answers."""
    step = Say("I multiply.", calls=(("calculate", arguments(expression="17 * 23")),))
    return [say for answer in answers for say in (step, Say(answer))]


async def test_a_quick_step_is_one_reply_of_at_most_three_lines(desk: Desk) -> None:
    desk.model.play(calculating("It is 391."))
    async with desk.treadle():
        ts = await desk.slack.person("alice").say("#general", "@treadle 17 * 23?")
        await desk.answered("#general", ts, covers=ts)

    step, answer = desk.bot_replies("#general", ts)
    assert step.splitlines() == ["I multiply.", "🔧 Calculate 17 * 23", "→ 391"]
    assert answer == "It is 391."


async def test_a_long_observation_is_shown_by_its_beginning_and_size(desk: Desk) -> None:
    text = "\n".join(f"line {n} of the log" for n in range(1, 301))
    (desk.workspace() / "app.log").write_text(text, "utf-8")
    desk.model.play([Say("", calls=(("read_file", arguments(path="app.log")),)), Say("A log.")])
    async with desk.treadle():
        ts = await desk.slack.person("alice").say("#general", "@treadle what is app.log?")
        await desk.answered("#general", ts, covers=ts)

    step, _ = desk.bot_replies("#general", ts)
    assert len(step.splitlines()) <= 3
    assert "Read app.log" in step
    assert "line 1 of the log" in step
    assert "lines, " in step
    assert "line 9 of" not in step


@pytest.mark.wall_clock
async def test_a_slow_tools_call_is_posted_first_and_its_observation_follows(desk: Desk) -> None:
    with_waiting_tool(desk)
    desk.model.play([Say("I wait.", calls=(("wait_for", arguments(name="go")),)), Say("Done.")])
    async with desk.treadle():
        ts = await desk.slack.person("alice").say("#general", "@treadle wait")
        await file_appears(desk, "go.started")
        began = time.monotonic()
        (call,) = await desk.replies("#general", ts, 1)
        assert 0.5 < time.monotonic() - began < 1.4
        (desk.home / "go").touch()
        await desk.answered("#general", ts, covers=ts)

    _, observation, answer = desk.bot_replies("#general", ts)
    assert call.splitlines() == ["I wait.", "🔧 wait_for go"]
    assert "→ It is there." in observation
    assert "I wait." not in observation
    assert answer == "Done."


async def file_appears(desk: Desk, name: str) -> None:
    async with asyncio.timeout(10):
        while not (desk.home / name).exists():
            await asyncio.sleep(0.01)


async def test_of_several_calls_the_quick_ones_are_shown_with_the_held_call(desk: Desk) -> None:
    with_waiting_tool(desk)
    calls = (("calculate", arguments(expression="6*7")), ("wait_for", arguments(name="go")))
    desk.model.play([Say("Both.", calls=calls), Say("Done.")])
    async with desk.treadle():
        ts = await desk.slack.person("alice").say("#general", "@treadle both")
        (first,) = await desk.replies("#general", ts, 1)
        assert "→ 42" in first
        (desk.home / "go").touch()
        await desk.answered("#general", ts, covers=ts)

    _, second, _ = desk.bot_replies("#general", ts)
    assert "wait_for go" in second
    assert "42" not in second


async def test_quiet_shows_the_answer_only(desk: Desk) -> None:
    desk.config('[slack]\nverbosity = "quiet"')
    desk.model.play(calculating("It is 391."))
    async with desk.treadle():
        ts = await desk.slack.person("alice").say("#general", "@treadle 17 * 23?")
        await desk.answered("#general", ts, covers=ts)

    assert desk.bot_replies("#general", ts) == ["It is 391."]


async def test_full_shows_whole_arguments_and_observations(desk: Desk) -> None:
    desk.config('[slack]\nverbosity = "full"')
    content = "\n".join(f"row {n}" for n in range(40))
    calls = (("write_file", arguments(path="t.txt", content=content)),)
    read = (("read_file", arguments(path="t.txt")),)
    desk.model.play([Say("Write.", calls=calls), Say("Read.", calls=read), Say("Done.")])
    async with desk.treadle():
        ts = await desk.slack.person("alice").say("#general", "@treadle write and read")
        await desk.answered("#general", ts, covers=ts)

    steps = "\n".join(desk.bot_replies("#general", ts)[:-1])
    assert '"path": "t.txt"' in steps
    assert steps.count("row 39") >= 2


async def test_full_shows_every_one_of_many_long_calls(desk: Desk) -> None:
    desk.config('[slack]\nverbosity = "full"')
    calls = tuple(
        ("write_file", arguments(path=f"f{n}.txt", content=f"line {n} " * 300)) for n in range(8)
    )
    desk.model.play([Say("Many.", calls=calls), Say("Done.")])
    async with desk.treadle():
        ts = await desk.slack.person("alice").say("#general", "@treadle write")
        await desk.answered("#general", ts, covers=ts)
        everything = await desk.until(
            lambda: (
                text
                if (text := "\n".join(desk.bot_replies("#general", ts))).count("→ Created") == 8
                else None
            ),
            timeout=30,
        )

    for n in range(8):
        assert f'"path": "f{n}.txt"' in everything
        assert everything.count(f"line {n} ") > 250


async def test_a_turn_that_was_over_before_the_verbosity_changed_stays_as_it_was(
    desk: Desk,
) -> None:
    desk.config('[slack]\nverbosity = "quiet"')
    desk.model.play([*calculating("It is 391."), Say("Still 391.")])
    alice = desk.slack.person("alice")
    async with desk.treadle():
        root = await alice.say("#general", "@treadle 17 * 23?")
        await desk.answered("#general", root, covers=root)
        await desk.nothing_is_left_to_do()

    desk.config('[slack]\nverbosity = "steps"')
    async with desk.treadle():
        ts = await alice.reply("#general", root, "and now?")
        await desk.answered("#general", root, covers=ts)

    assert desk.bot_replies("#general", root) == ["It is 391.", "Still 391."]


async def test_a_channel_can_have_its_own_verbosity(desk: Desk) -> None:
    desk.config('[[channel]]\nid = "C0OPS"\nverbosity = "quiet"')
    desk.model.play(calculating("In ops.", "In general."))
    alice = desk.slack.person("alice")
    async with desk.treadle():
        ops = await alice.say("#ops", "@treadle 17 * 23?")
        await desk.answered("#ops", ops, covers=ops)
        general = await alice.say("#general", "@treadle 17 * 23?")
        await desk.answered("#general", general, covers=general)

    assert desk.bot_replies("#ops", ops) == ["In ops."]
    assert len(desk.bot_replies("#general", general)) == 2


async def test_a_failed_call_is_shown_as_one(desk: Desk) -> None:
    calls = (("read_file", arguments(path="nowhere.txt")),)
    desk.model.play([Say("I look.", calls=calls), Say("There is none.")])
    async with desk.treadle():
        ts = await desk.slack.person("alice").say("#general", "@treadle read it")
        await desk.answered("#general", ts, covers=ts)

    step, _ = desk.bot_replies("#general", ts)
    assert "⚠️ Read nowhere.txt" in step
    assert len(step.splitlines()) == 3


async def test_nothing_of_one_thread_shows_in_another(desk: Desk) -> None:
    def script(request: Request) -> Say:
        name = str(request["messages"][1]["content"]).rpartition("\n")[2]
        if request["messages"][-1]["role"] == "tool":
            return Say(f"answer {name}")
        return Say(f"thought {name}", calls=(("calculate", arguments(expression=f"{name}*1")),))

    def shows(channel: str, ts: str, text: str) -> bool:
        return text in "\n".join(desk.bot_replies(channel, ts))

    desk.model.play(script)
    alice, bob = desk.slack.person("alice"), desk.slack.person("bob")
    async with desk.treadle():
        asked = [
            ("#general", "1111", await alice.say("#general", "@treadle 1111")),
            ("#general", "2222", await bob.say("#general", "@treadle 2222")),
            ("#ops", "3333", await alice.say("#ops", "@treadle 3333")),
            ("D0ALICE", "4444", await alice.say("dm", "4444")),
        ]
        for channel, name, ts in asked:
            await desk.answered(channel, ts, covers=ts)
            await desk.until(partial(shows, channel, ts, f"thought {name}"))

    for channel, name, ts in asked:
        shown = "\n".join(desk.bot_replies(channel, ts))
        assert f"answer {name}" in shown
        assert not [other for _, other, _ in asked if other != name and other in shown]


async def test_many_quick_steps_share_replies_and_none_is_missing(desk: Desk) -> None:
    """Slack takes about one post a second in a channel; the run is faster than that."""
    steps = [
        Say(f"Thought {n}.", calls=(("calculate", arguments(expression=f"{n}*1000")),))
        for n in range(1, 13)
    ]
    desk.model.play([*steps, Say("All done.")])
    async with desk.treadle():
        ts = await desk.slack.person("alice").say("#general", "@treadle count")
        assert await desk.answered("#general", ts, covers=ts) == "All done."
        everything: Callable[[], bool] = lambda: all(  # noqa: E731
            f"→ {n}000" in "\n".join(desk.bot_replies("#general", ts)) for n in range(1, 13)
        )
        await desk.until(everything)

    shown = "\n".join(desk.bot_replies("#general", ts))
    assert [shown.count(f"Thought {n}.") for n in range(1, 13)] == [1] * 12
    assert len(desk.bot_replies("#general", ts)) < 13


async def test_in_a_busy_channel_the_answer_goes_before_the_steps(desk: Desk) -> None:
    """Slack asked to wait; what waited then goes one a second, the answer first."""
    limit = FaultRule(Effect.RATE_LIMIT, "chat.postMessage", count=1, seconds=1.0)
    desk.slack.fail(limit)
    desk.model.play(calculating("First.", "Second."))
    alice = desk.slack.person("alice")
    async with desk.treadle():
        first = await alice.say("#general", "@treadle 17 * 23?")
        await desk.until(lambda: desk.slack.log.of("chat.postMessage"))
        await desk.model.asked(2)
        second = await alice.say("#general", "@treadle 17 * 23?")
        replies = await desk.replies("#general", second, 2)
        await desk.answered("#general", first, covers=first)

    assert replies[0] == "Second."
    assert replies[1].startswith("I multiply.")
