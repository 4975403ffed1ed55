"""One process of several, with less patience than people's: `python -m tests.doubles.one_of_many`.

Arguments: the role (ALL, INTAKE or WORK) and how many threads it works on at a time.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
from pathlib import Path

from bot.errors import TreadleError
from bot.main import Need, Role, read_settings, run_slack
from bot.runs.pulse import Pulse
from bot.slack.patience import Patience

BRISK = Pulse(beat=0.3, stall=1.5, sweep=0.3, look=0.2, proof=0.5)
"""A process counts as dead after a second and a half."""
PATIENCE = Patience(look_up=0.5, sweep=0.3)
GRACE = 0.5


async def serve(role: Role, turns: int) -> None:
    need = Need.WORK if role is Role.WORK else Need.RUN
    settings = read_settings(os.environ, Path.cwd(), need)
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    await run_slack(
        settings,
        stop=stop,
        ready=lambda _: print("ready", flush=True),
        patience=PATIENCE,
        role=role,
        turns=turns,
        pulse=BRISK,
        grace=GRACE,
    )


def main() -> None:
    logging.basicConfig(level=logging.INFO, format="%(process)d %(name)s %(message)s")
    try:
        asyncio.run(serve(Role[sys.argv[1]], int(sys.argv[2])))
    except TreadleError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
