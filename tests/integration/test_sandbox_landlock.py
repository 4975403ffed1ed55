"""The Landlock launcher: what it refuses, how it ends, and that it clears up."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import uuid
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.doubles.shell import Shell, open_place, open_shell, running, within
from tools.errors import SandboxUnavailable
from tools.sandbox.contract import Launch, Limit, SandboxSettings
from tools.sandbox.landlock import SCRATCH, Landlock
from tools.sandbox.landlock_kernel import NEEDED_ABI, landlock_abi
from tools.sandbox.probe import owner_of

pytestmark = pytest.mark.skipif(
    landlock_abi() < NEEDED_ABI, reason="this host's kernel has no Landlock"
)

SETTINGS = SandboxSettings(mode="landlock")


@pytest.fixture
def place() -> Iterator[Path]:
    with open_place() as path:
        yield path


@pytest.fixture
async def shell(place: Path) -> AsyncIterator[Shell]:
    with open_shell(place, SETTINGS) as opened:
        yield opened


def scratches() -> set[str]:
    return {name for name in os.listdir(SCRATCH) if name.startswith("treadle-")}


def mark() -> str:
    return f"{7000 + uuid.uuid4().int % 10**9}"


def test_an_older_kernel_is_refused_with_what_to_do(place: Path) -> None:
    for landlock, shown in (
        (Landlock(SETTINGS, abi=lambda: 0), "has none"),
        (Landlock(SETTINGS, abi=lambda: 5), "has 5"),
    ):
        with pytest.raises(SandboxUnavailable, match=shown):
            landlock.launch(place, "true", None)


def test_a_network_is_refused(place: Path) -> None:
    with pytest.raises(SandboxUnavailable, match="no network under Landlock"):
        Landlock(SETTINGS).launch(place, "true", place / "socket")


def test_its_gaps_are_told_one_sentence_each() -> None:
    assert len(Landlock(SETTINGS).gaps) == 6
    assert all(gap.endswith(".") and gap.count(". ") == 0 for gap in Landlock(SETTINGS).gaps)


@pytest.mark.parametrize(
    ("command", "code"),
    [("exit 3", 3), ("kill -9 $$", 137), ("kill -TERM $$", 143), ("no-such-program", 127)],
)
async def test_the_exit_code_is_the_commands(shell: Shell, command: str, code: int) -> None:
    assert (await shell.run(command)).exit_code == code


async def test_home_and_tmpdir_are_private_and_gone_afterwards(shell: Shell) -> None:
    before = scratches()
    text = await shell.text("touch $HOME/a; stat -c '%a %u' $TMPDIR; echo $HOME $(id -u)")

    mode, owner, home, user = text.split()
    assert (mode, owner) == ("700", user)
    assert home.startswith(f"{SCRATCH}/treadle-")
    assert not Path(home).exists()
    assert scratches() <= before


async def test_a_tree_of_any_depth_and_mode_in_tmpdir_is_removed(shell: Shell) -> None:
    deep = "import os\nos.chdir(os.environ['HOME'])\nfor _ in range(4000): "
    deep += "os.mkdir('d'); os.chdir('d')"
    text = await shell.text(
        f'python3 -c "{deep}"; cd $HOME; ln -s /etc/passwd link; mkfifo fifo; mkdir -p x/y; '
        "touch x/y/z; chmod 0 x/y/z x/y x; echo $HOME"
    )

    assert not Path(text.strip()).exists()
    assert Path("/etc/passwd").exists()


@pytest.mark.wall_clock
async def test_when_the_time_is_over_nothing_is_left(shell: Shell) -> None:
    number = mark()
    done = await shell.run(
        f"(trap '' TERM; setsid sleep {number}) & echo $HOME; sleep {number}", timeout_s=0.5
    )

    assert done.stopped_for is Limit.TIME
    assert done.seconds < 2
    assert not running(number)
    assert not Path(done.text.strip()).exists()


async def test_a_cancelled_command_leaves_nothing(shell: Shell) -> None:
    number = mark()
    task = asyncio.create_task(shell.run(f"setsid sleep {number} & sleep {number}"))
    while len(running(number)) < 2:
        await asyncio.sleep(0.01)
    task.cancel()
    await asyncio.wait([task])

    assert task.cancelled()
    assert within(0.5, lambda: not running(number))


@contextmanager
def started(launch: Launch, cwd: str = "/") -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(
        launch.argv,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        pass_fds=launch.pass_fds,
        env=dict(launch.env),
        cwd=cwd,
        start_new_session=True,
    )
    launch.close()
    with process:
        yield process


def owned(place: Path) -> tuple[Path, Landlock]:
    """A workspace and a Landlock for it."""
    workspace, owner = place / "workspace", owner_of(SETTINGS)
    workspace.mkdir()
    if owner is not None:
        os.chown(workspace, *owner)
    return workspace, Landlock(SETTINGS, owner)


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_whatever_ends_the_leash_ends_all_and_clears_up(place: Path, how: signal.Signals) -> None:
    workspace, landlock = owned(place)
    number = mark()
    command = f"echo $HOME; (setsid nohup sleep {number} >/dev/null 2>&1 &); sleep {number}"
    with started(landlock.launch(workspace, command, None)) as leash:
        assert leash.stdout is not None
        home = Path(leash.stdout.readline().decode().strip())
        assert within(2.0, lambda: len(running(number)) >= 2)
        leash.send_signal(how)
        leash.wait(5)

        assert within(1.0, lambda: not running(number))
        assert within(1.0, lambda: not home.exists())


def test_a_workspace_that_cannot_be_entered_is_a_plain_refusal(place: Path) -> None:
    launch = owned(place)[1].launch(place / "not-there", "echo never", None)
    with started(launch) as leash:
        text, _ = leash.communicate(timeout=10)

    assert leash.returncode == 125
    assert text.startswith(b"The command was not started, because it cannot be held in")
    assert b"never" not in text.replace(b"not-there", b"")


def test_modules_that_lie_where_it_starts_are_not_imported(place: Path) -> None:
    workspace, landlock = owned(place)
    for name in ("json", "ctypes", "resource", "tools", "sitecustomize", "usercustomize"):
        (workspace / f"{name}.py").write_text("print('planted')\n")
    launch = landlock.launch(workspace, "echo fine", None)
    with started(launch, cwd=str(workspace)) as leash:
        text, _ = leash.communicate(timeout=10)

    assert text == b"fine\n"
