"""The Slack stand-in in a process of its own, with the people who ask.

Commands come as JSON lines on standard input, one answer line for each. Times are of the
monotonic clock, which all processes of a machine share.
"""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field

from bot.local_slack.host import Change
from bot.local_slack.options import BOT_USER_ID, Options
from bot.local_slack.server import LocalSlack
from bot.local_slack.world import Channel

ASKER = "U0ALICE"


@dataclass(slots=True)
class Question:
    """One question: what its thread must come to hold, and when it did."""

    channel: str
    wanted: list[str]
    asked_at: float
    answered_at: float | None = None
    replies: list[str] = field(default_factory=list)

    def hear(self, text: str) -> None:
        self.replies.append(text)
        if self.answered_at is None and self.wanted[-1] in text:
            self.answered_at = time.monotonic()

    @property
    def missing(self) -> list[str]:
        return [text for text in self.wanted if not any(text in reply for reply in self.replies)]


class Crowd:
    """Asks in many channels at once and watches what comes back."""

    def __init__(self, slack: LocalSlack) -> None:
        self._slack = slack
        self._asked = 0
        self._open: dict[tuple[str, str], Question] = {}
        self._connected_at: float | None = None
        slack.world.subscribe(self._watch)

    async def connected(self, patience: float) -> Mapping[str, object]:
        await self._slack.until_connected(patience)
        return {"at": self._connected_at}

    async def ask(
        self,
        first: int,
        threads: int,
        step: bool,
        patience: float,
        apart: float = 0.0,
        quiet: bool = False,
    ) -> Mapping[str, object]:
        """One question in each of `threads` channels, at once or so many seconds `apart`.

        Returns when all is there; `quiet`: of a step nothing is to be seen.
        """
        asked = []
        for place in range(threads):
            asked.append(await self._question(first + place, step, quiet))
            await asyncio.sleep(apart)
        try:
            await self._slack.until(lambda: not self._open, patience, "every answer and step")
        except TimeoutError:
            self._open.clear()
        seconds = [q.answered_at - q.asked_at for q in asked if q.answered_at is not None]
        lost = [f"{q.channel} lacks {', '.join(q.missing)}" for q in asked if q.missing]
        return {"seconds": seconds, "lost": lost}

    async def calls(self) -> Mapping[str, object]:
        """How many calls the app made since this was last asked."""
        await self._slack.until_delivered()
        total = self._slack.log.total
        self._slack.log.clear()
        return {"total": total}

    async def _question(self, place: int, step: bool, quiet: bool) -> Question:
        self._asked += 1
        number, channel = self._asked, self._channel(place)
        wanted = [f"Answer {number}: this is what the model says in about a line."]
        if step and not quiet:
            wanted = [f"I multiply for question {number}.", "Calculate 17 * 23", "391", *wanted]
        text = f"@treadle question {number}: {'multiply' if step else 'say'} something"
        question = Question(channel, wanted, time.monotonic())
        ts = await self._slack.person(ASKER).say(channel, text)
        self._open[channel, ts] = question
        return question

    def _channel(self, place: int) -> str:
        name = f"bench-{place}"
        members = {ASKER, BOT_USER_ID}
        channel = Channel(f"C0BENCH{place}", name, members=members)
        return self._slack.world.add_channel(channel).id

    def _watch(self, change: Change) -> None:
        if change.type == "connection" and change.data["connected"] and not self._connected_at:
            self._connected_at = time.monotonic()
        if change.type != "message":
            return
        message = change.data["message"]
        key = change.channel, str(message.get("thread_ts"))
        if message.get("bot_id") and (question := self._open.get(key)) is not None:
            question.hear(self._slack.visible_text(message))
            if not question.missing:
                del self._open[key]


async def serve() -> None:
    slack = await LocalSlack.start(Options(rate_limits=True))
    crowd = Crowd(slack)
    options = slack.options
    started = {
        "SLACK_API_URL": slack.api_url,
        "SLACK_BOT_TOKEN": options.bot_token,
        "SLACK_APP_TOKEN": options.app_token,
    }
    print(json.dumps(started), flush=True)
    reader = asyncio.StreamReader()
    protocol = asyncio.StreamReaderProtocol(reader)
    await asyncio.get_running_loop().connect_read_pipe(lambda: protocol, sys.stdin)
    while line := await reader.readline():
        command = json.loads(line)
        act = getattr(crowd, command.pop("do"))
        print(json.dumps(await act(**command)), flush=True)
    await slack.stop()


if __name__ == "__main__":
    asyncio.run(serve())
