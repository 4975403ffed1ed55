"""What a journal says about a person's yes: which questions are open, and what a card holds."""

from __future__ import annotations

from dataclasses import replace

import pytest

from bot.agent.approvals import Card, card_at, given, pending
from bot.agent.consent import Answer, ApprovalAnswered, ApprovalAsked, Grant
from bot.agent.entries import (
    Decided,
    Edited,
    Entry,
    Failed,
    ModelReply,
    Observation,
    Stopped,
    Told,
    ToolCall,
    ToolStarted,
    User,
)
from bot.agent.records import dump, load
from bot.policy import Verdict

CALLS = tuple(ToolCall(name, "write_file", "{}") for name in "abc")
A, B, C = (ApprovalAsked(call.id, f"digest {call.id}", 1.0, 9.0) for call in CALLS)
DECIDED = [Decided(call.id, Verdict.ASK, "a rule", digest=f"digest {call.id}") for call in CALLS]
BEGUN: list[Entry] = [
    User("write", "U1", "Ann", "1.0"),
    ModelReply("m", "I write.", CALLS),
    *DECIDED,
]
JOURNAL = [*BEGUN, A, B, C]
FIRST = len(BEGUN)


def answer(call_id: str, what: Answer = Answer.ALLOWED) -> ApprovalAnswered:
    return ApprovalAnswered(call_id, what, "U9", "Ada")


def test_each_question_is_open_until_it_has_its_answer() -> None:
    assert pending(JOURNAL) == (A, B, C)
    assert pending([*JOURNAL, Told("2.0"), answer("b")]) == (A, C)
    assert pending([*JOURNAL, answer("b"), answer("a"), answer("c")]) == ()


def test_a_question_that_is_asked_again_is_one() -> None:
    again = replace(A, before="other", again=True)

    assert pending([*JOURNAL, answer("a"), answer("b"), answer("c"), DECIDED[0], again]) == (again,)


def test_the_questions_of_an_earlier_reply_are_over() -> None:
    assert pending([*JOURNAL, ModelReply("m", calls=CALLS)]) == ()


@pytest.mark.parametrize(("digest", "before"), [("x", ""), ("digest a", "x")])
def test_a_yes_is_for_the_call_and_the_file_as_they_were_shown(digest: str, before: str) -> None:
    decided = DECIDED[0]

    assert given([A, answer("a")], decided) == answer("a")
    assert given([A, answer("a")], replace(decided, digest=digest, before=before)) is None
    assert given([replace(A, digest=digest, before=before), answer("a")], decided) is None
    assert given([A, answer("b")], decided) is None
    assert given([A], decided) is None


@pytest.mark.parametrize("no", [Answer.DENIED, Answer.EXPIRED])
def test_a_no_is_for_the_call_whatever_became_of_the_file(no: Answer) -> None:
    assert given([A, answer("a", no)], replace(DECIDED[0], before="x")) == answer("a", no)


def test_a_later_question_takes_the_earlier_answer_away() -> None:
    assert given([A, answer("a"), A], DECIDED[0]) is None


def calls_of(card: Card) -> list[str]:
    return [line.call.id for line in card.lines]


@pytest.mark.parametrize("seq", [FIRST, FIRST + 1, FIRST + 2])
def test_questions_beside_each_other_are_one_card(seq: int) -> None:
    card = card_at([*JOURNAL, answer("b")], seq)

    assert (card.seq, calls_of(card)) == (FIRST, ["a", "b", "c"])
    assert [line.call.id for line in card.open] == ["a", "c"]
    assert card.askers == {"U1": "Ann"}


def test_a_card_that_follows_is_another_one() -> None:
    again = replace(A, again=True)
    journal = [*JOURNAL, answer("a"), answer("b"), answer("c"), DECIDED[0], again]

    assert calls_of(card_at(journal, len(journal) - 1)) == ["a"]
    assert card_at(journal, FIRST).over


@pytest.mark.parametrize(
    "end",
    [Stopped(("1.0",), "Bob"), Failed(("1.0",), "x"), ToolStarted("a"), Observation("a", "x")],
)
def test_nothing_is_open_when_the_turn_went_on_or_ended(end: Entry) -> None:
    assert card_at([*JOURNAL, end], FIRST).open == ()
    late = card_at([*JOURNAL, end, answer("c")], FIRST)
    assert [line.answer for line in late.lines] == [None, None, None]


def test_the_first_answer_is_the_one_that_counts() -> None:
    card = card_at([*JOURNAL, answer("a", Answer.DENIED), answer("a")], FIRST)

    assert card.lines[0].answer == answer("a", Answer.DENIED)


def test_who_changed_a_message_is_among_those_who_ask() -> None:
    journal = [BEGUN[0], Edited("1.0", "more", "U2"), *JOURNAL[1:]]

    assert card_at(journal, FIRST + 1).askers == {"U1": "Ann", "U2": "U2"}


def test_a_cards_digest_is_of_every_question_on_it() -> None:
    digests = {
        card_at([*BEGUN, *asked], FIRST).digest
        for asked in ([A, B, C], [A, B], [A, C, B], [replace(A, before="x"), B, C])
    }

    assert len(digests) == 4


def test_journals_of_the_release_before_can_be_read() -> None:
    asked = '"ApprovalAsked","v":1,"call_id":"a","digest":"d","asked_at":1.0,"expires_at":9.0'
    yes = '"ApprovalAnswered","v":1,"call_id":"a","answer":"allowed","by":"U9","name":"Ada"'

    assert load(f'{{"kind":{asked}}}') == ApprovalAsked("a", "d", 1.0, 9.0)
    assert load(f'{{"kind":{yes}}}') == answer("a")


def test_a_grant_is_read_as_it_was_written() -> None:
    entry = replace(answer("a"), grant=Grant("t", "r", ("x", "y"), "U1", "W", 9.0), reason="no")

    assert load(dump(entry)) == entry
