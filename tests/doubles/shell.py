"""A place that the sandbox's user can reach, and a real sandbox with a workspace in it."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tools.sandbox.contract import Completed, SandboxSettings
from tools.sandbox.lanes import Lanes
from tools.sandbox.probe import find_confinement, owner_of
from tools.sandbox.sandbox import Sandbox
from tools.workspace import Workspace
from tools.workspaces import Scope, Workspaces


@contextmanager
def open_place() -> Iterator[Path]:
    """A directory that everybody may enter: as root, commands run as another user."""
    path = Path(tempfile.mkdtemp(prefix="treadle-test-", dir="/var/tmp"))
    path.chmod(0o755)
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


@dataclass(frozen=True)
class Shell:
    """A sandbox and one workspace."""

    sandbox: Sandbox
    workspace: Workspace

    async def run(self, command: str, timeout_s: float = 20.0) -> Completed:
        return await self.sandbox.run(self.workspace, command, timeout_s)

    async def text(self, command: str) -> str:
        """What a command printed that must end well."""
        done = await self.run(command)
        assert done.exit_code == 0, done
        return done.text

    @property
    def path(self) -> Path:
        return self.workspace.path


@contextmanager
def open_shell(place: Path, settings: SandboxSettings) -> Iterator[Shell]:
    """A shell as `settings` say, with a workspace of its own in `place`."""
    owner = owner_of(settings)
    quota = None if settings.quota_mb is None else settings.quota_mb * 1024 * 1024
    workspaces = Workspaces(place / "workspaces", Scope.SHARED, owner=owner, quota=quota)
    sandbox = Sandbox(find_confinement(settings, owner), settings, Lanes(4))
    with workspaces.open("T1", "C1", "1.0") as workspace:
        yield Shell(sandbox, workspace)
    workspaces.close()


def running(mark: str) -> list[int]:
    """The processes of this host whose command line holds `mark`; not the one that asks."""
    found = []
    for directory in Path("/proc").glob("[0-9]*"):
        try:
            line = (directory / "cmdline").read_bytes()
        except OSError:
            continue
        if mark.encode() in line and int(directory.name) != os.getpid():
            found.append(int(directory.name))
    return found


def within(seconds: float, condition: Callable[[], bool]) -> bool:
    """Whether a condition holds before the time is over."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True
