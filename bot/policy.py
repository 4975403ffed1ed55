"""The tool policy: what is allowed, what needs a human, what is refused. Pure.

There are four levels: workspace, channel, role, user; a rule belongs to its narrowest selector.
Every level is asked. Within a level the first matching rule in order speaks; of all levels the
strictest holds (deny > ask > allow); where no rule speaks an enabled tool is allowed.

What cannot be known must not open a door: a rule that may or may not match (the role is not
known, the argument was not given, a newline decides) is taken both ways and the stricter holds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum, StrEnum

from bot.patterns import Match, Pattern


class Verdict(StrEnum):
    """What the policy says to a call, from weakest to strictest."""

    ALLOW = "allow"
    ASK = "ask"
    DENY = "deny"


class Role(StrEnum):
    """The roles that rules can name; anything else is an unknown role."""

    ADMIN = "admin"
    MEMBER = "member"
    GUEST = "guest"


BOT_ROLE = "bot"
"""Of a bot that `[access] bots` names: it has no role that a rule can name."""
_KNOWN_ROLES = frozenset({*Role.__members__.values(), BOT_ROLE})


class Level(IntEnum):
    """Where a rule belongs, from the broadest to the narrowest."""

    WORKSPACE = 0
    CHANNEL = 1
    ROLE = 2
    USER = 3


@dataclass(frozen=True, slots=True)
class Person:
    """Somebody who speaks to the bot; a `role` that is neither Role's nor a bot's is unknown."""

    id: str
    role: str = Role.MEMBER.value
    external: bool = False
    bot: bool = False


@dataclass(frozen=True, slots=True)
class Place:
    """Where the call is made; a direct message is its own channel."""

    team: str
    channel: str


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule. `tool` is a tool's own name or "*"; `place` says where the rule is written.

    A selector that is None was not given; an empty one selects nobody. Values with a leading "!"
    mean everybody, or everywhere, but these.
    """

    tool: str
    decision: Verdict
    channel: tuple[str, ...] | None = None
    role: tuple[str, ...] | None = None
    user: tuple[str, ...] | None = None
    match: tuple[Pattern, ...] = ()
    place: str = ""

    @property
    def level(self) -> Level:
        """The level of the narrowest selector."""
        if self.user is not None:
            return Level.USER
        if self.role is not None:
            return Level.ROLE
        return Level.WORKSPACE if self.channel is None else Level.CHANNEL

    def selects(self, person: Person, place: Place, tool: str) -> Match:
        """Whether the rule is about this person, place and tool, whatever the arguments."""
        if self.tool not in ("*", tool):
            return Match.NO
        known = person.role in Role.__members__.values()
        parts = [_selected(self.channel, place.channel), _selected(self.user, person.id)]
        if self.role is not None:
            parts.append(_selected(self.role, person.role) if known else _possible(self.role))
        return min(parts)

    def fits(self, arguments: Mapping[str, object]) -> Match:
        """Whether every pattern of the rule matches its argument."""
        return min((pattern.check(arguments) for pattern in self.match), default=Match.YES)


def _selected(selector: tuple[str, ...] | None, value: str) -> Match:
    if selector is None:
        return Match.YES
    wanted = [item for item in selector if not item.startswith("!")]
    if f"!{value}" in selector or value not in (wanted or [value]):
        return Match.NO
    return Match.YES if selector else Match.NO


def _possible(roles: tuple[str, ...]) -> Match:
    return max((min(_selected(roles, role), Match.PERHAPS) for role in Role), default=Match.NO)


@dataclass(frozen=True, slots=True)
class Decision:
    """The verdict, the sentence that explains it and the rule that spoke (None: no rule did).

    `about` is the id of the person for whom it is so: of several the one who is held strictest.
    """

    verdict: Verdict
    reason: str
    rule: Rule | None = None
    about: str = ""


_SAYS = {Verdict.ALLOW: "allows", Verdict.ASK: "asks a person about", Verdict.DENY: "denies"}
_SEVERITY = {verdict: severity for severity, verdict in enumerate(Verdict)}
Pick = Callable[[Sequence[Decision]], Decision]


def _severity(decision: Decision) -> int:
    return _SEVERITY[decision.verdict]


def strictest(decisions: Sequence[Decision]) -> Decision:
    """The strictest of one or more decisions; of equal ones the first that a rule made."""
    return max(decisions, key=lambda decision: (_severity(decision), decision.rule is not None))


def _weakest(decisions: Sequence[Decision]) -> Decision:
    return min(decisions, key=_severity)


def decide(
    rules: Sequence[Rule],
    people: Sequence[Person],
    place: Place,
    tool: str,
    arguments: Mapping[str, object],
) -> Decision:
    """The strictest decision over `people`; nothing is allowed where it is not known who or where.

    `tool` is the tool's own name (other names are resolved by the caller) and `arguments` are the
    checked ones that the tool would get. An argument that is missing or null satisfies no allow
    rule, and cannot be used to get past an ask or deny rule either.
    """
    return _decide(rules, people, place, tool, lambda rule: rule.fits(arguments), strictest)


def visible(rules: Sequence[Rule], people: Sequence[Person], place: Place, tool: str) -> bool:
    """False for a tool that would be denied whatever its arguments: the model is not shown it."""
    return mildest(rules, people, place, tool) is not Verdict.DENY


def mildest(rules: Sequence[Rule], people: Sequence[Person], place: Place, tool: str) -> Verdict:
    """The mildest verdict that some arguments of the tool could get."""

    def fits(rule: Rule) -> Match:
        return Match.PERHAPS if rule.match else Match.YES

    return _decide(rules, people, place, tool, fits, _weakest).verdict


def _decide(
    rules: Sequence[Rule],
    people: Sequence[Person],
    place: Place,
    tool: str,
    fits: Callable[[Rule], Match],
    pick: Pick,
) -> Decision:
    if not people:
        return Decision(Verdict.DENY, "Nobody is known to have asked for this.")
    if not place.channel:
        return Decision(Verdict.DENY, "It is not known where this was asked for.")
    found = []
    for person in people:
        if not _is_known(person):
            return Decision(Verdict.DENY, "It is not known who asked for this.", about=person.id)
        found.append(Decision(Verdict.ALLOW, _no_rule(tool), about=person.id))
        about = [(rule, rule.selects(person, place, tool)) for rule in rules]
        for level in sorted({rule.level for rule in rules}):
            mine = [(rule, who) for rule, who in about if rule.level is level and who]
            found.append(replace(_first(mine, tool, fits, pick), about=person.id))
    return strictest(found)


def _is_known(person: Person) -> bool:
    return bool(person.id) and person.role in _KNOWN_ROLES


def _first(
    candidates: Sequence[tuple[Rule, Match]],
    tool: str,
    fits: Callable[[Rule], Match],
    pick: Pick,
) -> Decision:
    """What one level says; rules that may or may not match are taken both ways, from the last."""
    spoken = Decision(Verdict.ALLOW, _no_rule(tool))
    for rule, who in reversed(candidates):
        what = fits(rule)
        if what is Match.NO:
            continue
        decision = Decision(rule.decision, _reason(rule, tool), rule)
        if what is Match.PERHAPS:
            decision = pick([decision, spoken])
        spoken = decision if who is Match.YES else strictest([decision, spoken])
    return spoken


def _no_rule(tool: str) -> str:
    return f"No rule is about {tool} here."


def _reason(rule: Rule, tool: str) -> str:
    return (
        f"{rule.place or 'A rule'} {_SAYS[rule.decision]} {tool} ({rule.level.name.lower()} rule)."
    )


@dataclass(frozen=True, slots=True)
class Access:
    """Who may speak to the bot, as `[access]` says; "*" in `channels` means every channel."""

    guests: bool = False
    external: bool = False
    bots: tuple[str, ...] = ()
    channels: tuple[str, ...] = ("*",)


class Refusal(StrEnum):
    """Why somebody may not speak to the bot."""

    UNKNOWN_PERSON = "unknown person"
    BOT = "bot"
    EXTERNAL = "external"
    GUEST = "guest"
    CHANNEL = "channel"


def may_speak(access: Access, person: Person, place: Place) -> Refusal | None:
    """None if the person may speak to the bot here, else the first reason why not."""
    if person.bot:
        if person.id not in access.bots:
            return Refusal.BOT
    elif person.role not in Role.__members__.values():
        return Refusal.UNKNOWN_PERSON
    if person.external and not access.external:
        return Refusal.EXTERNAL
    if person.role == Role.GUEST and not access.guests:
        return Refusal.GUEST
    if not {"*", place.channel} & set(access.channels):
        return Refusal.CHANNEL
    return None
