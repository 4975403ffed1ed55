"""What is probably not meant in a rule, above all patterns that let a second command through."""

from __future__ import annotations

import re

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from bot.admin.check import ESCAPES, concerns, lets_through
from bot.patterns import Pattern
from bot.policy import Rule, Verdict

ALLOW, ASK, DENY = Verdict


def through(pattern: str) -> tuple[str, ...]:
    return lets_through(Pattern("command", pattern))


@pytest.mark.parametrize(
    "pattern",
    [
        "git (status|log)",
        r"git log( [\w./-]+)*",
        r"git [^\n;&|$`]*",
        "(?i)make test",
        "ls -[a-z]{1,3}",
        r"ls\b",
        "(?P<tool>git|hg) status",
        "",
    ],
)
def test_a_list_of_what_is_meant_lets_nothing_else_through(pattern: str) -> None:
    assert through(pattern) == ()


@pytest.mark.parametrize(
    ("pattern", "escapes"),
    [
        ("git .*", ";&|$`"),
        ("(?s)git .*", ";&|$`\n"),
        ("git [^;&|]*", "$`\n"),
        (r"git \S+", ";&|$`"),
        (r"git\s+log", "\n"),
        (r"a\x3b", ";"),
        (r"\Qa;b\E", ";"),
        (r"\$HOME", "$"),
        ("[[:punct:]]", ";&|$`"),
        ("[!-~]+", ";&|$`"),
        ("[]|]", "|"),
        (r"[\W]", ";&|$`\n"),
        (r"\pS", "|$`"),
        ("a\nb", "\n"),
    ],
)
def test_a_pattern_that_lets_a_second_command_through_is_seen(pattern: str, escapes: str) -> None:
    assert through(pattern) == tuple(escapes)


pieces = st.sampled_from(
    ["a", "git", ".", ";", r"\$", "[a-z;]", "[^a;]", r"\w", r"\s", r"\S", r"\D", "[!-/]", r"\x26"]
)
regexes = st.recursive(
    pieces,
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=3).map("".join),
        st.lists(inner, min_size=2, max_size=3).map(lambda them: f"({'|'.join(them)})"),
        st.tuples(inner, st.sampled_from(["*", "+", "?", "{1,2}"])).map(
            lambda t: f"({t[0]}){t[1]}"
        ),
    ),
    max_leaves=5,
)


@given(regexes, st.data())
def test_no_character_gets_through_unseen(pattern: str, data: st.DataObject) -> None:
    text = data.draw(st.from_regex(re.compile(pattern, re.ASCII), fullmatch=True))
    found = Pattern("command", pattern).check({"command": text})
    assume(found.name == "YES")
    seen = through(pattern)
    assert [c for c in ESCAPES if c in text and c not in seen] == []


def allow(pattern: str, tool: str = "run_command", argument: str = "command") -> Rule:
    return Rule(tool, ALLOW, match=(Pattern(argument, pattern),), place="treadle.toml line 4")


def test_only_an_allow_of_commands_by_a_pattern_is_a_concern() -> None:
    wide = allow("git .*")
    (said,) = concerns([wide])
    assert said.startswith("treadle.toml line 4: the pattern `git .*` also matches commands with")
    assert len(list(concerns([allow("git .*", tool="*")]))) == 1
    others = [
        Rule("run_command", DENY, match=wide.match),
        allow("reports/.*", "write_file", "path"),
        Rule("run_command", ALLOW, channel=("C0OPS",)),
        allow("git (status|log)"),
    ]
    assert list(concerns(others)) == []


def test_several_patterns_let_through_only_what_all_of_them_do() -> None:
    both = (Pattern("command", "git .*"), Pattern("command", "[^;&|$`]*"))
    assert list(concerns([Rule("run_command", ALLOW, match=both)])) == []


def test_a_rule_that_never_speaks_is_a_concern() -> None:
    first = Rule("*", ASK, role=("guest",), place="treadle.toml line 1")
    never = Rule("wikipedia", DENY, role=("guest",), place="treadle.toml line 5")
    (said,) = concerns([first, never])
    assert said.startswith("treadle.toml line 5 never speaks: treadle.toml line 1 is about")
    assert list(concerns([never, first])) == []
    assert list(concerns([first, Rule("wikipedia", DENY, role=("member",))])) == []
