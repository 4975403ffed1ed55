"""What each direct dependency costs at import: `python -m tests.bench.imports`.

Each is imported in fresh interpreters: alone, with all that it brings along, and behind those
above it, which is what it adds. Times are the best of the repeats, as what else the machine
does only adds to them; memory is resident. The last column says when Treadle imports it.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from dataclasses import dataclass

_CODE = """
import time, sys
def resident():
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmRSS:"))
{before}
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
    Dependency("aiohttp", "import aiohttp.web", "start"),
    Dependency("slack-sdk", "import slack_sdk.web.async_client", "start"),
    Dependency("slack-bolt", "import slack_bolt.async_app", "start"),
    Dependency("pydantic", "from pydantic import BaseModel", "start"),
    Dependency("python-dotenv", "import dotenv.parser", "start"),
    Dependency("typer", "import typer", "start"),
    Dependency("sqlalchemy", "import sqlalchemy.dialects.sqlite.pysqlite", "start"),
    Dependency("docstring-parser", "import docstring_parser", "start"),
    Dependency("openai", "import openai", "once connected"),
    Dependency("simpleeval", "import simpleeval", "start"),
    Dependency("google-re2", "import re2", "first long text, pattern or search"),
    Dependency("markdown-it-py", "import markdown_it", "first answer with Markdown"),
    Dependency("alembic", "import alembic.command", "schema behind"),
    Dependency("psycopg", "import sqlalchemy.dialects.postgresql.psycopg, psycopg", "cluster"),
    Dependency("procrastinate", "import procrastinate", "cluster"),
)
WHOLE = Dependency("all that a start imports", "import bot.cli, bot.main", "start")


def cost(code: str, repeats: int, before: str = "") -> str:
    """A statement's milliseconds and megabytes in a fresh interpreter that has run `before`."""
    program = _CODE.format(before=before, code=code)
    found: list[tuple[float, float]] = []
    for _ in range(repeats):
        done = subprocess.run(
            [sys.executable, "-c", program], check=True, capture_output=True, text=True
        )
        milliseconds, megabytes = map(float, done.stdout.split())
        found.append((milliseconds, megabytes))
    times, sizes = zip(*found, strict=True)
    return f"{min(times):.0f} ms, {min(sizes):.1f} MB"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.imports", description=__doc__)
    parser.add_argument("--repeats", type=int, default=7)
    repeats = parser.parse_args().repeats
    print("| dependency | alone | adds | imported at |\n| --- | ---: | ---: | --- |")
    above: list[str] = []
    for one in DEPENDENCIES:
        alone, adds = cost(one.code, repeats), cost(one.code, repeats, "\n".join(above))
        print(f"| {one.name} | {alone} | {adds} | {one.when} |", flush=True)
        above.append(one.code)
    print(f"| {WHOLE.name} | {cost(WHOLE.code, repeats)} | | {WHOLE.when} |")


if __name__ == "__main__":
    main()
