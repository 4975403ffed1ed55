"""A whole Treadle at work in a test: the Slack stand-in, a scripted model, the bot between them."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar

from bot.config import Need, Settings, load_settings
from bot.local_slack.options import Options
from bot.local_slack.server import LocalSlack
from bot.main import run_slack
from bot.making import make_model
from bot.model import ChatModel
from bot.model.endpoint import FIRST_PAUSE
from bot.rehearsal import RehearsalModel
from bot.runs.pulse import Pulse
from bot.slack.patience import Patience
from tests.doubles.model_endpoint import ModelEndpoint, Script

T = TypeVar("T")

QUICK = Patience(pace=20.0)
"""For tests that are not about waiting for Slack's limits."""
PLACE = "T0LOCAL-C0GENERAL"
"""The workspace directory of #general."""


@dataclass
class Desk:
    """What a scenario holds in its hands."""

    slack: LocalSlack
    model: ModelEndpoint
    home: Path
    environ: dict[str, str]
    patience: Patience = field(default_factory=Patience)
    model_pause: float = FIRST_PAUSE
    """Seconds before a failed call of the model is made again."""
    grace: float = 0.0
    """Seconds in which a step may come to its end when Treadle is stopped."""
    port: int = 0
    pulse: Pulse | None = None

    def environment(self, **more: str) -> dict[str, str]:
        options = self.slack.options
        return {
            "SLACK_BOT_TOKEN": options.bot_token,
            "SLACK_APP_TOKEN": options.app_token,
            "SLACK_API_URL": self.slack.api_url,
            "OPENAI_BASE_URL": self.model.base_url,
            "OPENAI_API_KEY": "sk-scenario-key-123",
            "OPENAI_MODEL": "scripted",
            **self.environ,
            **more,
        }

    @asynccontextmanager
    async def treadle(self, **more: str) -> AsyncIterator[asyncio.Task[None]]:
        """Treadle itself, connected; closed in order at the end."""
        settings = load_settings(self.environment(**more), self.home, need=Need.RUN)
        stop, ready = asyncio.Event(), asyncio.Event()
        task = asyncio.create_task(
            run_slack(
                settings,
                stop=stop,
                ready=lambda _: ready.set(),
                port=self.port,
                patience=self.patience,
                grace=self.grace,
                model=replace_pause(settings, self.model_pause),
                pulse=self.pulse,
            )
        )
        waiter = asyncio.create_task(ready.wait())
        await asyncio.wait({task, waiter}, return_when=asyncio.FIRST_COMPLETED)
        waiter.cancel()
        if task.done():
            task.result()
        try:
            yield task
        finally:
            stop.set()
            await task

    def config(self, toml: str) -> None:
        """The operator's treadle.toml."""
        (self.home / "treadle.toml").write_text(toml, "utf-8")

    def workspace(self, place: str = PLACE) -> Path:
        """The directory that the tools may touch in #general (or another place)."""
        path = self.home / "workspace" / place
        path.mkdir(parents=True, exist_ok=True)
        return path

    def thread(self, channel: str, ts: str) -> list[str]:
        """What a person reads in the thread, message by message."""
        return [self.slack.visible_text(message) for message in self.slack.thread(channel, ts)]

    async def replies(self, channel: str, ts: str, count: int) -> list[str]:
        """The bot's first `count` replies, as soon as they are there."""

        def there() -> list[str] | None:
            found = self.bot_replies(channel, ts)
            return found if len(found) >= count else None

        return await self.until(there)

    def bot_replies(self, channel: str, ts: str) -> list[str]:
        messages = self.slack.thread(channel, ts)[1:]
        return [self.slack.visible_text(m) for m in messages if m.get("bot_id")]

    async def command(self, who: str, text: str, channel: str = "#general") -> str:
        """What `/treadle` with this text answers to this person, as they read it.

        Without the backticks, which they do not see.
        """
        person = self.slack.person(who)
        before = len(person.ephemeral())
        await person.slash(channel, "/treadle", text)
        await self.until(lambda: len(person.ephemeral()) > before or None)
        return self.slack.visible_text(person.ephemeral()[-1]).replace("`", "")

    async def until(self, condition: Callable[[], T | None], timeout: float = 15.0) -> T:
        """The condition's value as soon as it holds."""
        return await self.slack.until(condition, timeout=timeout)

    async def nothing_is_left_to_do(self) -> None:
        """Until every thread is written down as finished, which is after its answer was posted."""
        with closing(sqlite3.connect(self.home / ".treadle" / "treadle.db")) as database:
            async with asyncio.timeout(15):
                while database.execute("SELECT 1 FROM threads WHERE busy").fetchone():
                    await asyncio.sleep(0.01)

    async def answered(self, channel: str, ts: str, covers: str) -> str:
        """The text of the final message that covers the message `covers`."""

        def final() -> str | None:
            for message in self.slack.thread(channel, ts):
                payload = (message.get("metadata") or {}).get("event_payload", {})
                if covers in payload.get("covers", []):
                    return self.slack.visible_text(message)
            return None

        return await self.until(final)


def replace_pause(settings: Settings, pause: float) -> ChatModel | RehearsalModel:
    """The model of the settings, with another first pause after a failed call."""
    model = make_model(settings)
    if isinstance(model, RehearsalModel):
        return model
    return ChatModel(replace(model.endpoint, first_pause=pause))


@asynccontextmanager
async def open_desk(
    home: Path, script: Script = (), options: Options | None = None
) -> AsyncIterator[Desk]:
    """A desk with an empty home and workspace."""
    slack = await LocalSlack.start(options or Options())
    model = ModelEndpoint(script)
    await model.start()
    try:
        yield Desk(slack, model, home, {})
    finally:
        await model.stop()
        await slack.stop()


def arguments(**values: object) -> str:
    return json.dumps(values, ensure_ascii=False)
