"""`python -m tests.bench`: measure, print the table, fail if an answer or a step was lost."""

from __future__ import annotations

import argparse
import asyncio
import os
import platform
import sys
import time
from collections.abc import Sequence
from dataclasses import replace

from tests.bench.measure import Lost, measure
from tests.bench.plan import QUICK, Bot, Plan
from tests.bench.processes import HERE, ROOT, module, running
from tests.bench.report import arrived, settings, table
from tests.doubles.shell import open_place


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one round of 20 threads")
    parser.add_argument("--rounds", type=int, help="rounds of each bot")
    parser.add_argument("--threads", type=int, help="threads at once")
    given = parser.parse_args()
    changes = {k: v for k in ("rounds", "threads") if (v := getattr(given, k)) is not None}
    plan = replace(QUICK if given.quick else Plan(), **changes)
    try:
        asyncio.run(_run(plan))
    except Lost as error:
        sys.exit(f"The run failed, because something was lost: {error}")


async def _run(plan: Plan) -> None:
    floor = Bot("floor", (sys.executable, str(HERE / "floor.py")))
    treadle = Bot("Treadle", module("bot", "run"))
    began = time.monotonic()
    server = module(
        "tests.bench.model_server",
        *("--seconds", str(plan.model_seconds), "--chunks", str(plan.model_chunks)),
    )
    async with running(server, {}, ROOT) as (process, _):
        model = {
            "OPENAI_BASE_URL": (await process.hear())["base_url"],
            "OPENAI_API_KEY": "sk-bench-no-secret",
            "OPENAI_MODEL": "fixed",
        }
        for number in range(1, plan.rounds + 1):
            for bot in (floor, treadle):
                print(f"round {number} of {plan.rounds}: {bot.name}", file=sys.stderr)
                with open_place() as home:
                    await measure(bot, model, home, plan)
    _print(plan, (floor, treadle), time.monotonic() - began)


def _print(plan: Plan, bots: Sequence[Bot], seconds: float) -> None:
    floor, treadle = bots
    print(table(plan, floor, treadle))
    print(f"\n{settings(plan)}")
    print(arrived(plan, bots))
    print(
        f"{platform.python_implementation()} {platform.python_version()}, {platform.system()}, "
        f"{os.cpu_count()} CPUs shared by all processes, {seconds:.0f} s in all."
    )


if __name__ == "__main__":
    main()
