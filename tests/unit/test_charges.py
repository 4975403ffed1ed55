"""What is charged, to whom, and what it costs."""

from __future__ import annotations

import hypothesis.strategies as st
import pytest
from hypothesis import given

from bot.agent.charges import Charge, Rate, Rates, charges, total
from bot.agent.entries import (
    Answered,
    Entry,
    Failed,
    ModelReply,
    Noted,
    Observation,
    Stopped,
    Summary,
    Usage,
    User,
)

RATES = Rates("m", {"m": Rate(1.0, 10.0, 0.5)})
ASK = User("hello", "U1", "alice", "1.0")
MORE = User("and this", "U2", "bob", "2.0")
REPLY = ModelReply("m", answer="hi", usage=Usage(100, 10, 40))


def test_a_turn_is_charged_to_whoever_began_it_and_only_its_first_call_begins_it() -> None:
    (first,) = charges([ASK], [REPLY])
    (second,) = charges([ASK, REPLY, MORE], [REPLY, Answered(("1.0", "2.0"))])

    assert first == Charge(1, "U1", "m", REPLY.usage, begins=True)
    assert second == Charge(3, "U1", "m", REPLY.usage, begins=False)


@pytest.mark.parametrize("ending", [Answered(("1.0",)), Failed(("1.0",), "x"), Stopped((), "U1")])
def test_the_next_turn_is_the_next_persons(ending: Entry) -> None:
    (charge,) = charges([ASK, REPLY, ending, MORE], [REPLY])
    assert (charge.author, charge.begins) == ("U2", True)


def test_a_summary_counts_if_a_model_made_it_and_nothing_else_does() -> None:
    made = Summary("s", 1, model="m", usage=Usage(7, 3))
    assert [charge.usage for charge in charges([ASK], [made])] == [Usage(7, 3)]
    assert charges([ASK], [Summary("s", 1), Noted("n"), Observation("c", "x")]) == []


def test_where_the_endpoint_does_not_count_an_estimate_is_charged() -> None:
    long = ModelReply("m", answer="word " * 3_000)
    (charge,) = charges([ASK], [long])
    assert charge.usage.input_tokens > 500
    assert charge.usage.output_tokens > 3_000


def test_cached_input_has_its_own_price() -> None:
    assert RATES.cost("m", Usage(1_000_000, 100_000, 400_000)) == pytest.approx(0.6 + 0.2 + 1.0)
    assert RATES.cost("m", Usage(10, 0, 99)) == pytest.approx(10 * 0.5 / 1e6)


def test_a_model_by_a_longer_name_has_the_price_of_the_one_that_was_asked_for() -> None:
    assert RATES.cost("m-2026-01-01", Usage(1_000_000)) == 1.0
    assert Rates("m").cost("m", Usage(5)) is None


def test_the_total_of_a_turn_is_not_known_if_one_call_has_no_price() -> None:
    rates = Rates("", {"m": Rate(1.0, 1.0, 1.0)})
    count, cost = total([ASK, REPLY, REPLY], rates)
    assert count == 220
    assert cost == pytest.approx(220 / 1e6)
    assert total([ASK, REPLY, ModelReply("other", usage=Usage(5))], rates) == (115, None)


@given(st.lists(st.sampled_from([ASK, MORE, REPLY, Answered(("1.0",))]), max_size=12), st.data())
def test_charging_in_pieces_charges_the_same_as_at_once(
    entries: list[Entry], data: st.DataObject
) -> None:
    at = data.draw(st.integers(0, len(entries)))
    assert [*charges([], entries[:at]), *charges(entries[:at], entries[at:])] == charges(
        [], entries
    )
