"""What a journal entry costs on each database: `python -m tests.bench.journal`.

Each thread takes steps of 10 ms and writes down two entries in each, as a turn does: what the
model said and what the tool returned. The threads begin at random within half a second. CPU is our
process's, without what the same steps cost that write nothing down; what a step takes beyond its
10 ms is what people wait for. PostgreSQL is a server on this machine with `fsync` on.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bot.agent.entries import Entry, ModelReply, Observation, ToolCall, User
from bot.storage.database import Database, open_database
from bot.storage.journal import Journals
from bot.storage.postgres import open_postgres
from bot.storage.writer import Writer
from tests.doubles.postgres import find_programs, open_server

STEP_SECONDS = 0.01
SPREAD_SECONDS = 0.5
ASKED = User("What stands in a.txt?", "U1", "Alice", "1.0")
SAID = ModelReply("m", "I look at it. " * 10, (ToolCall("c1", "read_file", '{"path": "a.txt"}'),))
SEEN = Observation("c1", "a line of a file\n" * 12)

Step = Callable[[str, int], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Cost:
    """Of one round: CPU seconds, and seconds that each step took beyond its own."""

    cpu: float
    waits: list[float]

    def percentile(self, share: float) -> float:
        return sorted(self.waits)[int(share * (len(self.waits) - 1))] * 1000


async def nothing(thread: str, number: int) -> None:
    """A step that is not written down."""


async def measure(step: Step, threads: int, steps: int) -> Cost:
    """Let so many threads take so many steps each."""
    waits: list[float] = []
    dice = random.Random(5)

    async def run(thread: str, delay: float) -> None:
        await asyncio.sleep(delay)
        for number in range(steps):
            began = time.perf_counter()
            await asyncio.sleep(STEP_SECONDS)
            await step(thread, number)
            waits.append(time.perf_counter() - began - STEP_SECONDS)

    cpu = time.process_time()
    delays = [dice.uniform(0, SPREAD_SECONDS) for _ in range(threads)]
    await asyncio.gather(*(run(f"T:C:{time.time()}{n}", d) for n, d in enumerate(delays)))
    return Cost(time.process_time() - cpu, waits)


async def compare(database: Database, threads: int, steps: int) -> str:
    """One line of the table."""
    writer = Writer(database.engine)
    journals = Journals(writer)

    async def step(thread: str, number: int) -> None:
        turn: list[Entry] = [SAID, SEEN]
        before = [ASKED, *turn * number]
        await journals.append(thread, len(before), [SAID], before=before)
        await journals.append(thread, len(before) + 1, [SEEN], before=[*before, SAID])

    await measure(step, threads, 2)  # statements are compiled, files are there
    bare = await measure(nothing, threads, steps)
    whole = await measure(step, threads, steps)
    await writer.close()
    each = (whole.cpu - bare.cpu) / (2 * threads * steps) * 1000
    waits = f"{whole.percentile(0.5):.1f} / {whole.percentile(0.99):.1f} ms"
    return f"{each:.3f} ms | {waits} | {bare.percentile(0.5):.1f} / {bare.percentile(0.99):.1f} ms"


@contextmanager
def databases() -> Iterator[dict[str, Callable[[], Database]]]:
    """How to open each kind that this machine has."""
    with tempfile.TemporaryDirectory() as place:
        found: dict[str, Callable[[], Database]] = {
            "SQLite": lambda: open_database(Path(place) / "treadle.db")
        }
        programs = find_programs()
        if programs is None:
            print("PostgreSQL (initdb, pg_ctl) is not installed: not measured.", file=sys.stderr)
            yield found
            return
        with open_server(programs, ()) as server:
            url = server.create()
            yield found | {"PostgreSQL": lambda: open_postgres(url)}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.journal", description=__doc__)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 100, 500])
    parser.add_argument("--steps", type=int, default=20)
    given = parser.parse_args()
    print("| database | threads | CPU per entry | added per step, p50 / p99 | writing nothing |")
    print("| --- | ---: | ---: | ---: | ---: |")
    with databases() as found:
        for name, opens in found.items():
            database = opens()
            for threads in given.threads:
                line = asyncio.run(compare(database, threads, given.steps))
                print(f"| {name} | {threads} | {line} |", flush=True)
            database.close()


if __name__ == "__main__":
    main()
