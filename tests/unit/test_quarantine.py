"""Threads that broke off before wait for the others."""

from __future__ import annotations

import asyncio
import contextlib

from bot.runs.quarantine import Quarantine


async def test_one_that_broke_off_waits_until_the_others_are_done() -> None:
    quarantine = Quarantine(wait=10)
    with quarantine.at_work("suspect"):
        with quarantine.at_work("other"):
            waiting = asyncio.create_task(quarantine.admit("suspect", 1))
            await asyncio.wait({waiting}, timeout=0.05)
            assert not waiting.done()
        await asyncio.wait_for(waiting, 1)


async def test_it_does_not_wait_for_ever_nor_for_itself() -> None:
    quarantine = Quarantine(wait=0.05)
    with quarantine.at_work("suspect"), quarantine.at_work("other"):
        await asyncio.wait_for(quarantine.admit("suspect", 1), 1)
    patient = Quarantine(wait=10, alone=10)
    for broken_off in (1, 2):
        with patient.at_work("suspect"):
            await asyncio.wait_for(patient.admit("suspect", broken_off), 1)


async def test_of_those_that_broke_off_twice_one_runs_at_a_time() -> None:
    quarantine = Quarantine(alone=10)
    first = contextlib.ExitStack()
    first.enter_context(quarantine.at_work("first"))
    await asyncio.wait_for(quarantine.admit("first", 2), 1)
    with quarantine.at_work("second"):
        waiting = asyncio.create_task(quarantine.admit("second", 2))
        await asyncio.wait({waiting}, timeout=0.05)
        assert not waiting.done()
        first.close()
        await asyncio.wait_for(waiting, 1)


async def test_one_that_never_broke_off_waits_for_nobody() -> None:
    quarantine = Quarantine()
    with quarantine.at_work("other"), quarantine.at_work("fresh"):
        await asyncio.wait_for(quarantine.admit("fresh", 0), 1)
