"""What a turn costs in calls, with Slack's published limits enforced."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bot.local_slack.faults import Effect, FaultRule
from bot.local_slack.options import BOT_USER_ID, Options
from bot.local_slack.world import Channel
from bot.slack.patience import Patience
from tests.doubles.desk import Desk, open_desk
from tests.doubles.model_endpoint import Say

SESSION = "agents.sessions.setStatus"


@pytest.fixture
async def strict(tmp_path: Path) -> AsyncIterator[Desk]:
    """Slack's limits are enforced, in a workspace with 30 channels."""
    async with open_desk(tmp_path, options=Options(rate_limits=True)) as desk:
        members = {"U0ALICE", BOT_USER_ID}
        desk.slack.add_channels([Channel(f"C{n}", f"c{n}", members=members) for n in range(30)])
        yield desk


def calls(desk: Desk) -> Counter[str]:
    return Counter(call.method for call in desk.slack.log)


async def test_an_answer_that_comes_at_once_costs_one_call(strict: Desk) -> None:
    strict.model.play(lambda _: Say("Yes."))
    alice = strict.slack.person("alice")
    async with strict.treadle():
        first = await alice.say("#general", "@treadle one")
        await strict.answered("#general", first, covers=first)
        await strict.nothing_is_left_to_do()
        strict.slack.log.clear()
        for channel in ("#general", "#ops"):
            ts = await alice.say(channel, "@treadle two")
            await strict.answered(channel, ts, covers=ts)
        await strict.nothing_is_left_to_do()

    assert calls(strict) == {"chat.postMessage": 2}


async def test_more_sessions_than_slack_takes_are_statuses_and_no_call_is_in_vain(
    strict: Desk,
) -> None:
    """Slack takes 50 calls for sessions a minute; each session has its second one reserved."""
    strict.model.play(lambda _: Say("Yes.", delay=1.0))
    alice = strict.slack.person("alice")
    async with strict.treadle():
        for _ in range(2):
            asked = [(f"#c{n}", await alice.say(f"#c{n}", "@treadle hi")) for n in range(30)]
            for channel, ts in asked:
                await strict.answered(channel, ts, covers=ts)
        await strict.nothing_is_left_to_do()

    assert [call for call in strict.slack.log if call.status == 429] == []
    states = [call.args["status"] for call in strict.slack.log.of(SESSION)]
    assert states.count("processing") == states.count("active") >= 10
    statuses = len(strict.slack.log.of("assistant.threads.setStatus"))
    assert statuses + states.count("processing") == 60


@pytest.mark.wall_clock
async def test_a_method_that_must_wait_holds_up_no_other(strict: Desk) -> None:
    """Slack asks to wait with users.info: whoever is known is answered meanwhile."""
    strict.model.play(lambda _: Say("Yes."))
    alice, bob = strict.slack.person("alice"), strict.slack.person("bob")
    async with strict.treadle():
        first = await alice.say("#general", "@treadle one")
        await strict.answered("#general", first, covers=first)
        strict.slack.fail(FaultRule(Effect.RATE_LIMIT, "users.info", count=1, seconds=3))
        limited = await bob.say("#general", "@treadle two")
        await strict.until(lambda: [c for c in strict.slack.log if c.status == 429])
        began = time.monotonic()
        ts = await alice.say("#general", "@treadle three")
        await strict.answered("#general", ts, covers=ts)
        assert time.monotonic() - began < 2.0
        await strict.answered("#general", limited, covers=limited)
        assert time.monotonic() - began > 2.0


async def test_a_channel_that_must_wait_keeps_the_limits_of_a_faster_slack(tmp_path: Path) -> None:
    """The pace that tests use is the same on both sides."""
    options = Options(rate_limits=True, pace=10.0)
    async with open_desk(tmp_path, options=options) as desk:
        desk.patience = Patience(pace=10.0)
        desk.model.play(lambda _: Say("Yes."))
        alice = desk.slack.person("alice")
        async with desk.treadle():
            roots = [await alice.say("#general", f"@treadle {n}") for n in range(12)]
            for ts in roots:
                await desk.answered("#general", ts, covers=ts)

        assert [call for call in desk.slack.log if call.status == 429] == []
