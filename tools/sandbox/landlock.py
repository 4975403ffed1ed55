"""The fallback where bubblewrap cannot work: Landlock, the system call filter, and a keeper.

It has no name spaces: the command sees the host's process list and the attributes of files
outside. Therefore it is used only where the operator names it, and says what it does not stop.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

from tools.errors import SandboxUnavailable
from tools.sandbox.contract import Launch, SandboxSettings
from tools.sandbox.landlock_keeper import Orders
from tools.sandbox.landlock_kernel import NEEDED_ABI, landlock_abi
from tools.sandbox.profile import BARE, ENVIRONMENT
from tools.sandbox.seccomp import Sockets, filter_program

LAUNCHER = Path(__file__).with_name("landlock_launcher.py")
SCRATCH = "/tmp"  # noqa: S108 - the launcher makes a private directory there by an unguessable name

READ = (
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib64",
    "/etc/alternatives",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/localtime",
    "/etc/mime.types",
    "/etc/ssl/certs",
    "/etc/ssl/openssl.cnf",
    "/etc/ca-certificates",
    "/proc",
)
"""What commands may read and execute; a path that the host does not have is left out."""
DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")

GAPS = (
    "A command can see that a file outside the workspace exists, and its size and times.",
    "A command can change the mode and times of files outside that belong to the user it runs as.",
    "A command can see the names of the bot's directories.",
    "A command can see the command lines of other processes on this host (not their environment).",
    "A command can see the names of the host's network interfaces, open sockets and kernel keys.",
    "A git hook that a command plants in the workspace runs when a later command calls git there.",
)
"""The first five do not exist under bubblewrap; the last is the same there."""


class Landlock:
    """`Confinement` by Landlock ABI 6 or later; it has no network at all."""

    name = "landlock"
    gaps = GAPS

    def __init__(
        self,
        settings: SandboxSettings,
        owner: tuple[int, int] | None = None,
        abi: Callable[[], int] = landlock_abi,
    ) -> None:
        """`owner`: uid and gid that commands run as where the bot is root."""
        self._settings = settings
        self._owner = owner
        self._abi = abi

    def launch(self, workspace: Path, command: str, network_socket: Path | None) -> Launch:
        """See `Confinement.launch`. The launcher drops to the owner itself: the interpreter may
        stand where only root can reach it."""
        self._check(network_socket)
        orders = json.dumps(self._orders(workspace, command)).encode()
        descriptor = os.memfd_create("orders", os.MFD_CLOEXEC)
        with os.fdopen(os.dup(descriptor), "wb") as file:
            file.write(orders)
        os.lseek(descriptor, 0, os.SEEK_SET)
        return Launch(
            argv=(sys.executable, "-I", "-S", "-B", str(LAUNCHER), str(descriptor)),
            pass_fds=(descriptor,),
            env=BARE,
            owner=None,
            close=lambda: os.close(descriptor),
            ends_on=signal.SIGTERM,
        )

    def _check(self, network_socket: Path | None) -> None:
        if network_socket is not None:
            raise SandboxUnavailable(
                "Commands have no network under Landlock; "
                "empty [sandbox] network, or use mode = bwrap."
            )
        if (found := self._abi()) < NEEDED_ABI:
            raise SandboxUnavailable(
                f"Landlock {NEEDED_ABI} or later is needed (Linux 6.12), this kernel has "
                f"{found or 'none'}; use a newer kernel, or bubblewrap."
            )

    def _orders(self, workspace: Path, command: str) -> Orders:
        settings = self._settings
        megabyte = 1024 * 1024
        return {
            "bot": os.getpid(),
            "owner": self._owner,
            "argv": ["/usr/bin/bash", "-c", command],
            "workspace": str(workspace),
            "environment": dict(ENVIRONMENT),
            "scratch": SCRATCH,
            "read": [*READ, *map(str, settings.read_only)],
            "devices": list(DEVICES),
            "limits": {
                "CORE": 0,
                "CPU": settings.cpu_s,
                "DATA": settings.memory_mb * megabyte,
                "FSIZE": settings.file_mb * megabyte,
                "NOFILE": 512,
                "MEMLOCK": 0,
                "MSGQUEUE": 0,
                "RTPRIO": 0,
            },
            "processes": settings.processes,
            "disk": settings.disk_mb * megabyte,
            "filter": filter_program(os.uname().machine, Sockets.NONE).hex(),
        }
