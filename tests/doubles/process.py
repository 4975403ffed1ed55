"""Treadle as a process of its own, which a test can kill."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from asyncio.subprocess import Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from tests.doubles.desk import Desk

ROOT = Path(__file__).parents[2]
RUN = ("-m", "bot", "run")
BRISK = (
    "-c",
    "import asyncio, os, pathlib\n"
    "from bot.main import Need, read_settings, run_slack\n"
    "from bot.slack.patience import Patience\n"
    "settings = read_settings(os.environ, pathlib.Path.cwd(), Need.RUN)\n"
    "run = run_slack(settings, stop=asyncio.Event(), ready=print, patience=Patience(look_up=0.5))\n"
    "asyncio.run(run)\n",
)
"""The same with less patience, where a test would wait ten seconds for a look-up."""


HASTY = (
    "-c",
    "import asyncio, os, pathlib, signal\n"
    "from bot.main import Need, read_settings, run_slack\n"
    "settings = read_settings(os.environ, pathlib.Path.cwd(), Need.RUN)\n"
    "async def main():\n"
    "    stop = asyncio.Event()\n"
    "    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)\n"
    "    await run_slack(settings, stop=stop, ready=print, grace=0.3)\n"
    "asyncio.run(main())\n",
)
"""The same with less grace than `treadle run`, which lets a step go on for some seconds."""


@asynccontextmanager
async def process(desk: Desk, program: tuple[str, ...] = RUN) -> AsyncIterator[Process]:
    """Treadle in a process of its own, connected; killed at the end if it is still there."""
    opened = desk.slack.sockets.opened
    home = {"PATH": os.environ["PATH"], "HOME": str(desk.home), "PYTHONPATH": str(ROOT)}
    log = (desk.home / "treadle.log").open("ab")
    with log:
        running = await asyncio.create_subprocess_exec(
            sys.executable,
            *program,
            cwd=desk.home,
            env=desk.environment(**home),
            stdout=log,
            stderr=log,
        )
    try:
        await desk.until(lambda: desk.slack.sockets.opened > opened, timeout=30)
        yield running
    finally:
        if running.returncode is None:
            await kill(running)


async def kill(running: Process) -> None:
    running.send_signal(signal.SIGKILL)
    assert await running.wait() == -signal.SIGKILL
