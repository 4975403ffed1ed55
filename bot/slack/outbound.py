"""The only caller of chat.*: sends each message of a thread exactly once."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from bot import words
from bot.errors import DeliveryError, DeliveryRefused, DeliveryUnknown
from bot.slack.blocks import plain, section
from bot.slack.mail import Letter, Letters, Mail
from bot.slack.markdown import RenderedMessage
from bot.slack.threads import SlackThreads
from bot.slack.web import RateLimited, read
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
FIRST_WAIT = 1.0
LONGEST_WAIT = 30.0
"""Seconds between tries while Slack is out of reach or the token is refused."""
LATE_SECONDS = 60.0
"""A post that was tried before another may come so long after it: a call is given up sooner."""
TOO_MUCH = frozenset(
    {"msg_too_long", "msg_blocks_too_long", "invalid_blocks", "invalid_blocks_format", "no_text"}
)


@dataclass(frozen=True, slots=True)
class Post:
    """A message to be sent: the pieces it shows, the messages it answers, whether people wait.

    If it cannot be posted, `askers` are told; `rest` are the pieces that are given up with it, and
    `owed` the messages that they together answer.
    """

    shows: tuple[str, ...]
    message: RenderedMessage
    covers: tuple[str, ...] = ()
    final: bool = False
    askers: tuple[str, ...] = ()
    rest: tuple[str, ...] = ()
    owed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Doubt:
    """A post that may stand in the thread or not.

    `since` is a time before which it cannot stand, by Slack's clock, which may not be ours; `due`
    is when to look for it, in monotonic seconds, as ours may be set meanwhile.
    """

    delivery: Delivery
    since: float
    due: float


@dataclass(frozen=True, slots=True)
class Outbound:
    """What the posts of all threads share."""

    mail: Mail
    deliveries: Deliveries
    threads: SlackThreads
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
        on_posted: Callable[[float], None],
        found: Callable[[], None],
    ) -> None:
        """`found` as for an outlet."""
        self._out, self._thread, self._on_posted = outbound, thread, on_posted
        self._found = found
        _, self.channel, self.root_ts = thread.split(":", 2)
        self.refused = {key for d in earlier if d.state is State.REFUSED for key in d.pieces}
        self.shown = {key for d in earlier if d.state is not State.REFUSED for key in d.pieces}
        self.ts_of = {d.pieces[0]: d.ts for d in earlier if d.ts}
        self._stood = [(d.tried_at, float(d.ts)) for d in earlier if d.ts]
        self._in_doubt = [self._doubt(d) for d in earlier if d.state is State.TRYING]
        self._wait = FIRST_WAIT

    def seconds_to_look_up(self) -> float | None:
        """Until the next post in doubt may be looked up; None if none is in doubt."""
        due = [doubt.due - time.monotonic() for doubt in self._in_doubt]
        return max(0.0, min(due)) if due else None

    def in_doubt(self) -> list[str]:
        """The pieces of the posts in doubt."""
        return [key for doubt in self._in_doubt for key in doubt.delivery.pieces]

    def stands(self, post: Post) -> bool:
        """Whether the post stands in the thread, or is believed to."""
        return self.shown.issuperset(post.shows)

    async def send(self, post: Post) -> None:
        """Try to post the message once; the slot must have been granted.

        Where Slack cannot take it now its pieces are missing again, and may be posted with others;
        in doubt, it is looked up later.
        """
        key = f"{self._thread}#{post.shows[0]}"
        delivery = await self._out.deliveries.begin(self._thread, key, post.shows)
        if time.time() - delivery.tried_at > self._out.look_up_seconds:
            # Frozen meanwhile, or the database was away: is the thread still this process's?
            delivery = await self._out.deliveries.begin(self._thread, key, post.shows)
        self.shown |= set(post.shows)
        began = time.monotonic()
        try:
            ts = await self._out.mail.post(
                self.channel, post.message, key, post.covers, self.root_ts
            )
        except DeliveryUnknown as error:
            log.warning("%s: %s It will be looked up.", key, error)
            self._in_doubt.append(self._doubt(delivery))
        except asyncio.CancelledError:
            self._in_doubt.append(self._doubt(delivery))
            raise
        except DeliveryRefused as error:
            await self._refused(key, post, error)
        except DeliveryError as error:
            log.info("%s waits: %s", key, error)
            await self._take_back(key, post)
            if not isinstance(error, RateLimited):  # whose wait is the pacer's
                await self._back_off()
        else:
            self._wait = FIRST_WAIT
            self._on_posted(began)
            await self._stands_at(delivery, ts)

    async def look_up(self, rebuild: Callable[[Sequence[str]], Post | None]) -> None:
        """Look for the oldest post in doubt. If it is not there, its pieces are missing again.

        Where the thread cannot be read, what people wait for is posted again (`rebuild` makes it
        from its pieces) and says so; steps are given up.
        """
        doubt = min(self._in_doubt, key=lambda one: one.due)  # and stays, if this is broken off
        delivery = doubt.delivery
        try:
            ts = await self._out.threads.find_own(self._thread, delivery.key, doubt.since)
        except DeliveryRefused as error:
            log.warning("%s cannot be looked up: %s", delivery.key, error)
            post = rebuild(delivery.pieces)
            if post is not None and post.final:
                await self._out.mail.client.pacer.slot(self.channel, urgent=True)
                self._in_doubt.remove(doubt)
                await self.send(_marked(post))
            else:
                await self._out.deliveries.end(delivery.key, State.GIVEN_UP)
                self._in_doubt.remove(doubt)
        except DeliveryError as error:
            log.warning("%s cannot be looked up yet: %s", delivery.key, error)
            self._in_doubt.remove(doubt)
            later = time.monotonic() + self._out.look_up_seconds
            self._in_doubt.append(replace(doubt, due=later))
        else:
            if ts is None:
                await self._out.deliveries.forget(delivery.key)
                self.shown -= set(delivery.pieces)
            else:
                await self._stands_at(delivery, ts)
            self._in_doubt.remove(doubt)

    async def update(self, ts: str, message: RenderedMessage) -> None:
        """Put the message in the place of the one at `ts`. Decoration, so tried for a while only.

        Raises the last DeliveryError.
        """
        content = {"text": message.text, "blocks": list(message.blocks)}
        arguments: dict[str, object] = {"channel": self.channel, "ts": ts, **content}
        await read(self._out.mail.client, "chat.update", arguments, UPDATE_SECONDS)

    async def _stands_at(self, delivery: Delivery, ts: str) -> None:
        self.ts_of[delivery.pieces[0]] = ts
        self._stood.append((delivery.tried_at, float(ts)))
        if await self._out.deliveries.end(delivery.key, State.POSTED, ts):
            self._found()

    def _doubt(self, delivery: Delivery) -> _Doubt:
        before = [ts for tried_at, ts in self._stood if tried_at < delivery.tried_at]
        since = max(before, default=float(self.root_ts)) - LATE_SECONDS
        ago = max(0.0, time.time() - delivery.tried_at)
        return _Doubt(delivery, since, time.monotonic() + self._out.look_up_seconds - ago)

    async def _refused(self, key: str, post: Post, error: DeliveryRefused) -> None:
        """What only time can mend is tried again, what has another form goes as plain text.

        Anything else Slack will never take: whoever asked is told in a direct message.
        """
        if error.code in MENDABLE:
            log.error("%s waits: %s", key, error)
            await self._take_back(key, post)
            await self._back_off()
        elif error.code in TOO_MUCH and post.message.blocks:
            log.warning("%s: %s It is sent as plain text.", key, error)
            self.refused |= set(post.shows)
            self.shown -= set(post.shows)
            await self._out.deliveries.end(key, State.REFUSED)
        else:
            log.error("%s was not delivered: %s", key, error)
            gone = (*post.shows, *post.rest)
            self.shown |= set(gone)
            await self._tell_askers(post, error)
            await self._out.deliveries.begin(self._thread, key, gone)
            await self._out.deliveries.end(key, State.GIVEN_UP)

    async def _tell_askers(self, post: Post, error: DeliveryRefused) -> None:
        """The first of them gets the message that answers for the whole."""
        if self.channel.startswith("D"):
            return  # there is no other place
        covers = post.owed
        for asker in post.askers:
            piece = f"d{post.shows[0]}.{asker}"
            if piece not in self.shown:
                self.shown.add(piece)
                letter = Letter(self._thread, piece, asker, self.channel, error, covers)
                await Letters(self._out.mail, self._out.deliveries).send(letter)
            covers = ()

    async def _take_back(self, key: str, post: Post) -> None:
        """It certainly does not stand there."""
        self.shown -= set(post.shows)
        await self._out.deliveries.forget(key)

    async def _back_off(self) -> None:
        await asyncio.sleep(self._wait)
        self._wait = min(LONGEST_WAIT, self._wait * 2)


def _marked(post: Post) -> Post:
    note, message = words.possibly_repeated(), post.message
    if message.blocks:
        marked = replace(message, blocks=(section(plain(note)), *message.blocks))
    else:
        marked = replace(message, text=f"{note}\n{message.text}")
    return replace(post, message=marked)
