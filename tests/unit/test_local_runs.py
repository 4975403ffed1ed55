"""The embedded scheduler: work that breaks is tried again until it is done."""

from __future__ import annotations

import asyncio

import pytest

from bot.errors import Fenced, StorageError
from bot.runs.local import RETRY_SECONDS, LocalRuns
from bot.runs.ports import Signals

SOON = (0.0, 0.001)


async def test_work_that_breaks_is_tried_again_however_often_it_breaks() -> None:
    """Each time it had already looked at what arrived, as a runner does."""
    seen: list[bool] = []

    async def work(thread: str, signals: Signals) -> None:
        seen.append(signals.arrived.is_set())
        signals.arrived.clear()
        if len(seen) < 9:
            raise OSError("the disk is full")

    runs = LocalRuns(work, SOON)
    runs.wake("t")
    await asyncio.wait_for(runs.idle(), 10)

    assert seen == [True] * 9


async def test_another_thread_is_not_held_up_by_one_that_breaks() -> None:
    done = asyncio.Event()

    async def work(thread: str, signals: Signals) -> None:
        if thread == "broken":
            raise OSError("no")
        done.set()

    runs = LocalRuns(work, SOON)
    runs.wake_all(["broken", "whole"])
    await asyncio.wait_for(done.wait(), 10)
    await runs.close()


async def test_a_thread_that_another_runner_has_is_left_to_it() -> None:
    tries = 0

    async def work(thread: str, signals: Signals) -> None:
        nonlocal tries
        tries += 1
        signals.arrived.clear()
        raise Fenced("Another runner has it.")

    runs = LocalRuns(work, SOON)
    runs.wake("t")
    await asyncio.wait_for(runs.idle(), 10)

    assert tries == 1


async def test_a_full_disk_is_one_line_in_the_log_and_no_bug(
    caplog: pytest.LogCaptureFixture,
) -> None:
    tries = 0

    async def work(thread: str, signals: Signals) -> None:
        nonlocal tries
        tries += 1
        signals.arrived.clear()
        if tries == 1:
            raise StorageError("The disk is full.")

    runs = LocalRuns(work, SOON)
    runs.wake("t")
    await asyncio.wait_for(runs.idle(), 10)

    (line,) = caplog.records
    assert line.getMessage() == "work on thread t is tried again in 0 s: The disk is full."
    assert line.exc_info is None
    assert tries == 2


def test_the_waits_grow_and_the_last_is_half_a_minute() -> None:
    assert list(RETRY_SECONDS) == sorted(RETRY_SECONDS)
    assert RETRY_SECONDS[-1] == 30.0
