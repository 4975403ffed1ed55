"""What somebody may use in a place, and what a new rule changes. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from bot import words
from bot.admin.explain import Naming, in_words
from bot.admin.house import Asker, House
from bot.policy import Person, Place, Verdict
from bot.rulebook import RuleBook


@dataclass(frozen=True, slots=True)
class Right:
    """What holds for a tool and at which `place` that is said; `depends`: also on arguments."""

    tool: str
    what: str
    verdict: Verdict
    place: str
    depends: bool


def rights_of(house: House, person: Person, place: Place) -> Sequence[Right]:
    """What the person may do with each tool in this place."""
    book = house.live.book
    found = []
    for tool in house.tools:
        decision = book.decide([person], place, tool.name, {})
        depends = book.depends(person, place, tool.name)
        seen = book.visible([person], place, tool.name)
        where = decision.rule.place if decision.rule else ""
        found.append(Right(tool.name, tool.what, decision.verdict, where, depends and seen))
    return found


def rights(house: House, asker: Asker) -> Sequence[str]:
    """The same in lines for people, what is denied last."""
    found = rights_of(house, asker.person, asker.place)
    if not found:
        return [words.no_tools()]
    found = sorted(found, key=lambda right: right.verdict is Verdict.DENY and not right.depends)
    return [words.tools_head(), *map(right_line, found)]


def right_line(right: Right) -> str:
    """One tool, for people."""
    if right.depends:
        return words.tool_some(right.tool, right.what, right.place)
    return words.tool_line(right.tool, right.what, right.verdict.value, right.place)


def effect(book: RuleBook, place: str, naming: Naming) -> Iterator[str]:
    """A note where the rule at this place, which was just made, is overruled by a stricter one."""
    rule = book.find(place)
    if rule is None or rule.tool == "*":
        return
    decision = book.over(rule)
    stricter = decision.rule
    if decision.verdict is rule.decision or stricter is None or stricter.match:
        return
    said = in_words(stricter, naming)
    verdict = decision.verdict.value
    yield words.rule_without_effect(verdict, rule.tool, stricter.place, said)
