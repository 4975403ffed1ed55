"""The only caller of chat.*: sends each message of a thread exactly once."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from bot import words
from bot.errors import DeliveryError, DeliveryRefused, DeliveryUnknown
from bot.slack.blocks import plain, section
from bot.slack.markdown import RenderedMessage
from bot.slack.threads import EVENT_TYPE, SlackThreads
from bot.slack.web import NotSent, RateLimited, SlackClient, call, read
from bot.storage.deliveries import Deliveries, Delivery, State

log = logging.getLogger(__name__)

MENDABLE = frozenset(
    {
        "account_inactive",
        "invalid_auth",
        "missing_scope",
        "not_authed",
        "token_expired",
        "token_revoked",
    }
)
"""What the operator can mend, with a new token after a restart: nothing is given up for it."""
UPDATE_SECONDS = 30.0
"""How long a change of a message is tried again."""
TOO_MUCH = frozenset(
    {"msg_too_long", "msg_blocks_too_long", "invalid_blocks", "invalid_blocks_format", "no_text"}
)


@dataclass(frozen=True, slots=True)
class Post:
    """A message to be sent: the pieces it shows, the messages it answers, whether people wait."""

    shows: tuple[str, ...]
    message: RenderedMessage
    covers: tuple[str, ...] = ()
    final: bool = False


@dataclass(frozen=True, slots=True)
class Outbound:
    """What the posts of all threads share."""

    client: SlackClient
    deliveries: Deliveries
    threads: SlackThreads
    redact: Callable[[str], str]
    look_up_seconds: float


class ThreadPosts:
    """One thread's posts.

    `shown` holds the pieces that stand there, or are believed to; `refused` those that Slack would
    not take as blocks, so that they must be sent as plain text. `ts_of` has the `ts` of the posts,
    by the first piece of each.
    """

    def __init__(
        self,
        outbound: Outbound,
        thread: str,
        earlier: Sequence[Delivery],
        on_posted: Callable[[], None],
    ) -> None:
        self._out, self._thread, self._on_posted = outbound, thread, on_posted
        _, self.channel, self.root_ts = thread.split(":", 2)
        self.refused = {key for d in earlier if d.state is State.REFUSED for key in d.pieces}
        self.shown = {key for d in earlier if d.state is not State.REFUSED for key in d.pieces}
        self.ts_of = {d.pieces[0]: d.ts for d in earlier if d.ts}
        self._in_doubt = [d for d in earlier if d.state is State.TRYING]

    def seconds_to_look_up(self) -> float | None:
        """Until the next post in doubt may be looked up; None if none is in doubt."""
        due = [d.tried_at + self._out.look_up_seconds - time.time() for d in self._in_doubt]
        return max(0.0, min(due)) if due else None

    def in_doubt(self) -> list[str]:
        """The pieces of the posts in doubt."""
        return [key for delivery in self._in_doubt for key in delivery.pieces]

    async def send(self, post: Post) -> None:
        """Post the message; the slot must have been granted. In doubt, it is looked up later."""
        key = f"{self._thread}#{post.shows[0]}"
        delivery = await self._out.deliveries.begin(self._thread, key, post.shows)
        self.shown |= set(post.shows)
        try:
            await self._try(key, post)
        except DeliveryUnknown as error:
            log.warning("%s: %s It will be looked up.", key, error)
            self._in_doubt.append(delivery)

    async def look_up(self, rebuild: Callable[[Sequence[str]], Post | None]) -> None:
        """Look for the oldest post in doubt. If it is not there, its pieces are missing again.

        Where the thread cannot be read, what people wait for is posted again (`rebuild` makes it
        from its pieces) and says so; steps are given up.
        """
        delivery = min(self._in_doubt, key=lambda d: d.tried_at)
        self._in_doubt.remove(delivery)
        try:
            since = delivery.tried_at - 60
            ts = await self._out.threads.find_own(self._thread, delivery.key, since)
        except DeliveryRefused as error:
            log.warning("%s cannot be looked up: %s", delivery.key, error)
            post = rebuild(delivery.pieces)
            if post is not None and post.final:
                await self.send(_marked(post))
            else:
                await self._out.deliveries.end(delivery.key, State.GIVEN_UP)
        except DeliveryError as error:
            log.warning("%s cannot be looked up yet: %s", delivery.key, error)
            self._in_doubt.append(replace(delivery, tried_at=time.time()))
        else:
            if ts is None:
                await self._out.deliveries.forget(delivery.key)
                self.shown -= set(delivery.pieces)
            else:
                self.ts_of[delivery.pieces[0]] = ts
                await self._out.deliveries.end(delivery.key, State.POSTED, ts)

    async def update(self, ts: str, message: RenderedMessage) -> None:
        """Put the message in the place of the one at `ts`. Decoration, so tried for a while only.

        Raises the last DeliveryError.
        """
        arguments = self._content(message) | {"channel": self.channel, "ts": ts}
        await read(self._out.client, "chat.update", arguments, UPDATE_SECONDS)

    async def _try(self, key: str, post: Post) -> None:
        """Post until Slack takes it or says no for good. Raises DeliveryUnknown."""
        wait = 1.0
        while True:
            try:
                ts = await self._post_message(key, post)
            except RateLimited as error:
                log.info("%s: %s", key, error)
                await self._out.client.pacer.slot(self.channel, urgent=post.final)
            except NotSent as error:
                log.warning("%s", error)
                await asyncio.sleep(wait)
                wait = min(30.0, wait * 2)
            except DeliveryRefused as error:
                if error.code not in MENDABLE:
                    await self._give_up(key, post, error)
                    return
                log.error("%s waits: %s", key, error)
                await asyncio.sleep(wait)
                wait = min(30.0, wait * 2)
            else:
                self._on_posted()
                self.ts_of[post.shows[0]] = ts
                await self._out.deliveries.end(key, State.POSTED, ts)
                return

    async def _give_up(self, key: str, post: Post, error: DeliveryRefused) -> None:
        """Slack will never take this post; what it shows may still go as plain text."""
        if error.code in TOO_MUCH and post.message.blocks:
            log.warning("%s: %s It is sent as plain text.", key, error)
            self.refused |= set(post.shows)
            self.shown -= set(post.shows)
            await self._out.deliveries.end(key, State.REFUSED)
        else:
            log.error("%s was not delivered: %s", key, error)
            await self._out.deliveries.end(key, State.GIVEN_UP)

    async def _post_message(self, key: str, post: Post) -> str:
        arguments = self._content(post.message) | {
            "channel": self.channel,
            "thread_ts": self.root_ts,
            "unfurl_links": False,
            "unfurl_media": False,
            "metadata": {
                "event_type": EVENT_TYPE,
                "event_payload": {"key": key, "covers": list(post.covers)},
            },
        }
        if not post.message.blocks:
            arguments["mrkdwn"] = False  # its stars and underscores are to be seen
        answer = await call(self._out.client, "chat.postMessage", arguments, slots=0)
        return str(answer.get("ts", ""))

    def _content(self, message: RenderedMessage) -> dict[str, object]:
        """What a message says, without any secret."""
        content: dict[str, object] = {"text": self._out.redact(message.text)}
        if message.blocks:
            content["blocks"] = self._redacted(message.blocks)
        return content

    def _redacted(self, value: object) -> object:
        if isinstance(value, str):
            return self._out.redact(value)
        if isinstance(value, Mapping):
            return {key: self._redacted(part) for key, part in value.items()}
        if isinstance(value, Sequence):
            return [self._redacted(part) for part in value]
        return value


def _marked(post: Post) -> Post:
    note, message = words.possibly_repeated(), post.message
    if message.blocks:
        marked = replace(message, blocks=(section(plain(note)), *message.blocks))
    else:
        marked = replace(message, text=f"{note}\n{message.text}")
    return replace(post, message=marked)
