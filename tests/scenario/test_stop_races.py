"""A stop that meets something half done: each message is still answered for, and once."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from bot.local_slack.faults import Effect, FaultRule
from bot.slack.patience import Patience
from tests.doubles.desk import Desk, arguments
from tests.doubles.model_endpoint import Say

pytestmark = pytest.mark.usefixtures("slacks_pace")

POST = "chat.postMessage"


async def begun(desk: Desk, faults: int) -> None:
    """Until Slack has begun so many of its faults; a slow call is in its log only when it ends."""
    async with asyncio.timeout(10):
        while desk.slack.faults.fired() < faults:
            await asyncio.sleep(0.01)


async def test_a_stop_while_an_answer_in_doubt_is_looked_for_does_not_lose_it(desk: Desk) -> None:
    desk.patience = Patience(look_up=0.2)
    desk.slack.fail(
        FaultRule(Effect.SERVER_ERROR, POST, count=1),
        FaultRule(Effect.SLOW_BEFORE, "conversations.replies", seconds=2.0),
    )
    desk.model.play([Say("Here it is.")])
    alice = desk.slack.person("alice")
    async with desk.treadle():
        root = await alice.say("#general", "@treadle go")
        await begun(desk, faults=2)
        await alice.react("#general", root, "x")
        await desk.answered("#general", root, covers=root)
        await desk.nothing_is_left_to_do()

    assert len(desk.bot_replies("#general", root)) == 1


LOOK = ("list_dir", arguments(path="."))


@pytest.mark.parametrize(
    ("effect", "verbosity", "method"),
    [
        (Effect.LOSE_ANSWER, "steps", POST),
        (Effect.SLOW_AFTER, "steps", POST),
        (Effect.SLOW_AFTER, "card", "chat.startStream"),
    ],
)
async def test_a_stop_on_a_post_of_which_it_is_not_known_that_it_stands_there_waits_for_that(
    desk: Desk, effect: Effect, verbosity: str, method: str
) -> None:
    """Slack does not say in which thread a message stands that a reaction is on."""
    desk.config(f'[slack]\nverbosity = "{verbosity}"')
    desk.patience = Patience(look_up=1.0)
    desk.slack.fail(FaultRule(effect, method, count=1, seconds=2.0))
    gate = asyncio.Event()
    desk.model.play([Say("I look.", calls=(LOOK,)), Say("Never.", gate=gate)])
    alice = desk.slack.person("alice")
    async with desk.treadle():
        root = await alice.say("#general", "@treadle go")
        (_, post) = await desk.until(lambda: _two(desk.slack.thread("#general", root)))
        await alice.react("#general", post["ts"], "x")
        assert "Stopped by alice" in await desk.answered("#general", root, covers=root)
        gate.set()


def _two(messages: list[dict[str, Any]]) -> list[dict[str, Any]] | None:
    return messages if len(messages) == 2 else None


async def test_a_stop_while_treadle_is_away_leaves_out_the_rest_of_a_long_answer(
    desk: Desk,
) -> None:
    desk.slack.change(hold_while_offline=True)
    text = "\n\n".join(f"Paragraph {n} " + "of many words " * 40 for n in range(60))
    desk.model.play([Say(text)])
    alice = desk.slack.person("alice")
    async with desk.treadle():
        desk.slack.fail(FaultRule(Effect.RATE_LIMIT, POST, skip=1, seconds=60, count=1))
        root = await alice.say("#general", "@treadle report")
        await desk.until(lambda: len(desk.slack.log.of(POST)) == 2)
    said = await alice.reply("#general", root, "stop")
    async with desk.treadle():
        notice = await desk.answered("#general", root, covers=root)
        assert await desk.answered("#general", root, covers=said) == notice
        await desk.nothing_is_left_to_do()

    first, last = desk.bot_replies("#general", root)
    assert first.startswith("Paragraph 0 ")
    assert last == notice
    assert "1 were posted, the rest is left out." in notice


async def test_a_stop_that_slack_delivers_before_the_reply_that_it_is_about_holds(
    desk: Desk,
) -> None:
    """Slack does not say in which thread the message stands that a reaction is on."""
    desk.model.play([Say("One."), Say("Never.")])
    alice = desk.slack.person("alice")
    async with desk.treadle():
        root = await alice.say("#general", "@treadle one")
        await desk.answered("#general", root, covers=root)
        desk.slack.fail(FaultRule(Effect.HOLD, "message", count=1))
        second = await alice.reply("#general", root, "two")
        await alice.react("#general", second, "x")
        await desk.slack.until_delivered()
        desk.slack.courier.release()
        notice = await desk.answered("#general", root, covers=second)

    assert notice.startswith("Stopped by alice.")
    assert len(desk.model.requests) == 1
