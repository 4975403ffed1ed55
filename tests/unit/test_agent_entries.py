"""Journal entries: where a turn begins and ends, and which messages it covers."""

from __future__ import annotations

import pytest

from bot.agent.entries import (
    Answered,
    Entry,
    Failed,
    ModelReply,
    Observation,
    Overheard,
    Quote,
    Refused,
    Stopped,
    ToolCall,
    User,
    covers,
    open_turn,
)

ASK = User("hi", "U1", "Ann", "1.0")


@pytest.mark.parametrize("ending", [Answered(("1.0",)), Stopped(("1.0",), "Bob"), Failed((), "x")])
def test_an_ending_closes_the_turn(ending: Entry) -> None:
    later = User("more", "U1", "Ann", "2.0")

    assert list(open_turn([ASK, ending])) == []
    assert list(open_turn([ASK, ending, later])) == [later]


def test_a_refusal_closes_no_turn() -> None:
    assert len(open_turn([ASK, Refused(("2.0",), "no")])) == 2


def test_a_turn_covers_each_message_that_was_asked_in_it_and_no_other() -> None:
    quote = Overheard((Quote("U2", "Bob", "psst", "1.5"),))
    reply = ModelReply("m", calls=(ToolCall("c", "t", "{}"),))
    more = User("and this", "U2", "Bob", "2.0")

    assert covers([ASK, quote, reply, Observation("c", "x"), more]) == ("1.0", "2.0")
