"""Reads threads: what others wrote before the bot came, and whether a post of its own stands there.

Source: docs.slack.dev, conversations.replies.
"""

from __future__ import annotations

import itertools
import logging
from collections.abc import AsyncIterator, Mapping, Sequence

from bot.agent.entries import Quote
from bot.errors import DeliveryError, DeliveryRefused
from bot.slack.inbound import Payload, Self, read_event, readable
from bot.slack.people import SlackPeople
from bot.slack.web import SlackClient, read
from bot.storage.items import Item

log = logging.getLogger(__name__)

QUOTED_MESSAGES = 50
QUOTED_CHARACTERS = 20_000
PAGES = 10
"""So many are read of what people wrote; for a post of one's own, all."""
READ_SECONDS = 15.0
"""How long a failing page is tried again; the answer waits for it."""
EVENT_TYPE = "treadle_delivery"


class SlackThreads:
    """`bot.runs.ports.Surroundings` on Slack, and the look-up of one's own posts."""

    def __init__(self, client: SlackClient, people: SlackPeople, me: Self) -> None:
        self._client, self._people, self._me = client, people, me

    async def earlier(self, thread: str, before: str) -> Sequence[Quote]:
        team, _, root_ts = thread.split(":", 2)
        try:
            messages = [m async for m in self._replies(thread, root_ts, pages=PAGES)]
        except DeliveryError as error:
            log.warning("the earlier messages of %s cannot be read: %s", thread, error)
            return []
        quotes: list[Quote] = []
        characters = 0
        for message in reversed(messages):
            ts, text = str(message.get("ts", "")), str(message.get("text", ""))
            if not ts or float(ts) >= float(before) or self._me.wrote(message):
                continue
            author = str(message.get("user") or message.get("bot_id") or "unknown")
            text = readable(text, self._me.user_id)
            characters += len(text)
            if len(quotes) >= QUOTED_MESSAGES or characters > QUOTED_CHARACTERS:
                break
            quotes.append(Quote(author, await self._people.name(author, team), text, ts))
        return quotes[::-1]

    async def missed(self, thread: str, after: str) -> Sequence[Item]:
        team, channel, root_ts = thread.split(":", 2)
        items = []
        try:
            async for message in self._replies(thread, root_ts, after, PAGES):
                event = {"type": "message", "channel": channel, **message}
                item = read_event({"team_id": team, "event": event}, self._me)
                if item is not None and float(item.ts) > float(after):
                    items.append(item)
        except DeliveryRefused as error:
            log.warning("the replies of %s cannot be read: %s", thread, error)
        return items

    async def find_own(self, thread: str, key: str, since: float) -> str | None:
        """The `ts` of the message that carries this delivery key, if it stands in the thread.

        `since` is in epoch seconds. Raises DeliveryError if the thread cannot be read.
        """
        _, _, root_ts = thread.split(":", 2)
        async for message in self._replies(thread, root_ts, oldest=f"{since:.6f}"):
            metadata = message.get("metadata")
            payload = metadata.get("event_payload") if isinstance(metadata, Mapping) else None
            if isinstance(payload, Mapping) and payload.get("key") == key:
                return str(message.get("ts"))
        return None

    async def find_unmarked(self, thread: str) -> Sequence[str]:
        """The `ts` of one's own messages that carry no delivery key: an open stream is one.

        Raises DeliveryError if the thread cannot be read.
        """
        _, _, root_ts = thread.split(":", 2)
        return [
            str(message.get("ts"))
            async for message in self._replies(thread, root_ts)
            if self._me.wrote(message) and not message.get("metadata")
        ]

    async def _replies(
        self, thread: str, root_ts: str, oldest: str | None = None, pages: int | None = None
    ) -> AsyncIterator[Payload]:
        _, channel, _ = thread.split(":", 2)
        arguments: dict[str, object] = {
            "channel": channel,
            "ts": root_ts,
            "limit": 200,
            "include_all_metadata": True,
        }
        if oldest is not None:
            arguments["oldest"] = oldest
        for _ in itertools.count() if pages is None else range(pages):
            answer = await read(self._client, "conversations.replies", arguments, READ_SECONDS)
            messages = answer.get("messages")
            for message in messages if isinstance(messages, list) else ():
                yield message
            more = answer.get("response_metadata")
            cursor = more.get("next_cursor") if isinstance(more, Mapping) else None
            if not cursor:
                return
            arguments["cursor"] = cursor
