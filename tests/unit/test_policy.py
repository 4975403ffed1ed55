"""The tool policy, example by example."""

from __future__ import annotations

import pytest

from bot.patterns import Pattern
from bot.policy import (
    BOT_ROLE,
    Access,
    Level,
    Person,
    Place,
    Refusal,
    Rule,
    Verdict,
    decide,
    may_speak,
    strictest,
    visible,
)

ALLOW, ASK, DENY = Verdict
BOB = Person("U0BOB", "member")
ADA = Person("U0ADA", "admin")
OPS = Place("T1", "C0OPS")
HALL = Place("T1", "C0HALL")


def verdict(
    rules: list[Rule],
    *people: Person,
    place: Place = OPS,
    tool: str = "run_command",
    arguments: dict[str, object] | None = None,
) -> Verdict:
    """What the rules say to Bob, or to these people."""
    return decide(rules, people or (BOB,), place, tool, arguments or {}).verdict


def command(text: str, decision: Verdict) -> Rule:
    """A rule for run_command whose command matches a pattern."""
    return Rule("run_command", decision, match=(Pattern("command", text),))


def test_without_a_rule_an_enabled_tool_is_allowed() -> None:
    decision = decide([], [BOB], OPS, "read_file", {})
    assert decision.verdict is ALLOW
    assert decision.rule is None
    assert decision.reason == "No rule is about read_file here."


def test_a_rule_is_about_its_own_tool_and_a_star_is_about_all() -> None:
    assert verdict([Rule("run_command", DENY)], tool="read_file") is ALLOW
    assert verdict([Rule("*", DENY)], tool="read_file") is DENY


def test_within_a_level_the_first_matching_rule_speaks() -> None:
    assert verdict([Rule("run_command", ALLOW), Rule("*", DENY)]) is ALLOW
    assert verdict([Rule("*", DENY), Rule("run_command", ALLOW)]) is DENY


@pytest.mark.parametrize(
    ("first", "second", "strict"),
    [(DENY, ALLOW, DENY), (ALLOW, DENY, DENY), (ASK, ALLOW, ASK), (ASK, DENY, DENY)],
)
def test_of_several_levels_the_strictest_holds(
    first: Verdict, second: Verdict, strict: Verdict
) -> None:
    rules = [Rule("run_command", first), Rule("run_command", second, user=("U0BOB",))]
    assert verdict(rules) is strict


def test_a_rule_with_several_selectors_belongs_to_its_narrowest() -> None:
    assert Rule("*", DENY).level is Level.WORKSPACE
    assert Rule("*", DENY, channel=("C0OPS",)).level is Level.CHANNEL
    assert Rule("*", DENY, channel=("C0OPS",), role=("member",)).level is Level.ROLE
    assert Rule("*", DENY, channel=("C0OPS",), role=("member",), user=()).level is Level.USER


def test_an_exclamation_mark_means_everywhere_but_there() -> None:
    only_in_ops = [Rule("run_command", DENY, channel=("!C0OPS",))]
    assert verdict(only_in_ops, place=OPS) is ALLOW
    assert verdict(only_in_ops, place=HALL) is DENY
    in_two = [Rule("run_command", DENY, channel=("!C0OPS", "!C0HALL"))]
    assert verdict(in_two, place=HALL) is ALLOW
    assert verdict(in_two, place=Place("T1", "C0NEW")) is DENY


def test_a_selector_takes_several_values() -> None:
    rules = [Rule("*", DENY, channel=("C0OPS", "C0HALL"), role=("guest", "member"))]
    assert verdict(rules, place=HALL) is DENY
    assert verdict(rules, place=Place("T1", "C0NEW")) is ALLOW
    assert verdict(rules, ADA) is ALLOW


def test_an_empty_selector_is_about_nobody() -> None:
    for rule in (Rule("*", DENY, channel=()), Rule("*", DENY, user=()), Rule("*", DENY, role=())):
        assert verdict([rule]) is ALLOW


def test_without_people_nothing_is_allowed() -> None:
    assert decide([], [], OPS, "read_file", {}).verdict is DENY


def test_with_several_people_the_strictest_decision_holds() -> None:
    rules = [Rule("run_command", ASK, role=("member",))]
    assert verdict(rules, ADA) is ALLOW
    assert verdict(rules, ADA, BOB) is ASK


@pytest.mark.parametrize("who", [Person("U0X", ""), Person("U0X", "owner"), Person("", "admin")])
def test_nothing_is_allowed_to_somebody_unknown(who: Person) -> None:
    decision = decide([Rule("*", ALLOW)], [ADA, who], OPS, "read_file", {})
    assert (decision.verdict, decision.rule) == (DENY, None)
    assert decision.reason == "It is not known who asked for this."


def test_nothing_is_allowed_where_it_is_not_known_where() -> None:
    decision = decide([Rule("*", ALLOW)], [ADA], Place("T1", ""), "read_file", {})
    assert (decision.verdict, decision.rule) == (DENY, None)
    assert decision.reason == "It is not known where this was asked for."


def test_a_bot_gets_the_strictest_of_all_roles() -> None:
    bot = Person("B0X", BOT_ROLE, bot=True)
    assert verdict([Rule("*", DENY, role=("guest",))], bot) is DENY
    assert verdict([Rule("*", DENY, role=("!admin",))], bot) is DENY
    exception = [Rule("*", ALLOW, role=("admin",)), Rule("*", DENY, role=("!admin",))]
    assert verdict(exception, bot) is DENY
    assert verdict([Rule("*", DENY, role=())], bot) is ALLOW


def test_a_decision_says_for_whom_it_is_so() -> None:
    rules = [Rule("run_command", DENY, user=("U0BOB",))]
    assert decide(rules, [ADA, BOB], OPS, "run_command", {}).about == "U0BOB"


def test_a_pattern_must_match_the_whole_argument() -> None:
    rules = [command("git (status|log)", ALLOW), Rule("run_command", DENY)]
    assert verdict(rules, arguments={"command": "git log"}) is ALLOW
    assert verdict(rules, arguments={"command": "git log; rm -rf ."}) is DENY
    assert verdict(rules, arguments={"command": "echo git log"}) is DENY


def test_every_pattern_of_a_rule_must_match() -> None:
    both = Rule("write_file", DENY, match=(Pattern("path", "a"), Pattern("content", "b")))
    right: dict[str, object] = {"path": "a", "content": "b"}
    assert verdict([both], tool="write_file", arguments=right) is DENY
    assert verdict([both], tool="write_file", arguments={**right, "path": "c"}) is ALLOW


@pytest.mark.parametrize(
    ("value", "pattern"),
    [(5, "5"), (True, "true"), (1.5, r"1\.5"), (["a", "b"], r'\["a","b"\]'), ({"k": "ä"}, ".*ä.*")],
)
def test_what_is_not_text_is_matched_as_its_json(value: object, pattern: str) -> None:
    rule = Rule("run_command", DENY, match=(Pattern("x", pattern),))
    assert verdict([rule], arguments={"x": value}) is DENY
    assert verdict([rule], arguments={"x": "other"}) is ALLOW


@pytest.mark.parametrize(
    "arguments", [{}, {"command": None}, {"other": "x"}, {"command": "\ud800"}]
)
def test_an_argument_left_out_gets_nobody_past_a_rule(arguments: dict[str, object]) -> None:
    assert verdict([command("rm .*", DENY)], arguments=arguments) is DENY
    assert verdict([command("rm .*", ASK)], arguments=arguments) is ASK
    allowed = [command("git log", ALLOW), Rule("run_command", DENY)]
    assert verdict(allowed, arguments=arguments) is DENY
    shielded = [command("git .*", ASK), Rule("run_command", DENY)]
    assert verdict(shielded, arguments=arguments) is DENY


def test_a_line_break_neither_dodges_a_denial_nor_widens_a_permission() -> None:
    assert verdict([command("rm .*", DENY)], arguments={"command": "rm x\n"}) is DENY
    rules = [command("git log.*", ALLOW), Rule("run_command", DENY)]
    assert verdict(rules, arguments={"command": "git log\nrm -rf ."}) is DENY


@pytest.mark.parametrize("text", ["(", "a{2,1}", "(?=x)", "\\1", "[z-a]", "\ud800"])
def test_a_bad_pattern_is_refused_when_it_is_made(text: str) -> None:
    with pytest.raises(ValueError, match="not a pattern that RE2 understands"):
        Pattern("command", text)


def test_a_tool_denied_whatever_its_arguments_is_not_shown() -> None:
    assert visible([], [BOB], OPS, "run_command")
    assert not visible([Rule("run_command", DENY)], [BOB], OPS, "run_command")
    assert not visible([Rule("*", DENY, role=("member",))], [ADA, BOB], OPS, "run_command")
    assert visible([Rule("run_command", ASK)], [BOB], OPS, "run_command")
    assert visible([command("rm .*", DENY)], [BOB], OPS, "run_command")
    assert visible(
        [command("git log", ALLOW), Rule("run_command", DENY)], [BOB], OPS, "run_command"
    )
    assert not visible([Rule("*", DENY), command("git log", ALLOW)], [BOB], OPS, "run_command")


def test_the_decision_names_the_rule_that_spoke() -> None:
    rule = Rule("run_command", DENY, channel=("C0OPS",), place="treadle.toml policy[2]")
    decision = decide([Rule("run_command", ASK), rule], [BOB], OPS, "run_command", {})
    assert decision.rule is rule
    assert decision.reason == "treadle.toml policy[2] denies run_command (channel rule)."


def test_an_allowing_rule_is_named_before_no_rule_at_all() -> None:
    rule = Rule("run_command", ALLOW, user=("U0BOB",))
    assert decide([rule], [BOB], OPS, "run_command", {}).rule is rule


def test_the_strictest_of_decisions_is_one_of_them() -> None:
    loose = decide([], [BOB], OPS, "run_command", {})
    strict = decide([Rule("*", ASK)], [BOB], OPS, "run_command", {})
    assert strictest([loose, strict]) is strict


@pytest.mark.parametrize(
    ("person", "refusal"),
    [
        (BOB, None),
        (ADA, None),
        (Person("U0G", "guest"), Refusal.GUEST),
        (Person("U0X", "member", external=True), Refusal.EXTERNAL),
        (Person("B0T", "member", bot=True), Refusal.BOT),
        (Person("U0X", ""), Refusal.UNKNOWN_PERSON),
        (Person("U0X", "owner"), Refusal.UNKNOWN_PERSON),
    ],
)
def test_only_known_members_may_speak_unless_settings_say_more(
    person: Person, refusal: Refusal | None
) -> None:
    assert may_speak(Access(), person, OPS) is refusal


def test_guests_external_people_and_named_bots_may_speak_where_settings_let_them() -> None:
    access = Access(guests=True, external=True, bots=("B0T",))
    assert may_speak(access, Person("U0G", "guest", external=True), OPS) is None
    assert may_speak(access, Person("B0T", bot=True), OPS) is None
    assert may_speak(access, Person("B0U", bot=True), OPS) is Refusal.BOT


def test_a_channel_that_is_not_listed_is_refused_and_an_empty_list_means_nobody() -> None:
    assert may_speak(Access(channels=("C0OPS",)), BOB, OPS) is None
    assert may_speak(Access(channels=("C0OPS",)), BOB, HALL) is Refusal.CHANNEL
    assert may_speak(Access(channels=()), ADA, OPS) is Refusal.CHANNEL
