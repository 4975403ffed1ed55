"""The processes of a run, and what the kernel says about them (Linux, /proc)."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
_TICK = os.sysconf("SC_CLK_TCK")
LINE_LIMIT = 1 << 22


class Process:
    """A child that prints JSON lines."""

    def __init__(self, child: asyncio.subprocess.Process) -> None:
        self._child = child
        self.pid = child.pid

    async def hear(self, patience: float = 30.0) -> dict[str, Any]:
        """Its next line. Raises RuntimeError if it ended."""
        assert self._child.stdout is not None
        line = await asyncio.wait_for(self._child.stdout.readline(), patience)
        if not line:
            raise RuntimeError(f"process {self.pid} ended without a word; its error is above")
        found: dict[str, Any] = json.loads(line)
        return found

    async def tell(self, limit: float, **command: object) -> dict[str, Any]:
        """Send a command and return its answer, which must come within `limit` seconds."""
        assert self._child.stdin is not None
        self._child.stdin.write(json.dumps(command).encode() + b"\n")
        await self._child.stdin.drain()
        return await self.hear(limit)

    def cpu(self) -> float:
        """Seconds of CPU that the process has used so far, in steps of a clock tick (10 ms)."""
        text = Path(f"/proc/{self.pid}/stat").read_text()
        fields = text[text.rindex(")") + 2 :].split()
        return (int(fields[11]) + int(fields[12])) / _TICK

    async def settled_cpu(self) -> float:
        """`cpu` once the work after the last answer is done: no tick within 0.2 s."""
        before, now = -1.0, self.cpu()
        while now != before:
            await asyncio.sleep(0.2)
            before, now = now, self.cpu()
        return now

    def memory(self) -> float:
        """Resident memory in MB."""
        for line in Path(f"/proc/{self.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) / 1024
        raise RuntimeError(f"process {self.pid} has no resident memory")

    async def end(self) -> None:
        if self._child.returncode is None:
            self._child.send_signal(signal.SIGTERM)
        await self._child.wait()


@asynccontextmanager
async def running(
    command: Sequence[str], environ: Mapping[str, str], cwd: Path, *, quiet: bool = False
) -> AsyncIterator[tuple[Process, float]]:
    """The process and when it was spawned (monotonic); ended at the end."""
    spawned_at = time.monotonic()
    child = await asyncio.create_subprocess_exec(
        *command,
        cwd=cwd,
        env={"PATH": os.environ["PATH"], "HOME": str(cwd), "PYTHONPATH": str(ROOT), **environ},
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.DEVNULL if quiet else asyncio.subprocess.PIPE,
        limit=LINE_LIMIT,
    )
    process = Process(child)
    try:
        yield process, spawned_at
    finally:
        await process.end()


def module(name: str, *arguments: str) -> Sequence[str]:
    """The command that runs a module with this interpreter."""
    return (sys.executable, "-m", name, *arguments)
