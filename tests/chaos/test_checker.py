"""The checker finds each kind of fault, and nothing in a run without one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from tests.chaos.checker import PROMISES, check
from tests.chaos.evidence import Evidence, Posted, Row, Said, Stored

THREAD = "T1:C1:1.0"


def entry(seq: int, kind: str, **body: object) -> Row:
    return Row(THREAD, seq, kind, {"kind": kind, **body})


def call(token: str) -> list[dict[str, str]]:
    return [{"id": "call_0", "name": "note", "arguments": f'{{"token": "{token}"}}'}]


JOURNAL = (
    entry(0, "User", text="do", at="1.0"),
    entry(1, "ModelReply", thought="plan:1", calls=call("k1k")),
    entry(2, "ToolStarted", call_id="call_0"),
    entry(3, "Observation", call_id="call_0", text="done:k1k"),
    entry(4, "ModelReply", answer="answer:2"),
    entry(5, "Answered", covers=["1.0"]),
    entry(6, "User", text="and", at="2.0"),
    entry(7, "User", text="also", at="3.0"),
    entry(8, "ModelReply", answer="answer:3"),
    entry(9, "Answered", covers=["2.0", "3.0"]),
)
GOOD = Evidence(
    said=(
        Said("C1", "1.0", "1.0", for_bot=True),
        Said("C1", "1.0", "2.0", for_bot=True),
        Said("C1", "1.0", "3.0", for_bot=True),
        Said("C1", "1.0", "4.0", for_bot=False),
        Said("C1", "5.0", "5.0", for_bot=True, accepted=False),
        Said("C1", "6.0", "6.0", for_bot=True, deleted=True),
    ),
    posted=(
        Posted("C1", "1.0", "1.5", "c1", (), "plan:1 done:k1k"),
        Posted("C1", "1.0", "1.6", "f5", ("1.0",), "answer:2"),
        Posted("C1", "1.0", "3.5", "f9", ("2.0", "3.0"), "answer:3"),
    ),
    journal=JOURNAL,
    inbox=(
        Stored(THREAD, "message", "1.0", 1.1, 0),
        Stored(THREAD, "message", "2.0", 2.1, 6),
        Stored(THREAD, "message", "3.0", 3.1, 6),
        Stored(THREAD, "message", "4.0", 4.1, 6),
        Stored("T1:C1:9.0", "stop", "9.1", 9.1, None),
    ),
    starts=("k1k",),
)


def posts(*kept: int, add: tuple[Posted, ...] = ()) -> Evidence:
    """The good run with only these posts, and further ones."""
    return replace(GOOD, posted=(*(GOOD.posted[i] for i in kept), *add))


def journal(*rows: Row, without: int = -1) -> Evidence:
    """The good run with these rows instead of those at their positions, or without one."""
    by_seq = {row.seq: row for row in (*JOURNAL, *rows) if row.seq != without}
    return replace(GOOD, journal=tuple(by_seq.values()))


def inbox(number: int, **changes: object) -> Evidence:
    rows = list(GOOD.inbox)
    rows[number] = replace(rows[number], **changes)  # type: ignore[arg-type]
    return replace(GOOD, inbox=tuple(rows))


FAULTS: dict[str, tuple[str, Callable[[], Evidence]]] = {
    "an answer is missing": ("answered_once", lambda: posts(0, 1)),
    "an answer covers one message less": (
        "answered_once",
        lambda: posts(0, 1, add=(replace(GOOD.posted[2], covers=("2.0",)),)),
    ),
    "a message is covered twice": (
        "answered_once",
        lambda: posts(0, 1, 2, add=(Posted("C1", "1.0", "4", "n", ("1.0",), ""),)),
    ),
    "a message for others is answered": (
        "answered_once",
        lambda: posts(0, 1, 2, add=(Posted("C1", "1.0", "4", "n", ("4.0",), ""),)),
    ),
    "a message is answered in another thread": (
        "answered_once",
        lambda: posts(0, 2, add=(replace(GOOD.posted[1], root="8.0"),)),
    ),
    "a deleted message is answered twice": (
        "answered_once",
        lambda: posts(
            *(0, 1, 2),
            add=tuple(Posted("C1", "6.0", ts, ts, ("6.0",), "") for ts in ("6.1", "6.2")),
        ),
    ),
    "a message that was not even stored is acknowledged": (
        "answered_once",
        lambda: replace(GOOD, said=(*GOOD.said, Said("C1", "7.0", "7.0", for_bot=True))),
    ),
    "answers stand in another order": (
        "told_as_written",
        lambda: posts(0, 1, add=(replace(GOOD.posted[2], ts="1.55"),)),
    ),
    "an answer is written and not told": ("told_as_written", lambda: posts(0, 2)),
    "a later message was taken first": ("in_order", lambda: inbox(1, taken=8)),
    "a message was taken and not ended": (
        "covered_once_in_the_journal",
        lambda: journal(entry(9, "Answered", covers=["3.0"])),
    ),
    "a message was ended twice": (
        "covered_once_in_the_journal",
        lambda: journal(entry(10, "Failed", covers=["3.0"])),
    ),
    "a message was taken twice": (
        "covered_once_in_the_journal",
        lambda: journal(entry(7, "User", at="2.0")),
    ),
    "the journal has a gap": ("covered_once_in_the_journal", lambda: journal(without=4)),
    "a tool was started twice": ("started_once", lambda: replace(GOOD, starts=("k1k", "k1k"))),
    "a tool was started before it was written down": (
        "started_once",
        lambda: replace(GOOD, starts=("k1k", "k9k")),
    ),
    "a start was written down twice": (
        "started_once",
        lambda: journal(entry(3, "ToolStarted", call_id="call_0")),
    ),
    "a call was observed twice": (
        "started_once",
        lambda: journal(entry(4, "Observation", call_id="call_0", text="")),
    ),
    "a post stands there twice": (
        "said_once",
        lambda: posts(0, 1, 2, add=(replace(GOOD.posted[0], ts="9", text=""),)),
    ),
    "a step is told in two posts": (
        "said_once",
        lambda: posts(0, 1, 2, add=(replace(GOOD.posted[0], ts="9", key="o3"),)),
    ),
    "an answer is told in two posts": (
        "said_once",
        lambda: posts(0, 1, 2, add=(replace(GOOD.posted[1], ts="9", key="f6", covers=()),)),
    ),
    "a step is not told": (
        "steps_shown",
        lambda: posts(1, 2, add=(replace(GOOD.posted[0], text="plan:1"),)),
    ),
    "an item is never taken": ("nothing_forgotten", lambda: inbox(3, taken=None)),
    "an acknowledged message is not stored": (
        "nothing_forgotten",
        lambda: replace(GOOD, said=(*GOOD.said, Said("C1", "1.0", "3.3", for_bot=True))),
    ),
    "a thread stays unfinished": ("nothing_forgotten", lambda: replace(GOOD, busy=(THREAD,))),
    "a post stays in doubt": ("nothing_forgotten", lambda: replace(GOOD, unsure=("f5",))),
    "a process is left": ("nothing_left_over", lambda: replace(GOOD, orphans=("17 sleep",))),
    "a sign of life is left": ("nothing_left_over", lambda: replace(GOOD, signs=("C1:1.0",))),
    "a reaction is left": ("nothing_left_over", lambda: replace(GOOD, eyes=("C1:1.0",))),
    "a process ended by itself": ("nothing_broke", lambda: replace(GOOD, deaths=("17",))),
    "the log shows a bug": ("nothing_broke", lambda: replace(GOOD, bugs=("KeyError",))),
}


def test_a_run_without_a_fault_is_clean() -> None:
    assert check(GOOD) == ()


@pytest.mark.parametrize("fault", FAULTS)
def test_each_fault_is_found(fault: str) -> None:
    promise, broken = FAULTS[fault]

    assert promise in {violation.promise for violation in check(broken())}


def test_each_promise_is_proved_to_fail() -> None:
    assert {promise for promise, _ in FAULTS.values()} == {p.__name__ for p in PROMISES}


def test_a_message_that_arrived_late_may_be_taken_late() -> None:
    """Slack's order is by `ts`; what had not arrived cannot come first."""
    late = inbox(1, received_at=9.0, taken=8)

    assert "in_order" not in {violation.promise for violation in check(late)}


def test_an_answer_whose_delivery_was_stopped_need_not_stand_there() -> None:
    """The stop answers for its question and for itself."""
    stop = entry(10, "Stopped", covers=["2.0", "3.0", "4.5"], by="alice", parts=1)
    said = (*GOOD.said, Said("C1", "1.0", "4.5", for_bot=True))
    inbox = (*GOOD.inbox, Stored(THREAD, "stop", "4.5", 4.6, 10))
    posted = (*GOOD.posted[:2], Posted("C1", "1.0", "3.5", "f10", ("2.0", "3.0", "4.5"), "stopped"))
    stopped = replace(GOOD, journal=(*JOURNAL, stop), said=said, inbox=inbox, posted=posted)
    assert check(stopped) == ()
    found = check(replace(stopped, posted=(*posted, GOOD.posted[2])))
    assert {violation.promise for violation in found} >= {"answered_once"}


def test_a_question_may_quote_the_thought_of_its_step_and_an_answer_may_not() -> None:
    asked = Row(THREAD, 10, "ApprovalAsked", {})
    quoting = [Posted("C1", "1.0", "9", f"{THREAD}#f{seq}.0", (), "plan:1") for seq in (10, 9)]
    question, answer = (
        check(replace(GOOD, journal=(*JOURNAL, asked), posted=(*GOOD.posted, post)))
        for post in quoting
    )

    assert question == ()
    assert {violation.promise for violation in answer} == {"said_once"}


def test_where_a_deleted_question_left_its_thread_its_end_is_told_there() -> None:
    end = Row("T1:C1:6.0", 1, "Stopped", {"kind": "Stopped", "covers": ["6.0"]})
    taken = Row("T1:C1:6.0", 0, "User", {"kind": "User", "at": "6.0"})
    gone = replace(GOOD, journal=(*JOURNAL, taken, end))
    step = Posted("C1", "6.0", "6.1", "c0", (), "plan:7")
    silent = check(replace(gone, posted=(*GOOD.posted, step)))

    assert check(gone) == ()
    assert {violation.promise for violation in silent} == {"told_as_written"}


def test_where_a_deleted_question_took_its_thread_along_no_step_is_missed() -> None:
    thread = "T1:C1:6.0"
    rows = (
        Row(thread, 0, "User", {"kind": "User", "at": "6.0"}),
        Row(thread, 1, "Observation", {"call_id": "call_0", "text": "done:k9k"}),
        Row(thread, 2, "Answered", {"kind": "Answered", "covers": ["6.0"]}),
    )
    gone = replace(GOOD, journal=(*JOURNAL, *rows))
    answered = Posted("C1", "6.0", "6.1", "f2", ("6.0",), "answer:9")
    stands = check(replace(gone, posted=(*GOOD.posted, answered)))

    assert check(gone) == ()
    assert {violation.promise for violation in stands} == {"steps_shown"}


def test_a_thread_in_which_nothing_has_ended_yet_can_be_judged() -> None:
    begun = replace(GOOD, journal=(*JOURNAL, Row("T1:C1:7.0", 0, "Overheard", {})))

    assert check(begun) == ()
