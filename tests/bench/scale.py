"""`python -m tests.bench.scale`: turns a second with 1, 2 and 4 workers, and how soon one starts.

The model takes half a second a call and a worker is at ten turns at a time, so that places and not
this machine's cores are the limit. Everything is a process of its own: PostgreSQL, the Slack
stand-in, the model, `treadle run` and each `treadle work`.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import sys
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import psycopg

from tests.bench.processes import ROOT, Process, module, running
from tests.doubles.postgres import PostgresServer, find_programs, open_server
from tests.doubles.shell import open_place

MODEL_SECONDS = 0.5
CALLS = 9
"""Of a tool, before the answer: a turn takes ten calls of the model, five seconds."""
TURNS = 10
"""At a time, a worker."""
ROUNDS = 4
"""Turns for each place, one after the other."""
QUIET = '[slack]\nverbosity = "quiet"\n'
PATIENCE = 120.0


@dataclass(frozen=True, slots=True)
class Scale:
    """What so many workers did."""

    workers: int
    turns: int
    seconds: float
    cpu: float
    starts: Sequence[float]

    @property
    def rate(self) -> float:
        return self.turns / self.seconds

    def start(self, share: float) -> float:
        """Milliseconds from the storing of a message to the worker's first entry."""
        found = sorted(self.starts)
        return 1000 * found[min(len(found) - 1, int(share * len(found)))]


async def _measure(server: PostgresServer, model: str, workers: int, spaced: int) -> Scale:
    url = server.create()
    with open_place() as home:
        (home / "treadle.toml").write_text(QUIET)
        async with _cluster(url, model, home, workers) as (slack, processes):
            turns = workers * TURNS * ROUNDS
            await _ask(slack, 0, workers * TURNS)  # warming up
            before, began = [one.cpu() for one in processes], time.monotonic()
            await _ask(slack, 1000, turns)
            seconds = time.monotonic() - began
            cpu = sum(one.cpu() for one in processes) - sum(before)
            await _ask(slack, 5000, spaced, step=False, apart=0.3)
            starts = await _starts(url, "%:C0BENCH5___:%")
    server.drop(url)
    return Scale(workers, turns, seconds, cpu, starts)


@asynccontextmanager
async def _cluster(
    url: str, model: str, home: Path, workers: int
) -> AsyncIterator[tuple[Process, Sequence[Process]]]:
    async with AsyncExitStack() as stack:
        slack, _ = await stack.enter_async_context(
            running(module("tests.bench.workspace"), {}, ROOT)
        )
        environ: Mapping[str, str] = {
            **await slack.hear(),
            "OPENAI_BASE_URL": model,
            "OPENAI_API_KEY": "sk-bench-no-secret",
            "OPENAI_MODEL": "fixed",
            "TREADLE_DATABASE_URL": url,
        }
        work = ("work", "--turns", str(TURNS))
        commands = [("run",), *[work] * workers]
        processes = []
        for command in commands:
            started = running(module("bot", *command), environ, home, quiet=True)
            process, _ = await stack.enter_async_context(started)
            processes.append(process)
            if command == ("run",):
                await slack.tell(PATIENCE, do="connected", patience=PATIENCE)
        await _until_there(url, workers)
        yield slack, processes


async def _until_there(url: str, workers: int) -> None:
    async with asyncio.timeout(PATIENCE):
        while True:
            rows = await _query(url, "SELECT count(*) FROM processes WHERE works")
            if rows == [(workers,)]:
                return
            await asyncio.sleep(0.1)


async def _ask(
    slack: Process, first: int, turns: int, *, step: bool = True, apart: float = 0.0
) -> None:
    """Raises RuntimeError if an answer was lost."""
    answer = await slack.tell(
        PATIENCE + 10,
        do="ask",
        first=first,
        threads=turns,
        step=step,
        patience=PATIENCE,
        apart=apart,
        quiet=True,
    )
    if answer["lost"]:
        raise RuntimeError("; ".join(answer["lost"]))


async def _starts(url: str, threads: str) -> Sequence[float]:
    """Seconds from a message's storing to the first entry of its thread's journal."""
    query = (
        "SELECT journal.at - inbox.received_at FROM journal JOIN inbox USING (thread) "
        "WHERE journal.seq = 0 AND inbox.thread LIKE %s"
    )
    return [float(str(seconds)) for (seconds,) in await _query(url, query, threads)]


async def _query(url: str, query: str, *values: object) -> list[tuple[object, ...]]:
    async with await psycopg.AsyncConnection.connect(url) as connection:
        return await (await connection.execute(query.encode(), values)).fetchall()


async def _run(counts: Sequence[int], spaced: int) -> None:
    if (programs := find_programs()) is None:
        sys.exit("PostgreSQL (initdb, pg_ctl) is not installed.")
    command = module(
        "tests.bench.model_server",
        *("--seconds", str(MODEL_SECONDS), "--chunks", "2", "--calls", str(CALLS)),
    )
    found: list[Scale] = []
    with open_server(programs) as server:
        async with running(command, {}, ROOT) as (process, _):
            model = (await process.hear())["base_url"]
            for workers in counts:
                print(f"{workers} worker{'s' if workers > 1 else ''}", file=sys.stderr)
                found.append(await _measure(server, model, workers, spaced))
    _print(found)


def _print(found: Sequence[Scale]) -> None:
    print("| workers | turns | seconds | turns a second | of the ideal | times 1 worker |", end="")
    print(" CPU a turn | start p50 | start p99 |")
    print("|---|---|---|---|---|---|---|---|---|")
    ideal = TURNS / (MODEL_SECONDS * (CALLS + 1))
    for one in found:
        print(
            f"| {one.workers} | {one.turns} | {one.seconds:.1f} | {one.rate:.2f} "
            f"| {100 * one.rate / (ideal * one.workers):.0f} % | {one.rate / found[0].rate:.2f} "
            f"| {1000 * one.cpu / one.turns:.0f} ms | {one.start(0.5):.0f} ms "
            f"| {one.start(0.99):.0f} ms |"
        )
    starts = [seconds for one in found for seconds in one.starts]
    print(f"\nStart of a worker over all: median {1000 * statistics.median(starts):.1f} ms.")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.scale", description=__doc__)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2, 4])
    parser.add_argument("--spaced", type=int, default=100, help="messages for the start times")
    given = parser.parse_args()
    asyncio.run(_run(given.workers, given.spaced))


if __name__ == "__main__":
    main()
