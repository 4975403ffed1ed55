"""What the sandbox costs: one command in it beside the same command in a bare process.

Run alone by `python -m tests.bench.sandbox`. The two are measured in turns, so that whatever else
the machine does falls on both.
"""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

from tests.doubles.shell import open_place, open_shell
from tools.sandbox.contract import Mode, SandboxSettings

COMMAND = "true"
AIM_MS = 20.0
"""The most that the sandbox may add, at the median."""


@dataclass(frozen=True)
class Overhead:
    """Milliseconds for one command; `added` is the median of the differences of the pairs."""

    mode: str
    bare: float
    held_in: float
    added: float
    worst: float

    def __str__(self) -> str:
        return (
            f"{self.mode}: bare {self.bare:.1f} ms, held in {self.held_in:.1f} ms, "
            f"added {self.added:.1f} ms (worst of all {self.worst:.1f})"
        )


async def measure(place: Path, mode: Mode, pairs: int = 100) -> Overhead:
    """The overhead under `mode`, with workspaces in `place`."""
    with open_shell(place, SandboxSettings(mode=mode)) as shell:

        async def held_in() -> None:
            done = await shell.run(COMMAND)
            assert done.exit_code == 0, done

        await _milliseconds(held_in)  # the first one reads programs from the disk
        bare, held = [], []
        for _ in range(pairs):
            bare.append(await _milliseconds(_bare))
            held.append(await _milliseconds(held_in))
    added = [one - other for one, other in zip(held, bare, strict=True)]
    return Overhead(
        mode,
        statistics.median(bare),
        statistics.median(held),
        statistics.median(added),
        max(added),
    )


async def _bare() -> None:
    process = await asyncio.create_subprocess_exec(
        "/usr/bin/bash",
        "-c",
        COMMAND,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    await process.communicate()


async def _milliseconds(act: Callable[[], Awaitable[None]]) -> float:
    began = time.perf_counter()
    await act()
    return (time.perf_counter() - began) * 1000


def main() -> None:
    """Print the overhead under bubblewrap."""
    with open_place() as place:
        print(asyncio.run(measure(place, "bwrap")))


if __name__ == "__main__":
    main()
