"""How far “Approve for this thread” reaches. Pure.

A grant makes one rule that asks a rule that allows, for one person, one tool and one workspace,
and only where the rule certainly speaks. So it can turn an ask into an allow and nothing else: what
another rule or level says, or what is decided for another person, stays as it is.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from bot import policy, words
from bot.agent.entries import ApprovalAnswered, Entry, Grant
from bot.patterns import Match
from bot.policy import Decision, Person, Place, Rule, Verdict
from bot.rulebook import RuleBook

LONGEST_PATTERNS = 1_000
"""Characters; a yes whose limits are longer could not be read on a card, so it is not offered."""

LONGEST_PATTERNS = 1_000
"""Characters; a yes whose limits are longer could not be read on a card, so it is not offered."""


def standing(entries: Sequence[Entry], now: float) -> tuple[Grant, ...]:
    """The grants of this thread that have not expired; `now` is in epoch seconds."""
    given = (e.grant for e in entries if isinstance(e, ApprovalAnswered) and e.grant is not None)
    return tuple(grant for grant in given if grant.until > now)


def fingerprint(rule: Rule) -> str:
    """Of everything that a rule says: one that says anything else has another one.

    Not of where it is written: a rule that is added above it changes nothing of it.
    """
    patterns = [[pattern.argument, pattern.text] for pattern in rule.match]
    form = [rule.tool, rule.decision, rule.channel, rule.role, rule.user, patterns]
    return hashlib.sha256(json.dumps(form).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Granting:
    """Decides about the calls of one tool in one place and workspace, with these grants."""

    grants: tuple[Grant, ...]
    place: Place
    workspace: str

    def decide(
        self,
        book: RuleBook,
        people: Sequence[Person],
        tool: str,
        arguments: Mapping[str, object],
    ) -> Decision:
        """As `RuleBook.decide`; what a grant covers is not asked about again."""
        without = book.decide(people, self.place, tool, arguments)
        if without.verdict is not Verdict.ASK or not self.grants:
            return without
        alone = [
            self._softened(book, person, tool, arguments).decide(
                [person], self.place, tool, arguments
            )
            for person in people
        ]
        found = policy.strictest(alone)
        if found.verdict is not Verdict.ALLOW:
            return found
        return replace(without, verdict=found.verdict, reason=words.granted(without.reason))

    def offer(
        self,
        book: RuleBook,
        people: Sequence[Person],
        tool: str,
        arguments: Mapping[str, object],
        *,
        changes: bool,
    ) -> Grant | None:
        """What a yes for the whole thread would cover; None where there can be none.

        There is one where a single rule asks on account of a single person. A rule without a
        pattern would cover whatever the model thinks of, so there the tool must change nothing.
        """
        asking = {
            person.id: decision.rule
            for person in people
            if (decision := self.decide(book, [person], tool, arguments)).verdict is Verdict.ASK
        }
        if len(asking) != 1:
            return None
        ((requester, rule),) = asking.items()
        if rule is None or (changes and not rule.match):
            return None
        patterns = tuple(words.pattern_matches(p.argument, p.text) for p in rule.match)
        if sum(map(len, patterns)) > LONGEST_PATTERNS:
            return None
        grant = Grant(tool, fingerprint(rule), patterns, requester, self.workspace)
        granted = replace(self, grants=(*self.grants, grant))
        enough = granted.decide(book, people, tool, arguments).verdict is Verdict.ALLOW
        return grant if enough else None

    def _softened(
        self, book: RuleBook, person: Person, tool: str, arguments: Mapping[str, object]
    ) -> RuleBook:
        """The rules for this person and call, those that a grant covers turned to allow."""
        mine = {
            grant.rule
            for grant in self.grants
            if (grant.tool, grant.requester, grant.workspace) == (tool, person.id, self.workspace)
        }

        def softened(rule: Rule) -> Rule:
            covered = (
                rule.decision is Verdict.ASK
                and rule.selects(person, self.place, tool) is Match.YES
                and rule.fits(arguments) is Match.YES
                and fingerprint(rule) in mine
            )
            return replace(rule, decision=Verdict.ALLOW) if covered else rule

        return book.changed(softened) if mine else book
