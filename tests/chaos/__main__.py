"""`python -m tests.chaos`: run after run, each with the next seed, until the time is over."""

from __future__ import annotations

import argparse
import asyncio
import random
import shutil
import sys
import time
from dataclasses import replace
from pathlib import Path

from tests.chaos.deployment import Embedded
from tests.chaos.plan import SHORT, Plan
from tests.chaos.report import report
from tests.chaos.run import Outcome, run
from tests.doubles.shell import open_place


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__)
    parser.add_argument("--seed", type=int, help="the first seed; drawn if it is not given")
    parser.add_argument("--minutes", type=float, default=10.0, help="0 makes one run")
    parser.add_argument("--threads", type=int, help="threads of each run")
    parser.add_argument("--short", action="store_true", help="runs as small as in the tests")
    parser.add_argument("--keep", type=Path, help="where the files of a failed run are kept")
    given = parser.parse_args()
    seed = random.SystemRandom().randrange(10**6) if given.seed is None else given.seed
    plan = SHORT if given.short else Plan(seed)
    plan = replace(plan, threads=given.threads or plan.threads)
    until = time.monotonic() + given.minutes * 60
    failed = []
    while True:
        plan = replace(plan, seed=seed)
        if _once(plan, given.keep).violations:
            failed.append(seed)
        seed += 1
        if time.monotonic() >= until:
            break
    if failed:
        again = f"make chaos SEED={failed[0]} MINUTES=0"
        sys.exit(f"These seeds failed: {failed}. To repeat the first: {again}")


def _once(plan: Plan, keep: Path | None) -> Outcome:
    with open_place() as home:
        outcome = asyncio.run(run(plan, home, Embedded))
        print(report(outcome), flush=True)
        if outcome.violations and keep is not None:
            shutil.copytree(home, keep / str(plan.seed), dirs_exist_ok=True)
    return outcome


if __name__ == "__main__":
    main()
