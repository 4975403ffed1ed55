"""All the rules in force: those of the file, those made in Slack, the tools switched off. Pure.

What is made in Slack can only tighten the file's rules: each part is asked for itself and the
strictest holds. Where `access.slack_may_loosen` is set, Slack's rules stand before the file's.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from bot.policy import (
    Decision,
    Person,
    Place,
    Role,
    Rule,
    Verdict,
    decide,
    mildest,
    strictest,
    visible,
)

STRICTEST_FIRST = (Verdict.DENY, Verdict.ASK, Verdict.ALLOW)
_ROLES = (Role.MEMBER, Role.GUEST, Role.ADMIN)


@dataclass(frozen=True, slots=True)
class RuleBook:
    """The rules as they stand now. A tool that is switched off has a rule in `off`."""

    file: tuple[Rule, ...] = ()
    slack: tuple[Rule, ...] = ()
    off: tuple[Rule, ...] = ()
    slack_may_loosen: bool = False

    def decide(
        self,
        people: Sequence[Person],
        place: Place,
        tool: str,
        arguments: Mapping[str, object],
    ) -> Decision:
        """As `bot.policy.decide`, over all parts."""
        found = [decide(part, people, place, tool, arguments) for part in self._parts()]
        return strictest(found)

    def visible(self, people: Sequence[Person], place: Place, tool: str) -> bool:
        """False for a tool that would be denied whatever its arguments."""
        return all(visible(part, people, place, tool) for part in self._parts())

    def depends(self, person: Person, place: Place, tool: str) -> bool:
        """Whether what holds for this person, place and tool depends on the arguments."""
        mild = [mildest(part, [person], place, tool) for part in self._parts()]
        strict = self.decide([person], place, tool, {}).verdict
        return max(mild, key=list(Verdict).index) is not strict

    def changed(self, change: Callable[[Rule], Rule]) -> RuleBook:
        """The same book with every rule replaced by what `change` makes of it."""
        file, slack, off = (tuple(map(change, part)) for part in (self.file, self.slack, self.off))
        return RuleBook(file, slack, off, self.slack_may_loosen)

    def everything(self) -> Sequence[Rule]:
        """All rules: the file's, those made in Slack as they are asked, the switches."""
        return (*self.file, *in_order(self.slack), *self.off)

    def find(self, place: str) -> Rule | None:
        """The rule that is written at this place, if it still is."""
        return next((rule for rule in self.everything() if rule.place == place), None)

    def over(self, rule: Rule) -> Decision:
        """What holds where this rule, one of those made in Slack, is about somebody's call."""
        person, place = _example(rule)
        always = tuple(replace(r, match=()) if r is rule else r for r in in_order(self.slack))
        parts = self._parts(always)
        return strictest([decide(part, [person], place, rule.tool, {}) for part in parts])

    def _parts(self, slack: Sequence[Rule] | None = None) -> Sequence[Sequence[Rule]]:
        slack = in_order(self.slack) if slack is None else slack
        if self.slack_may_loosen:
            return ((*slack, *self.file), self.off)
        return (self.file, slack, self.off)


def _example(rule: Rule) -> tuple[Person, Place]:
    """Somebody and somewhere that the rule is about."""
    role = _first(rule.role) or next(
        r.value for r in _ROLES if f"!{r.value}" not in (rule.role or ())
    )
    return Person(_first(rule.user) or "U0", role), Place("", _first(rule.channel) or "C0")


def _first(items: Sequence[str] | None) -> str:
    return next((item for item in items or () if not item.startswith("!")), "")


def in_order(rules: Sequence[Rule]) -> tuple[Rule, ...]:
    """Rules made in Slack as they are asked: nobody there can see or choose an order.

    The closer one first (with a pattern before without, a tool's name before "*"), of equally
    close ones the stricter.
    """

    def rank(rule: Rule) -> tuple[bool, bool, int]:
        return not rule.match, rule.tool == "*", STRICTEST_FIRST.index(rule.decision)

    return tuple(sorted(rules, key=rank))
