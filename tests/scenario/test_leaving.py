"""SIGTERM: no event is taken any more, a step comes to its end, and the exit code is 0."""

from __future__ import annotations

import asyncio
import signal
import time
from asyncio.subprocess import Process
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.doubles.desk import Desk, arguments, open_desk
from tests.doubles.model_endpoint import Say
from tests.doubles.process import HASTY, process
from tests.scenario.test_restarts import RETRIES, lines_of

SECONDS = 5.0
"""After the grace, for a process on a busy machine to come to its end."""
TOOLS = '''
"""Tools that take their time, and tell when they were started."""

import asyncio
import time
from pathlib import Path

from tools.base import tool


def started(name: str) -> None:
    with Path("starts.txt").open("a") as starts:
        starts.write(name + "\\n")


@tool(changes=True)
async def deploy(version: str) -> str:
    """Deploy a version.

    Args:
        version: which one
    """
    started(version)
    await asyncio.sleep(1)
    return "Deployed."


@tool(changes=True)
def hang(version: str) -> str:
    """Block for a minute.

    Args:
        version: which one
    """
    started(version)
    time.sleep(60)
    return "Never."
'''
DEPLOY = Say("I deploy.", calls=(("deploy", arguments(version="v7")),))
HANG = Say("I hang.", calls=(("hang", arguments(version="v7")),))


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    (tmp_path / "own.py").write_text(TOOLS, "utf-8")
    async with open_desk(tmp_path, options=RETRIES) as opened:
        opened.config('[tools]\nmodules = ["own.py"]')
        yield opened


async def left(running: Process, within: float) -> None:
    """The process ends with 0, and in order."""
    assert await asyncio.wait_for(running.wait(), within) == 0


async def test_an_answer_that_is_on_its_way_is_still_given(desk: Desk) -> None:
    desk.grace = 10.0
    desk.model.play([Say("Just in time.", delay=0.5)])
    async with desk.treadle():
        ts = await desk.slack.person("alice").say("#general", "@treadle think")
        await desk.model.asked()

    assert desk.bot_replies("#general", ts) == ["Just in time."]
    assert desk.slack.status("#general", ts) == ""


async def test_no_event_is_taken_and_no_step_begun_any_more_and_nothing_is_lost(
    desk: Desk,
) -> None:
    """What the model replied is kept: it is not asked for it again after the restart."""
    desk.slack.change(hold_while_offline=True)
    step = Say(DEPLOY.text, calls=DEPLOY.calls, delay=1)
    desk.model.play([step, Say("Done."), Say("Hello.")])
    alice = desk.slack.person("alice")
    async with process(desk) as running:
        ts = await alice.say("#general", "@treadle deploy")
        await desk.model.asked()
        running.send_signal(signal.SIGTERM)
        await desk.until(lambda: not desk.slack.sockets.sockets)
        late = await alice.say("#general", "@treadle hello")
        await left(running, 10 + SECONDS)
    assert not (desk.home / "starts.txt").exists()
    assert len(desk.model.requests) == 1
    async with process(desk):
        await desk.answered("#general", ts, covers=ts)
        await desk.answered("#general", late, covers=late)

    assert await lines_of(desk.home / "starts.txt", 1) == ["v7"]
    assert len(desk.model.requests) == 3
    assert "Traceback" not in (desk.home / "treadle.log").read_text()


async def test_a_tool_that_runs_comes_to_its_end_and_its_observation_is_kept(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(desk.home)
    desk.grace = 10.0
    desk.model.play([DEPLOY, Say("Done.")])
    async with desk.treadle():
        ts = await desk.slack.person("alice").say("#general", "@treadle deploy")
        await lines_of(desk.home / "starts.txt", 1)
    assert len(desk.model.requests) == 1
    async with desk.treadle():
        assert await desk.answered("#general", ts, covers=ts) == "Done."

    assert await lines_of(desk.home / "starts.txt", 1) == ["v7"]
    assert desk.model.requests[1]["messages"][-1]["content"] == "Deployed."


async def test_a_model_that_takes_too_long_is_asked_again_later(desk: Desk) -> None:
    desk.grace = 0.3
    desk.model.play([Say("Never.", delay=60), Say("Here again.")])
    async with desk.treadle():
        ts = await desk.slack.person("alice").say("#general", "@treadle think")
        await desk.until(lambda: desk.slack.status("#general", ts))
        await desk.model.asked()
    assert desk.slack.status("#general", ts) == ""
    async with desk.treadle():
        assert await desk.answered("#general", ts, covers=ts) == "Here again."

    assert desk.bot_replies("#general", ts) == ["Here again."]


@pytest.mark.wall_clock
async def test_a_tool_that_blocks_does_not_hold_the_process(desk: Desk) -> None:
    desk.model.play([HANG, Say("It may have happened.")])
    async with process(desk, HASTY) as first:
        ts = await desk.slack.person("alice").say("#general", "@treadle hang")
        await lines_of(desk.home / "starts.txt", 1)
        began = time.monotonic()
        first.send_signal(signal.SIGTERM)
        await left(first, SECONDS)
        assert time.monotonic() - began < SECONDS
    async with process(desk):
        await desk.answered("#general", ts, covers=ts)

    assert await lines_of(desk.home / "starts.txt", 1) == ["v7"]
    told = str(desk.model.requests[1]["messages"][-1]["content"])
    assert told.startswith("hang was started, then Treadle was interrupted.")
