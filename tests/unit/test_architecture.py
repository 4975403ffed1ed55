"""The import directions and other rules of the design, and that each rule catches its breach."""

from __future__ import annotations

import ast
import configparser
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = sorted([*ROOT.glob("bot/**/*.py"), *ROOT.glob("tools/**/*.py")])
LONGEST_MODULE = 300
STARTERS = re.compile(
    r"(os|posix)\.(system|popen|fork|forkpty|posix_spawnp?|exec[lv]p?e?|spawn[lv]p?e?)"
    r"|.*\.(create_subprocess_\w+|subprocess_(exec|shell))"
)
"""Functions that start a process without importing a module for it (os, asyncio)."""


def lint(tree: Path) -> subprocess.CompletedProcess[str]:
    program = Path(sys.executable).with_name("lint-imports")
    return subprocess.run(
        [program, "--no-cache"], cwd=tree, capture_output=True, text=True, timeout=50
    )


def test_every_import_goes_the_way_it_may() -> None:
    done = lint(ROOT)

    assert done.returncode == 0, done.stdout


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the source that a test may spoil."""
    copy = tmp_path_factory.mktemp("tree")
    for package in ("bot", "tools"):
        ignored = shutil.ignore_patterns("__pycache__", "page")
        shutil.copytree(ROOT / package, copy / package, ignore=ignored)
    shutil.copy(ROOT / ".importlinter", copy)
    return copy


BREACHES = [
    ("bot/agent/guard.py", "import bot.storage.writer", "Imports go downwards"),
    ("bot/slack/signs.py", "import bot.runs.local", "Imports go downwards"),
    ("bot/agent/dialects/detect.py", "import bot.model.chat", "Imports go downwards"),
    ("bot/live_text.py", "import bot.terminal", "Imports go downwards"),
    ("bot/admin/explain.py", "import bot.slack.home", "Imports go downwards"),
    ("bot/rulebook.py", "import bot.words", "Imports go downwards"),
    ("bot/leftover.py", "", "Imports go downwards"),
    ("tools/files.py", "import bot.errors", "Tools know nothing of the bot"),
    ("bot/runs/brains.py", "import tools.toolset", "Only the composition root knows the tools"),
    ("bot/terminal.py", "import tools.shell", "Only the composition root knows the tools"),
    ("bot/live_text.py", "import bot.config", "Only the composition root knows the settings"),
    ("bot/slack/front.py", "import bot.config", "Only the composition root knows the settings"),
    ("bot/local_slack/text.py", "import bot.words", "The Slack stand-in shares no code"),
    ("bot/local_slack/method.py", "import slack_sdk", "Each outside library has one room"),
    ("bot/runs/runner.py", "import sqlalchemy", "Each outside library has one room"),
    ("bot/runs/cluster.py", "import procrastinate", "Each outside library has one room"),
    ("bot/runs/queue.py", "import psycopg", "Each outside library has one room"),
    ("bot/agent/dialects/xml.py", "import openai", "Each outside library has one room"),
    ("bot/agent/context.py", "import time", "Agent and policy do no input or output"),
    ("bot/agent/loop.py", "import asyncio.subprocess", "Agent and policy do no input or output"),
    ("bot/audit/chain.py", "import sqlite3", "Agent and policy do no input or output"),
    ("bot/audit/derived.py", "import bot.storage.audit", "Imports go downwards"),
    ("bot/policy.py", "def f():\n    import sqlite3", "Agent and policy do no input or output"),
    ("bot/rulebook.py", "import os", "Agent and policy do no input or output"),
    ("bot/admin/live.py", "import bot.config", "Only the composition root knows the settings"),
    ("bot/admin/live.py", "import sqlalchemy", "Each outside library has one room"),
    ("bot/errors.py", "import pathlib", "Agent and policy do no input or output"),
    ("tools/shell.py", "import subprocess", "Only the sandbox starts processes"),
    ("bot/doctor.py", "from subprocess import run", "Only the sandbox starts processes"),
]


@pytest.mark.parametrize(
    ("module", "line", "contract"), BREACHES, ids=[f"{m} {line[:30]}" for m, line, _ in BREACHES]
)
def test_a_breach_breaks_the_contract_that_names_it(
    tree: Path, module: str, line: str, contract: str
) -> None:
    spoilt = tree / module
    before = spoilt.read_text("utf-8") if spoilt.exists() else None
    spoilt.write_text(f"{before or ''}\n{line}\n", "utf-8")
    try:
        done = lint(tree)
    finally:
        spoilt.unlink() if before is None else spoilt.write_text(before, "utf-8")

    assert done.returncode == 1
    said = " ".join(done.stdout.split())
    assert re.search(rf"{contract}(?:(?!KEPT).)*BROKEN", said) or "bot.leftover" in said, said


def test_the_contract_of_the_pure_rooms_names_every_dependency() -> None:
    """A new dependency must be named there too, or agent and policy could use it unseen."""
    linter = configparser.ConfigParser()
    linter.read(ROOT / ".importlinter", "utf-8")
    forbidden = set(linter["importlinter:contract:pure"]["forbidden_modules"].split())
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    wanted = {re.split(r"[^\w-]", line)[0].lower() for line in project["dependencies"]}
    modules = {
        module
        for module, distributions in packages_distributions().items()
        if wanted & {name.lower().replace("_", "-") for name in distributions}
        and not module.startswith("_")
    }

    assert {"openai", "slack_bolt", "re2"} <= modules
    assert modules - forbidden == {"re2"}


def names(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Every dotted name that a module uses or imports, with its line."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            yield node.lineno, ast.unparse(node)
        elif isinstance(node, ast.ImportFrom):
            yield from ((node.lineno, f"{node.module}.{alias.name}") for alias in node.names)


def test_nobody_starts_a_process_outside_the_sandbox() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line} {name}"
        for path in SOURCES
        if "sandbox" not in path.parts
        for line, name in names(ast.parse(path.read_text("utf-8")))
        if STARTERS.fullmatch(name)
    ]

    assert found == []


@pytest.mark.parametrize(
    "call",
    [
        "os.system('x')",
        "os.execvpe('x', [], {})",
        "from os import posix_spawn",
        "asyncio.create_subprocess_exec('x')",
        "asyncio.get_running_loop().subprocess_shell(None, 'x')",
    ],
)
def test_a_call_that_starts_a_process_is_seen(call: str) -> None:
    assert any(STARTERS.fullmatch(name) for _, name in names(ast.parse(call)))


def test_no_module_is_longer_than_a_few_screens_or_named_after_nothing() -> None:
    named_after_nothing = {"utils", "util", "helpers", "common", "core", "misc"}
    too_long = [
        path for path in SOURCES if len(path.read_text("utf-8").splitlines()) > LONGEST_MODULE
    ]

    assert too_long == []
    assert [p for p in SOURCES if named_after_nothing & {p.stem, *p.parent.parts}] == []


def test_importing_anything_reads_no_file_of_ours_and_connects_to_nothing(tmp_path: Path) -> None:
    """Import does nothing: neither settings nor state, sockets, threads or processes."""
    script = """
        import pathlib, sys, threading
        here = pathlib.Path.cwd()
        seen = []
        def note(event, arguments):
            if event in ("socket.connect", "socket.bind", "subprocess.Popen", "os.fork"):
                seen.append(event)
            elif event == "open" and str(arguments[0]).startswith(str(here)):
                seen.append(arguments[0])
        sys.addaudithook(note)
        import bot.cli, bot.main, tools.catalog
        print(seen, threading.active_count())
    """
    done = subprocess.run(
        [sys.executable, "-c", "\n".join(line[8:] for line in script.splitlines())],
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        timeout=50,
    )

    assert done.stdout == "[] 1\n", done.stderr
    assert list(tmp_path.iterdir()) == []
