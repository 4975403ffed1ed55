"""The leash of a run: what it ends, and what happens if it is ended itself."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.doubles.orphans import adopted, named
from tests.doubles.shell import open_shell, within
from tools.sandbox.contract import Limit, SandboxSettings
from tools.sandbox.leash import REFUSED, leashed

BWRAP = pytest.mark.needs("bwrap")
SETTINGS = SandboxSettings(mode="bwrap")
LONG = "setsid sleep 7000 & echo said; sleep 7000"
WITHIN = 10.0


@contextmanager
def on_a_leash(*argv: str) -> Iterator[tuple[subprocess.Popen[str], int]]:
    """A leash with `argv` below it, and the end of the pipe that keeps it alive."""
    gate, alive = os.pipe()
    with subprocess.Popen(
        leashed(gate, argv),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        pass_fds=(gate,),
    ) as process:
        os.close(gate)
        yield process, alive


def text_of(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.read()


def test_its_exit_code_and_output_are_those_of_what_it_holds() -> None:
    with on_a_leash("/usr/bin/bash", "-c", "echo out; echo err >&2; exit 7") as (leash, alive):
        assert text_of(leash) == "out\nerr\n"
        assert leash.wait(WITHIN) == 7
    os.close(alive)


def test_what_it_holds_gets_no_descriptor_of_it_and_ignores_no_signal() -> None:
    """No more than without it: whoever started the tests may ignore some."""
    look = ("/usr/bin/bash", "-c", "ls /proc/self/fd | tr '\\n' ' '; grep SigIgn /proc/self/status")
    bare = subprocess.run(look, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    with on_a_leash(*look) as (leash, alive):
        assert text_of(leash) == bare.stdout
    os.close(alive)

    assert bare.stdout.startswith("0 1 2 3 SigIgn:")  # 3 is of ls


def test_once_the_pipe_is_closed_all_is_killed_and_nothing_said() -> None:
    with (
        adopted() as left,
        on_a_leash("/usr/bin/bash", "-c", "trap '' TERM HUP; sleep 7000 & echo on; wait") as held,
    ):
        leash, alive = held
        assert leash.stdout is not None
        assert leash.stdout.readline() == "on\n"
        os.close(alive)

        assert leash.wait(WITHIN) == 128 + signal.SIGKILL
        assert text_of(leash) == ""
        assert within(WITHIN, lambda: not left()), named(left())


def test_where_the_pipe_was_closed_before_nothing_is_started() -> None:
    gate, alive = os.pipe()
    os.close(alive)
    done = subprocess.run(
        leashed(gate, ("/usr/bin/echo", "begun")),
        pass_fds=(gate,),
        capture_output=True,
        check=False,
    )
    os.close(gate)

    assert (done.returncode, done.stdout, done.stderr) == (REFUSED, b"", b"")


def below(process: int) -> list[int]:
    return list(map(int, Path(f"/proc/{process}/task/{process}/children").read_text().split()))


async def first_of(look: Path) -> int:
    """The process that a bot started first, once its command runs."""
    while not look.exists():
        await asyncio.sleep(0.01)
    (leash,) = below(os.getpid())
    return leash


@BWRAP
async def test_a_leash_that_is_killed_takes_the_run_along(place: Path) -> None:
    with adopted() as left, open_shell(place, SETTINGS) as shell:
        run = asyncio.create_task(shell.run(f"touch on; {LONG}"))
        os.kill(await first_of(shell.path / "on"), signal.SIGKILL)
        done = await run

        assert done.exit_code is None
        assert done.signal == signal.SIGKILL
        assert within(WITHIN, lambda: not left()), named(left())


@BWRAP
async def test_a_run_whose_watch_was_killed_ends_all_the_same(place: Path) -> None:
    with adopted() as left, open_shell(place, SETTINGS) as shell:
        run = asyncio.create_task(shell.run(f"touch on; {LONG}"))
        watch, _ = below(await first_of(shell.path / "on"))
        os.kill(watch, signal.SIGKILL)
        run.cancel()
        await asyncio.wait([run])

        assert run.cancelled()
        assert within(WITHIN, lambda: not left()), named(left())


@BWRAP
async def test_a_command_that_is_stopped_at_a_limit_has_said_only_what_it_said(
    place: Path,
) -> None:
    with open_shell(place, SETTINGS) as shell:
        done = await shell.run(LONG, timeout_s=1)

    assert (done.text, done.stopped_for) == ("said\n", Limit.TIME)
