"""Many threads at once with Slack's published limits enforced: how soon answers stand there, what
they cost, and that nothing is lost or twice.

Slack and Treadle keep the same limits at PACE times their speed, so that a test takes seconds; the
seconds below are Slack's.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import pytest

from bot.local_slack.options import BOT_USER_ID, Options
from bot.local_slack.world import Channel
from bot.slack.patience import Patience
from tests.doubles.desk import Desk, arguments, open_desk
from tests.doubles.model_endpoint import Request, Say

PROMPT = 3.0
"""Seconds from the model's answer until it stands in the thread."""
CALLS = 6
"""Slack calls of a turn, on average."""


@dataclass
class Crowd:
    """Threads whose turns take `steps` steps each, and when the model gave each answer."""

    desk: Desk
    pace: float
    model_seconds: float
    steps: int
    asked: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Channel and `ts` by the thread's name."""
    answered_at: dict[str, float] = field(default_factory=dict)

    def reply(self, request: Request) -> Say:
        delay = self.model_seconds / self.pace
        name = re.findall(r"thread-\d+", str(request["messages"]))[0]
        step = sum(message["role"] == "tool" for message in request["messages"])
        if step < self.steps:
            call = ("calculate", arguments(expression=f"{step} + 1000"))
            return Say(f"{name} step {step}.", calls=(call,), delay=delay)
        self.answered_at[name] = time.time() + delay
        return Say(f"{name} is done.", delay=delay)

    async def ask(self, channel: str) -> None:
        name = f"thread-{len(self.asked)}"
        ts = await self.desk.slack.person("alice").say(channel, f"@treadle {name}")
        self.asked[name] = (channel, ts)

    async def all_stands(self) -> None:
        for channel, ts in self.asked.values():
            await self.desk.until(partial(self._stands, channel, ts), timeout=55.0)
        await self.desk.nothing_is_left_to_do()

    def _stands(self, channel: str, ts: str) -> bool:
        shown = "\n".join(self.desk.bot_replies(channel, ts))
        return "is done." in shown and shown.count("→") >= self.steps

    def waits(self) -> list[float]:
        """For each answer, Slack's seconds from the model's end of it until it was posted."""
        posted = {
            call.args["thread_ts"]: call.at
            for call in self.desk.slack.log.of("chat.postMessage")
            if call.ok and "is done." in call.args["text"]
        }
        return sorted(
            (posted[ts] - self.answered_at[name]) * self.pace
            for name, (_, ts) in self.asked.items()
        )

    def calls_of_a_turn(self) -> float:
        start = ("auth.test", "apps.connections.open")
        return sum(c.method not in start for c in self.desk.slack.log) / len(self.asked)

    def everything_stands_once(self) -> None:
        for name, (channel, ts) in self.asked.items():
            shown = "\n".join(self.desk.bot_replies(channel, ts))
            steps = re.findall(rf"{name} step (\d+)\.", shown)
            assert steps == [str(n) for n in range(self.steps)], name
            assert shown.count(f"{name} is done.") == 1
            assert re.findall(r"→ 1,?(\d+)", shown) == [f"{n:03}" for n in range(self.steps)]


@asynccontextmanager
async def crowd(
    home: Path, channels: Sequence[str], *, steps: int, pace: float, model_seconds: float
) -> AsyncIterator[Crowd]:
    options = Options(rate_limits=True, pace=pace)
    async with open_desk(home, options=options) as desk:
        desk.patience = Patience(pace=pace)
        members = {"U0ALICE", BOT_USER_ID}
        desk.slack.add_channels([Channel(c, c.lower(), members=members) for c in channels])
        opened = Crowd(desk, pace, model_seconds, steps)
        desk.model.play(opened.reply)
        async with desk.treadle():
            yield opened


@pytest.mark.wall_clock
async def test_fifty_threads_in_fifty_channels(tmp_path: Path) -> None:
    channels = [f"C{n}" for n in range(50)]
    async with crowd(tmp_path, channels, steps=3, pace=1.0, model_seconds=0.2) as on:
        for channel in channels:
            await on.ask(f"#{channel.lower()}")
        await on.all_stands()
        on.everything_stands_once()
        assert on.waits()[-1] <= PROMPT
        assert on.calls_of_a_turn() <= CALLS


@pytest.mark.wall_clock
async def test_twenty_threads_in_one_channel_that_end_one_after_another(tmp_path: Path) -> None:
    """On the average a bit less than one a second, which is what Slack takes."""
    async with crowd(tmp_path, ["C1"], steps=8, pace=4.0, model_seconds=0.5) as on:
        for _ in range(20):
            await on.ask("#c1")
            await asyncio.sleep(1.25 / on.pace)
        await on.all_stands()
        on.everything_stands_once()
        assert on.waits()[-1] <= PROMPT
        assert on.calls_of_a_turn() <= CALLS


@pytest.mark.wall_clock
async def test_twenty_threads_in_one_channel_that_end_at_the_same_moment(tmp_path: Path) -> None:
    """Slack takes three at once and then one a second: the last answer cannot stand sooner."""
    async with crowd(tmp_path, ["C1"], steps=8, pace=4.0, model_seconds=0.5) as on:
        for _ in range(20):
            await on.ask("#c1")
        await on.all_stands()
        on.everything_stands_once()
        assert on.waits()[-1] <= 20 - 3 + PROMPT
        assert on.calls_of_a_turn() <= CALLS
