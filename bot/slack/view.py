"""One thread as people see it: which piece of the journal is shown next, and when."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

from bot.agent import shown
from bot.agent.entries import Entry
from bot.slack.agenda import HOLD_SECONDS, Agenda, Manner, finals
from bot.slack.cards import Cards
from bot.slack.life import Sign
from bot.slack.live import LiveCard
from bot.slack.live_ends import MARK, LiveCards
from bot.slack.marks import Marks, is_mark
from bot.slack.outbound import Outbound, Post, ThreadPosts
from bot.slack.pacing import Ticket, set_within
from bot.slack.pieces import Verbosity
from bot.slack.render import as_text, notice
from bot.slack.signs import Signs
from bot.slack.steps import Describe
from bot.storage.deliveries import Delivery, State

HALT_SECONDS = 0.5
"""How long a stop waits for a post that Slack is just taking."""


@dataclass(frozen=True, slots=True)
class SlackOutlet:
    """`bot.runs.ports.Outlet` on Slack."""

    outbound: Outbound
    cards: LiveCards
    signs: Signs
    verbosity: Callable[[str], Verbosity]
    describe: Describe
    footer: Callable[[str, Sequence[Entry]], str] = lambda *_: ""
    """The line under the answer of a turn in a channel."""
    answerers: str = ""
    """Who may answer questions, for people."""
    url: str = ""
    """The workspace's address, ending in a slash, for links to messages."""

    async def open(self, thread: str, found: Callable[[], None]) -> SlackView:
        deliveries = self.outbound.deliveries
        stored, settled = await asyncio.gather(deliveries.of(thread), deliveries.settled(thread))
        sign = Sign(self.signs, Marks(deliveries, thread, stored))
        earlier = [d for d in stored if not is_mark(d)]
        ours = [d for d in earlier if not d.pieces[0].startswith(MARK)]
        posts = ThreadPosts(self.outbound, thread, ours, sign.spoke, found)
        lives = [d for d in earlier if d.pieces[0].startswith(MARK)]
        wanted = self.verbosity(posts.channel) is Verbosity.CARD or _open_ones(lives)
        live = LiveCard(self.cards, thread, lives, sign, found) if wanted else None
        return SlackView(self, posts, settled, sign, live)


class SlackView:
    """`bot.runs.ports.View` of one Slack thread."""

    def __init__(
        self,
        outlet: SlackOutlet,
        posts: ThreadPosts,
        settled: int,
        sign: Sign,
        live: LiveCard | None,
    ) -> None:
        self._posts, self._sign, self._live = posts, sign, live
        self._pacer = outlet.outbound.mail.client.pacer
        channel = posts.channel
        manner = Manner(
            outlet.verbosity(channel),
            outlet.describe,
            partial(outlet.footer, channel),
            outlet.url,
            outlet.answerers,
        )
        self._agenda = Agenda(posts, manner, settled)
        self._cards = Cards(posts, outlet.answerers, settled)
        self._changed = asyncio.Event()
        self._settled, self._answered = asyncio.Event(), asyncio.Event()
        self._posting: asyncio.Task[None] | None = None
        self._ticket: Ticket | None = None
        self._task: asyncio.Task[None] | None = None

    def begin(self, entries: Sequence[Entry], question: str) -> None:
        self._sign.begin(question)

    def look(self, entries: Sequence[Entry]) -> None:
        self._agenda.look(entries)
        self._cards.look(entries)
        if self._live is not None:
            self._live.look(entries)
        self._settled.clear()
        self._answered.clear()
        self._changed.set()
        if self._ticket is not None and finals(self._agenda.missing()):
            self._pacer.hurry(self._posts.channel, self._ticket)
        if self._task is None:
            name = f"deliver {self._posts.channel} {self._posts.root_ts}"
            self._task = asyncio.create_task(self._deliver(), name=name)

    def live(self, piece: shown.Piece | None) -> None:
        """Slack is shown whole steps only: each change there is a call."""

    async def settle(self, entries: Sequence[Entry], arrived: asyncio.Event | None = None) -> None:
        self.look(entries)
        assert self._task is not None
        ends = {asyncio.create_task(self._settled.wait()), self._task}
        if arrived is not None:
            ends.add(asyncio.create_task(_both(self._answered, arrived)))
        try:
            await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
            if self._task.done():
                self._task.result()
        finally:
            for waiter in ends - {self._task}:
                waiter.cancel()
        if self._live is not None:
            await self._live.finish()
        self._cards.look(entries)  # one that was only just posted
        await self._sign.end(arrived)
        await self._cards.settle()

    async def halt(self, entries: Sequence[Entry]) -> tuple[int, int] | None:
        task, self._task = self._task, None
        if task is not None:
            if self._posting is not None:  # it would be in doubt
                await asyncio.wait({self._posting}, timeout=HALT_SECONDS)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
        self._agenda.look(entries)
        return self._agenda.standing() if self._agenda.missing() else None

    async def notice(self, text: str, at: str = "") -> None:
        covers = (at,) if at else ()
        post = Post((f"n{at}",), notice(text), covers=covers, final=True)

        def rebuilt(shows: Sequence[str]) -> Post | None:
            return post if tuple(shows) == post.shows else None

        while True:
            if self._posts.refused.issuperset(post.shows):
                post = replace(post, message=as_text(post.message)[0])
            look_up = self._posts.seconds_to_look_up()
            if not self._posts.stands(post):
                await self._slot(urgent=True)
                await self._posts.send(post)
            elif look_up is None:
                return
            else:
                await asyncio.sleep(look_up)
                await self._posts.look_up(rebuilt)

    async def close(self) -> None:
        if self._live is not None:
            await self._live.close()
        await self._sign.leave()
        await self._cards.close()
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _deliver(self) -> None:
        while True:
            self._changed.clear()
            missing = self._agenda.missing()
            look_up = self._posts.seconds_to_look_up()
            if not finals(missing) and not self._agenda.doubts_finals():
                self._answered.set()
            if self._agenda.ready(missing):
                await self._post_next()
            elif look_up == 0:
                await self._posts.look_up(self._agenda.rebuilt)
            elif missing or look_up is not None:
                hold = self._agenda.hold_left(missing)
                await set_within(self._changed, min(hold, look_up or HOLD_SECONDS))
            else:
                self._agenda.advance()
                self._settled.set()
                await self._changed.wait()

    async def _post_next(self) -> None:
        await self._slot(urgent=bool(finals(self._agenda.missing())))
        post = self._agenda.next_post(calm=self._pacer.calm(self._posts.channel))
        if post is None or self._task is None:
            return
        self._posting = asyncio.create_task(self._posts.send(post))
        try:
            await self._posting
        finally:
            self._posting = None

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


def _open_ones(lives: Sequence[Delivery]) -> bool:
    return any(d.state in (State.TRYING, State.OPEN) for d in lives)


async def _both(first: asyncio.Event, second: asyncio.Event) -> Literal[True]:
    await first.wait()
    return await second.wait()
