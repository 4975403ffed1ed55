"""Reserving and settling: nothing counted twice, nothing forgotten, no rest taken twice."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from sqlalchemy import update

from bot.agent.budgets import Cap, Scope, Unit, Wanted
from bot.agent.charges import Charge, Rate, Rates
from bot.agent.entries import Answered, Entry, ModelReply, Resumed, Usage, User
from bot.runs.budget import day_began
from bot.storage.budgets import RESERVED_SECONDS, Budgets
from bot.storage.database import open_database
from bot.storage.journal import Journals
from bot.storage.tables import reservations
from bot.storage.usage import Ledger
from bot.storage.writer import Writer

RATES = Rates("m", {"m": Rate(1.0, 1.0, 1.0)})
ASK = User("hello", "U1", "alice", "1.0")
REPLY = ModelReply("m", answer="hi", usage=Usage(400_000, 100_000))
WANTED = Wanted("T:C1:1.0", "U1", 0, 0.0, 0.4, 400_000, 1)


@dataclass
class Place:
    writer: Writer
    budgets: Budgets
    ledger: Ledger
    journals: Journals
    now: float = 1_000_000.0


@pytest.fixture
async def place(tmp_path: Path) -> AsyncIterator[Place]:
    database = open_database(tmp_path / "treadle.db")
    writer = Writer(database.engine)
    ledger = Ledger(writer, RATES, lambda: found.now)
    budgets = Budgets(writer, lambda: found.now, ledger=ledger)
    found = Place(writer, budgets, ledger, Journals(writer, ledger=ledger))
    yield found
    await writer.close()
    database.close()


def cap(scope: Scope, amount: float, unit: Unit = Unit.MONEY) -> Cap:
    return Cap(scope, unit, amount)


async def test_what_was_set_aside_gives_way_to_what_was_used(place: Place) -> None:
    caps = [cap(Scope.USER, 1.0)]
    assert await place.budgets.reserve(WANTED, caps, "one") == (None, [])
    (aside,) = await place.budgets.states(WANTED, caps)
    await place.journals.append("T:C1:1.0", 0, [ASK, REPLY, Answered(("1.0",))])
    (settled,) = await place.budgets.states(WANTED, caps)

    assert (aside.used, settled.used) == (0.4, 0.5)
    spent = await place.ledger.spent(0, author="U1")
    assert (spent.money, spent.tokens, spent.turns, spent.calls) == (0.5, 500_000, 1, 1)


async def test_a_reservation_is_refused_where_the_rest_is_too_small_and_nothing_is_set_aside(
    place: Place,
) -> None:
    caps = [cap(Scope.USER, 0.5), cap(Scope.ALL, 9.0)]
    await place.budgets.reserve(WANTED, caps, "one")
    reached, near = await place.budgets.reserve(replace(WANTED, thread="T:C2:2.0"), caps, "two")

    assert reached is not None
    assert (reached.cap, reached.used, near) == (caps[0], 0.4, ())
    (_, everybody) = await place.budgets.states(WANTED, caps)
    assert everybody.used == 0.4


async def test_a_hundred_calls_at_once_never_take_the_same_rest(place: Place) -> None:
    caps = [cap(Scope.CHANNEL, 4.0)]
    wanted = [replace(WANTED, thread=f"T:C1:{n}.0", author=f"U{n}") for n in range(100)]
    found = await asyncio.gather(*[place.budgets.reserve(w, caps, w.thread) for w in wanted])
    assert sum(reached is None for reached, _ in found) == 10


@pytest.mark.parametrize(
    ("scope", "other", "shared"),
    [
        (Scope.USER, {"author": "U2"}, False),
        (Scope.USER, {"thread": "T:C2:2.0"}, True),
        (Scope.CHANNEL, {"thread": "T:C2:2.0"}, False),
        (Scope.CHANNEL, {"thread": "T:C1:2.0", "author": "U2"}, True),
        (Scope.ALL, {"thread": "T:C2:2.0", "author": "U2"}, True),
        (Scope.TURN, {"thread": "T:C2:2.0"}, False),
    ],
)
async def test_each_scope_counts_its_own(
    place: Place, scope: Scope, other: dict[str, str], shared: bool
) -> None:
    await place.journals.append("T:C1:1.0", 0, [ASK, REPLY])
    caps = [cap(scope, 0.8)]
    thread, author = other.get("thread", "T:C1:1.0"), other.get("author", "U1")
    reached, _ = await place.budgets.reserve(
        replace(WANTED, thread=thread, author=author), caps, "one"
    )
    assert (reached is not None) is shared


async def test_a_turns_cap_counts_that_turn_alone(place: Place) -> None:
    ended: list[Entry] = [ASK, REPLY, Answered(("1.0",)), replace(ASK, at="2.0")]
    await place.journals.append("T:C1:1.0", 0, ended)
    caps = [cap(Scope.TURN, 0.8)]
    assert await place.budgets.reserve(replace(WANTED, turn_from=3), caps, "one") == (None, [])
    await place.journals.append("T:C1:1.0", 4, [REPLY], before=ended)
    reached, _ = await place.budgets.reserve(replace(WANTED, turn_from=3), caps, "one")
    assert reached is not None
    assert reached.used == 0.5


async def test_yesterday_is_not_counted_and_what_an_admin_adds_ends_with_the_day(
    place: Place,
) -> None:
    caps = [cap(Scope.USER, 0.5)]
    await place.journals.append("T:C1:1.0", 0, [ASK, REPLY])
    await place.budgets.add(cap(Scope.USER, 2.0), "U1", "UADA")
    await place.budgets.add(cap(Scope.USER, 9.0), "U2", "UADA")
    (today,) = await place.budgets.states(WANTED, caps)
    place.now += 86_400
    (tomorrow,) = await place.budgets.states(replace(WANTED, day=place.now), caps)

    assert (today.limit, today.used) == (2.5, 0.5)
    assert (tomorrow.limit, tomorrow.used) == (0.5, 0.0)


async def test_near_a_cap_somebody_is_told_once_a_day(place: Place) -> None:
    caps = [cap(Scope.USER, 0.6)]
    await place.journals.append("T:C1:1.0", 0, [ASK, REPLY])
    small = replace(WANTED, money=0.01)
    _, near = await place.budgets.reserve(small, caps, "one")
    await place.budgets.release("one")
    _, again = await place.budgets.reserve(small, caps, "two")
    await place.budgets.release("two")
    _, next_day = await place.budgets.reserve(replace(small, day=1.0), caps, "three")

    assert [state.used for state in near] == [0.5]
    assert (list(again), len(next_day)) == ([], 1)


async def test_what_a_killed_process_set_aside_is_free_again_after_a_while(place: Place) -> None:
    caps = [cap(Scope.ALL, 0.5)]
    await place.budgets.reserve(WANTED, caps, "one")
    place.now += RESERVED_SECONDS + 1
    assert await place.budgets.reserve(replace(WANTED, thread="T:C2:2.0"), caps, "two") == (
        None,
        [],
    )


async def test_what_a_killed_process_had_asked_for_counts_when_its_thread_goes_on(
    place: Place,
) -> None:
    """Whoever takes the turn up asks again: the endpoint is paid twice, and it is one turn."""
    caps = [cap(Scope.USER, 1.0), cap(Scope.USER, 1, Unit.TURNS)]
    wanted = replace(WANTED, model="m", seq=1)
    await place.budgets.reserve(wanted, caps, "one")
    assert (await place.budgets.reserve(replace(wanted, seq=2), caps, "two"))[0] is None
    resumed: list[Entry] = [ASK, Resumed("another")]
    await place.journals.append("T:C1:1.0", 0, resumed)
    await place.journals.append("T:C1:1.0", 2, [REPLY, Answered(("1.0",))], before=resumed)
    spent = await place.ledger.spent(0, author="U1")
    assert (spent.money, spent.tokens, spent.turns, spent.calls) == (0.9, 900_000, 1, 2)
    (money, turns) = await place.budgets.states(WANTED, caps)
    assert (money.used, turns.used) == (0.9, 1)


async def test_who_wakes_late_does_not_touch_what_its_successor_has_set_aside(
    place: Place,
) -> None:
    """The successor has counted the late one's call as used, so that one counts it no more."""
    caps = [cap(Scope.USER, 2.0)]
    await place.budgets.reserve(replace(WANTED, model="m", seq=1), caps, "frozen")
    await place.budgets.reserve(replace(WANTED, model="m", seq=5), caps, "successor")
    (before,) = await place.budgets.states(WANTED, caps)
    await place.budgets.release("frozen")
    charge = Charge(1, "U1", "m", Usage(300_000, 100_000), True)
    await place.budgets.lose(WANTED.thread, charge, "frozen")
    (after,) = await place.budgets.states(WANTED, caps)

    assert (before.used, after.used) == (0.8, 0.8)
    await place.budgets.release("successor")
    (at_last,) = await place.budgets.states(WANTED, caps)
    assert at_last.used == 0.4


async def test_what_an_earlier_release_left_set_aside_in_other_threads_stays_so(
    place: Place,
) -> None:
    """It gave its calls no tokens: all that it left has the same one."""
    caps = [cap(Scope.CHANNEL, 2.0)]
    for thread in ("T:C1:1.0", "T:C1:2.0"):
        await place.budgets.reserve(replace(WANTED, thread=thread, model="m", seq=1), caps, thread)
    await place.writer.run(
        lambda connection: connection.execute(update(reservations), {"token": ""})
    )
    await place.budgets.reserve(replace(WANTED, model="m", seq=2), caps, "one")

    (state,) = await place.budgets.states(WANTED, caps)
    assert state.used == pytest.approx(0.4 * 3)


async def test_a_call_that_is_set_aside_twice_because_no_answer_came_is_one_call(
    place: Place,
) -> None:
    """A database that is restarted may have done what it did not answer: it is done again."""
    caps = [cap(Scope.USER, 1.0)]
    for _ in range(2):
        await place.budgets.reserve(replace(WANTED, model="m", seq=1), caps, "one")
    (state,) = await place.budgets.states(WANTED, caps)

    assert state.used == 0.4
    assert (await place.ledger.spent(0)).calls == 0


async def test_a_call_of_which_no_reply_came_is_charged_once(place: Place) -> None:
    await place.budgets.reserve(WANTED, [cap(Scope.USER, 1.0)], "one")
    charge = Charge(1, "U1", "m", Usage(300_000, 100_000), True)
    for _ in range(2):
        await place.budgets.lose(WANTED.thread, charge, "one")

    assert (await place.ledger.spent(0)).money == 0.4


async def test_where_there_is_no_budget_a_call_without_a_reply_is_charged_all_the_same(
    place: Place,
) -> None:
    charge = Charge(1, "U1", "m", Usage(300_000, 100_000), True)
    await place.budgets.lose(WANTED.thread, charge)

    assert (await place.ledger.spent(0)).money == 0.4


async def test_tokens_and_turns_have_caps_of_their_own(place: Place) -> None:
    await place.journals.append("T:C1:1.0", 0, [ASK, REPLY, Answered(("1.0",))])
    for unit, amount, refused in (
        (Unit.TOKENS, 899_999, True),
        (Unit.TOKENS, 900_000, False),
        (Unit.TURNS, 1, True),
        (Unit.TURNS, 2, False),
    ):
        wanted = replace(WANTED, turn_from=3)
        reached, _ = await place.budgets.reserve(wanted, [cap(Scope.USER, amount, unit)], "one")
        await place.budgets.release("one")
        assert (reached is not None) is refused, (unit, amount)


def test_a_day_begins_where_the_setting_says() -> None:
    noon = datetime(2026, 3, 29, 12, 0, tzinfo=UTC).timestamp()
    assert datetime.fromtimestamp(day_began(noon, "UTC"), UTC).hour == 0
    began = datetime.fromtimestamp(day_began(noon, "Europe/Berlin"), UTC)
    assert (began.day, began.hour) == (28, 23)
