"""What holds for every set of rules: nothing that is added can open what was closed."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from bot.patterns import Match, Pattern
from bot.policy import BOT_ROLE, Person, Place, Role, Rule, Verdict, decide, visible

CHANNELS = ("C0A", "C0B", "C0C")
USERS = ("U0A", "U0B", "U0C")
ROLES = tuple(role.value for role in Role)
PATTERNS = [Pattern("command", text) for text in ("a", "a.*", "[^b]*", ".*")]
ORDER = list(Verdict)


def selectors(values: tuple[str, ...]) -> st.SearchStrategy[tuple[str, ...] | None]:
    """No selector, a list of values, or a list of values to leave out."""
    some = st.lists(st.sampled_from(values), max_size=2, unique=True).map(tuple)
    others = some.map(lambda items: tuple(f"!{item}" for item in items))
    return st.none() | some | others


rules = st.builds(
    Rule,
    tool=st.sampled_from(["*", "run_command", "read_file"]),
    decision=st.sampled_from(Verdict),
    channel=selectors(CHANNELS),
    role=selectors(ROLES),
    user=selectors(USERS),
    match=st.lists(st.sampled_from(PATTERNS), max_size=1).map(tuple),
)
rule_lists = st.lists(rules, max_size=6)
known = st.builds(Person, id=st.sampled_from(USERS), role=st.sampled_from((*ROLES, BOT_ROLE)))
unknown = st.builds(Person, id=st.sampled_from((*USERS, "")), role=st.sampled_from(("", "owner")))
people = known | unknown
places = st.builds(Place, team=st.just("T"), channel=st.sampled_from(CHANNELS))
arguments = st.dictionaries(
    st.just("command"), st.sampled_from(["a", "b", "ab", "a\n", "a\nb", "", None, 5])
)


def severity(
    rules: list[Rule], people: list[Person], place: Place, arguments: dict[str, object]
) -> int:
    """0 for allow, 1 for ask, 2 for deny of run_command."""
    return ORDER.index(decide(rules, people, place, "run_command", arguments).verdict)


@given(rule_lists, rules, people, places, arguments)
def test_a_rule_added_at_the_end_never_loosens(
    rules: list[Rule], more: Rule, person: Person, place: Place, arguments: dict[str, object]
) -> None:
    before = severity(rules, [person], place, arguments)
    assert severity([*rules, more], [person], place, arguments) >= before


@given(rule_lists, rules, st.integers(0, 6), people, places, arguments)
def test_a_rule_of_another_level_never_loosens_wherever_it_stands(
    rules: list[Rule],
    more: Rule,
    at: int,
    person: Person,
    place: Place,
    arguments: dict[str, object],
) -> None:
    others = [rule for rule in rules if rule.level is not more.level]
    before = severity(others, [person], place, arguments)
    joined = [*others[:at], more, *others[at:]]
    assert severity(joined, [person], place, arguments) >= before


@given(rule_lists, rules, st.integers(0, 6), people, places, arguments)
def test_a_denial_never_loosens_wherever_it_stands(
    rules: list[Rule],
    more: Rule,
    at: int,
    person: Person,
    place: Place,
    arguments: dict[str, object],
) -> None:
    denial = Rule(more.tool, Verdict.DENY, more.channel, more.role, more.user, more.match)
    before = severity(rules, [person], place, arguments)
    assert severity([*rules[:at], denial, *rules[at:]], [person], place, arguments) >= before


@given(rule_lists, people, people, places, arguments)
def test_another_person_never_loosens(
    rules: list[Rule], one: Person, other: Person, place: Place, arguments: dict[str, object]
) -> None:
    both = severity(rules, [one, other], place, arguments)
    alone = [severity(rules, [person], place, arguments) for person in (one, other)]
    assert both == max(alone)


@given(rule_lists, st.sampled_from(USERS), st.sampled_from(ROLES), places, arguments)
def test_an_unknown_role_is_never_better_off_than_any_known_one(
    rules: list[Rule], user: str, role: str, place: Place, arguments: dict[str, object]
) -> None:
    nobody = severity(rules, [Person(user, "unknown")], place, arguments)
    assert nobody >= severity(rules, [Person(user, role)], place, arguments)


@given(rule_lists, people, places, st.sampled_from(["a", "b", "ab", "", "a\nb"]))
def test_leaving_an_argument_out_is_never_better_than_giving_it(
    rules: list[Rule], person: Person, place: Place, command: str
) -> None:
    given_it = severity(rules, [person], place, {"command": command})
    assert severity(rules, [person], place, {}) >= given_it


@given(rule_lists, st.lists(people, min_size=1, max_size=3), places, arguments)
def test_a_tool_that_is_not_shown_is_denied_whatever_the_arguments(
    rules: list[Rule], people: list[Person], place: Place, arguments: dict[str, object]
) -> None:
    if not visible(rules, people, place, "run_command"):
        assert severity(rules, people, place, arguments) == ORDER.index(Verdict.DENY)


@given(rule_lists, unknown, places, arguments)
def test_somebody_unknown_may_do_nothing(
    rules: list[Rule], person: Person, place: Place, arguments: dict[str, object]
) -> None:
    assert severity(rules, [person], place, arguments) == ORDER.index(Verdict.DENY)
    assert not visible(rules, [person], place, "run_command")


@given(rule_lists, people, arguments)
def test_nothing_is_allowed_in_an_unknown_place(
    rules: list[Rule], person: Person, arguments: dict[str, object]
) -> None:
    assert severity(rules, [person], Place("T", ""), arguments) == ORDER.index(Verdict.DENY)


@given(rules, places, people)
def test_an_empty_list_selects_nobody(rule: Rule, place: Place, person: Person) -> None:
    for empty in (replace(rule, channel=()), replace(rule, role=()), replace(rule, user=())):
        assert empty.selects(person, place, "run_command") is Match.NO


@given(rule_lists, known, places, arguments)
def test_a_decision_is_that_of_a_rule_about_it_or_allows_for_want_of_one(
    rules: list[Rule], person: Person, place: Place, arguments: dict[str, object]
) -> None:
    decision = decide(rules, [person], place, "run_command", arguments)
    if decision.rule is None:
        assert decision.verdict is Verdict.ALLOW
    else:
        assert decision.rule.decision is decision.verdict
        assert decision.rule in rules
