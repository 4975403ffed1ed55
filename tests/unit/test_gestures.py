"""Reactions, Slack's stop button and clicks, read from Slack's payloads."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.slack.gestures import read_click, read_reaction, read_session_stop
from bot.slack.inbound import Self
from bot.storage.items import Item, Kind

ME = Self("U0BOT", "B0BOT")
ON = {"type": "message", "channel": "C1", "ts": "2.0"}
REACTION = {"type": "reaction_added", "user": "U1", "reaction": "x", "item": ON, "event_ts": "3.0"}
CLICK = {
    "type": "block_actions",
    "user": {"id": "U1", "team_id": "T1"},
    "team": {"id": "T1"},
    "container": {"channel_id": "C1", "message_ts": "4.0", "thread_ts": "1.0"},
    "response_url": "https://hooks.example/1",
    "actions": [{"action_id": "treadle_approve", "value": "7:abc", "action_ts": "5.0"}],
}


def body(event: Mapping[str, object]) -> Mapping[str, object]:
    return {"team_id": "T1", "event_id": "E1", "event": event}


def test_a_cross_on_a_message_is_a_stop_about_that_message() -> None:
    assert read_reaction(body(REACTION), ME) == Item(
        Kind.STOP, "T1", "C1", "", "3.0", "U1", about="2.0", event_id="E1"
    )


@pytest.mark.parametrize(
    "change",
    [
        {"reaction": "eyes"},
        {"user": "U0BOT"},
        {"user": None},
        {"item": {"type": "file", "file": "F1"}},
        {"item": {**ON, "ts": "soon"}},
        {"event_ts": ""},
    ],
)
def test_what_is_no_cross_of_a_person_on_a_message_is_not_read(
    change: Mapping[str, object],
) -> None:
    assert read_reaction(body({**REACTION, **change}), ME) is None


def test_a_skin_tone_does_not_make_another_reaction() -> None:
    assert read_reaction(body({**REACTION, "reaction": "no_entry::skin-tone-2"}), ME)


def test_slacks_stop_button_names_its_thread() -> None:
    event = {"channel": "C1", "thread_ts": "1.0", "user": "U1", "event_ts": "3.0"}

    assert read_session_stop(body(event)) == Item(
        Kind.STOP, "T1", "C1", "1.0", "3.0", "U1", event_id="E1"
    )


def test_a_click_on_the_card_is_bound_to_the_question_and_its_digest() -> None:
    assert read_click(CLICK, "T1") == Item(
        Kind.CLICK,
        *("T1", "C1", "1.0", "5.0", "U1"),
        text="allowed",
        author_team="T1",
        change="7",
        about="abc",
        reply_url="https://hooks.example/1",
    )


def test_a_stop_button_stops_the_thread_in_which_it_stands() -> None:
    action = {"action_id": "treadle_stop", "action_ts": "5.0"}

    item = read_click({**CLICK, "actions": [action]}, "T1")

    assert item == Item(Kind.STOP, "T1", "C1", "1.0", "5.0", "U1")


@pytest.mark.parametrize("value", ["", "x", "-1:abc", "7", None, 7])
def test_a_button_with_another_value_means_no_open_question(value: object) -> None:
    """The position 0 holds a message, never a question; no digest fits none."""
    action = {"action_id": "treadle_deny", "value": value, "action_ts": "5.0"}

    item = read_click({**CLICK, "actions": [action]}, "T1")

    assert item is not None
    assert item.change == "0" or item.about == ""


junk = st.recursive(
    st.none() | st.text(max_size=8) | st.integers(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=8,
)


@given(st.sampled_from(sorted(CLICK)), junk)
def test_no_payload_makes_the_reader_fail(field: str, value: object) -> None:
    read_click({**CLICK, field: value}, "T1")
    read_reaction(body({**REACTION, "item": value}), ME)
    read_session_stop({"event": value})
