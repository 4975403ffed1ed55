"""The turnstile: turns that go on at once hold nobody else up, and none is forgotten."""

from __future__ import annotations

import asyncio
from itertools import pairwise

from bot.runs.turnstile import AT_ONCE, Turnstile


async def test_whoever_else_is_ready_is_served_between_turns_that_go_on_at_once() -> None:
    turnstile, went_on, seen = Turnstile(), 0, []

    async def turn() -> None:
        nonlocal went_on
        await turnstile.enter()
        went_on += 1

    async def event() -> None:
        """An acknowledgement takes some rounds of the loop."""
        for _ in range(10):
            await asyncio.sleep(0)
            seen.append(went_on)

    async with asyncio.TaskGroup() as group:
        for _ in range(100):
            group.create_task(turn())
        group.create_task(event())

    assert went_on == 100
    steps = [after - before for before, after in pairwise(seen)]
    assert max(steps) <= AT_ONCE
    assert seen[-1] > 0, "the turns go on meanwhile"


async def test_turns_go_on_in_the_order_in_which_they_came() -> None:
    turnstile, order = Turnstile(), []

    async def turn(number: int) -> None:
        await turnstile.enter()
        order.append(number)

    await asyncio.gather(*(turn(number) for number in range(20)))
    await asyncio.gather(*(turn(number) for number in range(20, 25)))

    assert order == list(range(25))


async def test_a_turn_that_is_stopped_there_keeps_no_other_from_going_on() -> None:
    turnstile = Turnstile()
    tasks = [asyncio.create_task(turnstile.enter()) for _ in range(20)]
    await asyncio.sleep(0)

    for task in tasks[:-1]:
        task.cancel()

    await tasks[-1]
