"""Who may speak, stop and answer: one look-up for whatever a person does."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeAlias

from bot.agent.entries import Refused
from bot.errors import LookupFailed
from bot.policy import BOT_ROLE, Person, Place, Role
from bot.runs.ports import People
from bot.storage.items import Item

Admit: TypeAlias = Callable[[Person, Place], str | None]
"""The sentence that refuses a person, "" to refuse in silence, None to let them speak."""


@dataclass(frozen=True, slots=True)
class Door:
    """Looks people up and lets them in, or says why not."""

    people: People
    admit: Admit

    async def admitted(self, item: Item, *, acts: bool = False) -> Person | Refused:
        """Whoever the item is from, or why they may not speak here; `acts` as for a look-up."""
        try:
            person = await self._person(item, acts=acts)
        except LookupFailed as error:
            return Refused((item.ts,), str(error), item.author)
        refusal = self.admit(person, Place(item.team, item.channel))
        if refusal is None:
            return person
        # Two bots that tell each other no would never end.
        said = "" if person.bot else refusal
        return Refused((item.ts,), said, item.author, "" if said else _who(person))

    async def _person(self, item: Item, *, acts: bool) -> Person:
        if item.is_bot:
            return Person(item.author, role=BOT_ROLE, bot=True)
        person = await self.people.lookup(item.author, item.team, acts=acts)
        if item.author_team in ("", item.team):
            return person
        return replace(person, role=Role.MEMBER.value, external=True)


def _who(person: Person) -> str:
    """What somebody is who is refused in silence, for the audit trail."""
    return f"{person.role}, of another organisation" if person.external else person.role
