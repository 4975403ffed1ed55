"""Stopping an answer that is written down and not yet posted as a whole."""

from __future__ import annotations

from collections.abc import Sequence

from bot.agent.entries import Answered, Entry, Failed, Stopped
from bot.policy import Person
from bot.runs.door import Door
from bot.runs.waiting import merged
from bot.storage.items import Item, Kind, StoredItem


async def delivery_stop(
    door: Door, journal: Sequence[Entry], items: Sequence[StoredItem]
) -> StoredItem | None:
    """The first item that stops the delivery of the latest answer, by somebody who may."""
    answer = _latest_answer(journal)
    for stored in merged(items) if answer is not None else ():
        item = stored.item
        if item.kind is not Kind.STOP or not _is_about(answer, item):
            continue
        if isinstance(await door.admitted(item), Person):
            return stored
    return None


def stopped_delivery(
    journal: Sequence[Entry],
    said: tuple[str, ...],
    name: str,
    posted: int,
    parts: int,
    author: str,
) -> Stopped:
    """The entry of a stop by `author`, called `name`; of the answer stand so many of its messages.

    It answers for the messages of an answer that will not stand there, and for those in `said`.
    """
    answer = _latest_answer(journal)
    owed = answer.covers if answer is not None and posted < parts else ()
    return Stopped((*owed, *said), name, posted, parts, author)


def _latest_answer(journal: Sequence[Entry]) -> Answered | None:
    """The answer with which the latest turn ended, if it was one."""
    endings = (e for e in reversed(journal) if isinstance(e, Answered | Failed | Stopped))
    ending = next(endings, None)
    return ending if isinstance(ending, Answered) else None


def _is_about(answer: Answered | None, stop: Item) -> bool:
    return answer is not None and any(float(ts) <= float(stop.ts) for ts in answer.covers)
