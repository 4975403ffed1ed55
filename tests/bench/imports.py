"""What each direct dependency costs at import: `python -m tests.bench.imports`.

Each is imported in fresh interpreters, alone (with all that it brings), and the last column says
when Treadle imports it. Time is the median wall time of the import, memory the resident memory
that it adds.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
from dataclasses import dataclass

_CODE = """
import time, sys
def resident():
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmRSS:"))
before, began = resident(), time.perf_counter()
{code}
print((time.perf_counter() - began) * 1000, (resident() - before) / 1024)
"""


@dataclass(frozen=True, slots=True)
class Dependency:
    """A direct dependency: the statement that Treadle's use of it comes to, and when it runs."""

    name: str
    code: str
    when: str


DEPENDENCIES = (
    Dependency("slack-bolt", "import slack_bolt.async_app", "start"),
    Dependency("slack-sdk", "import slack_sdk.web.async_client", "start"),
    Dependency("aiohttp", "import aiohttp.web", "start"),
    Dependency("openai", "import openai", "once connected"),
    Dependency("sqlalchemy", "import sqlalchemy.dialects.sqlite.pysqlite", "start"),
    Dependency("alembic", "import alembic.command", "when the schema is behind"),
    Dependency("pydantic", "from pydantic import BaseModel", "start"),
    Dependency("python-dotenv", "import dotenv.parser", "start"),
    Dependency("typer", "import typer", "start"),
    Dependency("rich", "import rich.console", "help and error texts"),
    Dependency("markdown-it-py", "import markdown_it", "first answer that is not plain text"),
    Dependency("simpleeval", "import simpleeval", "start"),
    Dependency("google-re2", "import re2", "first long text, pattern or search"),
    Dependency("docstring-parser", "import docstring_parser", "tools are described"),
)
WHOLE = Dependency("all that a start imports", "import bot.cli, bot.main", "start")


def cost(code: str, repeats: int) -> tuple[float, float]:
    """Milliseconds and megabytes of a statement in a fresh interpreter, as medians."""
    program = _CODE.format(code=code)
    found: list[tuple[float, float]] = []
    for _ in range(repeats):
        done = subprocess.run(
            [sys.executable, "-c", program], check=True, capture_output=True, text=True
        )
        milliseconds, megabytes = map(float, done.stdout.split())
        found.append((milliseconds, megabytes))
    return statistics.median(ms for ms, _ in found), statistics.median(mb for _, mb in found)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.imports", description=__doc__)
    parser.add_argument("--repeats", type=int, default=7)
    given = parser.parse_args()
    print("| dependency | import | MB | imported at |\n| --- | ---: | ---: | --- |")
    for one in (*DEPENDENCIES, WHOLE):
        milliseconds, megabytes = cost(one.code, given.repeats)
        print(f"| {one.name} | {milliseconds:.0f} ms | {megabytes:.1f} | {one.when} |")


if __name__ == "__main__":
    main()
