"""The Slack stand-in in a process of its own, in a workspace where a lot is written.

Commands come as JSON lines on standard input, one answer line for each.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import sys
from collections.abc import Callable, Mapping, Sequence

from bot.local_slack.events import envelope
from bot.local_slack.faults import Effect, FaultRule
from bot.local_slack.options import BOT_USER_ID, Options
from bot.local_slack.server import LocalSlack
from bot.local_slack.shapes import Json
from bot.local_slack.world import Channel

ASKER = "U0ALICE"
SECRET = "bench-signing-secret-of-no-worth"
PATTERN = (*("root", "reply") * 9, "reaction", "ours")
"""What twenty events are: chatter, a reaction, a reply in one of the bot's threads."""


class Hose:
    """Lets events out at a given rate and sees how long each waits for its acknowledgement."""

    def __init__(self, slack: LocalSlack) -> None:
        self._slack = slack
        self._numbers = itertools.count()
        self._threads: list[str] = []
        name = "chatter"
        channel = Channel("C0CHATTER", name, members={ASKER, BOT_USER_ID})
        self._channel = slack.world.add_channel(channel)

    async def connected(self, patience: float) -> Mapping[str, object]:
        if self._slack.options.request_url:
            await self._slack.until(self._reached, patience, "the app")
        else:
            await self._slack.until_connected(patience)
        return {}

    async def engage(self, threads: int, patience: float) -> Mapping[str, object]:
        """So many threads that are the bot's, each answered."""
        for number in range(threads):
            text = f"@treadle question {number}: say something"
            self._threads.append(await self._slack.person(ASKER).say(self._channel.id, text))
        await self._slack.until(lambda: all(map(self._answered, self._threads)), patience)
        return {}

    async def busy(self, turns: int) -> Mapping[str, object]:
        """Begin so many turns with a step, in a channel each."""
        for _ in range(turns):
            number = next(self._numbers)
            place = Channel(f"C0TURN{number}", f"turn-{number}", members={ASKER, BOT_USER_ID})
            there = self._slack.world.add_channel(place).id
            text = f"@treadle question {number}: multiply something"
            await self._slack.person(ASKER).say(there, text)
        return {}

    async def slow(self, seconds: float) -> Mapping[str, object]:
        """From now on each call of the Web API is answered so late; 0 ends that."""
        rules = [FaultRule(Effect.SLOW_BEFORE, "*", seconds=seconds)] if seconds else []
        self._slack.fail(*rules)
        return {}

    async def flood(
        self, rate: float, seconds: float, turns_a_second: float
    ) -> Mapping[str, Sequence[float] | int]:
        """`rate` events a second; returns how long each took, and how many came to nothing."""
        await self._slack.until_delivered()
        courier, loop = self._slack.courier, asyncio.get_running_loop()
        courier.records.clear()
        began, turns = loop.time(), 0
        for number in range(int(rate * seconds)):
            due = began + number / rate
            await asyncio.sleep(max(0.0, due - loop.time()))
            if (loop.time() - began) * turns_a_second > turns:
                turns += 1
                await self.busy(1)
            courier.event(self._event(PATTERN[number % len(PATTERN)]))
        took = loop.time() - began
        await self._slack.until_delivered(timeout=60)
        records = list(courier.records)
        late = [record.seconds for record in records]
        lost = sum(not record.ok for record in records) + len(courier.lost)
        return {"seconds": late, "lost": lost, "events": len(records), "took": [took]}

    def _event(self, what: str) -> Json:
        ts = self._slack.clock.ts()
        event: Json = {"type": "message", "channel": self._channel.id, "user": ASKER, "ts": ts}
        event |= {"event_ts": ts, "channel_type": "channel", "text": f"{what} {'chatter ' * 8}"}
        if what == "reaction":
            event = {"type": "reaction_added", "user": ASKER, "reaction": "wave", "event_ts": ts}
            event["item"] = {"type": "message", "channel": self._channel.id, "ts": ts}
        elif what == "reply":
            event["thread_ts"] = f"{float(ts) - 60:.6f}"
        elif what == "ours" and self._threads:
            event["thread_ts"] = self._threads[next(self._numbers) % len(self._threads)]
            event["text"] = f"<@U0BOB> {event['text']}"  # for somebody else: it is kept as data
        return envelope(self._slack.world, event, self._channel)

    def _answered(self, ts: str) -> bool:
        return any(m.get("bot_id") for m in self._slack.thread(self._channel.id, ts)[1:])

    def _reached(self) -> bool:
        return bool(self._slack.log.of("auth.test"))


async def serve(http_port: int) -> None:
    """With a port events go there by signed HTTP, else over Socket Mode."""
    url = f"http://127.0.0.1:{http_port}/slack/events" if http_port else None
    slack = await LocalSlack.start(
        Options(rate_limits=True, request_url=url, signing_secret=SECRET, post_burst=100)
    )
    hose = Hose(slack)
    options = slack.options
    started = {"SLACK_API_URL": slack.api_url, "SLACK_BOT_TOKEN": options.bot_token}
    started |= {"SLACK_SIGNING_SECRET": SECRET} if url else {"SLACK_APP_TOKEN": options.app_token}
    print(json.dumps(started), flush=True)
    reader = asyncio.StreamReader()
    protocol = asyncio.StreamReaderProtocol(reader)
    await asyncio.get_running_loop().connect_read_pipe(lambda: protocol, sys.stdin)
    while line := await reader.readline():
        command = json.loads(line)
        act: Callable[..., object] = getattr(hose, command.pop("do"))
        print(json.dumps(await act(**command)), flush=True)  # type: ignore[misc]
    await slack.stop()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--http-port", type=int, default=0)
    asyncio.run(serve(parser.parse_args().http_port))
