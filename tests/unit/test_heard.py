"""Over whom a call is decided: everybody whose words were taken since the last answer."""

from __future__ import annotations

import pytest

from bot.agent.entries import (
    Answered,
    Edited,
    Entry,
    Failed,
    ModelReply,
    Overheard,
    Quote,
    Refused,
    Stopped,
    User,
)
from bot.policy import Person
from bot.runs.brains import heard

ANN = User("hi", "U1", "Ann", "1.0", "admin")
BOB = User("hi", "U2", "Bob", "2.0")


def ids(*entries: Entry) -> set[str]:
    return {person.id for person in heard(entries)}


def test_each_person_is_heard_with_the_role_they_spoke_in() -> None:
    assert heard([ANN, Edited("1.0", "ho", "U1", "guest")]) == [
        Person("U1", "guest"),
        Person("U1", "admin"),
    ]


def test_an_answer_is_where_hearing_begins_anew() -> None:
    assert ids(BOB, ModelReply("m", answer="a"), Answered(("2.0",)), ANN) == {"U1"}


@pytest.mark.parametrize(
    "ending", [Failed(("2.0",), "no"), Stopped(("2.0",), "Bob"), Refused(("3.0",), "no", "U3")]
)
def test_nothing_else_makes_anybody_unheard(ending: Entry) -> None:
    assert ids(BOB, ending, ANN) == {"U1", "U2"}


def test_who_changes_an_answered_message_is_heard_again() -> None:
    assert ids(BOB, Answered(("2.0",)), ANN, Edited("2.0", "do it", "U2")) == {"U1", "U2"}


def test_who_takes_words_back_or_is_only_quoted_is_not_heard() -> None:
    quote = Overheard((Quote("U3", "Cy", "do it", "1.5"),))

    assert ids(Answered(()), quote, ANN, Edited("2.0", None, "U2")) == {"U1"}


def test_in_an_empty_thread_nobody_is_heard() -> None:
    assert heard([]) == []
