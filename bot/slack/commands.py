"""`/treadle`: acknowledged at once, answered to its author alone a moment later.

Source: docs.slack.dev, "Implementing slash commands": an acknowledgement within 3 s, answers at the
response address for 30 minutes. A command changes something or shows something; a lost one is
simply typed again, so it is not stored.
"""

from __future__ import annotations

import asyncio
import logging

from bot import words
from bot.admin.commands import Commands
from bot.admin.house import House
from bot.policy import Place
from bot.slack.inbound import Payload, text_of
from bot.slack.mrkdwn import MARKS, shown
from bot.slack.people import SlackPeople
from bot.slack.web import SlackClient, respond

log = logging.getLogger(__name__)

LIMIT = 11_000
"""Characters of an answer; Slack was seen to refuse a little over 13,000."""


class SlashCommands:
    """Answers commands in the background: no listener waits for people to be looked up."""

    def __init__(self, client: SlackClient, people: SlackPeople, house: House, team: str) -> None:
        self._client, self._team = client, team
        self._commands = Commands(house, people, MARKS)
        self._tasks: set[asyncio.Task[None]] = set()

    def received(self, command: Payload) -> None:
        """Answer soon."""
        task = asyncio.create_task(self._answer(command))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def close(self) -> None:
        """What has begun is finished, for a moment at most: it may be changing something."""
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=2.0)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _answer(self, command: Payload) -> None:
        try:
            text = await self._text(command)
        except Exception:
            log.exception("a command was not answered")
            text = words.command_broke()
        if text:
            body = {"response_type": "ephemeral", "text": shown(text, LIMIT)}
            await respond(self._client, text_of(command, "response_url"), body)

    async def _text(self, command: Payload) -> str:
        # Not the payload's team: that of somebody of another organisation is their own.
        place = Place(self._team, text_of(command, "channel_id"))
        user, text = text_of(command, "user_id"), text_of(command, "text")
        return await self._commands.answer(user, place, text)
