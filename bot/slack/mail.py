"""A message as a call of chat.postMessage, and the letter to whoever cannot be answered in place.

Source: docs.slack.dev, chat.postMessage (a user's id as `channel` is their direct messages).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass

from bot import words
from bot.errors import DeliveryError, DeliveryRefused
from bot.slack.blocks import plain, section
from bot.slack.markdown import RenderedMessage
from bot.slack.slots import POST
from bot.slack.threads import EVENT_TYPE
from bot.slack.web import NotSent, RateLimited, SlackClient, call
from bot.storage.deliveries import Deliveries, State

log = logging.getLogger(__name__)

TRIES = 3


@dataclass(frozen=True, slots=True)
class Mail:
    """Posts messages; the slot must have been taken."""

    client: SlackClient

    async def post(
        self,
        channel: str,
        message: RenderedMessage,
        key: str,
        covers: Sequence[str],
        thread_ts: str | None = None,
    ) -> str:
        """Its `ts`. It is found again by its `key` and says which messages it answers."""
        arguments: dict[str, object] = {
            "channel": channel,
            "text": message.text,
            "unfurl_links": False,
            "unfurl_media": False,
            "metadata": {
                "event_type": EVENT_TYPE,
                "event_payload": {"key": key, "covers": list(covers)},
            },
        }
        if thread_ts is not None:
            arguments["thread_ts"] = thread_ts
        if message.blocks:
            arguments["blocks"] = list(message.blocks)
        else:
            arguments["mrkdwn"] = False  # its stars and underscores are to be seen
        answer = await call(self.client, POST, arguments, slots=0)
        return str(answer.get("ts", ""))


@dataclass(frozen=True, slots=True)
class Letter:
    """What could not be posted in a thread of `channel`, for one of those who asked."""

    thread: str
    piece: str
    asker: str
    channel: str
    refused: DeliveryRefused
    covers: tuple[str, ...]

    @property
    def message(self) -> RenderedMessage:
        first, rest = words.not_posted(self.refused.code)
        place = {"type": "channel", "channel_id": self.channel}
        return RenderedMessage(f"{first} {rest}", (section(plain(first), place, plain(rest)),))


@dataclass(frozen=True, slots=True)
class Letters:
    """Tells people in a direct message; never raises."""

    mail: Mail
    deliveries: Deliveries

    async def send(self, letter: Letter) -> None:
        key = f"{letter.thread}#{letter.piece}"
        await self.deliveries.begin(letter.thread, key, (letter.piece,))
        try:
            ts = await self._post(letter, key)
        except DeliveryError as error:
            log.error("%s could not be told either: %s", letter.asker, error)
            await self.deliveries.end(key, State.GIVEN_UP)
        else:
            await self.deliveries.end(key, State.POSTED, ts)

    async def _post(self, letter: Letter, key: str) -> str:
        for left in reversed(range(TRIES)):
            await self.mail.client.pacer.slot(letter.asker, urgent=True)
            try:
                return await self.mail.post(letter.asker, letter.message, key, letter.covers)
            except RateLimited:
                if not left:
                    raise
            except NotSent:
                if not left:
                    raise
                await asyncio.sleep(1.0)
        raise AssertionError("the last try returns or raises")
