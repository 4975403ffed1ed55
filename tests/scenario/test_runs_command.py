"""`treadle runs`: the threads of a running bot, and one of them entry by entry."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from tests.doubles.desk import QUICK, Desk, arguments, open_desk
from tests.doubles.model_endpoint import Say

Command = Callable[..., "subprocess.CompletedProcess[str]"]
HOSTILE = "look \x1b[31mred\x1b[0m \u202e gnihton"


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    async with open_desk(tmp_path) as opened:
        opened.patience = QUICK
        yield opened


@pytest.fixture
def command(desk: Desk, repository: Path) -> Command:
    def run(*words: str) -> subprocess.CompletedProcess[str]:
        environ = {**desk.environment(), "PATH": os.environ["PATH"], "PYTHONPATH": str(repository)}
        return subprocess.run(
            [sys.executable, "-m", "bot", "runs", *words],
            cwd=desk.home,
            env=environ,
            text=True,
            capture_output=True,
            timeout=30,
            check=False,
        )

    return run


async def test_the_threads_and_the_entries_of_one_can_be_read_beside_the_bot(
    desk: Desk, command: Command
) -> None:
    call = ("list_dir", arguments(path="."))
    desk.model.play([Say("I look.", calls=(call,)), Say("Nothing here.")])
    async with desk.treadle():
        root = await desk.slack.person("alice").say("#general", f"@treadle {HOSTILE}")
        await desk.answered("#general", root, covers=root)
        listed, shown = command("list"), command("show", f"T0LOCAL:C0GENERAL:{root}")

    row = next(line for line in listed.stdout.splitlines() if root in line)
    assert "answered" in row
    assert "red" in row
    assert "\x1b" not in listed.stdout + shown.stdout
    assert "\u202e" not in listed.stdout + shown.stdout
    kinds = [line.split()[3] for line in shown.stdout.splitlines()]
    assert kinds == [
        "User", "FilesSeen", "ModelReply", "Decided", "ToolStarted", "Observation", "ModelReply",
        "Answered",
    ]  # fmt: skip
    assert "I look. list_dir" in shown.stdout


async def test_a_thread_that_is_not_there_and_a_home_without_a_database_are_told(
    desk: Desk, command: Command
) -> None:
    nothing = command("list")
    async with desk.treadle():
        wrong = command("show", "T:C:1.0")

    assert (nothing.returncode, nothing.stdout) == (2, "")
    assert "There is no database at" in nothing.stderr
    assert wrong.returncode == 2
    assert wrong.stderr.startswith("There is no thread 'T:C:1.0' here.")
