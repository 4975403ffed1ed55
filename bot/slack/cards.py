"""Keeps the cards of a thread as its journal says they are: who decided what, and no more buttons.

A card that was not brought up to date still shows buttons, and a click on one does nothing but say
so: nothing but the look of the thread depends on this.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence

from bot.agent.approvals import Card, card_at, card_start
from bot.agent.entries import ApprovalAsked, Entry
from bot.errors import DeliveryError
from bot.slack.card import card_key, card_message
from bot.slack.outbound import ThreadPosts

log = logging.getLogger(__name__)

SETTLE_SECONDS = 5.0
"""So long the end of the work waits for a card."""

State = tuple[int, bool]
"""How many of a card's calls were decided, and whether it is over."""


class Cards:
    """The cards of one thread. Up to position `settled` they are shown as they were then."""

    def __init__(self, posts: ThreadPosts, answerers: str, settled: int) -> None:
        """`answerers` says who may answer."""
        self._posts, self._answerers, self._settled = posts, answerers, settled
        self._start: int | None = None
        self._entries: Sequence[Entry] = ()
        self._shown: dict[int, State] = {}
        self._task: asyncio.Task[None] | None = None

    def look(self, entries: Sequence[Entry]) -> None:
        """The journal has grown; never blocks and never raises."""
        self._entries = entries
        if self._start is None:
            self._start, self._shown = _last_shown(entries[: self._settled])
        if (self._task is None or self._task.done()) and self._next() is not None:
            self._task = asyncio.create_task(self._update())

    async def settle(self) -> None:
        """Return when the cards are up to date, or soon."""
        if self._task is not None:
            await asyncio.wait({self._task}, timeout=SETTLE_SECONDS)

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _update(self) -> None:
        while (found := self._next()) is not None:
            ts, card = found
            try:
                await self._posts.update(ts, card_message(card, self._answerers))
            except DeliveryError as error:
                log.warning("the card %s was not brought up to date: %s", ts, error)
            self._shown[card.seq] = _state(card)

    def _next(self) -> tuple[str, Card] | None:
        """A card that stands in the thread otherwise than it is, with its `ts`."""
        for seq in range(self._start or 0, len(self._entries)):
            if not is_card(self._entries, seq):
                continue
            card = card_at(self._entries, seq)
            if _state(card) == self._shown.get(seq, (0, False)):
                continue
            if ts := self._posts.ts_of.get(card_key(self._entries, seq)):
                return ts, card
        return None


def _last_shown(entries: Sequence[Entry]) -> tuple[int, dict[int, State]]:
    """Where cards may change that were shown at the end of these entries, and what they show.

    All but the one that was still open then are over.
    """
    for seq in reversed(range(len(entries))):
        if is_card(entries, seq):
            card = card_at(entries, seq)
            return (seq, {seq: _state(card)}) if card.open else (len(entries), {})
    return len(entries), {}


def is_card(entries: Sequence[Entry], seq: int) -> bool:
    """Whether the first question of a card stands at this position."""
    return isinstance(entries[seq], ApprovalAsked) and card_start(entries, seq) == seq


def _state(card: Card) -> State:
    return sum(line.answer is not None for line in card.lines), not card.open
