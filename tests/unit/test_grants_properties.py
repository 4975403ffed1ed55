"""What holds for every grant and all rules: it turns an ask into an allow, and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from bot.agent.consent import Answer, ApprovalAnswered, Grant
from bot.agent.grants import Granting, fingerprint, standing
from bot.patterns import Match, Pattern
from bot.policy import Person, Place, Rule, Verdict
from bot.rulebook import RuleBook
from tests.unit.test_policy_properties import USERS, arguments, people, places, rule_lists

WORKSPACE = "T-C0A"


@st.composite
def grants_for(draw: st.DrawFn, rules: list[Rule]) -> tuple[Grant, ...]:
    """Grants, most of them about one of these rules."""
    prints = [fingerprint(rule) for rule in rules] or ["0"]
    one = st.builds(
        Grant,
        tool=st.sampled_from(["run_command", "run_command", "read_file"]),
        rule=st.sampled_from([*prints, "0"]),
        patterns=st.just(()),
        requester=st.sampled_from(USERS),
        workspace=st.sampled_from([WORKSPACE, WORKSPACE, "T-C0B"]),
        until=st.just(9.0),
    )
    return tuple(draw(st.lists(one, max_size=6)))


Case = tuple[RuleBook, Granting, list[Person], dict[str, object]]


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """Rules of the file and rules made in Slack, often only such that ask, with grants."""
    parts = [draw(rule_lists), draw(st.just([]) | rule_lists)]
    if draw(st.booleans()):
        parts = [[replace(rule, decision=Verdict.ASK) for rule in part] for part in parts]
    file, slack = (tuple(part) for part in parts)
    book = RuleBook(file, slack, slack_may_loosen=draw(st.booleans()))
    granting = Granting(draw(grants_for([*file, *slack])), draw(places), WORKSPACE)
    given_it: dict[str, object] = {**draw(arguments)}
    return book, granting, draw(st.lists(people, min_size=1, max_size=3)), given_it


def verdict(granting: Granting, book: RuleBook, who: list[Person], given: object) -> Verdict:
    assert isinstance(given, dict)
    return granting.decide(book, who, "run_command", given).verdict


def without(granting: Granting, book: RuleBook, who: list[Person], given: object) -> Verdict:
    """What is decided where nobody has approved anything."""
    assert isinstance(given, dict)
    return book.decide(who, granting.place, "run_command", given).verdict


@given(cases())
def test_a_grant_changes_nothing_but_an_ask_to_an_allow(
    case: Case,
) -> None:
    book, granting, who, arguments = case
    before = without(granting, book, who, arguments)
    after = verdict(granting, book, who, arguments)
    assert after is before or (before, after) == (Verdict.ASK, Verdict.ALLOW)


@given(cases())
def test_what_is_allowed_by_grants_is_covered_for_each_person_and_each_rule_that_asks(
    case: Case,
) -> None:
    """Judged another way: every rule that asks is taken away for whom a grant covers it."""
    book, granting, who, arguments = case
    if verdict(granting, book, who, arguments) is not Verdict.ALLOW:
        return
    for person in who:
        if without(granting, book, [person], arguments) is Verdict.ALLOW:
            continue
        assert any(
            grant.requester == person.id
            and grant.tool == "run_command"
            and grant.workspace == WORKSPACE
            and any(
                fingerprint(rule) == grant.rule
                and rule.decision is Verdict.ASK
                and rule.selects(person, granting.place, "run_command") is Match.YES
                and rule.fits(arguments) is Match.YES
                for rule in book.everything()
            )
            for grant in granting.grants
        )


OTHERWISE: list[Callable[[Grant], Grant]] = [
    lambda grant: replace(grant, tool="another"),
    lambda grant: replace(grant, rule="another"),
    lambda grant: replace(grant, requester="another"),
    lambda grant: replace(grant, workspace="another"),
]


@given(cases(), st.sampled_from(OTHERWISE))
def test_a_grant_that_differs_in_anything_covers_nothing(
    case: Case,
    otherwise: Callable[[Grant], Grant],
) -> None:
    book, granting, who, arguments = case
    other = tuple(map(otherwise, granting.grants))
    before = without(granting, book, who, arguments)
    assert verdict(replace(granting, grants=other), book, who, arguments) is before


@given(cases())
def test_each_of_several_people_must_be_covered(
    case: Case,
) -> None:
    book, granting, who, arguments = case
    alone = [verdict(granting, book, [person], arguments) for person in who]
    order = list(Verdict)
    assert verdict(granting, book, who, arguments) is max(alone, key=order.index)


@given(cases(), st.booleans())
def test_an_offer_is_for_one_person_and_is_enough_for_the_call(case: Case, changes: bool) -> None:
    book, granting, who, arguments = case
    offer = granting.offer(book, who, "run_command", arguments, changes=changes)
    if offer is None:
        return
    assert verdict(granting, book, who, arguments) is Verdict.ASK
    granted = replace(granting, grants=(*granting.grants, replace(offer, until=1.0)))
    assert verdict(granted, book, who, arguments) is Verdict.ALLOW
    if changes:
        assert offer.patterns


def test_a_grant_stands_until_its_time_is_over_and_from_an_answer_only() -> None:
    grant = Grant("run_command", "r", (), "U0A", WORKSPACE, until=10.0)
    entries = [ApprovalAnswered("a", Answer.ALLOWED, "U9", "Ada", grant=grant)]

    assert standing(entries, 9.9) == (grant,)
    assert standing(entries, 10.0) == ()
    assert standing([replace(entries[0], grant=None)], 1.0) == ()


def test_two_rules_that_say_different_things_are_two_rules() -> None:
    rule = Rule("run_command", Verdict.ASK, place="treadle.toml line 1")
    others = [
        replace(rule, tool="*"),
        replace(rule, channel=("C1",)),
        replace(rule, channel=()),
        replace(rule, role=("member",)),
        replace(rule, user=("U1",)),
        replace(rule, decision=Verdict.ALLOW),
    ]

    assert len({fingerprint(one) for one in (rule, *others)}) == len(others) + 1
    assert fingerprint(replace(rule, place="treadle.toml line 9")) == fingerprint(rule)


def test_a_command_that_only_perhaps_matches_is_asked_about_in_spite_of_the_grant() -> None:
    """A newline decides: the pattern may be meant for one line only."""
    rule = Rule("run_command", Verdict.ASK, match=(Pattern("command", "git .*"),))
    grant = Grant("run_command", fingerprint(rule), (), "U0A", WORKSPACE, 9.0)
    granting = Granting((grant,), Place("T", "C0A"), WORKSPACE)
    who, book = [Person("U0A")], RuleBook((rule,))

    assert verdict(granting, book, who, {"command": "git log"}) is Verdict.ALLOW
    assert (
        verdict(granting, RuleBook((rule,)), who, {"command": "git log\nrm -rf x"}) is Verdict.ASK
    )
