"""What a turn has done so far, read from its entries."""

from __future__ import annotations

import pytest

from bot.agent.entries import (
    Decided,
    Entry,
    ModelReply,
    Observation,
    Resumed,
    Stopped,
    ToolCall,
    ToolStarted,
    User,
)
from bot.agent.work import Work, interruptions, resumed_in_vain, stop_notice, work_of
from bot.policy import Verdict
from bot.words import interrupted_observation

ASK = User("go", "U1", "Ann", "1.0")
A, B, C = (ToolCall(name, "calculate", "{}") for name in "abc")
REPLY = ModelReply("m", calls=(A, B, C))
BROKEN = Observation("a", interrupted_observation("calculate"), is_error=True)
LIFE: list[Entry] = [REPLY, ToolStarted("a"), Resumed("p"), BROKEN]
"""The model calls a tool, which takes the process down; the next process notes so."""


def test_what_ran_what_was_broken_off_and_what_was_not_begun_are_told_apart() -> None:
    turn: list[Entry] = [ASK, REPLY, ToolStarted("a"), Observation("a", "1"), ToolStarted("b")]

    assert work_of(turn) == Work((A,), (B,), (C,))


def test_a_refused_call_was_neither_done_nor_left() -> None:
    turn: list[Entry] = [
        ASK,
        REPLY,
        Decided("a", Verdict.DENY),
        Observation("a", "no", is_error=True),
    ]

    assert work_of(turn) == Work((), (), (B, C))


def test_only_a_running_call_of_the_newest_reply_is_interrupted() -> None:
    turn: list[Entry] = [
        ASK,
        *LIFE,
        REPLY,
        ToolStarted("a"),
        Observation("a", "1"),
        ToolStarted("b"),
    ]

    assert [o.call_id for o in interruptions(turn)] == ["b"]
    assert interruptions(turn[:-1]) == []


def test_the_notice_counts_calls_of_one_tool() -> None:
    done: list[Entry] = [Observation("a", "1"), ToolStarted("b"), Observation("b", "2")]
    turn: list[Entry] = [ASK, REPLY, ToolStarted("a"), *done, Stopped(("1.0",), "Bob")]

    assert stop_notice(turn, len(turn) - 1) == (
        "Stopped by Bob. Done before that: Calculate (×2). Not begun: Calculate. Nothing is "
        "running any more; reply here to go on."
    )


@pytest.mark.parametrize(
    ("turn", "times"),
    [
        ([ASK], 0),
        ([ASK, Resumed("p")], 1),
        ([ASK, Resumed("p"), Resumed("q"), ASK, Resumed("r")], 3),
        ([ASK, *LIFE, *LIFE, *LIFE], 3),
        ([ASK, *LIFE, *LIFE, REPLY, ToolStarted("a"), Observation("a", "1")], 0),
        ([ASK, *LIFE, REPLY, ToolStarted("a"), Observation("a", "1"), Resumed("p")], 1),
    ],
)
def test_a_turn_is_in_vain_until_a_call_comes_to_its_end(turn: list[Entry], times: int) -> None:
    assert resumed_in_vain(turn) == times
