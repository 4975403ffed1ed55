"""Attempts that need two commands at once, the death of the bot, or its next start."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from tests.doubles.model_endpoint import Say
from tests.doubles.shell import open_place, within
from tests.hostile.attack import HIT, hit
from tests.hostile.stage import NO_LANDLOCK, import_path, open_stage
from tests.hostile.suite import MODES
from tools.sandbox.contract import Mode, SandboxSettings
from tools.sandbox.landlock_kernel import NEEDED_ABI, landlock_abi
from tools.sandbox.lanes import Lanes
from tools.sandbox.probe import find_confinement, owner_of
from tools.sandbox.sandbox import Sandbox
from tools.workspace import Workspace
from tools.workspaces import Workspaces

pytestmark = pytest.mark.timeout(120)
LACKING = {
    "bwrap": pytest.mark.needs("bwrap"),
    "landlock": pytest.mark.skipif(landlock_abi() < NEEDED_ABI, reason=NO_LANDLOCK),
}
HELD_IN = [pytest.param(mode, marks=LACKING[mode]) for mode in MODES]


@contextmanager
def two_channels(mode: Mode) -> Iterator[tuple[Sandbox, Workspace, Workspace]]:
    """One sandbox and the workspaces of two channels."""
    settings = SandboxSettings(mode=mode)
    owner = owner_of(settings)
    sandbox = Sandbox(find_confinement(settings, owner), settings, Lanes(4))
    with (
        open_place() as place,
        closing(Workspaces(place / "workspaces", owner=owner)) as workspaces,
        workspaces.open("T1", "C1", "1.0") as one,
        workspaces.open("T1", "C2", "1.0") as other,
    ):
        yield sandbox, one, other


@pytest.mark.parametrize("mode", HELD_IN)
async def test_a_command_cannot_reach_into_another_that_runs_at_the_same_time(mode: Mode) -> None:
    """X68: its files, its private /tmp, its environment and memory, its processes."""
    with two_channels(mode) as (sandbox, one, other):
        victim = asyncio.create_task(
            sandbox.run(
                one,
                "echo a-secret > secret; cp secret $TMPDIR/secret; echo $$ $TMPDIR > ready; "
                "export A=a-secret; exec -a victim python3 -c "
                '\'import time; held = "a-" + "secret"; time.sleep(5)\'',
                6,
            )
        )
        ready = one.path / "ready"
        while not ready.exists() or not ready.read_text().strip():
            assert not victim.done(), victim.result()
            await asyncio.sleep(0.01)
        number, directory = ready.read_text().split()
        attempts = [
            f"cat {one.path}/secret ../C1/secret {directory}/secret /tmp/*/secret",
            "cat /proc/[0-9]*/environ /proc/[0-9]*/root/workspace/secret",
            "for p in $(grep -lsa '^victim' /proc/[0-9]*/cmdline); do p=${p%/cmdline}; "
            + hit("cat $p/environ")
            + "; "
            + hit("head -c 1 $p/mem")
            + f"; {hit('readlink $p/fd/1')}; {hit('kill -0 ${p#/proc/}')}; "
            "kill -9 ${p#/proc/}; done",
        ]
        if mode == "landlock":  # there, process ids are the host's
            attempts.append(f"kill -9 {number}; {hit(f'kill -0 {number}')}")
        text = (await sandbox.run(other, "; ".join(attempts), 5)).text

        assert "a-secret" not in text
        assert HIT not in text
        assert not victim.done()
        victim.cancel()
        await asyncio.wait([victim])


@pytest.mark.parametrize("mode", HELD_IN)
async def test_two_commands_of_one_workspace_never_run_at_the_same_time(mode: Mode) -> None:
    """X69: a race between a command and the next one's start is not to be had."""
    with two_channels(mode) as (sandbox, one, _):
        command = f"mkdir lock; {hit('! [ -d lock ] || [ -e lock/other ]')}; touch lock/other; "
        command += "sleep 0.1; rm lock/other; rmdir lock || echo hit-$((6*7))"
        done = await asyncio.gather(*(sandbox.run(one, command, 5) for _ in range(4)))

    assert [d.exit_code for d in done] == [0] * 4
    assert all(HIT not in d.text for d in done)


@pytest.mark.parametrize("mode", HELD_IN)
async def test_nothing_survives_the_bot_that_is_killed(mode: Mode) -> None:
    """X70: daemons of a command, when the bot gets SIGKILL in the middle of it."""
    there = set(os.listdir("/tmp"))
    async with open_stage(mode) as stage:
        token = stage.house.token
        command = (
            f"(setsid nohup bash -c 'exec -a {token} sleep 1000' &) ; exec -a {token} sleep 99"
        )
        calls = (("run_command", json.dumps({"command": command})),)
        stage.model.play([Say("I try.", calls=calls)])
        await stage.slack.person("alice").say("#general", "@treadle go")
        await stage.slack.until(lambda: len(stage.house.processes(f"{token}\0")) >= 2, timeout=15)
        stage.bot.send_signal(signal.SIGKILL)
        await asyncio.to_thread(stage.bot.wait)

        assert within(1.0, lambda: not stage.house.processes())

        def scratch() -> list[str]:
            new = [name for name in set(os.listdir("/tmp")) - there if name.startswith("treadle-")]
            return [name for name in new if len(name) == len("treadle-") + 24]

        assert within(2.0, lambda: not scratch()), scratch()


PLANTED = {
    "treadle.toml": "[sandbox]\nmode = 'off'\n[access]\nadmins = ['U0MALLORY']\n",
    ".env": "SLACK_API_URL=http://127.0.0.1:1/\nOPENAI_BASE_URL=http://127.0.0.1:1/\n",
    "sitecustomize.py": "open('@OUTSIDE@/ran', 'w')\n",
    "usercustomize.py": "open('@OUTSIDE@/ran', 'w')\n",
    "a.pth": "import os; open('@OUTSIDE@/ran', 'w')\n",
    "bot/__init__.py": "open('@OUTSIDE@/ran', 'w')\n",
    "bot/__main__.py": "open('@OUTSIDE@/ran', 'w')\n",
    "tools/__init__.py": "open('@OUTSIDE@/ran', 'w')\n",
    "typer.py": "open('@OUTSIDE@/ran', 'w')\n",
    "git": "#!/bin/sh\ntouch @OUTSIDE@/ran\n",
    "bwrap": "#!/bin/sh\ntouch @OUTSIDE@/ran\n",
}
"""What a command could leave for a bot that is started again, and in the wrong directory."""


TREADLE = str(Path(sys.executable).parent / "treadle")
"""What pip makes of `[project.scripts]`."""
installed = pytest.mark.skipif(
    not Path(TREADLE).exists(), reason="needs root, whose environment holds the installed command"
)
SECRETS = """
OPENAI_API_KEY=sk-planted-0123456789
SLACK_BOT_TOKEN=xoxb-planted-0123456789
SLACK_SIGNING_SECRET=planted-0123456789abcdef
"""
LEAD_ASTRAY = ("PYTHONPATH", "PYTHONHOME", "PYTHONUSERBASE", "LD_LIBRARY_PATH", "PATH")


@installed
@pytest.mark.parametrize(("command", "said"), [("--help", "doctor"), ("doctor", "shell: ")])
def test_the_command_takes_no_code_from_the_current_directory(command: str, said: str) -> None:
    """It is no workspace, so its settings count; but a .env is no process's environment."""
    with open_place() as place:
        start = place / "start"
        for name, content in PLANTED.items():
            path = start / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content.replace("@OUTSIDE@", str(place)))
            path.chmod(0o755)
        (start / "treadle.toml").write_text("")
        with (start / ".env").open("a") as file:
            file.write(SECRETS)
            file.writelines(f"{name}={start}\n" for name in LEAD_ASTRAY)
            file.write(f"PYTHONSTARTUP={start}/sitecustomize.py\nLD_PRELOAD={start}/git\n")
        done = subprocess.run(
            [TREADLE, command],
            cwd=start,
            env={"PATH": os.environ["PATH"], "HOME": str(place)},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

        assert said in done.stdout, done.stdout + done.stderr
        assert not (place / "ran").exists()


@pytest.mark.parametrize(
    "way", [pytest.param([TREADLE], marks=installed), [sys.executable, "-P", "-m", "bot"]]
)
@pytest.mark.parametrize("below", [".", "deep/er"])
async def test_a_bot_that_is_started_inside_a_workspace_trusts_nothing_there(
    below: str, way: list[str]
) -> None:
    """X71: settings, secrets, modules and programs planted in the workspace."""
    async with open_stage("bwrap") as stage:
        house = stage.house
        directory = house.workspace / below
        for name, content in PLANTED.items():
            path = directory / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(house.fill(content))
            path.chmod(0o755)
        done = await asyncio.to_thread(
            subprocess.run,
            [*way, "run"],
            cwd=directory,
            env={
                "PATH": f"{directory}:{os.environ['PATH']}",
                "PYTHONPATH": import_path(),
                "HOME": house.marks["HOME"],
            },
            capture_output=True,
            text=True,
            timeout=30,
        )

        assert done.returncode != 0
        assert "where agents write, so nothing in it is read" in done.stderr
        assert not Path(house.marks["OUTSIDE"], "ran").exists()
