"""Commands that run at the same time: none is ended for what another takes within its limits."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from tests.doubles.shell import Shell
from tools.sandbox.contract import Limit, SandboxSettings
from tools.sandbox.lanes import Lanes
from tools.sandbox.monitor import EVERY
from tools.sandbox.probe import find_confinement, owner_of
from tools.sandbox.sandbox import Sandbox
from tools.workspaces import Workspaces

pytestmark = pytest.mark.needs("bwrap")

SETTINGS = SandboxSettings(mode="bwrap", memory_mb=64, disk_mb=200)
DISK = "head -c {mb}M /dev/zero > {mb}"
SHARED = "for n in 1 2; do head -c {mb}M /dev/zero > /tmp/$n; done"
HOLD = """
import mmap, time
held = mmap.mmap(-1, 900 << 20)
for block in range(900):
    held[block << 20 : block + 1 << 20] = bytes(1 << 20)
    held.madvise(mmap.MADV_DONTNEED)
time.sleep(20)
"""
"""Shared memory that stays, though no process shows it any more."""
ON, OFF = "touch on; ", "until [[ -e off ]]; do sleep 0.01; done; echo whole"


@contextmanager
def two_shells(place: Path) -> Iterator[tuple[Shell, Shell]]:
    """Two channels of one sandbox."""
    owner = owner_of(SETTINGS)
    sandbox = Sandbox(find_confinement(SETTINGS, owner), SETTINGS, Lanes(2))
    with (
        closing(Workspaces(place / "workspaces", owner=owner)) as workspaces,
        workspaces.open("T1", "C1", "1.0") as one,
        workspaces.open("T1", "C2", "1.0") as other,
    ):
        yield Shell(sandbox, one), Shell(sandbox, other)


async def is_on(shell: Shell) -> None:
    while not (shell.path / "on").exists():
        await asyncio.sleep(0.01)


@pytest.mark.parametrize(("take", "mb"), [(DISK, 130), (SHARED, 110)])
async def test_what_two_take_within_their_limits_ends_neither(
    place: Path, take: str, mb: int
) -> None:
    with two_shells(place) as shells:
        command = f"{take.format(mb=mb)}; {ON}{OFF}"
        runs = [asyncio.create_task(shell.run(command)) for shell in shells]
        await asyncio.wait_for(asyncio.gather(*map(is_on, shells)), 20)
        await asyncio.wait(runs, timeout=3 * EVERY)  # what is over its limits is ended by then
        for shell in shells:
            (shell.path / "off").touch()
        done = await asyncio.gather(*runs)

    assert [(one.text, one.stopped_for) for one in done] == [("whole\n", None)] * 2


async def test_what_others_wrote_before_they_ended_is_not_held_against_it(place: Path) -> None:
    with two_shells(place) as (one, other):
        run = asyncio.create_task(one.run(f"{DISK.format(mb=130)}; {ON}{OFF}"))
        await is_on(one)
        await other.text(DISK.format(mb=130))
        await asyncio.wait([run], timeout=3 * EVERY)
        (one.path / "off").touch()

        assert (await run).text == "whole\n"


@pytest.mark.parametrize(
    ("take", "limit"),
    [
        ("; ".join(DISK.format(mb=mb) for mb in (150, 151, 152)), Limit.DISK),
        ("python3 hold.py", Limit.MEMORY),
    ],
)
async def test_what_one_takes_beyond_the_limits_of_all_ends_it(
    place: Path, take: str, limit: Limit
) -> None:
    with two_shells(place) as (one, other):
        one.workspace.write_text("hold.py", HOLD)
        idle = asyncio.create_task(other.run(f"{ON}{OFF}"))
        await is_on(other)
        done = await one.run(f"{take}; sleep 20")
        (other.path / "off").touch()
        await idle

    assert done.stopped_for is limit
