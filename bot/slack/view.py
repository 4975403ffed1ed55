"""One thread as people see it: which piece of the journal is shown next, and when."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from bot.agent import shown
from bot.agent.entries import Answered, Entry, Failed, Stopped, User
from bot.slack.markdown import RenderedMessage
from bot.slack.outbound import Outbound, Post, ThreadPosts
from bot.slack.pacing import Ticket
from bot.slack.render import (
    Describe,
    Piece,
    PieceKind,
    Verbosity,
    final_covers,
    final_messages,
    pieces,
    steps_message,
)
from bot.slack.signs import Sign, Signs

HOLD_SECONDS = 1.0
"""A call waits this long for its observations, to be one message with them."""


@dataclass(frozen=True, slots=True)
class SlackOutlet:
    """`bot.runs.ports.Outlet` on Slack."""

    outbound: Outbound
    signs: Signs
    verbosity: Callable[[str], Verbosity]
    describe: Describe

    async def open(self, thread: str) -> SlackView:
        sign = Sign(self.signs, thread)
        earlier = await self.outbound.deliveries.of(thread)
        posts = ThreadPosts(self.outbound, thread, earlier, sign.spoke)
        return SlackView(self, posts, sign)


class SlackView:
    """`bot.runs.ports.View` of one Slack thread."""

    def __init__(self, outlet: SlackOutlet, posts: ThreadPosts, sign: Sign) -> None:
        self._posts, self._sign = posts, sign
        self._pacer = outlet.outbound.pacer
        self._verbosity = outlet.verbosity(posts.channel)
        self._describe = outlet.describe
        self._entries: Sequence[Entry] = ()
        self._start = -1
        self._held_since: dict[str, float] = {}
        self._finals: dict[int, tuple[RenderedMessage, ...]] = {}
        self._changed = asyncio.Event()
        self._settled = asyncio.Event()
        self._ticket: Ticket | None = None
        self._task: asyncio.Task[None] | None = None

    def begin(self, entries: Sequence[Entry]) -> None:
        question = next((e.at for e in reversed(entries) if isinstance(e, User)), None)
        self._sign.begin(question or self._posts.root_ts)

    def look(self, entries: Sequence[Entry]) -> None:
        self._entries = entries
        if self._start < 0:
            self._start = _last_turn(entries, self._posts.shown)
        self._settled.clear()
        self._changed.set()
        if self._ticket is not None and _finals(self._missing()):
            self._ticket.urgent = True
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
        await self._sign.end()

    async def close(self) -> None:
        await self._sign.end()
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
                await self._posts.look_up(self._rebuilt)
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
        return [piece for piece in found if not self._is_shown(piece)]

    def _is_shown(self, piece: Piece) -> bool:
        keys = self._parts(piece) if piece.kind is PieceKind.FINAL else [piece.key]
        return all(key in self._posts.shown for key in keys)

    def _parts(self, piece: Piece) -> list[str]:
        if piece.seq not in self._finals:
            self._finals[piece.seq] = final_messages(self._entries, piece.seq)
        return [f"{piece.key}.{part}" for part in range(len(self._finals[piece.seq]))]

    def _ready(self, missing: Sequence[Piece]) -> list[Piece]:
        """What may be posted now: a call whose observations are still coming is held."""
        over = bool(_finals(missing))
        ready = []
        for piece in missing:
            if piece.kind is PieceKind.CALL and not piece.whole and not over:
                since = self._held_since.setdefault(piece.key, time.monotonic())
                if time.monotonic() - since < HOLD_SECONDS:
                    break
            ready.append(piece)
        return ready

    def _hold_left(self, missing: Sequence[Piece]) -> float:
        """Seconds until a held call is posted without its observations."""
        held = [self._held_since[p.key] for p in missing if p.key in self._held_since]
        return max(0.0, min(held, default=time.monotonic()) + HOLD_SECONDS - time.monotonic())

    async def _post_next(self) -> None:
        channel = self._posts.channel
        self._ticket = self._pacer.enter(channel, urgent=bool(_finals(self._missing())))
        try:
            await self._ticket.granted
        except asyncio.CancelledError:
            self._pacer.leave(channel, self._ticket)
            raise
        finally:
            self._ticket = None
        await self._posts.send(self._next_post(self._ready(self._missing())))

    def _next_post(self, ready: Sequence[Piece]) -> Post:
        """Steps before the answer where nobody else waits for a slot, else the answer first."""
        finals = _finals(ready)
        steps = [piece for piece in ready if piece.kind is not PieceKind.FINAL]
        if finals:
            steps = [piece for piece in steps if piece.seq < finals[0].seq]
        if steps and (not finals or self._pacer.calm(self._posts.channel)):
            message, shows = steps_message(self._entries, steps, self._verbosity, self._describe)
            return Post(shows, message)
        return self._final_post(finals[0])

    def _final_post(self, piece: Piece) -> Post:
        keys = self._parts(piece)
        return self._rebuilt([next(key for key in keys if key not in self._posts.shown)])

    def _rebuilt(self, shows: Sequence[str]) -> Post:
        """The post that shows these pieces."""
        key = shows[0]
        if not key.startswith("f"):
            wanted = [p for p in pieces(self._entries, self._verbosity) if p.key in shows]
            message, keys = steps_message(self._entries, wanted, self._verbosity, self._describe)
            return Post(keys, message)
        seq, part = (int(number) for number in key[1:].split("."))
        messages = self._finals.get(seq) or final_messages(self._entries, seq)
        last = part == len(messages) - 1
        covers = final_covers(self._entries[seq]) if last else ()
        return Post((key,), messages[part], covers, final=True)


def _finals(found: Sequence[Piece]) -> list[Piece]:
    return [piece for piece in found if piece.kind is PieceKind.FINAL]


def _last_turn(entries: Sequence[Entry], shown: set[str]) -> int:
    """Where to begin after a restart: the turn whose ending was the last to be posted."""
    endings = [i for i, e in enumerate(entries) if isinstance(e, Answered | Failed | Stopped)]
    posted = [place for place, seq in enumerate(endings) if f"f{seq}.0" in shown]
    if not posted or posted[-1] == 0:
        return 0
    return endings[posted[-1] - 1] + 1
