"""What a turn thinks and acts with in one place: tools, policy, prompt."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Protocol

from bot.agent.entries import Answered, Decided, Edited, Entry, ToolCall, User
from bot.agent.ports import Decide, Json, ToolResult, Toolset, ToolSpec
from bot.agent.prompt import Facts
from bot.policy import Person, Place, Verdict
from bot.rulebook import RuleBook


class Hands(Toolset, Protocol):
    """The tools as the policy needs to know them."""

    def resolve(self, name: str) -> str:
        """The name that rules know a tool by."""
        ...

    def arguments(self, name: str, raw: str) -> Mapping[str, Json]:
        """The checked arguments, exactly as the tool will get them."""
        ...


Heard = Callable[[], Sequence[Person]]


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

    @contextmanager
    def open(self, thread: str, heard: Heard) -> Iterator[Brain]:
        """The brain for one turn; its workspace is closed at the end."""
        team, channel, _ = thread.split(":", 2)
        with self.hands(thread) as hands:
            judge = _Judge(hands, self.rules, Place(team, channel), heard, self.unusable)
            yield Brain(_Shown(hands, judge), judge, self.facts(thread))


@dataclass(frozen=True, slots=True)
class _Judge:
    """`bot.agent.ports.Decide`: the strictest decision over everybody heard."""

    hands: Hands
    rules: Callable[[], RuleBook]
    place: Place
    heard: Heard
    unusable: type[Exception]

    def __call__(self, call: ToolCall) -> Decided:
        name = self.hands.resolve(call.name)
        arguments: Mapping[str, Json] = {}
        try:
            arguments = self.hands.arguments(call.name, call.arguments)
        except self.unusable:
            # It cannot run; with no arguments no allow rule is met and none is got past.
            arguments = {}
        people = self.heard()
        found = self.rules().decide(people, self.place, name, arguments)
        rule = found.rule.place if found.rule is not None else ""
        if found.verdict is Verdict.ALLOW:
            return Decided(call.id, found.verdict, found.reason, rule)
        digest = _digest(name, arguments) if found.verdict is Verdict.ASK else ""
        heard = tuple(dict.fromkeys(person.id for person in people))
        return Decided(call.id, found.verdict, found.reason, rule, digest, heard, found.about)

    def shows(self, name: str) -> bool:
        """Whether the turn's first speaker could use a tool.

        Whoever speaks later changes nothing of it, so that what the model is sent first stays the
        same within a turn (prompt caches); their rights are asked for when a tool is called.
        """
        return self.rules().visible(self.heard()[-1:], self.place, name)


def _digest(name: str, arguments: Mapping[str, Json]) -> str:
    """Of exactly this call: what a person says yes to is what is run."""
    form = json.dumps([name, arguments], sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(form.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class _Shown:
    """The tools without those that the policy refuses a turn's first speaker whatever is asked."""

    hands: Hands
    judge: _Judge

    def specs(self) -> Sequence[ToolSpec]:
        return [spec for spec in self.hands.specs() if self.judge.shows(spec.name)]

    async def run(self, name: str, raw: str) -> ToolResult:
        return await self.hands.run(name, raw)
