"""One thread as people see it: which piece of the journal is shown next, and when."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from bot.agent import shown
from bot.agent.entries import Entry, Refused, Stopped, Told, User
from bot.slack.cards import Cards
from bot.slack.markdown import RenderedMessage
from bot.slack.outbound import Outbound, Post, ThreadPosts
from bot.slack.pacing import Ticket
from bot.slack.pieces import (
    STEPS_LIMIT,
    Piece,
    PieceKind,
    Verbosity,
    is_held_back,
    pieces,
    seq_of,
    unshown,
)
from bot.slack.render import as_text, final_covers, final_messages, notice
from bot.slack.signs import Sign, Signs
from bot.slack.steps import Describe, steps_message

MARKED = 3
"""So many of a thread's latest messages may carry the reaction of a process that was killed."""
HOLD_SECONDS = 1.0
"""A call waits this long for its observations, to be one message with them."""


@dataclass(frozen=True, slots=True)
class SlackOutlet:
    """`bot.runs.ports.Outlet` on Slack."""

    outbound: Outbound
    signs: Signs
    verbosity: Callable[[str], Verbosity]
    describe: Describe
    footer: Callable[[str, Sequence[Entry]], str] = lambda *_: ""
    """The line under the answer of a turn in a channel."""
    answerers: str = ""
    """Who may answer questions, for people."""
    url: str = ""
    """The workspace's address, ending in a slash, for links to messages."""
    unsettled: set[str] = field(default_factory=set)
    """Threads whose earlier work, here or in a process before, may have ended too soon.

    Steps may be missing from them, and a sign of life may still be there.
    """

    async def open(self, thread: str) -> SlackView:
        sign = Sign(self.signs, thread)
        earlier = await self.outbound.deliveries.of(thread)
        posts = ThreadPosts(self.outbound, thread, earlier, sign.spoke)
        return SlackView(self, thread, posts, sign)


class SlackView:
    """`bot.runs.ports.View` of one Slack thread."""

    def __init__(self, outlet: SlackOutlet, thread: str, posts: ThreadPosts, sign: Sign) -> None:
        self._thread, self._posts, self._sign = thread, posts, sign
        self._left = thread in outlet.unsettled
        self._unsettled = outlet.unsettled
        self._unsettled.add(thread)
        self._pacer = outlet.outbound.client.pacer
        self._verbosity = outlet.verbosity(posts.channel)
        self._describe = outlet.describe
        self._footer = partial(outlet.footer, posts.channel)
        self._answerers = outlet.answerers
        self._cards = Cards(posts, outlet.answerers, outlet.url)
        self._entries: Sequence[Entry] = ()
        self._start = -1
        self._held_since: dict[str, float] = {}
        self._finals: dict[int, tuple[RenderedMessage, ...]] = {}
        self._changed = asyncio.Event()
        self._settled = asyncio.Event()
        self._ticket: Ticket | None = None
        self._task: asyncio.Task[None] | None = None

    def begin(self, entries: Sequence[Entry], question: str) -> None:
        self._sign.begin(question)

    def look(self, entries: Sequence[Entry]) -> None:
        self._entries = entries
        if self._start < 0:
            self._start = unshown(entries, self._posts.shown, again=self._left)
        self._cards.look(entries, self._start)
        self._settled.clear()
        self._changed.set()
        if self._ticket is not None and _finals(self._missing()):
            self._pacer.hurry(self._posts.channel, self._ticket)
        if self._task is None:
            name = f"deliver {self._posts.channel} {self._posts.root_ts}"
            self._task = asyncio.create_task(self._deliver(), name=name)

    def live(self, piece: shown.Piece | None) -> None:
        """Slack is shown whole steps only: each change there is a call."""

    async def settle(self, entries: Sequence[Entry]) -> None:
        self.look(entries)
        assert self._task is not None
        waiter = asyncio.create_task(self._settled.wait())
        try:
            await asyncio.wait({waiter, self._task}, return_when=asyncio.FIRST_COMPLETED)
            if self._task.done():
                self._task.result()
        finally:
            waiter.cancel()
        self._cards.look(entries, self._start)  # one that was only just posted
        await self._sign.end()
        await self._cards.settle()
        self._unsettled.discard(self._thread)
        if self._left:
            self._left = False
            await self._sign.clean(_asked(entries))

    async def notice(self, text: str, at: str) -> None:
        post = Post((f"n{at}",), notice(text), covers=(at,), final=True)

        def rebuilt(shows: Sequence[str]) -> Post | None:
            return post if tuple(shows) == post.shows else None

        while True:
            if self._posts.refused.issuperset(post.shows):
                post = replace(post, message=as_text(post.message)[0])
            look_up = self._posts.seconds_to_look_up()
            if not self._stands(post):
                await self._slot(urgent=True)
                await self._posts.send(post)
            elif look_up is None:
                return
            else:
                await asyncio.sleep(look_up)
                await self._posts.look_up(rebuilt)

    async def close(self) -> None:
        await self._sign.leave()
        await self._cards.close()
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _deliver(self) -> None:
        while True:
            self._changed.clear()
            missing = self._missing()
            look_up = self._posts.seconds_to_look_up()
            if self._ready(missing):
                await self._post_next()
            elif look_up == 0:
                await self._posts.look_up(self._final_rebuilt)
            elif missing or look_up is not None:
                await self._changed_within(min(self._hold_left(missing), look_up or HOLD_SECONDS))
            else:
                self._advance()
                self._settled.set()
                await self._changed.wait()

    async def _changed_within(self, seconds: float) -> None:
        try:
            await asyncio.wait_for(self._changed.wait(), seconds)
        except TimeoutError:
            return

    def _advance(self) -> None:
        """Everything up to here stands in the thread: it need not be computed again."""
        self._start = len(self._entries)
        self._held_since.clear()
        self._finals.clear()

    def _missing(self) -> list[Piece]:
        found = pieces(self._entries, self._verbosity, self._start)
        stops = [piece.seq for piece in found if self._is_shown_stop(piece)]
        found = [p for p in found if p.kind is PieceKind.FINAL or p.seq > max(stops, default=-1)]
        return [piece for piece in found if not self._is_shown(piece)]

    def _is_shown_stop(self, piece: Piece) -> bool:
        """After the notice of a stop no step is shown that came before it."""
        return isinstance(self._entries[piece.seq], Stopped) and self._is_shown(piece)

    def _is_shown(self, piece: Piece) -> bool:
        if piece.kind is not PieceKind.FINAL:
            return piece.key in self._posts.shown
        return all(self._stands(post) for post in self._final_posts(piece.seq))

    def _stands(self, post: Post) -> bool:
        return self._posts.shown.issuperset(post.shows)

    def _final_posts(self, seq: int) -> list[Post]:
        """The posts of an ending, in order; the last one says which messages it answers."""
        if seq not in self._finals:
            waits = isinstance(self._entries[seq], Told)
            self._finals[seq] = (
                (self._cards.waiting_line(seq),)
                if waits
                else final_messages(self._entries, seq, self._footer, self._answerers)
            )
        posts: list[Post] = []
        for part, message in enumerate(self._finals[seq]):
            key = f"f{seq}.{part}"
            if key in self._posts.refused:
                texts = enumerate(as_text(message))
                posts += [Post((f"{key}~{n}",), text, final=True) for n, text in texts]
            else:
                posts.append(Post((key,), message, final=True))
        return [*posts[:-1], replace(posts[-1], covers=final_covers(self._entries[seq]))]

    def _ready(self, missing: Sequence[Piece]) -> list[Piece]:
        """What may be posted now.

        A call whose observations are still coming is held, and the rest of an ending, and later
        endings, while a part before it is in doubt.
        """
        over = bool(_finals(missing))
        doubted = self._posts.in_doubt()
        ready = []
        for piece in missing:
            if piece.kind is PieceKind.CALL and not piece.whole and not over:
                since = self._held_since.setdefault(piece.key, time.monotonic())
                if time.monotonic() - since < HOLD_SECONDS:
                    break
            if piece.kind is PieceKind.FINAL and is_held_back(self._entries, piece.seq, doubted):
                continue
            ready.append(piece)
        return ready

    def _hold_left(self, missing: Sequence[Piece]) -> float:
        """Seconds until a held call is posted without its observations."""
        held = [self._held_since[p.key] for p in missing if p.key in self._held_since]
        return max(0.0, min(held, default=time.monotonic()) + HOLD_SECONDS - time.monotonic())

    async def _post_next(self) -> None:
        await self._slot(urgent=bool(_finals(self._missing())))
        await self._posts.send(self._next_post(self._ready(self._missing())))

    async def _slot(self, *, urgent: bool) -> None:
        channel = self._posts.channel
        self._ticket = self._pacer.enter(channel, urgent=urgent)
        try:
            await self._ticket.granted
        except asyncio.CancelledError:
            self._pacer.leave(channel, self._ticket)
            raise
        finally:
            self._ticket = None

    def _next_post(self, ready: Sequence[Piece]) -> Post:
        """Steps before the answer where nobody else waits for a slot, else the answer first."""
        finals = _finals(ready)
        steps = [piece for piece in ready if piece.kind is not PieceKind.FINAL]
        if finals:
            steps = [piece for piece in steps if piece.seq < finals[0].seq]
        if steps and (not finals or self._pacer.calm(self._posts.channel)):
            return self._steps_post(steps)
        posts = self._final_posts(finals[0].seq)
        return next(post for post in posts if not self._stands(post))

    def _steps_post(self, steps: Sequence[Piece]) -> Post:
        message, shows = steps_message(self._entries, steps, self._verbosity, self._describe)
        if self._posts.refused.intersection(shows):
            message = as_text(message, STEPS_LIMIT * 2)[0]
        return Post(shows, message)

    def _final_rebuilt(self, shows: Sequence[str]) -> Post | None:
        """The final post that shows these pieces; None for steps, which are not worth a doubt."""
        key = shows[0]
        if not key.startswith("f"):
            return None
        posts = self._final_posts(seq_of(key))
        return next((post for post in posts if post.shows == tuple(shows)), None)


def _finals(found: Sequence[Piece]) -> list[Piece]:
    return [piece for piece in found if piece.kind is PieceKind.FINAL]


def _asked(entries: Sequence[Entry]) -> list[str]:
    """The `ts` of the latest messages, on which a sign of life may be."""
    found: list[str] = []
    for entry in reversed(entries):
        if isinstance(entry, User):
            found.append(entry.at)
        elif isinstance(entry, Refused):
            found += entry.covers
    return found[:MARKED]
