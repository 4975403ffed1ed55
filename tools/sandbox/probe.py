"""Opens the sandbox: finds the way in that the settings name, and proves it by running it.

The self-test runs by the real profile, below the real workspace root, and has to fail at what a
command must not do. Any deviation means that no command can be run on this host.
"""

from __future__ import annotations

import os
import shlex
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from tools.errors import SandboxUnavailable
from tools.locks import Locks
from tools.sandbox import diagnosis
from tools.sandbox.contract import Confinement, SandboxSettings
from tools.sandbox.hosts import HostRules
from tools.sandbox.landlock import Landlock
from tools.sandbox.lanes import Lanes
from tools.sandbox.profile import NEEDED, Bubblewrap
from tools.sandbox.proxy import ConnectProxy
from tools.sandbox.sandbox import Sandbox
from tools.workspace import Workspace

SECONDS = 20
"""For the whole self-test; it takes a twentieth of one."""
FLAGS = ("--disable-userns", "--assert-userns-disabled", "--seccomp", "--size")
"""What bubblewrap must know; the first two came with 0.8."""

PROGRAMS = "/usr/bin:/usr/local/bin:/bin"
"""Where bubblewrap is looked for: never in the PATH of whoever started Treadle."""
PER_CORE = 2
"""Commands that run at the same time."""

SELF_TEST = r"""
may() { if "${@:2}" 2>/dev/null; then echo "$1=yes"; else echo "$1=no"; fi; }
lists() { ls "$1" > /dev/null; }
opens() { : >> "$1"; }
connects() { : <> "/dev/tcp/127.0.0.1/$1"; }
while read -r name value; do
  case $name in CapEff:|NoNewPrivs:|Seccomp:) echo "${name%:}=$value";; esac
done < /proc/self/status
echo "uid=$UID"
may state lists "$STATE"
may loopback connects "$PORT"
may userns unshare -U true
may usr opens /usr/.treadle-self-test
may kernel opens /proc/sys/kernel/core_pattern
may workspace opens self-test
"""
EXPECTED = {
    "CapEff": ("0000000000000000", "it would have capabilities"),
    "NoNewPrivs": ("1", "it could gain privileges from set-uid programs"),
    "Seccomp": ("2", "its system calls would not be filtered"),
    "state": ("no", "it could read Treadle's own state"),
    "loopback": ("no", "it could connect to services of this host"),
    "userns": ("no", "it could make user name spaces"),
    "usr": ("no", "it could write to /usr"),
    "kernel": ("no", "it could change kernel settings"),
    "workspace": ("yes", "it could not write to its workspace"),
}
"""What the self-test must find, and what another finding means."""


async def open_sandbox(
    settings: SandboxSettings,
    root: Path,
    state: Path,
    programs: str = PROGRAMS,
    locks: Locks | None = None,
) -> Sandbox:
    """The sandbox for workspaces below `root`, proved. Raises SandboxUnavailable, with the fix.

    `state` is a directory that no command may ever read; `programs` is where bubblewrap is looked
    for, in the form of PATH. By `locks` one command at a time runs in a workspace.
    """
    owner = owner_of(settings)
    confinement = find_confinement(settings, owner, programs)
    network = ConnectProxy(HostRules(settings.network), owner) if settings.network else None
    lanes = Lanes(PER_CORE * (os.cpu_count() or 1), locks)
    sandbox = Sandbox(confinement, settings, lanes, network)
    patient = replace(
        sandbox, settings=replace(settings, timeout_s=max(SECONDS, settings.timeout_s))
    )
    with _workspace(root, owner) as workspace, _listener() as port:
        command = f"STATE={shlex.quote(str(state))} PORT={port}\n{SELF_TEST}"
        done = await patient.run(workspace, command, SECONDS)
        found = findings(done.text)
        if not found:
            raise SandboxUnavailable(_diagnosis(done.text, confinement, workspace.path, owner))
    if wrong := deviations(found):
        raise SandboxUnavailable(diagnosis.deviates(wrong))
    return sandbox


def owner_of(settings: SandboxSettings) -> tuple[int, int] | None:
    """uid and gid that own workspaces and run commands; None unless the bot is root."""
    return (settings.uid, settings.uid) if os.geteuid() == 0 else None


def find_confinement(
    settings: SandboxSettings,
    owner: tuple[int, int] | None,
    programs: str = PROGRAMS,
    needed: Sequence[str] = NEEDED,
) -> Confinement:
    """The way in that `settings.mode` names, not yet proved. Raises SandboxUnavailable.

    `needed` are the paths of what is started beside bubblewrap.
    """
    if settings.mode == "landlock":
        return Landlock(settings, owner)
    program = shutil.which("bwrap", path=programs)
    if program is None:
        raise SandboxUnavailable(diagnosis.INSTALL)
    for path in needed:
        if not os.access(path, os.X_OK):
            raise SandboxUnavailable(diagnosis.no_program(path))
    known = subprocess.run(  # noqa: S603 (an absolute path outside every workspace)
        [program, "--help"], capture_output=True, text=True, check=False, cwd="/", env={}
    ).stdout
    for flag in FLAGS:
        if flag not in known:
            raise SandboxUnavailable(diagnosis.too_old(flag))
    host_proc = settings.mode == "bwrap-hostproc"
    return Bubblewrap(Path(program), settings, os.uname().machine, owner, host_proc)


def findings(text: str) -> Mapping[str, str]:
    """What the self-test printed, by name; empty if it never ran."""
    pairs = (line.partition("=") for line in text.splitlines())
    return {name: value.strip() for name, _, value in pairs if name in EXPECTED or name == "uid"}


def deviations(found: Mapping[str, str]) -> list[str]:
    """What a command could do and must not, or the other way round; half a sentence each."""
    wrong = [meaning for name, (right, meaning) in EXPECTED.items() if found.get(name, "") != right]
    return wrong if found.get("uid", "0") != "0" else [*wrong, "it would run as root"]


def _diagnosis(
    text: str, confinement: Confinement, workspace: Path, owner: tuple[int, int] | None
) -> str:
    program = confinement.program if isinstance(confinement, Bubblewrap) else Path()

    def closed() -> Path | None:
        return None if owner is None else diagnosis.closed_directory(workspace, owner)

    return diagnosis.explain(text, diagnosis.look(), program, owner and owner[0], closed)


@contextmanager
def _workspace(root: Path, owner: tuple[int, int] | None) -> Iterator[Workspace]:
    """A workspace like any other below the real root, gone afterwards."""
    try:
        path = Path(tempfile.mkdtemp(prefix=".self-test-", dir=root))
    except OSError as error:
        raise SandboxUnavailable(
            f"The workspace directory {root} cannot be written to ({error.strerror}). "
            "Make it writable or set TREADLE_WORKSPACE to another."
        ) from error
    try:
        if owner is not None:
            os.chown(path, *owner)
        with Workspace.at(path) as workspace:
            yield workspace
    finally:
        shutil.rmtree(path, ignore_errors=True)


@contextmanager
def _listener() -> Iterator[int]:
    """A port of this host's loopback that answers; commands must not reach it."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]
