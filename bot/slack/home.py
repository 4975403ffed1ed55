"""App Home: what the bot may do for whoever looks at it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence

from bot import words
from bot.errors import DeliveryError
from bot.slack.blocks import Block, bold, context, plain, section
from bot.slack.web import SlackClient, call

log = logging.getLogger(__name__)


class Home:
    """Publishes the home view, in the background: no listener waits for the Web API."""

    def __init__(self, client: SlackClient, model: str, tools: Sequence[tuple[str, str]]) -> None:
        self._client, self._model, self._tools = client, model, tools
        self._tasks: set[asyncio.Task[None]] = set()

    def opened(self, user: str) -> None:
        """Publish for `user`, soon."""
        task = asyncio.create_task(self._publish(user))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _publish(self, user: str) -> None:
        view = {"type": "home", "blocks": home_blocks(self._model, self._tools)}
        try:
            await call(self._client, "views.publish", {"user_id": user, "view": view})
        except DeliveryError as error:
            log.warning("the App Home of %s was not published: %s", user, error)


def home_blocks(model: str, tools: Sequence[tuple[str, str]]) -> list[Block]:
    """The view: how to begin, and each tool with what it does."""
    head: Block = {"type": "header", "text": {"type": "plain_text", "text": "Treadle"}}
    lines = [section(bold(name), plain(f"  {what}")) for name, what in tools[:40]]
    return [
        head,
        section(plain(words.home_intro())),
        {"type": "divider"},
        section(bold(words.home_tools())),
        *lines,
        context(words.home_model(model)),
    ]
