"""Lines for slots: the urgent first, nobody waits for another channel or method."""

from __future__ import annotations

import asyncio

import pytest

from bot.errors import StorageError
from bot.slack.pacing import Pacer, Ticket
from bot.slack.slots import LocalSlots, post_lane

TIER_3 = "conversations.replies"


class HandClock:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


class Shop:
    """A pacer, a clock that stands still, and who was granted a slot so far."""

    def __init__(self) -> None:
        self.clock = HandClock()
        self.pacer = Pacer(LocalSlots(), self.clock)

    async def granted(self, *tickets: Ticket) -> list[bool]:
        for _ in range(20):
            await asyncio.sleep(0)
        return [ticket.granted.done() for ticket in tickets]

    async def later(self, seconds: float, *tickets: Ticket) -> list[bool]:
        """After so long, once every line has looked again."""
        self.clock.now += seconds
        for channel in ("C1", "C2"):
            self.pacer.leave(channel, self.pacer.enter(channel, urgent=False))
        return await self.granted(*tickets)


@pytest.fixture
def shop() -> Shop:
    return Shop()


async def test_answers_have_a_burst_and_then_one_goes_each_second(shop: Shop) -> None:
    tickets = [shop.pacer.enter("C1", urgent=True) for _ in range(5)]
    assert await shop.granted(*tickets) == [True, True, True, False, False]
    assert await shop.later(1.0, *tickets) == [True, True, True, True, False]


async def test_steps_leave_room_for_answers(shop: Shop) -> None:
    steps = [shop.pacer.enter("C1", urgent=False) for _ in range(3)]
    assert await shop.granted(*steps) == [True, False, False]
    answers = [shop.pacer.enter("C1", urgent=True) for _ in range(2)]
    assert await shop.granted(*answers, *steps[1:]) == [True, True, False, False]
    assert await shop.later(1.0, *steps[1:]) == [False, False]
    assert await shop.later(2.0, *steps[1:]) == [True, False]


async def test_another_channel_never_waits(shop: Shop) -> None:
    full = [shop.pacer.enter("C1", urgent=True) for _ in range(50)]
    other = shop.pacer.enter("C2", urgent=True)
    assert await shop.granted(other) == [True]
    assert sum(await shop.granted(*full)) == 3


async def test_the_urgent_goes_first_also_when_it_became_so_while_waiting(shop: Shop) -> None:
    shop.pacer.enter("C1", urgent=False)
    first, second, third = (shop.pacer.enter("C1", urgent=False) for _ in range(3))
    assert await shop.granted(first, second, third) == [False] * 3
    shop.pacer.hurry("C1", third)
    assert await shop.granted(first, second, third) == [False, False, True]


async def test_the_steps_of_all_channels_share_the_workspaces_posts(shop: Shop) -> None:
    """Slack takes several hundred posts a minute; answers do not wait for that."""
    steps = [shop.pacer.enter(f"C{n}", urgent=False) for n in range(40)]
    assert sum(await shop.granted(*steps)) == 30
    answers = [shop.pacer.enter(f"C{n}", urgent=True) for n in range(40)]
    assert all(await shop.granted(*answers))


async def test_a_waiting_ticket_is_granted_by_itself_in_time() -> None:
    loop = asyncio.get_running_loop()
    pacer = Pacer(LocalSlots(pace=20.0), loop.time)
    began = loop.time()
    for _ in range(6):
        await pacer.slot("C1", urgent=True)
    assert loop.time() - began >= 0.14


async def test_who_gives_up_frees_the_place(shop: Shop) -> None:
    for _ in range(3):
        shop.pacer.enter("C1", urgent=True)
    waiting, behind = (shop.pacer.enter("C1", urgent=True) for _ in range(2))
    assert await shop.granted(waiting, behind) == [False, False]
    shop.pacer.leave("C1", waiting)
    assert await shop.later(1.0, behind, waiting) == [True, False]


async def test_when_slack_asks_to_wait_nobody_goes_before_and_then_one_at_a_time(
    shop: Shop,
) -> None:
    await shop.pacer.pause(post_lane("C1"), 30.0)
    tickets = [shop.pacer.enter("C1", urgent=True) for _ in range(3)]
    assert await shop.later(29.9, *tickets) == [False] * 3
    assert await shop.later(0.2, *tickets) == [True, False, False]
    other = shop.pacer.enter("C2", urgent=True)
    assert await shop.granted(other) == [True]


async def test_a_calm_channel_says_so(shop: Shop) -> None:
    assert shop.pacer.calm("C1")
    granted = [shop.pacer.enter("C1", urgent=True) for _ in range(3)]
    assert all(await shop.granted(*granted))
    assert shop.pacer.calm("C1")
    waiting = shop.pacer.enter("C1", urgent=True)
    await shop.granted()
    assert not shop.pacer.calm("C1")
    shop.pacer.leave("C1", waiting)
    await shop.granted()
    assert shop.pacer.calm("C1")


async def test_a_method_that_must_wait_holds_up_no_other(shop: Shop) -> None:
    await shop.pacer.pause(TIER_3, 60.0)
    assert await shop.pacer.take(TIER_3) == pytest.approx(60.0)
    assert await shop.pacer.take("users.info") == 0.0


async def test_who_has_no_patience_is_told_how_long_it_would_take(shop: Shop) -> None:
    for _ in range(25):
        assert await shop.pacer.take(TIER_3) == 0.0
    assert await shop.pacer.take(TIER_3, patience=1.0) == pytest.approx(60 / 50)


async def test_who_has_patience_gets_the_slot_when_it_is_free() -> None:
    pacer = Pacer(LocalSlots(pace=20.0), asyncio.get_running_loop().time)
    for _ in range(25):
        assert await pacer.take(TIER_3) == 0.0
    assert await pacer.take(TIER_3, patience=5.0) == 0.0


async def test_slots_that_are_out_of_reach_are_asked_for_again() -> None:
    class Broken(LocalSlots):
        failures = 1

        async def reserve(
            self, lane: str, now: float, take: int = 1, *, urgent: bool = True
        ) -> float:
            if self.failures:
                self.failures -= 1
                raise StorageError("gone")
            return await super().reserve(lane, now, take, urgent=urgent)

    pacer = Pacer(Broken(), asyncio.get_running_loop().time)
    async with asyncio.timeout(5):
        await pacer.slot("C1", urgent=True)
