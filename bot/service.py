"""Slack served, by this process alone or as one of several."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import AsyncExitStack

from bot.cluster import Role, Shared, prove_workspace
from bot.parts import Core
from bot.runs.ports import Scheduler
from bot.slack.front import SlackFront, Wiring
from bot.slack.preflight import Identity
from bot.terminal import in_terminal

log = logging.getLogger(__name__)

TURNS = 50
"""How many threads a worker is at, at a time, unless it is told otherwise."""


async def serve(
    core: Core,
    wiring: Wiring,
    *,
    stop: asyncio.Event,
    ready: Callable[[Identity], None],
    grace: float = 0.0,
    role: Role = Role.ALL,
    turns: int = TURNS,
) -> None:
    """Slack until `stop` is set, which may be while it still tries to connect."""
    serving = asyncio.create_task(_serve(core, wiring, ready, grace, role, turns))
    stopping = asyncio.create_task(stop.wait())
    try:
        await asyncio.wait({serving, stopping}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        core.hurry()
        stopping.cancel()
        serving.cancel()
        await asyncio.gather(serving, return_exceptions=True)
    if not serving.cancelled():
        serving.result()


async def _serve(
    core: Core,
    wiring: Wiring,
    ready: Callable[[Identity], None],
    grace: float,
    role: Role,
    turns: int,
) -> None:
    """From who we are to the last acknowledgement, until it is cancelled.

    What fails ends what was begun.
    """
    works, takes_in = role is not Role.INTAKE, role is not Role.WORK
    if works:
        warn(core)
    async with AsyncExitStack() as stack:
        stack.push_async_callback(core.model.close)
        front = await SlackFront.open(wiring)
        stack.push_async_callback(front.close)
        runs = _scheduler(core, front, role, turns)
        stack.push_async_callback(runs.close, grace)
        stack.push_async_callback(front.deafen)
        left = await _left(core)
        if takes_in:
            store = core.storing(runs)
            await front.listen(store, core.house(store), core.limits.note)
        await runs.begin(left)
        if works:
            # Not sooner: an import holds the interpreter, and connecting then takes twice as long.
            warming = asyncio.create_task(core.model.warm())
            stack.push_async_callback(asyncio.wait, [warming])
        await stack.enter_async_context(core.sweeping(runs, wiring.patience.sweep))
        ready(front.identity)
        await asyncio.Event().wait()


def warn(core: Core) -> None:
    """What the operator wants and this host has not."""
    if core.shell.missed:
        log.warning(core.shell.off)


def _scheduler(core: Core, front: SlackFront, role: Role, turns: int) -> Scheduler:
    if core.shared is None:
        return core.runs(front.outlet, front.people, front.threads)
    return _among_others(core, core.shared, front, role, turns)


def _among_others(
    core: Core, shared: Shared, front: SlackFront, role: Role, turns: int
) -> Scheduler:
    from bot.runs.cluster import ClusterRuns, IntakeRuns

    if role is Role.INTAKE:
        return IntakeRuns(shared.yard)
    runner = core.runner(front.outlet, front.people, front.threads)

    async def prove() -> None:
        await prove_workspace(shared, core.settings.workspace_root)

    return ClusterRuns(runner.work, shared.yard, turns, prove)


async def _left(core: Core) -> list[str]:
    """What an earlier process has left, where there is only one at a time."""
    if core.shared is not None:
        return []
    return [thread for thread in await core.journals.unfinished() if not in_terminal(thread)]
