"""The Home tab and its windows stay within Slack's limits, whatever there is to show."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from slack_sdk.models.views import View

from bot.admin.house import Running
from bot.admin.live import Setting
from bot.admin.rights import Right
from bot.local_slack.limits import check_view
from bot.patterns import Pattern
from bot.policy import Rule, Verdict
from bot.slack.home import read_home_click
from bot.slack.home_modals import choice_modal, read_submission, rule_modal
from bot.slack.home_view import Facts, Office, Tool, home_view, place_of
from bot.storage.rules import Author, Choice, SlackRule

counts = st.integers(0, 70)
texts = st.text(max_size=400) | st.just("<" * 3000) | st.just("\U0001f600" * 1500)
ADA = Author("U0ADA", "Ada")


def rule(text: str, number: int) -> Rule:
    match = (Pattern("path", f"{number}"),)
    return Rule("write_file", Verdict.DENY, ("C0A",), match=match, place=f"Rule {number} {text}")


def office(many: int, text: str) -> Office:
    turns = [Running(f"T:C0A:{n}.0", ("U0BOB",), float(n)) for n in range(many)]
    rules = [SlackRule(n, rule(text, n), ADA) for n in range(many)]
    choices = [
        Choice(f"C0{n}", "verbosity", "quiet", Author("U0ADA", text), 0.0) for n in range(many)
    ]
    tools = [Tool(f"tool_{n}", on=bool(n % 2)) for n in range(many)]
    lines = [text] * min(many, 5)
    file = [rule(text, n) for n in range(min(many, 5))]
    return Office(lines, turns, tools, file, rules, choices, lines, lines, loosen=False)


@given(counts, texts, st.booleans())
def test_the_home_is_one_that_slack_takes(many: int, text: str, admin: bool) -> None:
    rights = [Right(f"tool_{n}", text, Verdict.ASK, text, False) for n in range(min(many, 20))]
    turns = [Running(f"T:C0B:{n}.0", ("U0BOB",), float(n)) for n in range(min(many, 12))]
    facts = Facts(
        "C0A", text, "", rights, [text], turns, "m", office(many, text) if admin else None
    )
    view = json.loads(json.dumps(home_view(facts)))

    check_view(view, modal=False)
    View(**view).validate_json()
    ids = [block["block_id"] for block in view["blocks"] if "block_id" in block]
    assert len(ids) == len(set(ids))
    assert place_of(view) == "C0A"


@given(st.integers(1, 150))
def test_the_windows_are_ones_that_slack_takes(tools: int) -> None:
    for modal in (rule_modal([f"tool_{n}" for n in range(tools)], "C0A"), choice_modal("D0A")):
        view = json.loads(json.dumps(modal))
        check_view(view, modal=True)
        View(**view).validate_json()


KEYS = """view state values callback_id decision tool selected_option value channels people type
selected_users selected_conversations actions action_id user id team"""
json_values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(KEYS.split()),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(st.dictionaries(st.sampled_from(["view", "user", "team", "actions"]), json_values))
def test_any_payload_is_read_without_harm(body: dict[str, Any]) -> None:
    read_home_click(body)
    read_submission(body)


def submitted(callback: str, **values: object) -> dict[str, Any]:
    state = {name: {name: value} for name, value in values.items()}
    return {"view": {"callback_id": callback, "state": {"values": state}}}


def test_a_filled_window_is_the_rule_that_it_says() -> None:
    filled = read_submission(
        submitted(
            "treadle_home_rule",
            decision={"selected_option": {"value": "ask"}},
            tool={"selected_option": {"value": "*"}},
            channels={"selected_conversations": ["C0A", "C0B"]},
            where={"selected_option": {"value": "but"}},
            roles={"selected_options": [{"value": "guest"}]},
            who={"selected_option": {"value": "only"}},
            argument={"value": " command "},
            pattern={"value": "git .*"},
        )
    )
    match = (Pattern("command", "git .*"),)
    assert filled.problems == {}
    assert filled.rule == Rule("*", Verdict.ASK, ("!C0A", "!C0B"), ("guest",), None, match)


def test_a_filled_window_for_a_channel_is_the_choices_that_it_says() -> None:
    filled = read_submission(
        submitted(
            "treadle_home_choice",
            channel={"selected_conversation": "C0A"},
            verbosity={"selected_option": {"value": "default"}},
            reply_in_threads={"selected_option": {"value": "loudly"}},
        )
    )
    assert filled.choices == ((Setting.VERBOSITY, "C0A", None),)
    assert read_submission(submitted("treadle_home_choice")).problems.keys() == {"channel"}
    assert read_submission(submitted("treadle_other")).rule is None
