"""`python -m tests.chaos`: run after run, each with the next seed, until the time is over."""

from __future__ import annotations

import argparse
import asyncio
import itertools
import random
import shutil
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

from tests.chaos.cluster import Cluster
from tests.chaos.deployment import Embedded
from tests.chaos.plan import SHORT, SHORT_CLUSTER, Plan
from tests.chaos.report import report
from tests.chaos.run import Make, Outcome, run
from tests.doubles.postgres import find_programs, open_server
from tests.doubles.shell import open_place


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__)
    parser.add_argument("--seed", type=int, help="the first seed; drawn if it is not given")
    parser.add_argument("--minutes", type=float, default=10.0, help="0 makes one run")
    parser.add_argument("--threads", type=int, help="threads of each run")
    parser.add_argument("--short", action="store_true", help="runs as small as in the tests")
    parser.add_argument("--cluster", action="store_true", help="several processes on PostgreSQL")
    parser.add_argument(
        "--twice", action="store_true", help="a seed that fails is run again, and counts if again"
    )
    parser.add_argument("--keep", type=Path, help="where the files of a failed run are kept")
    given = parser.parse_args()
    seed = random.SystemRandom().randrange(10**6) if given.seed is None else given.seed
    short = SHORT_CLUSTER if given.cluster else SHORT
    plan = short if given.short else Plan(seed)
    plan = replace(plan, threads=given.threads or plan.threads)
    with _deployments(cluster=given.cluster) as make:
        failed = _runs(plan, seed, given.minutes, given.keep, make, twice=given.twice)
    if failed:
        arguments = " CHAOS_ARGS=--cluster" if given.cluster else ""
        again = f"make chaos SEED={failed[0]} MINUTES=0{arguments}"
        sys.exit(f"These seeds failed: {failed}. To repeat the first: {again}")


@contextmanager
def _deployments(*, cluster: bool) -> Iterator[Make]:
    if not cluster:
        yield Embedded
        return
    if (programs := find_programs()) is None:
        sys.exit("PostgreSQL (initdb, pg_ctl) is not installed.")
    with open_server(programs) as server:
        yield partial(Cluster, server)


def _runs(
    plan: Plan, seed: int, minutes: float, keep: Path | None, make: Make, *, twice: bool
) -> list[int]:
    """The seeds that failed, of all from `seed` on for which there was time.

    `twice`: a run's times are not the seed's, and a host may starve it; both reports are shown.
    """
    until = time.monotonic() + minutes * 60
    failed = []
    for number in itertools.count(seed):
        one = replace(plan, seed=number)
        if _once(one, keep, make).violations and not (
            twice and not _once(one, keep, make).violations
        ):
            failed.append(number)
        if time.monotonic() >= until:
            break
    return failed


def _once(plan: Plan, keep: Path | None, make: Make) -> Outcome:
    with open_place() as home:
        outcome = asyncio.run(run(plan, home, make))
        print(report(outcome), flush=True)
        if outcome.violations and keep is not None:
            shutil.copytree(home, keep / str(plan.seed), dirs_exist_ok=True)
    return outcome


if __name__ == "__main__":
    main()
