"""Turns what arrived in a thread into journal entries: whom is it for, who may speak."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from bot import words
from bot.agent.entries import (
    Edited,
    Entry,
    Overheard,
    Quote,
    Refused,
    Stopped,
    Told,
    User,
    covers,
    open_turn,
)
from bot.agent.ports import Clock
from bot.policy import Person
from bot.runs.answers import Answers
from bot.runs.door import Door
from bot.runs.ports import People, Surroundings
from bot.runs.waiting import (
    changes,
    deleted,
    knows,
    merged,
    others_wrote,
    refused,
    requoted,
    stoppable,
    told,
    unknown_edit,
)
from bot.storage.items import Addressing, Item, Kind, StoredItem

TOO_OLD_SECONDS = 6 * 3600.0
ASKS_WHY = "!why"
"""As the whole message: no question for the model. Slack has no slash commands in threads."""
EARLY_SECONDS = 600.0
"""How long a change waits for its message: Slack's last attempt to deliver an event is six minutes
after the first (docs.slack.dev, Events API, retries)."""
MENTION = re.compile(r"<@([UW][A-Z0-9]+)>")


@dataclass(frozen=True, slots=True)
class Intake:
    """Judges one thread's items in Slack's order; what it needs from outside comes by its ports."""

    people: People
    surroundings: Surroundings
    door: Door
    answers: Answers
    mention_needed: Callable[[str], bool]
    """Whether replies in this channel need a mention (`reply_in_threads`)."""
    allowed_bots: frozenset[str]
    clock: Clock
    why: Callable[[Sequence[Entry], str], str]
    """Explains the last refusal that somebody got in a thread."""

    async def entries(
        self, journal: Sequence[Entry], root_addressed: bool, items: Sequence[StoredItem]
    ) -> list[Entry]:
        """The entries that the items cause, to be appended with the items marked as taken."""
        new: list[Entry] = []
        for stored in merged(items):
            so_far = [*journal, *new]
            item = stored.item
            match item.kind:
                case Kind.MESSAGE:
                    new += await self._message(so_far, root_addressed, stored)
                case Kind.EDIT if not knows(so_far, item.ts):
                    new += requoted(so_far, item.ts, await self._readable(item))
                    if item.engages:
                        new += await self._message(so_far, root_addressed, stored)
                case Kind.EDIT:
                    new += await self._edited(so_far, item)
                case Kind.DELETION:
                    new += deleted(so_far, item)
                case Kind.STOP:
                    new += await self._stop(so_far, root_addressed, stored)
                case Kind.CLICK | Kind.EXPIRY:
                    new += await self.answers.entries(so_far, item)
        return new

    async def while_waiting(
        self, journal: Sequence[Entry], root_addressed: bool, items: Sequence[StoredItem]
    ) -> tuple[list[Entry], list[StoredItem]]:
        """What may be taken while a question is open, and which items that takes.

        Messages wait; each one for the bot gets a line that says so.
        """
        new: list[Entry] = []
        taken: list[StoredItem] = []
        for stored in merged(items):
            so_far, item = [*journal, *new], stored.item
            if item.kind in (Kind.CLICK, Kind.EXPIRY):
                new += await self.answers.entries(so_far, item)
                taken.append(stored)
            elif item.kind is Kind.MESSAGE and not told(so_far, item.ts):
                found = await self._message(so_far, root_addressed, stored)
                if _asks_why(item):
                    new += found
                    taken.append(stored)
                    continue
                new += [Told(item.ts)] if any(isinstance(e, User) for e in found) else []
        return new, taken

    def early(self, journal: Sequence[Entry], items: Sequence[StoredItem]) -> list[int]:
        """The ids of the changes that came before the message they change: they wait for it."""
        oldest = self.clock.now() - EARLY_SECONDS
        return [
            stored.id
            for stored in merged(items)
            if unknown_edit(journal, stored.item) and stored.received_at >= oldest
        ]

    async def stops(self, journal: Sequence[Entry], items: Sequence[StoredItem]) -> bool:
        """Whether one of the items stops the turn that is going on."""
        for item in (stored.item for stored in merged(items)):
            match item.kind:
                case Kind.DELETION:
                    found = any(isinstance(entry, Stopped) for entry in deleted(journal, item))
                case Kind.STOP if stoppable(journal, item):
                    found = isinstance(await self.door.admitted(item), Person)
                case _:
                    continue
            if found:
                return True
        return False

    def addressed(
        self, journal: Sequence[Entry], root_addressed: bool, items: Sequence[StoredItem]
    ) -> list[str]:
        """The `ts` of those of these messages that are certainly for the bot."""
        return [
            stored.item.ts
            for stored in merged(items)
            if stored.item.kind is Kind.MESSAGE
            and not knows(journal, stored.item.ts)
            and self._is_for_bot(journal, root_addressed, stored.item)
        ]

    async def _message(
        self, journal: Sequence[Entry], root_addressed: bool, stored: StoredItem
    ) -> list[Entry]:
        item = stored.item
        if item.is_bot and item.author not in self.allowed_bots:
            return []
        if knows(journal, item.ts):
            return []
        if not self._is_for_bot(journal, root_addressed, item):
            name = await self.people.name(item.author, item.team)
            return [Overheard((Quote(item.author, name, await self._readable(item), item.ts),))]
        if self.clock.now() - float(item.change or item.ts) > TOO_OLD_SECONDS:
            return [Refused((item.ts,), words.message_too_old(), item.author)]
        person = await self.door.admitted(item)
        if isinstance(person, Refused):
            return [person]
        if _asks_why(item):
            return [Refused((item.ts,), self.why(journal, item.author), item.author)]
        name = await self.people.name(item.author, item.team)
        user = User(await self._readable(item), item.author, name, item.ts, person.role)
        return [*await self._quoted(journal, item), user]

    async def _edited(self, journal: Sequence[Entry], item: Item) -> list[Entry]:
        """A change may say anything, so it is judged like a message."""
        text = await self._readable(item)
        if not changes(journal, item.ts, text):
            return []
        person = await self.door.admitted(item)
        if isinstance(person, Refused):  # the message itself has its answer
            return [Refused((), person.text, item.author)]
        return [Edited(item.ts, text, item.author, person.role)]

    async def _stop(
        self, journal: Sequence[Entry], root_addressed: bool, stored: StoredItem
    ) -> list[Entry]:
        """The end of the turn that is going on, if whoever wants it may speak here."""
        item, going = stored.item, stoppable(journal, stored.item)
        for_bot = bool(item.text) and self._is_for_bot(journal, root_addressed, item)
        if not (going or for_bot):
            return await self._message(journal, root_addressed, stored) if item.text else []
        person = await self.door.admitted(item)
        if isinstance(person, Refused):
            return [person] if for_bot else []
        if not going:
            return [Refused((item.ts,), words.nothing_to_stop(), item.author)]
        said = (item.ts,) if item.text else ()
        name = await self.people.name(item.author, item.team)
        return [Stopped((*covers(open_turn(journal)), *said), name, author=person.id)]

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
                ours = root_addressed and not refused(journal, item.root_ts)
                return ours or not others_wrote(journal, item.author)

    async def _readable(self, item: Item) -> str:
        """The text with people's names instead of ids, and what was attached."""
        names = {
            user: await self.people.name(user, item.team) for user in MENTION.findall(item.text)
        }
        text = MENTION.sub(lambda match: f"@{names[match[1]]}", item.text)
        files = "".join(f"\n{words.attached(name)}" for name in item.files)
        return (text + files).strip()


def _asks_why(item: Item) -> bool:
    return item.text.strip().casefold() == ASKS_WHY
