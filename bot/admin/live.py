"""The rules and settings in force: the file's and those made in Slack, live at once.

Every change goes through here, whoever asks for it, and only an admin's is made. Another process
sees it by the revision that each change counts up (`follow`).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from bot import words
from bot.errors import NotPermitted, StorageError
from bot.policy import Person, Role, Rule, Verdict
from bot.rulebook import RuleBook
from bot.storage.rules import Author, Choice, Made, Rules, SlackRule, day_of

log = logging.getLogger(__name__)

FOLLOW_SECONDS = 2.0
EVERYWHERE = "*"
TOOL = "tool."
"""Before a tool's name: the setting that switches it off."""
OFF = "off"


class Setting(StrEnum):
    """What can be chosen for a channel."""

    VERBOSITY = "verbosity"
    REPLIES = "reply_in_threads"


@dataclass(frozen=True, slots=True)
class Floor:
    """What the file says: its rules, and the settings of a channel."""

    rules: tuple[Rule, ...]
    slack_may_loosen: bool
    setting: Callable[[Setting, str], str]
    """The value of a setting in a channel."""


@dataclass(frozen=True, slots=True)
class Admin:
    """Whoever makes a change, with the name that people read."""

    person: Person
    name: str

    def must_be_one(self) -> Author:
        """The author as storage keeps it. Raises NotPermitted unless it is an admin."""
        if self.person.role != Role.ADMIN or self.person.external or self.person.bot:
            raise NotPermitted(words.only_admins())
        return Author(self.person.id, self.name)


@dataclass(slots=True)
class Live:
    """Reads are from memory; a change is stored, then in force, when its call returns.

    Changes raise NotPermitted for anybody but an admin, and StorageError.
    """

    floor: Floor
    stored: Rules
    _made: Made = field(default_factory=Made)
    _book: RuleBook = field(default_factory=RuleBook)

    def __post_init__(self) -> None:
        self._take(Made())

    @property
    def book(self) -> RuleBook:
        """All rules in force."""
        return self._book

    @property
    def rules(self) -> Sequence[SlackRule]:
        """Those made in Slack, oldest first."""
        return self._made.rules

    @property
    def choices(self) -> Sequence[Choice]:
        """What was chosen in Slack for channels."""
        return [choice for choice in self._made.choices if not _is_switch(choice)]

    def value(self, setting: Setting, channel: str) -> str:
        """The value of a setting in a channel: as chosen in Slack, else as in the file."""
        choice = self.choice(channel, setting.value)
        return self.floor.setting(setting, channel) if choice is None else choice.value

    def choice(self, scope: str, name: str) -> Choice | None:
        """What was chosen in Slack, if anything was."""
        found = (c for c in self._made.choices if (c.scope, c.name) == (scope, name))
        return next(found, None)

    def is_on(self, tool: str) -> bool:
        """Whether the tool has not been switched off in Slack."""
        return self.choice(EVERYWHERE, TOOL + tool) is None

    async def load(self) -> None:
        """Read what is stored. Raises StorageError; without it nothing is known to be allowed."""
        self._take(await self.stored.read())

    async def add(self, admin: Admin, rule: Rule) -> SlackRule:
        """Keep a rule, in the place of one about the very same."""
        kept = await self.stored.add(rule, admin.must_be_one())
        await self.load()
        return kept

    async def forget(self, admin: Admin, number: int) -> SlackRule | None:
        """Take a rule back; None if there was none with this number."""
        by = admin.must_be_one()
        old = next((rule for rule in self._made.rules if rule.number == number), None)
        gone = await self.stored.remove(number, by)
        await self.load()
        return old if gone else None

    async def choose(self, admin: Admin, channel: str, setting: Setting, value: str | None) -> None:
        """Choose a setting for a channel; None goes back to the file's."""
        await self.stored.choose(channel, setting.value, value, admin.must_be_one())
        await self.load()

    async def switch(self, admin: Admin, tool: str, *, on: bool) -> None:
        """Switch a tool off everywhere, or on again."""
        value = None if on else OFF
        await self.stored.choose(EVERYWHERE, TOOL + tool, value, admin.must_be_one())
        await self.load()

    async def follow(self, every: float = FOLLOW_SECONDS) -> None:
        """Take up what other processes change, until cancelled; `every` is in seconds."""
        while True:
            await asyncio.sleep(every)
            try:
                if await self.stored.revision() != self._made.revision:
                    await self.load()
            except StorageError as error:
                log.error("the rules made in Slack are read again later: %s", error)

    def _take(self, made: Made) -> None:
        if made.revision < self._made.revision:
            return  # a later one was read meanwhile
        self._made, self._book = made, book_of(self.floor, made)


def book_of(floor: Floor, made: Made) -> RuleBook:
    """The file's rules and what was made in Slack as one book."""
    off = tuple(_switched_off(choice) for choice in made.choices if _is_switch(choice))
    slack = tuple(stored.rule for stored in made.rules)
    return RuleBook(floor.rules, slack, off, floor.slack_may_loosen)


def _is_switch(choice: Choice) -> bool:
    return choice.scope == EVERYWHERE and choice.name.startswith(TOOL)


def _switched_off(choice: Choice) -> Rule:
    place = words.switch_place(choice.by.name, day_of(choice.at))
    return Rule(choice.name.removeprefix(TOOL), Verdict.DENY, place=place)
