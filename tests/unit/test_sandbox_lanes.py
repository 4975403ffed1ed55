"""Who may run a command: one for each workspace, a few at once, in the order of coming."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from pathlib import Path

from tools.sandbox.lanes import Lanes

A, B, C = Path("/a"), Path("/b"), Path("/c")


class Watch:
    """Commands that end when told to, and the order in which they began."""

    def __init__(self, lanes: Lanes) -> None:
        self._lanes = lanes
        self.began: list[str] = []
        self._ends: dict[str, asyncio.Event] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}

    async def start(self, name: str, workspace: Path) -> None:
        self._ends[name] = asyncio.Event()
        self._tasks[name] = asyncio.create_task(self._run(name, workspace))
        await self.quiet()

    async def _run(self, name: str, workspace: Path) -> None:
        async with self._lanes.turn(workspace):
            self.began.append(name)
            await self._ends[name].wait()

    async def end(self, name: str) -> None:
        self._ends[name].set()
        await self._tasks[name]
        await self.quiet()

    async def cancel(self, name: str) -> None:
        self._tasks[name].cancel()
        await asyncio.gather(self._tasks[name], return_exceptions=True)
        await self.quiet()

    async def quiet(self) -> None:
        """Until everybody who can go on has gone on: nothing here waits for time."""
        for _ in range(10):
            await asyncio.sleep(0)


async def test_one_workspace_runs_one_command_at_a_time_in_order() -> None:
    watch = Watch(Lanes(8))
    for name in ("first", "second", "third"):
        await watch.start(name, A)
    assert watch.began == ["first"]

    await watch.end("first")
    assert watch.began == ["first", "second"]
    await watch.end("second")
    await watch.end("third")
    assert watch.began == ["first", "second", "third"]


async def test_other_workspaces_run_beside_it() -> None:
    watch = Watch(Lanes(8))
    await watch.start("a", A)
    await watch.start("b", B)

    assert watch.began == ["a", "b"]
    await watch.end("a")
    await watch.end("b")


async def test_a_busy_workspace_waits_for_the_host_with_one_command_only() -> None:
    """Ten commands in one channel do not hold up the one of another channel."""
    watch = Watch(Lanes(1))
    for number in range(10):
        await watch.start(f"a{number}", A)
    await watch.start("b", B)
    await watch.start("c", C)

    await watch.end("a0")
    assert watch.began == ["a0", "b"]
    await watch.end("b")
    assert watch.began == ["a0", "b", "c"]
    await watch.end("c")
    assert watch.began == ["a0", "b", "c", "a1"]
    for number in range(1, 10):
        await watch.end(f"a{number}")


async def test_who_is_cancelled_while_waiting_holds_up_nobody() -> None:
    watch = Watch(Lanes(1))
    await watch.start("running", A)
    await watch.start("waiting in the lane", A)
    await watch.start("waiting for the host", B)
    await watch.start("last", A)

    await watch.cancel("waiting in the lane")
    await watch.cancel("waiting for the host")
    await watch.end("running")

    assert watch.began == ["running", "last"]
    await watch.end("last")


async def test_a_turn_knows_how_many_run_beside_it_and_have_run_since_it_began() -> None:
    lanes = Lanes(3)
    async with AsyncExitStack() as others:
        await others.enter_async_context(lanes.turn(B))
        async with lanes.turn(A) as turn:
            assert (turn.beside(), turn.since()) == (2, 2)
            async with lanes.turn(C):
                assert (turn.beside(), turn.since()) == (3, 3)
            await others.aclose()
            assert (turn.beside(), turn.since()) == (1, 3)
            async with lanes.turn(C):
                pass
            assert (turn.beside(), turn.since()) == (1, 3)
    async with lanes.turn(A) as turn:
        assert (turn.beside(), turn.since()) == (1, 1)
