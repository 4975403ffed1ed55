"""What the parts of the sandbox say to each other: its settings, a way in, and a result."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from signal import Signals
from typing import Literal, Protocol

Mode = Literal["auto", "bwrap", "bwrap-hostproc", "landlock", "off"]


@dataclass(frozen=True, slots=True)
class SandboxSettings:
    """How commands are held in."""

    mode: Mode = "auto"
    """`auto` is bubblewrap or nothing; `off` means that no command can be run."""
    network: tuple[str, ...] = ()
    """Host names that commands may reach; empty: no network."""
    uid: int = 10001
    """The user and group that commands run as when the bot was started as root."""
    timeout_s: int = 60
    """Seconds of wall time for a command that does not ask for less."""
    memory_mb: int = 1024
    """Of each process's data, and of all processes of a command together."""
    processes: int = 128
    output_kb: int = 256
    """Of output that is read; a command that writes more is ended."""
    read_only: tuple[Path, ...] = ()
    """Absolute paths of further directories that commands may read."""
    cpu_s: int = 60
    """Seconds of processor time for each process."""
    file_mb: int = 200
    """The largest file that a command may write."""
    disk_mb: int = 1024
    """How much a command may take from the free space of the workspace's file system."""
    quota_mb: int | None = None
    """On disk that each workspace may hold."""


class Limit(StrEnum):
    """Why a command was ended before it came to its own end."""

    TIME = "time"
    OUTPUT = "output"
    MEMORY = "memory"
    PROCESSES = "processes"
    DISK = "disk"


@dataclass(frozen=True, slots=True)
class Completed:
    """A command that has ended, by itself or because of a limit."""

    text: str
    """What it wrote to both streams, in order."""
    exit_code: int | None
    """None if a signal or a limit ended it."""
    seconds: float
    stopped_for: Limit | None = None
    signal: int | None = None
    over_quota: bool = False
    """Whether the workspace held too much before, so that files could only be deleted."""
    uncountable: bool = False
    """Whether nobody could tell before what it holds: the same then, for another reason."""


@dataclass(frozen=True, slots=True)
class Launch:
    """A process to start. `close` gives its descriptors back and must be called once."""

    argv: tuple[str, ...]
    pass_fds: tuple[int, ...]
    env: Mapping[str, str]
    owner: tuple[int, int] | None
    """uid and gid to drop to; None where the bot is no root."""
    close: Callable[[], None]
    ends_on: Signals | None = None
    """The signal at which it ends with everything that it started."""
    alive: int | None = None
    """The end of a pipe whose closing does the same; if the bot ends, the kernel closes it."""


class Confinement(Protocol):
    """A way to start a command so that the kernel holds it in."""

    @property
    def name(self) -> str:
        """As in `sandbox.mode`."""

    @property
    def gaps(self) -> tuple[str, ...]:
        """What it is known not to stop, one sentence each."""

    def launch(self, workspace: Path, command: str, network_socket: Path | None) -> Launch:
        """The process that runs `command` by bash in `workspace`.

        `network_socket`: the proxy's socket on the host, or None for no network. Raises
        SandboxUnavailable if it cannot be prepared.
        """


class Network(Protocol):
    """The way out for a command that may reach some hosts: one socket for each run."""

    def open(self) -> AbstractAsyncContextManager[Path]:
        """A unix socket that speaks CONNECT; it and its connections are gone at the end.

        A confinement binds it to the SOCKET of `tools.sandbox.forwarder` inside, and starts the
        command by that program, which offers it on the sandbox's own loopback.
        """
