"""Slack's limits as slots: pure arithmetic."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.slack.scopes import METHOD_SCOPES
from bot.slack.slots import (
    LANES,
    METHODS,
    OTHERS,
    POST,
    POSTS,
    STEPS,
    LocalSlots,
    Rate,
    paused,
    post_lane,
    rate_of,
    reserved,
    tier,
)

NOW = 1000.0
UNLIMITED = {"apps.connections.open", "auth.test", POST}
"""Called at the start, or paced per channel."""


@given(
    st.lists(st.tuples(st.floats(0.0, 3.0), st.integers(1, 2)), min_size=1, max_size=60),
    st.floats(0.1, 20.0),
    st.integers(2, 30),
)
def test_never_more_than_the_burst_and_the_rate_together(
    calls: list[tuple[float, int]], per_second: float, burst: int
) -> None:
    """Whatever the rhythm, any stretch of time holds at most the burst and what flows in."""
    rate, now, full_at, taken = Rate(per_second, burst), NOW, NOW, 0
    for pause, slots in calls:
        now += pause
        full_at, wait = reserved(full_at, now, rate, slots)
        taken += 0 if wait else slots
        assert taken <= burst + (now - NOW) * per_second + 1e-3


@given(st.floats(0.0, 50.0), st.integers(1, 3), st.booleans())
def test_after_the_wait_that_was_told_the_slot_is_free(
    ahead: float, take: int, urgent: bool
) -> None:
    rate = Rate(1.0, 5.0, kept=2.0)
    full_at, wait = reserved(NOW + ahead, NOW, rate, take, urgent=urgent)
    if wait:
        assert full_at == NOW + ahead
        _, again = reserved(full_at, NOW + wait, rate, take, urgent=urgent)
        assert again == 0.0


@given(st.floats(0.0, 20.0), st.floats(0.1, 60.0))
def test_after_a_pause_one_goes_at_a_time(ahead: float, seconds: float) -> None:
    rate, until = Rate(2.0, 6.0), NOW + seconds
    full_at = paused(NOW + ahead, until, rate)
    assert reserved(full_at, until - 0.01, rate)[1] > 0
    if full_at <= until + 5 / 2.0:
        full_at, wait = reserved(full_at, until, rate)
        assert wait == 0.0
        assert reserved(full_at, until + 0.4, rate)[1] == pytest.approx(0.1)


def test_a_shorter_pause_does_not_cut_a_longer_one() -> None:
    longer = paused(NOW, NOW + 30, POSTS)
    assert paused(longer, NOW + 1, POSTS) == longer


def test_every_method_that_is_called_has_its_tier() -> None:
    assert METHOD_SCOPES.keys() - UNLIMITED <= METHODS.keys()
    assert METHODS.keys() - {STEPS} <= METHOD_SCOPES.keys()


def test_lanes_are_methods_or_the_posts_of_a_channel() -> None:
    assert rate_of(post_lane("C0GENERAL")) is POSTS
    assert rate_of("users.info") == tier(100)
    assert rate_of("some.method") is OTHERS


def test_lanes_that_are_full_again_are_forgotten() -> None:
    async def run() -> int:
        slots = LocalSlots()
        for number in range(3 * LANES):
            await slots.reserve(post_lane(f"C{number}"), NOW + number)
        return len(slots._full_at)

    assert asyncio.run(run()) <= LANES + 1
