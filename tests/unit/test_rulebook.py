"""The file's rules and those made in Slack together: what is made in Slack can only tighten."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from bot.patterns import Pattern
from bot.policy import Person, Place, Rule, Verdict, decide
from bot.rulebook import RuleBook, in_order
from tests.unit.test_policy_properties import arguments, known, places, rule_lists, rules

ALLOW, ASK, DENY = Verdict
ORDER = list(Verdict)
BOB, OPS = Person("U0BOB"), Place("T", "C0OPS")
GIT = (Pattern("command", "git .*"),)


def severity(book: RuleBook, person: Person, place: Place, given: dict[str, object]) -> int:
    return ORDER.index(book.decide([person], place, "run_command", given).verdict)


books = st.builds(
    RuleBook,
    file=rule_lists.map(tuple),
    slack=rule_lists.map(tuple),
    off=st.just(()),
    slack_may_loosen=st.just(False),
)


@given(books, rules, known, places, arguments)
def test_whatever_is_made_in_slack_the_file_is_the_floor(
    book: RuleBook, more: Rule, person: Person, place: Place, given: dict[str, object]
) -> None:
    floor = ORDER.index(decide(book.file, [person], place, "run_command", given).verdict)
    grown = replace(book, slack=(*book.slack, more))
    assert severity(book, person, place, given) >= floor
    assert severity(grown, person, place, given) >= floor


@given(books, rules, known, places, arguments, st.booleans())
def test_a_denial_made_in_slack_never_loosens(
    book: RuleBook, more: Rule, person: Person, place: Place, given: dict[str, object], loosen: bool
) -> None:
    book = replace(book, slack_may_loosen=loosen)
    grown = replace(book, slack=(*book.slack, replace(more, decision=DENY)))
    assert severity(grown, person, place, given) >= severity(book, person, place, given)


@given(books, known, places, arguments, st.permutations(range(6)))
def test_the_order_in_which_rules_were_made_in_slack_does_not_matter(
    book: RuleBook, person: Person, place: Place, given: dict[str, object], order: list[int]
) -> None:
    shuffled = tuple(book.slack[at] for at in order if at < len(book.slack))
    other = replace(book, slack=shuffled)
    assert severity(book, person, place, given) == severity(other, person, place, given)


@given(books, known, places, arguments, st.booleans())
def test_a_tool_that_is_switched_off_is_denied_to_all(
    book: RuleBook, person: Person, place: Place, given: dict[str, object], loosen: bool
) -> None:
    off = replace(book, off=(Rule("run_command", DENY),), slack_may_loosen=loosen)
    assert severity(off, person, place, given) == ORDER.index(DENY)
    assert not off.visible([person], place, "run_command")


@given(books, known, places, arguments)
def test_a_tool_that_is_not_shown_is_denied(
    book: RuleBook, person: Person, place: Place, given: dict[str, object]
) -> None:
    if not book.visible([person], place, "run_command"):
        assert severity(book, person, place, given) == ORDER.index(DENY)


def test_slack_may_loosen_only_where_the_file_says_so() -> None:
    denied = (Rule("run_command", DENY, place="file"),)
    allowed = (Rule("run_command", ALLOW, place="Rule 1"),)
    for loosen, verdict in ((False, DENY), (True, ALLOW)):
        book = RuleBook(denied, allowed, slack_may_loosen=loosen)
        assert book.decide([BOB], OPS, "run_command", {}).verdict is verdict


def test_a_rule_of_slack_with_a_pattern_is_asked_before_one_without_whichever_came_first() -> None:
    ask, allow = Rule("run_command", ASK), Rule("run_command", ALLOW, match=GIT)
    for made in ((ask, allow), (allow, ask)):
        book = RuleBook(slack=made)
        decision = book.decide([BOB], OPS, "run_command", {"command": "git log"})
        assert (decision.verdict, decision.rule) == (ALLOW, allow)
        assert book.decide([BOB], OPS, "run_command", {"command": "ls"}).verdict is ASK


def test_of_equally_close_rules_of_slack_the_stricter_is_asked_first() -> None:
    rules = (Rule("*", DENY), Rule("run_command", ALLOW), Rule("run_command", ASK))
    assert [rule.decision for rule in in_order(rules)] == [ASK, ALLOW, DENY]


def test_a_rule_that_a_stricter_one_overrules_says_which() -> None:
    file = (Rule("run_command", ASK, place="treadle.toml line 3"),)
    allow = Rule("run_command", ALLOW, match=GIT, place="Rule 1")
    assert RuleBook(file, (allow,)).over(allow).rule == file[0]
    assert RuleBook(file, (allow,), slack_may_loosen=True).over(allow).verdict is ALLOW
    ask = Rule("run_command", ASK, place="Rule 2")
    assert RuleBook((), (ask, allow)).over(allow).verdict is ALLOW


def test_a_tool_depends_on_its_arguments_only_for_those_whom_the_rule_is_about() -> None:
    book = RuleBook((Rule("run_command", DENY, user=("U0BOB",), match=GIT),))
    assert book.depends(BOB, OPS, "run_command")
    assert not book.depends(Person("U0ADA"), OPS, "run_command")
    assert not book.depends(BOB, OPS, "read_file")


def test_a_tool_that_is_allowed_either_way_depends_on_nothing() -> None:
    book = RuleBook((Rule("run_command", ALLOW, match=GIT),))
    assert not book.depends(BOB, OPS, "run_command")
    assert (
        RuleBook(book.file, (Rule("run_command", ASK),)).depends(BOB, OPS, "run_command") is False
    )
    assert RuleBook((*book.file, Rule("run_command", ASK))).depends(BOB, OPS, "run_command")
