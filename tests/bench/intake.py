"""`python -m tests.bench.intake`: how long Slack waits for an acknowledgement, 200 events a second.

Nine of ten events are chatter that is not for the bot, one of twenty a reply in one of its threads,
one of twenty a reaction. An event that is not acknowledged ends the run without a table.
"""

from __future__ import annotations

import argparse
import asyncio
import socket
import statistics
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

from tests.bench.processes import ROOT, Process, module, running
from tests.bench.report import aligned
from tests.doubles.shell import open_place

PATIENCE = 90.0
PROMISED = 0.25
"""Seconds, of the 99th percentile."""


@dataclass(frozen=True, slots=True)
class Case:
    """One row: by which door the events come, and what else the bot is busy with meanwhile."""

    name: str
    http: bool = False
    turns: int = 0
    turns_a_second: float = 0.0
    api_seconds: float = 0.0


CASES = (
    Case("Socket Mode"),
    Case("signed HTTP", http=True),
    Case("Socket Mode, the Web API answers after 5 s", api_seconds=5.0, turns=20),
    Case("signed HTTP, the Web API answers after 5 s", http=True, api_seconds=5.0, turns=20),
    Case("Socket Mode, 100 turns begin at once, 5 a second follow", turns=100, turns_a_second=5),
)


@dataclass(frozen=True, slots=True)
class Found:
    """What came of a case, in seconds."""

    seconds: Sequence[float]
    took: float
    cpu: float
    """Of the bot, an event; with what else it did."""

    @property
    def p99(self) -> float:
        return statistics.quantiles(self.seconds, n=100)[98]


class Unacknowledged(Exception):
    """An event was not acknowledged in time: the run is worth nothing."""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.intake", description=__doc__)
    parser.add_argument("--rate", type=float, default=200.0, help="events a second")
    parser.add_argument("--only", default="", help="cases whose name holds this")
    parser.add_argument("--seconds", type=float, default=10.0, help="of each case")
    given = parser.parse_args()
    try:
        found = asyncio.run(_run(given.rate, given.seconds, given.only))
    except Unacknowledged as error:
        sys.exit(f"The run failed: {error}")
    print(table(found))
    late = [case.name for case, one in found.items() if one.p99 > PROMISED]
    sys.exit(f"Not within {PROMISED:g} s: {'; '.join(late)}" if late else 0)


async def _run(rate: float, seconds: float, only: str) -> Mapping[Case, Found]:
    found = {}
    for case in (case for case in CASES if only in case.name):
        print(case.name, file=sys.stderr)
        found[case] = await measure(case, rate, seconds)
    return found


async def measure(case: Case, rate: float, seconds: float) -> Found:
    """One case with a bot of its own. Raises Unacknowledged."""
    async with stage(case) as (hose, bot):
        await hose.tell(PATIENCE, do="engage", threads=5, patience=PATIENCE)
        await hose.tell(PATIENCE, do="slow", seconds=case.api_seconds)
        await hose.tell(PATIENCE, do="busy", turns=case.turns)
        before = bot.cpu()
        told = await hose.tell(
            seconds * 3 + PATIENCE,
            do="flood",
            rate=rate,
            seconds=seconds,
            turns_a_second=case.turns_a_second,
        )
        used = bot.cpu() - before
    if told["lost"]:
        raise Unacknowledged(f"{case.name}: {told['lost']} of {told['events']} events")
    return Found(told["seconds"], told["took"][0], used / told["events"])


@asynccontextmanager
async def stage(case: Case) -> AsyncIterator[tuple[Process, Process]]:
    """The workspace and the bot, which is connected; they and a model are processes."""
    port = _free_port()
    hose = module("tests.bench.hose", *(("--http-port", str(port)) if case.http else ()))
    model = module("tests.bench.model_server", *("--seconds", "0.2", "--chunks", "10"))
    bot = module("bot", "run", *(("--port", str(port)) if case.http else ()))
    with open_place() as home:
        async with running(model, {}, ROOT) as (server, _), running(hose, {}, ROOT) as (slack, _):
            environ = {
                **await slack.hear(),
                "OPENAI_BASE_URL": (await server.hear())["base_url"],
                "OPENAI_API_KEY": "sk-bench-no-secret",
                "OPENAI_MODEL": "fixed",
            }
            async with running(bot, environ, home, quiet=True) as (process, _):
                await slack.tell(PATIENCE, do="connected", patience=PATIENCE)
                if case.http:
                    await _listening(port)
                yield slack, process


async def _listening(port: int) -> None:
    async with asyncio.timeout(PATIENCE):
        while True:
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", port)
            except OSError:
                await asyncio.sleep(0.05)
            else:
                writer.close()
                return


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def table(found: Mapping[Case, Found]) -> str:
    """The table in Markdown, its columns aligned."""
    head = ("acknowledgement", "events", "a second", "median", "p99", "longest", "CPU each")
    body = [
        (
            case.name,
            str(len(one.seconds)),
            f"{len(one.seconds) / one.took:.0f}",
            *(f"{t * 1000:.1f} ms" for t in _times(one)),
        )
        for case, one in found.items()
    ]
    return aligned(head, body, (False, True, True, True, True, True, True))


def _times(found: Found) -> tuple[float, float, float, float]:
    return statistics.median(found.seconds), found.p99, max(found.seconds), found.cpu


if __name__ == "__main__":
    main()
