"""Slots for posts: about one a second and channel, bursts allowed, the urgent first."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.slack.pacing import Pacer, Ticket


class HandClock:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def granted(*tickets: Ticket) -> list[bool]:
    return [ticket.granted.done() for ticket in tickets]


async def test_a_burst_is_free_and_then_one_goes_each_second() -> None:
    clock = HandClock()
    pacer = Pacer(clock, rate=1.0, burst=3.0)
    tickets = [pacer.enter("C1", urgent=False) for _ in range(5)]
    assert granted(*tickets) == [True, True, True, False, False]
    clock.now += 1.0
    extra = pacer.enter("C1", urgent=False)
    assert granted(*tickets, extra) == [True, True, True, True, False, False]


async def test_another_channel_never_waits() -> None:
    pacer = Pacer(HandClock(), burst=1.0)
    full = [pacer.enter("C1", urgent=False) for _ in range(50)]
    assert granted(pacer.enter("C2", urgent=False)) == [True]
    assert sum(granted(*full)) == 1


async def test_the_urgent_goes_first_also_when_it_became_so_while_waiting() -> None:
    clock = HandClock()
    pacer = Pacer(clock, burst=1.0)
    pacer.enter("C1", urgent=False)
    first, second, third = (pacer.enter("C1", urgent=False) for _ in range(3))
    third.urgent = True
    clock.now += 1.0
    last = pacer.enter("C1", urgent=False)
    assert granted(first, second, third, last) == [False, False, True, False]


@pytest.mark.wall_clock
async def test_a_waiting_ticket_is_granted_by_itself_in_time() -> None:
    loop = asyncio.get_running_loop()
    pacer = Pacer(loop.time, rate=20.0, burst=1.0)
    began = loop.time()
    for _ in range(4):
        await pacer.enter("C1", urgent=False).granted
    assert 0.14 <= loop.time() - began < 2.0


async def test_who_gives_up_frees_the_place_or_the_slot() -> None:
    clock = HandClock()
    pacer = Pacer(clock, burst=1.0)
    held = pacer.enter("C1", urgent=False)
    waiting, behind = (pacer.enter("C1", urgent=False) for _ in range(2))
    pacer.leave("C1", waiting)
    pacer.leave("C1", held)
    assert granted(behind) == [True]
    assert granted(waiting) == [False]


async def test_when_slack_asks_to_wait_nobody_goes_before_and_then_one_at_a_time() -> None:
    clock = HandClock()
    pacer = Pacer(clock)
    pacer.pause("C1", 30.0)
    tickets = [pacer.enter("C1", urgent=True) for _ in range(3)]
    clock.now += 29.9
    probe = pacer.enter("C1", urgent=False)
    assert granted(*tickets, probe) == [False] * 4
    clock.now += 0.2
    probe = pacer.enter("C1", urgent=False)
    assert granted(*tickets, probe) == [True, False, False, False]


async def test_a_shorter_wait_does_not_cut_a_longer_one() -> None:
    clock = HandClock()
    pacer = Pacer(clock)
    pacer.pause("C1", 30.0)
    pacer.pause("C1", 1.0)
    clock.now += 5.0
    first = pacer.enter("C1", urgent=True)
    assert granted(first) == [False]
    clock.now += 25.1
    assert granted(first, pacer.enter("C1", urgent=True)) == [True, False]


async def test_a_calm_channel_says_so() -> None:
    pacer = Pacer(HandClock(), burst=1.0)
    assert pacer.calm("C1")
    pacer.enter("C1", urgent=False)
    assert pacer.calm("C1")
    waiting = pacer.enter("C1", urgent=False)
    assert not pacer.calm("C1")
    pacer.leave("C1", waiting)
    assert pacer.calm("C1")


async def test_channels_that_are_calm_again_are_forgotten() -> None:
    clock = HandClock()
    pacer = Pacer(clock)
    for number in range(3000):
        pacer.enter(f"C{number}", urgent=False)
        clock.now += 5.0
    assert len(pacer._lanes) <= 1001


@given(st.lists(st.floats(0.0, 3.0), min_size=1, max_size=40))
def test_never_more_than_the_burst_and_the_rate_together(pauses: list[float]) -> None:
    """Whatever the rhythm of arrivals, any window holds at most burst + seconds posts."""

    async def run() -> None:
        clock = HandClock()
        pacer = Pacer(clock, rate=1.0, burst=3.0)
        tickets: list[Ticket] = []
        for pause in pauses:
            clock.now += pause
            tickets.append(pacer.enter("C1", urgent=False))
            assert sum(granted(*tickets)) <= 3.0 + (clock.now - 1000.0) + 1e-6
        for _ in tickets:
            clock.now += 1.0
            pacer.leave("C1", pacer.enter("C1", urgent=False))
        assert all(granted(*tickets))
        for ticket in tickets:
            pacer.leave("C1", ticket)

    asyncio.run(run())
