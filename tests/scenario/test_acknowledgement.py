"""How soon Slack is acknowledged while a lot is written. `tests.bench.intake` measures more."""

from __future__ import annotations

import asyncio
import statistics
from pathlib import Path

import pytest

from bot.local_slack.events import envelope
from bot.local_slack.faults import Effect, FaultRule
from bot.local_slack.options import Options
from bot.local_slack.shapes import Json
from tests.doubles.desk import Desk, open_desk
from tests.doubles.model_endpoint import Say
from tests.scenario.test_signed_http import SECRET, free_port

PROMISED = 0.25
"""Seconds, of the 99th percentile."""
RATE, EVENTS = 50, 100
"""Modest: the stand-in, the model and the bot share one event loop here."""


async def chatter(desk: Desk) -> None:
    """Messages and replies of a busy channel, none of them for the bot."""
    general, courier = desk.slack.channel("#general"), desk.slack.courier
    for number in range(EVENTS):
        ts = desk.slack.clock.ts()
        event: Json = {"type": "message", "channel": general.id, "user": "U0BOB", "ts": ts}
        event |= {"text": "chatter " * 8, "event_ts": ts, "channel_type": "channel"}
        if number % 2:
            event["thread_ts"] = f"{float(ts) - 60:.6f}"
        courier.event(envelope(desk.slack.world, event, general))
        await asyncio.sleep(1 / RATE)
    await desk.slack.until_delivered()


@pytest.mark.wall_clock
@pytest.mark.parametrize("http", [False, True])
async def test_busy_channels_turns_and_a_slow_slack_delay_no_acknowledgement(
    tmp_path: Path, http: bool
) -> None:
    port = free_port()
    url = f"http://127.0.0.1:{port}/slack/events" if http else None
    async with open_desk(tmp_path, options=Options(request_url=url, signing_secret=SECRET)) as desk:
        if http:
            desk.port = port
            desk.environ = {"SLACK_APP_TOKEN": "", "SLACK_SIGNING_SECRET": SECRET}
        gate = asyncio.Event()
        desk.model.play(lambda _: Say("Done.", gate=gate))
        alice = desk.slack.person("alice")
        async with desk.treadle():
            roots = [await alice.say("#general", f"@treadle {n}") for n in range(3)]
            await desk.model.asked(3)
            desk.slack.fail(FaultRule(Effect.SLOW_BEFORE, "*", seconds=5))
            desk.slack.courier.records.clear()
            await chatter(desk)
            records = list(desk.slack.courier.records)
            desk.slack.fail()
            gate.set()
            for root in roots:
                await desk.answered("#general", root, covers=root)

    assert all(record.ok for record in records)
    assert len(records) == EVENTS
    assert statistics.quantiles([r.seconds for r in records], n=100)[98] < PROMISED
