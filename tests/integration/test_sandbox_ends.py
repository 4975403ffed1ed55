"""The worst moments to end a run: while its sandbox is still being set up."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from tests.doubles.orphans import adopted, named
from tests.doubles.shell import Shell, open_shell, running, within
from tools.sandbox.contract import Mode, SandboxSettings
from tools.sandbox.family import end_family
from tools.sandbox.landlock_kernel import NEEDED_ABI, landlock_abi
from tools.sandbox.probe import find_confinement, owner_of

MODES = [
    pytest.param("bwrap", marks=pytest.mark.needs("bwrap")),
    pytest.param(
        "landlock",
        marks=pytest.mark.skipif(
            landlock_abi() < NEEDED_ABI, reason="this host's kernel has no Landlock"
        ),
    ),
]
DELAYS_MS = range(0, 41, 2)
"""From the start to beyond the first moment at which the command itself runs."""
GONE_WITHIN = 10.0


def mark() -> str:
    return f"{7000 + uuid.uuid4().int % 10**9}"


@contextmanager
def marked() -> Iterator[list[str]]:
    """Marks of commands; what still runs by them at the end is killed, whatever failed."""
    marks: list[str] = []
    try:
        yield marks
    finally:
        for process in survivors(marks):
            with suppress(ProcessLookupError):  # it has just ended
                os.kill(process, signal.SIGKILL)


def survivors(marks: list[str]) -> list[int]:
    return [process for one in marks for process in running(one)]


async def cancelled_after(shell: Shell, command: str, milliseconds: int) -> None:
    """At once after the start where `milliseconds` is 0; the command may have ended before."""
    task = asyncio.create_task(shell.run(command))
    await asyncio.sleep(milliseconds / 1000)
    task.cancel()
    await asyncio.wait([task])
    assert task.cancelled()


@pytest.mark.parametrize("mode", MODES)
async def test_a_run_that_is_cancelled_while_it_starts_leaves_nothing(
    place: Path, mode: Mode
) -> None:
    with open_shell(place, SandboxSettings(mode=mode)) as shell, marked() as marks:
        for milliseconds in (*DELAYS_MS, *DELAYS_MS):
            marks.append(mark())
            command = f"setsid sleep {marks[-1]} & sleep {marks[-1]}"
            await cancelled_after(shell, command, milliseconds)

        assert within(GONE_WITHIN, lambda: not survivors(marks))
        assert await shell.text("echo next") == "next\n"


@pytest.mark.needs("bwrap")
async def test_a_run_whose_end_is_cancelled_as_well_leaves_nothing(place: Path) -> None:
    with (
        open_shell(place, SandboxSettings(mode="bwrap")) as shell,
        marked() as marks,
    ):
        for milliseconds in DELAYS_MS:
            marks.append(mark())
            task = asyncio.create_task(shell.run(f"sleep {marks[-1]}"))
            await asyncio.sleep(milliseconds / 1000)
            while not task.done():
                task.cancel()
                await asyncio.sleep(0)

        assert within(GONE_WITHIN, lambda: not survivors(marks))


BOT = """
import asyncio, os, signal, sys, time
from pathlib import Path
from tests.doubles.orphans import adopted, named
from tests.doubles.shell import open_shell
from tools.sandbox.contract import SandboxSettings
from tools.sandbox.family import family

async def started():
    while len([*family(os.getpid())]) == 1:
        await asyncio.sleep(0)

async def main():
    with open_shell(Path(sys.argv[1]), SandboxSettings(mode=sys.argv[2])) as shell:
        run = asyncio.create_task(shell.run(sys.argv[3]))
        await started()
        if sys.argv[4] == "copied" and os.fork() == 0:
            time.sleep(0.5)
            os._exit(0)
        os.write(1, b"started\\n")
        await run

asyncio.run(main())
"""
"""Says when the first process of a run is there. `copied`: somebody else has the bot's descriptors
for a while, as a process has that was forked and has not yet come to its own program."""
COMMAND = "setsid sleep 7000 & sleep 7000"


def killed_after(place: Path, mode: Mode, milliseconds: int, copied: str = "") -> None:
    bot = subprocess.Popen(
        [sys.executable, "-c", BOT, str(place), mode, COMMAND, copied],
        stdout=subprocess.PIPE,
        cwd=Path.cwd(),
    )
    with bot:
        assert bot.stdout is not None
        assert bot.stdout.readline() == b"started\n"
        with pytest.raises(subprocess.TimeoutExpired):
            bot.wait(milliseconds / 1000)
        bot.kill()


@pytest.mark.parametrize("mode", MODES)
def test_a_bot_that_is_killed_while_a_run_starts_leaves_nothing(place: Path, mode: Mode) -> None:
    with adopted() as left:
        for milliseconds in DELAYS_MS:
            killed_after(place, mode, milliseconds)

        assert within(GONE_WITHIN, lambda: not left()), named(left())


@pytest.mark.parametrize("mode", MODES)
def test_a_killed_bots_descriptors_in_other_hands_keep_no_command_alive(
    place: Path, mode: Mode
) -> None:
    """Its threads have them too: the last may end long after the one that started the run."""
    with adopted() as left:
        for milliseconds in range(6):
            killed_after(place, mode, milliseconds, "copied")

        assert within(GONE_WITHIN, lambda: not left()), named(left())


@pytest.mark.needs("bwrap")
def test_no_command_is_started_for_a_run_that_is_over(place: Path) -> None:
    """The pipe that only the bot holds is closed before bubblewrap has come to the command."""
    settings = SandboxSettings(mode="bwrap")
    workspace, owner = place / "workspace", owner_of(settings)
    workspace.mkdir()
    if owner is not None:
        os.chown(workspace, *owner)
    launch = find_confinement(settings, owner).launch(workspace, "echo started", None)
    assert launch.alive is not None
    os.close(launch.alive)
    done = subprocess.run(
        launch.argv,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        pass_fds=launch.pass_fds,
        env=dict(launch.env),
        user=None if owner is None else owner[0],
        group=None if owner is None else owner[1],
        timeout=20,
        check=False,
    )
    launch.close()

    assert (done.returncode, done.stdout, done.stderr) == (125, b"", b"")


def test_a_family_is_ended_though_each_of_it_has_a_session_of_its_own() -> None:
    one = mark()
    script = f"setsid sleep {one} & setsid bash -c 'sleep {one} & wait' & echo ready; wait"
    with (
        marked() as marks,
        subprocess.Popen(["/usr/bin/bash", "-c", script], stdout=subprocess.PIPE) as root,
    ):
        marks.append(one)
        assert root.stdout is not None
        assert root.stdout.readline() == b"ready\n"
        assert within(5.0, lambda: len(running(f"sleep\0{one}")) == 2)
        end_family(root.pid)

        assert root.wait(5) == -signal.SIGKILL
        assert within(GONE_WITHIN, lambda: not running(one))
