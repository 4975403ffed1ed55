"""Looks for questions that nobody answered in time, in every process."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

from bot.agent.ports import Clock
from bot.errors import StorageError
from bot.storage.items import Item, Kind
from bot.storage.journal import Journals
from bot.storage.questions import Question

log = logging.getLogger(__name__)

SWEEP_SECONDS = 30.0


async def sweep(
    journals: Journals, store: Callable[[Item], Awaitable[None]], clock: Clock, every: float
) -> None:
    """Store an expiry for each overdue question, every so many seconds, until cancelled.

    Several processes may do so: an expiry has one key, so it is taken once.
    """
    while True:
        try:
            for question in await journals.overdue(clock.now()):
                await store(_expiry(question))
        except StorageError as error:
            log.error("the sweep is tried again later: %s", error)
        await asyncio.sleep(every)


def _expiry(question: Question) -> Item:
    team, channel, root_ts = question.thread.split(":", 2)
    return Item(
        kind=Kind.EXPIRY,
        team=team,
        channel=channel,
        root_ts=root_ts,
        ts=f"{question.expires_at:.6f}",
        author="",
        change=str(question.seq),
    )
