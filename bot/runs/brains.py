"""What a turn thinks and acts with in one place: tools, policy, prompt."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from typing import Protocol

from bot.agent.consent import Preview
from bot.agent.entries import Answered, Decided, Edited, Entry, ToolCall, User
from bot.agent.grants import Granting, standing
from bot.agent.ports import Clock, Decide, Json, ToolResult, Toolset, ToolSpec
from bot.agent.preview import Change, preview
from bot.agent.prompt import Facts
from bot.policy import Person, Place, Verdict
from bot.rulebook import RuleBook


class Hands(Protocol):
    """The tools as the policy needs to know them."""

    def specs(self) -> Sequence[ToolSpec]: ...

    async def run(self, name: str, raw: str) -> ToolResult:
        """As `bot.agent.ports.Toolset.run`."""
        ...

    @property
    def workspace(self) -> str:
        """The name of the workspace that they work in."""
        ...

    def resolve(self, name: str) -> str:
        """The name that rules know a tool by."""
        ...

    def arguments(self, name: str, raw: str) -> Mapping[str, Json]:
        """The checked arguments, exactly as the tool will get them."""
        ...

    def changes(self, name: str) -> bool:
        """Whether a call can change anything."""
        ...

    def change_by(self, name: str, raw: str) -> Change | None:
        """What a call would do to a file, worked out without doing it."""
        ...


Journaled = Callable[[], Sequence[Entry]]
"""The thread's entries as they are now."""


def heard(entries: Sequence[Entry]) -> list[Person]:
    """The people whose messages and changes were taken since the last answer, newest first."""
    people: list[Person] = []
    for entry in reversed(entries):
        match entry:
            case Answered():
                break
            case User(author=author, role=role):
                people.append(Person(author, role))
            case Edited(author=author, role=role, text=str()):
                people.append(Person(author, role))
    return people


@dataclass(frozen=True, slots=True)
class Brain:
    """One turn's tools, policy and facts for the prompt."""

    tools: Toolset
    decide: Decide
    facts: Facts


@dataclass(frozen=True, slots=True)
class Brains:
    """Makes the brain for a thread. `unusable` is what `Hands.arguments` raises."""

    hands: Callable[[str], AbstractContextManager[Hands]]
    rules: Callable[[], RuleBook]
    facts: Callable[[str], Facts]
    unusable: type[Exception]
    clock: Clock
    redact: Callable[[str], str] = str

    @contextmanager
    def open(self, thread: str, journaled: Journaled) -> Iterator[Brain]:
        """The brain for one turn; its workspace is closed at the end."""
        team, channel, _ = thread.split(":", 2)
        with self.hands(thread) as hands:
            place = Place(team, channel)
            judge = _Judge(hands, self.rules, place, journaled, self.unusable, self.clock)
            tools = _Shown(hands, judge, self.unusable, self.redact)
            yield Brain(tools, judge, self.facts(thread))


@dataclass(frozen=True, slots=True)
class _Judge:
    """`bot.agent.ports.Decide`: the strictest decision over everybody heard."""

    hands: Hands
    rules: Callable[[], RuleBook]
    place: Place
    journaled: Journaled
    unusable: type[Exception]
    clock: Clock

    def __call__(self, call: ToolCall) -> Decided:
        name = self.hands.resolve(call.name)
        arguments: Mapping[str, Json] = {}
        try:
            arguments = self.hands.arguments(call.name, call.arguments)
        except self.unusable:
            # It cannot run; with no arguments no allow rule is met and none is got past.
            arguments = {}
        book, people = self.rules(), heard(self.journaled())
        granting = self._granting()
        found = granting.decide(book, people, name, arguments)
        rule = found.rule.place if found.rule is not None else ""
        if found.verdict is Verdict.ALLOW:
            return Decided(call.id, found.verdict, found.reason, rule)
        ids = tuple(dict.fromkeys(person.id for person in people))
        decided = Decided(call.id, found.verdict, found.reason, rule, heard=ids, about=found.about)
        if found.verdict is Verdict.DENY:
            return decided
        changes = self.hands.changes(name)
        return replace(
            decided,
            digest=_digest(name, arguments, self.hands.workspace),
            before=self._before(call),
            offer=granting.offer(book, people, name, arguments, changes=changes),
        )

    def _before(self, call: ToolCall) -> str:
        """The digest of the file that the call would change; "" where there is none."""
        try:
            change = self.hands.change_by(call.name, call.arguments)
        except self.unusable:
            return ""
        return "" if change is None else change.before.digest

    def _granting(self) -> Granting:
        grants = standing(self.journaled(), self.clock.now())
        return Granting(grants, self.place, self.hands.workspace)

    def shows(self, name: str) -> bool:
        """Whether the turn's first speaker could use a tool.

        Whoever speaks later changes nothing of it, so that what the model is sent first stays the
        same within a turn (prompt caches); their rights are asked for when a tool is called.
        """
        return self.rules().visible(heard(self.journaled())[-1:], self.place, name)


def _digest(name: str, arguments: Mapping[str, Json], workspace: str) -> str:
    """Of exactly this call: what a person says yes to is what is run."""
    form = json.dumps([name, arguments, workspace], sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(form.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class _Shown:
    """The tools without those that the policy refuses a turn's first speaker whatever is asked."""

    hands: Hands
    judge: _Judge
    unusable: type[Exception]
    redact: Callable[[str], str]

    def specs(self) -> Sequence[ToolSpec]:
        return [spec for spec in self.hands.specs() if self.judge.shows(spec.name)]

    async def preview(self, name: str, raw: str) -> Preview:
        return await asyncio.to_thread(self._preview, name, raw)

    def _preview(self, name: str, raw: str) -> Preview:
        try:
            arguments = self.hands.arguments(name, raw)
            change = self.hands.change_by(name, raw)
        except self.unusable as error:
            return Preview("", unusable=str(error))
        return preview(self.hands.resolve(name), arguments, change, self.redact)

    async def run(self, name: str, raw: str) -> ToolResult:
        return await self.hands.run(name, raw)
