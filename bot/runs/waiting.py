"""Waiting items in the order in which they count, and what a journal knows of them. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from bot import words
from bot.agent.entries import (
    Answered,
    Edited,
    Entry,
    Failed,
    ModelReply,
    Overheard,
    Refused,
    Requoted,
    Stopped,
    Told,
    User,
    covers,
    open_turn,
)
from bot.storage.items import Addressing, Item, Kind, StoredItem

DELETED = "deleted before it was taken"


def merged(items: Sequence[StoredItem]) -> list[StoredItem]:
    """Edits and deletions of messages that wait beside them are applied to those messages.

    Slack may deliver them before the message, or one before the other: a message comes first, then
    its edits in their own order.
    """
    waiting: dict[str, StoredItem] = {}
    rest: list[StoredItem] = []
    for stored in sorted(items, key=_in_order):
        item = stored.item
        message = waiting.get(item.ts)
        match item.kind:
            case Kind.MESSAGE if message is None:
                waiting[item.ts] = stored
            case Kind.EDIT if message is not None and message.item.kind is Kind.MESSAGE:
                changed = replace(
                    message.item,
                    text=item.text,
                    addressing=_stronger(message.item.addressing, item.addressing),
                    change=item.change,
                )
                waiting[item.ts] = replace(message, item=changed)
            case Kind.DELETION if message is not None:
                waiting[item.ts] = replace(message, item=item)
            case _:
                rest.append(stored)
    return sorted([*waiting.values(), *rest], key=_in_order)


def _in_order(stored: StoredItem) -> tuple[float, int, float]:
    item = stored.item
    turn = list(Kind).index(item.kind)
    return float(item.ts), turn, float(item.change or 0)


def _stronger(first: Addressing, second: Addressing) -> Addressing:
    order = [Addressing.DIRECT, Addressing.MENTION, Addressing.OPEN, Addressing.ELSEWHERE]
    return min(first, second, key=order.index)


def knows(journal: Sequence[Entry], ts: str) -> bool:
    """Whether this message was taken before."""
    return refused(journal, ts) or any(
        (isinstance(entry, User) and entry.at == ts)
        or (isinstance(entry, Stopped) and ts in entry.covers)
        for entry in journal
    )


def refused(journal: Sequence[Entry], ts: str) -> bool:
    """Whether this message was taken and is not answered."""
    return any(isinstance(entry, Refused) and ts in entry.covers for entry in journal)


def others_wrote(journal: Sequence[Entry], author: str) -> bool:
    """Whether another human has written since the bot last spoke, or this one spoke to it."""
    for entry in reversed(journal):
        if isinstance(entry, ModelReply | Answered | Stopped | Failed):
            return False
        if isinstance(entry, User | Refused) and entry.author != author:
            return True
        if isinstance(entry, User) or (isinstance(entry, Refused) and entry.text):
            return False
        if isinstance(entry, Overheard) and any(q.author != author for q in entry.quotes):
            return True
    return True


def requoted(journal: Sequence[Entry], ts: str, text: str | None) -> list[Entry]:
    """The entry of a change to a message that was taken along as data, unless it is gone."""
    gone = any(isinstance(e, Requoted) and e.at == ts and e.text is None for e in journal)
    return [Requoted(ts, text)] if _quoted(journal, ts) and not gone else []


def _quoted(journal: Sequence[Entry], ts: str) -> bool:
    quotes = [q for entry in journal if isinstance(entry, Overheard) for q in entry.quotes]
    return any(quote.at == ts for quote in quotes)


def unknown_edit(journal: Sequence[Entry], item: Item) -> bool:
    """Whether it changes a message that has not come, and is no call for the bot by itself."""
    known = knows(journal, item.ts) or _quoted(journal, item.ts)
    return item.kind is Kind.EDIT and not item.engages and not known


def changes(journal: Sequence[Entry], ts: str, text: str) -> bool:
    """Whether this is another text than the one that was last taken of this message.

    What was deleted stays so: a change that comes after that was made before.
    """
    versions = [e.text for e in journal if isinstance(e, User | Edited) and e.at == ts]
    return bool(versions) and versions[-1] not in (text, None)


def deleted(journal: Sequence[Entry], item: Item) -> list[Entry]:
    """A deleted question that nobody has answered yet is a stop."""
    if not knows(journal, item.ts):
        if _quoted(journal, item.ts):
            return requoted(journal, item.ts, None)
        return [Refused((item.ts,), "", item.author, DELETED)]
    turn = open_turn(journal)
    gone = {e.at for e in turn if isinstance(e, Edited) and e.text is None} | {item.ts}
    asked = covers(turn)
    if asked and set(asked) <= gone:
        return [Edited(item.ts, None), Stopped(asked, words.BY_DELETING)]
    return [Edited(item.ts, None)]


def told(journal: Sequence[Entry], ts: str) -> bool:
    """Whether the author of this message knows that it waits."""
    return any(isinstance(entry, Told) and entry.at == ts for entry in open_turn(journal))


def stoppable(journal: Sequence[Entry], item: Item) -> bool:
    """Whether a turn goes on about a message that is older than this stop."""
    return any(float(ts) <= float(item.ts) for ts in covers(open_turn(journal)))
