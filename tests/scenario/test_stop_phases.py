"""A stop holds within a second whatever the turn is waiting for."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path

import pytest

from bot.local_slack.shapes import Json
from tests.doubles.desk import Desk, arguments, open_desk
from tests.doubles.model_endpoint import Refuse, Say

SOON = 1.0
"""Seconds."""
RULE = '[[policy]]\ntool = "write_file"\ndecision = "ask"\n'
WRITE = Say("I write.", calls=(("write_file", arguments(path="n.txt", content="seven")),))
LATER = Refuse(429, {"error": {"message": "slow down"}}, {"retry-after": "60"})


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    async with open_desk(tmp_path) as opened:
        opened.config(RULE)
        yield opened


def card(desk: Desk, root: str) -> Json | None:
    found = [m for m in desk.slack.thread("#general", root) if m.get("bot_id")]
    with_buttons = [m for m in found if any(b["type"] == "actions" for b in m.get("blocks", ()))]
    return with_buttons[0] if with_buttons else None


async def waiting_for_a_yes(desk: Desk) -> str:
    desk.model.play([WRITE, Say("Never.")])
    root = await desk.slack.person("alice").say("#general", "@treadle write seven")
    await desk.until(lambda: card(desk, root))
    return root


async def waiting_for_the_model(desk: Desk) -> str:
    desk.model.play([Say("Never.", delay=60)])
    root = await desk.slack.person("alice").say("#general", "@treadle think")
    await desk.model.asked()
    return root


async def waiting_for_a_limit(desk: Desk) -> str:
    """The endpoint asks for a minute before the next try."""
    desk.model.play([LATER, Say("Never.")])
    root = await desk.slack.person("alice").say("#general", "@treadle think")
    await desk.model.asked()
    return root


async def says_it(desk: Desk, root: str) -> None:
    await desk.slack.person("alice").reply("#general", root, "!stop")


async def reacts(desk: Desk, root: str) -> None:
    await desk.slack.person("alice").react("#general", root, "x")


async def deletes(desk: Desk, root: str) -> None:
    await desk.slack.person("alice").reply("#general", root, "@bob hm")  # leaves a tombstone
    await desk.slack.person("alice").delete("#general", root)


async def presses_slacks_button(desk: Desk, root: str) -> None:
    await desk.slack.person("alice").stop("#general", root)


Step = Callable[[Desk], Awaitable[str]]
Door = Callable[[Desk, str], Awaitable[None]]


@pytest.mark.wall_clock
@pytest.mark.parametrize("phase", [waiting_for_a_yes, waiting_for_the_model, waiting_for_a_limit])
@pytest.mark.parametrize("door", [says_it, reacts, deletes, presses_slacks_button])
async def test_a_stop_holds_within_a_second(desk: Desk, phase: Step, door: Door) -> None:
    async with desk.treadle():
        root = await phase(desk)
        if door is presses_slacks_button:
            desk.slack.world.sessions.set_session("C0GENERAL", root, "processing")
        at = time.monotonic()
        await door(desk, root)
        notice = await desk.answered("#general", root, covers=root)
        assert time.monotonic() - at < SOON
        await desk.nothing_is_left_to_do()

    assert notice.startswith("Stopped by ")
    assert len(desk.model.requests) == 1
    assert not (desk.workspace() / "n.txt").exists()


async def test_a_stop_that_meets_an_approval_on_its_way_wins_or_loses_but_never_both(
    desk: Desk,
) -> None:
    """The click and the word at the same moment: the file is written and shown, or it is not."""
    desk.model.play(lambda _: Say("Done."))
    async with desk.treadle():
        root = await waiting_for_a_yes(desk)
        button = card(desk, root)
        assert button is not None
        ada, alice = desk.slack.person("ada"), desk.slack.person("alice")
        await asyncio.gather(
            ada.click(button, "treadle_approve"),
            alice.reply("#general", root, "stop"),
        )
        said = await desk.answered("#general", root, covers=root)
        await desk.nothing_is_left_to_do()

    written = (desk.workspace() / "n.txt").exists()
    if said.startswith("Stopped"):
        assert not written or "Done before that" in said or "may or may not" in said
    else:
        assert written
