"""The window for a reason: what it carries, and what is read when it comes back."""

from __future__ import annotations

import json
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from bot.slack.reasons import LONGEST, position, read_reason, reason_view
from bot.storage.items import Item, Kind

CLICK = Item(
    Kind.CLICK,
    *("T1", "C1", "1.0", "5.0", "U1"),
    text="denied",
    author_team="T1",
    change="7",
    about="abc",
    reply_url="https://hooks.example/1",
)


def submitted(reason: object, metadata: str | None = None, user: str = "U1") -> dict[str, object]:
    view = reason_view(CLICK)
    state = {"values": {"treadle_reason": {"treadle_reason": {"value": reason}}}}
    kept = view["private_metadata"] if metadata is None else metadata
    return {
        "user": {"id": user, "team_id": "T1"},
        "view": {**view, "state": state, "private_metadata": kept},
    }


def test_the_window_brings_back_the_click_that_opened_it_with_the_reason() -> None:
    assert read_reason(submitted("Too risky."), "T1") == replace(CLICK, reason="Too risky.")
    assert read_reason(submitted(None), "T1") == CLICK


def test_a_window_that_is_submitted_twice_is_one_item() -> None:
    first, second = (read_reason(submitted(reason), "T1") for reason in ("a", "b"))

    assert first is not None
    assert second is not None
    assert first.key == second.key


def test_who_submits_is_who_answers_whatever_the_window_says() -> None:
    item = read_reason(submitted("x", user="U2"), "T1")

    assert item is not None
    assert item.author == "U2"


def test_a_longer_reason_than_can_be_typed_is_cut() -> None:
    item = read_reason(submitted("x" * 9_000), "T1")

    assert item is not None
    assert len(item.reason) == LONGEST


def test_the_windows_own_data_is_below_slacks_limit() -> None:
    long = replace(CLICK, reply_url="https://hooks.example/" + "x" * 1_000, about="a" * 64)

    assert len(json.dumps(reason_view(long)["private_metadata"])) < 3_000


junk = st.recursive(
    st.none() | st.text(max_size=8) | st.integers(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=8,
)


@given(junk, st.sampled_from(["user", "view"]))
def test_no_payload_makes_the_reader_fail(value: object, field: str) -> None:
    read_reason({**submitted("x"), field: value}, "T1")
    read_reason(submitted(value), "T1")
    read_reason(submitted("x", json.dumps(value)), "T1")


@given(st.text(max_size=12))
def test_a_position_is_a_number_or_that_of_no_question(text: str) -> None:
    assert 0 <= int(position(text)) < 10**9
