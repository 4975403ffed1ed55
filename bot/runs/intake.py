"""Turns what arrived in a thread into journal entries: whom is it for, who may speak."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from bot import words
from bot.agent.entries import (
    Answered,
    Edited,
    Entry,
    Failed,
    ModelReply,
    Overheard,
    Quote,
    Refused,
    Requoted,
    Stopped,
    User,
    covers,
    open_turn,
)
from bot.agent.ports import Clock
from bot.errors import LookupFailed
from bot.policy import Person, Place, Role
from bot.runs.ports import People, Surroundings
from bot.storage.inbox import Addressing, Item, Kind, StoredItem

TOO_OLD_SECONDS = 6 * 3600.0
MENTION = re.compile(r"<@([UW][A-Z0-9]+)>")

Admit: TypeAlias = Callable[[Person, Place], str | None]
"""The sentence that refuses a person, "" to refuse in silence, None to let them speak."""


@dataclass(frozen=True, slots=True)
class Intake:
    """Judges one thread's items in Slack's order; what it needs from outside comes by its ports."""

    people: People
    surroundings: Surroundings
    admit: Admit
    mention_needed: Callable[[str], bool]
    """Whether replies in this channel need a mention (`reply_in_threads`)."""
    allowed_bots: frozenset[str]
    clock: Clock

    async def entries(
        self, journal: Sequence[Entry], root_addressed: bool, items: Sequence[StoredItem]
    ) -> list[Entry]:
        """The entries that the items cause, to be appended with the items marked as taken."""
        new: list[Entry] = []
        for stored in _merged(items):
            so_far = [*journal, *new]
            item = stored.item
            match item.kind:
                case Kind.MESSAGE:
                    new += await self._message(so_far, root_addressed, stored)
                case Kind.EDIT if not _knows(so_far, item.ts):
                    new += _requoted(so_far, item.ts, await self._readable(item))
                    if item.engages:
                        new += await self._message(so_far, root_addressed, stored)
                case Kind.EDIT:
                    new += await self._edited(so_far, item)
                case Kind.DELETION:
                    new += _deleted(so_far, item)
        return new

    def addressed(
        self, journal: Sequence[Entry], root_addressed: bool, items: Sequence[StoredItem]
    ) -> list[str]:
        """The `ts` of those of these messages that are certainly for the bot."""
        return [
            stored.item.ts
            for stored in _merged(items)
            if stored.item.kind is Kind.MESSAGE
            and not _knows(journal, stored.item.ts)
            and self._is_for_bot(journal, root_addressed, stored.item)
        ]

    async def _message(
        self, journal: Sequence[Entry], root_addressed: bool, stored: StoredItem
    ) -> list[Entry]:
        item = stored.item
        if item.is_bot and item.author not in self.allowed_bots:
            return []
        if _knows(journal, item.ts):
            return []
        if not self._is_for_bot(journal, root_addressed, item):
            name = await self.people.name(item.author, item.team)
            return [Overheard((Quote(item.author, name, await self._readable(item), item.ts),))]
        if self.clock.now() - float(item.change or item.ts) > TOO_OLD_SECONDS:
            return [Refused((item.ts,), words.message_too_old(), item.author)]
        speaker = await self._speaker(item)
        if isinstance(speaker, str):
            return [Refused((item.ts,), speaker, item.author)]
        name = await self.people.name(item.author, item.team)
        user = User(await self._readable(item), item.author, name, item.ts, speaker.role)
        return [*await self._quoted(journal, item), user]

    async def _edited(self, journal: Sequence[Entry], item: Item) -> list[Entry]:
        """A change may say anything, so it is judged like a message."""
        text = await self._readable(item)
        versions = [e.text for e in journal if isinstance(e, User | Edited) and e.at == item.ts]
        if not versions or versions[-1] == text:
            return []
        speaker = await self._speaker(item)
        if isinstance(speaker, str):
            return [Refused((), speaker, item.author)]  # the message itself has its answer
        return [Edited(item.ts, text, item.author, speaker.role)]

    async def _speaker(self, item: Item) -> Person | str:
        """The author, or the sentence that refuses them."""
        try:
            person = await self._person(item)
        except LookupFailed as error:
            return str(error)
        refusal = self.admit(person, Place(item.team, item.channel))
        if refusal is None:
            return person
        # Two bots that tell each other no would never end.
        return "" if person.bot else refusal

    async def _person(self, item: Item) -> Person:
        if item.is_bot:
            return Person(item.author, role="bot", bot=True)
        person = await self.people.lookup(item.author, item.team)
        if item.author_team in ("", item.team):
            return person
        return replace(person, role=Role.MEMBER.value, external=True)

    async def _quoted(self, journal: Sequence[Entry], item: Item) -> list[Entry]:
        """The thread's messages from before the bot was called into it."""
        if item.is_root or any(not isinstance(entry, Refused) for entry in journal):
            return []
        quotes = tuple(await self.surroundings.earlier(item.thread, item.ts))
        return [Overheard(quotes)] if quotes else []

    def _is_for_bot(self, journal: Sequence[Entry], root_addressed: bool, item: Item) -> bool:
        match item.addressing:
            case Addressing.MENTION | Addressing.DIRECT:
                return True
            case Addressing.ELSEWHERE:
                return False
            case Addressing.OPEN if item.is_bot or self.mention_needed(item.channel):
                return False
            case Addressing.OPEN:
                ours = root_addressed and not _refused(journal, item.root_ts)
                return ours or not _others_wrote(journal, item.author)

    async def _readable(self, item: Item) -> str:
        """The text with people's names instead of ids, and what was attached."""
        names = {
            user: await self.people.name(user, item.team) for user in MENTION.findall(item.text)
        }
        text = MENTION.sub(lambda match: f"@{names[match[1]]}", item.text)
        files = "".join(f"\n{words.attached(name)}" for name in item.files)
        return (text + files).strip()


def _merged(items: Sequence[StoredItem]) -> list[StoredItem]:
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
    turn = [Kind.MESSAGE, Kind.EDIT, Kind.DELETION].index(item.kind)
    return float(item.ts), turn, float(item.change or 0)


def _stronger(first: Addressing, second: Addressing) -> Addressing:
    order = [Addressing.DIRECT, Addressing.MENTION, Addressing.OPEN, Addressing.ELSEWHERE]
    return min(first, second, key=order.index)


def _knows(journal: Sequence[Entry], ts: str) -> bool:
    asked = any(isinstance(entry, User) and entry.at == ts for entry in journal)
    return asked or _refused(journal, ts)


def _refused(journal: Sequence[Entry], ts: str) -> bool:
    return any(isinstance(entry, Refused) and ts in entry.covers for entry in journal)


def _others_wrote(journal: Sequence[Entry], author: str) -> bool:
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


def _requoted(journal: Sequence[Entry], ts: str, text: str | None) -> list[Entry]:
    quotes = [q for entry in journal if isinstance(entry, Overheard) for q in entry.quotes]
    return [Requoted(ts, text)] if any(quote.at == ts for quote in quotes) else []


def _deleted(journal: Sequence[Entry], item: Item) -> list[Entry]:
    """A deleted question that nobody has answered yet is a stop."""
    if not _knows(journal, item.ts):
        return _requoted(journal, item.ts, None) or [Refused((item.ts,), "", item.author)]
    turn = open_turn(journal)
    gone = {e.at for e in turn if isinstance(e, Edited) and e.text is None} | {item.ts}
    asked = covers(turn)
    if asked and set(asked) <= gone:
        return [Edited(item.ts, None), Stopped(asked, words.BY_DELETING)]
    return [Edited(item.ts, None)]
