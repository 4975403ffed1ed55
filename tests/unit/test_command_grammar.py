"""What is typed behind `/treadle`: read right, or answered with the right form."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.admin.explain import Naming, in_words
from bot.admin.grammar import Vocabulary, read_command
from bot.admin.live import Setting
from bot.admin.requests import (
    AddBudget,
    Choose,
    Forget,
    Help,
    MakeRule,
    Misread,
    Request,
    ShowBudgets,
    ShowRules,
    ShowTools,
    Stop,
    Switch,
    Why,
)
from bot.agent.budgets import Cap, Scope, Unit
from bot.patterns import Pattern
from bot.policy import Role, Rule, Verdict

TOOLS = {
    "run_command": "run_command",
    "run_terminal_command": "run_command",
    "write_file": "write_file",
}
KNOWN = Vocabulary(TOOLS, "C0HERE")
MARKS = Naming(lambda channel: f"<#{channel}|name>", lambda person: f"<@{person}|name>")
ALLOW, ASK, DENY = Verdict


def read(text: str) -> Request:
    return read_command(text, KNOWN)


def rule(text: str) -> Rule:
    request = read(text)
    assert isinstance(request, MakeRule), request
    return request.rule


def complaint(text: str) -> str:
    request = read(text)
    assert isinstance(request, Misread), request
    return request.text


@pytest.mark.parametrize(
    ("text", "request_"),
    [
        ("", Help()),
        ("help", Help()),
        ("  TOOLS ", ShowTools()),
        ("rules", ShowRules()),
        ("why", Why()),
        ("forget 3", Forget(3)),
        ("forget #3", Forget(3)),
        ("switch run_command off", Switch("run_command", on=False)),
        ("switch on run_terminal_command", Switch("run_command", on=True)),
        ("stop", Stop()),
        ("stop 2", Stop(2)),
        ("stop all", Stop(everything=True)),
        ("budget", ShowBudgets()),
        ("budget add 5 money", AddBudget(Cap(Scope.ALL, Unit.MONEY, 5.0), "")),
        ("budget add 0.5 money for everyone", AddBudget(Cap(Scope.ALL, Unit.MONEY, 0.5), "")),
        (
            "budget add 1,000 tokens for <@U0BOB|bob>",
            AddBudget(Cap(Scope.USER, Unit.TOKENS, 1000.0), "U0BOB"),
        ),
        ("budget add 3 turns in here", AddBudget(Cap(Scope.CHANNEL, Unit.TURNS, 3.0), "C0HERE")),
        ("verbosity quiet", Choose(Setting.VERBOSITY, "C0HERE", "quiet")),
        ("verbosity full in <#C0OPS|ops>", Choose(Setting.VERBOSITY, "C0OPS", "full")),
        ("verbosity default in here", Choose(Setting.VERBOSITY, "C0HERE", None)),
        ("replies mention in <#C0OPS>", Choose(Setting.REPLIES, "C0OPS", "mention")),
    ],
)
def test_a_command_is_read(text: str, request_: Request) -> None:
    assert read(text) == request_


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("deny run_command", Rule("run_command", DENY)),
        ("ask everything", Rule("*", ASK)),
        ("DENY `run_terminal_command`", Rule("run_command", DENY)),
        (
            "deny run_command in <#C0A|a>, <#C0B|b> and here",
            Rule("run_command", DENY, channel=("C0A", "C0B", "C0HERE")),
        ),
        ("deny run_command outside <#C0A|a>", Rule("run_command", DENY, channel=("!C0A",))),
        ("ask * for guests", Rule("*", ASK, role=("guest",))),
        ("deny * for everyone but admins", Rule("*", DENY, role=("!admin",))),
        ("deny * except <@U0BOB|bob>", Rule("*", DENY, user=("!U0BOB",))),
        ("allow write_file for everyone", Rule("write_file", ALLOW)),
        (
            "allow run_command for <@U0BOB|bob> in <#C0A|a> when command matches git (status|log)",
            Rule(
                "run_command",
                ALLOW,
                ("C0A",),
                user=("U0BOB",),
                match=(Pattern("command", "git (status|log)"),),
            ),
        ),
        (
            "deny run_command when command matches  a when b matches &lt;&amp;c&gt; ",
            Rule("run_command", DENY, match=(Pattern("command", "a when b matches <&c>"),)),
        ),
        (
            "deny run_command when command matches `rm .*`",
            Rule("run_command", DENY, match=(Pattern("command", "rm .*"),)),
        ),
    ],
)
def test_a_rule_is_read(text: str, expected: Rule) -> None:
    assert rule(text) == expected


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("dney run_command", "Did you mean `/treadle deny`?"),
        ("deny", "The form is `/treadle deny TOOL`"),
        ("deny run_comand", "Did you mean `run_command`?"),
        ("deny run_command in general", "pick the channel from Slack's list"),
        ("deny run_command in #general", "pick the channel from Slack's list"),
        ("deny run_command for bob", "pick the person from Slack's list"),
        ("deny run_command for @bob", "pick the person from Slack's list"),
        ("deny run_command for <!subteam^S0OPS|@ops>", "not about Slack's user groups"),
        ("deny run_command for <@U0BOB> guests", "either roles or people"),
        ("deny run_command in", "The form is"),
        ("deny run_command <#C0A|a>", "The form is"),
        ("deny run_command in <#C0A> outside <#C0B>", "The form is"),
        ("deny run_command in <#C0A> in <#C0B>", "The form is"),
        ("deny run_command for everyone but", "The form is"),
        ("deny run_command when command is rm", "A condition has the form"),
        ("deny run_command when command matches", "A condition has the form"),
        ("deny run_command when command matches (", "The pattern `(`"),
        ("verbosity", "one of steps, card, quiet, full"),
        ("verbosity loud", "one of steps, card, quiet, full"),
        ("replies never", "one of always, mention"),
        ("verbosity quiet in general", "pick the channel"),
        ("forget", "`/treadle forget 3`"),
        ("forget it", "`/treadle forget 3`"),
        ("forget 99999999999999999999", "`/treadle forget 3`"),
        ("switch run_command", "`/treadle switch TOOL off`"),
        ("stop it", "`/treadle stop 2`"),
        ("budget add 0 money", "`/treadle budget add 5 money`"),
        ("budget add -5 money", "`/treadle budget add 5 money`"),
        ("budget add nan money", "`/treadle budget add 5 money`"),
        ("budget add 5 euros", "`/treadle budget add 5 money`"),
        ("budget add 5 money for bob", "pick the person from Slack's list"),
        ("budget take 5 money", "`/treadle budget add 5 money`"),
        ("why not", "takes nothing behind it"),
    ],
)
def test_what_cannot_be_read_is_answered_with_the_right_form(text: str, said: str) -> None:
    assert said in complaint(text)


@given(st.text())
def test_any_text_is_answered(text: str) -> None:
    assert isinstance(read(text), Request)


GRAMMAR = """allow ask deny in outside for except but everyone and , when matches command guests
all <#C0A|a> <@U0A|a> run_command write_file * here #a @a ( stop switch on off forget 1
budget add money"""
words = st.sampled_from(GRAMMAR.split())


@given(st.lists(words, max_size=9).map(" ".join))
def test_any_words_of_the_grammar_are_answered(text: str) -> None:
    request = read(text)
    if isinstance(request, MakeRule):
        found = request.rule
        assert () not in (found.channel, found.role, found.user)


def _listed(values: tuple[str, ...]) -> st.SearchStrategy[tuple[str, ...] | None]:
    some = st.lists(st.sampled_from(values), min_size=1, max_size=3, unique=True).map(tuple)
    return st.none() | some | some.map(lambda items: tuple(f"!{item}" for item in items))


people_or_roles = st.tuples(_listed(tuple(role.value for role in Role)), st.none()) | st.tuples(
    st.none(), _listed(("U0A", "W0B", "U0C"))
)
patterns = st.sampled_from(["git (status|log)", "a b  c", "when x matches y", "<&>", "[^;]*", "`"])
typed_rules = st.builds(
    lambda tool, decision, channel, who, match: Rule(
        tool, decision, channel, who[0], who[1], match
    ),
    tool=st.sampled_from(["*", "run_command", "write_file"]),
    decision=st.sampled_from(Verdict),
    channel=_listed(("C0A", "G0B", "D0C")),
    who=people_or_roles,
    match=st.lists(st.builds(Pattern, st.just("command"), patterns), max_size=1).map(tuple),
)


@given(typed_rules)
def test_a_rule_in_words_is_what_makes_it(made: Rule) -> None:
    """What `rules`, `why` and the answers show can be typed again."""
    assert rule(in_words(made, MARKS)) == made
