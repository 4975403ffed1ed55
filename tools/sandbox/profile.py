"""Bubblewrap: the exact list of arguments that holds a command in.

The command sees /usr, a few files of /etc, its workspace, and nothing else of the host; it has its
own processes, network, names and users, no capability, and no way to get one. Needs bubblewrap 0.8
or newer, and a kernel that lets an ordinary user make name spaces.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tools.errors import SandboxUnavailable
from tools.sandbox.contract import Launch, SandboxSettings
from tools.sandbox.forwarder import SOCKET, SOURCE
from tools.sandbox.leash import BASH, leashed
from tools.sandbox.seccomp import Sockets, filter_program

MOUNT = "/workspace"
"""Where commands find their workspace; `tools.paths` takes the name off again."""
LINKED = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")
"""Names in / that are links into /usr, or directories of their own on older hosts."""
SHOWN_ETC = (
    "alternatives",
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "localtime",
    "mime.types",
    "ssl/certs",
    "ssl/openssl.cnf",
    "ca-certificates",
    "pki/tls/certs",
    "pki/ca-trust/extracted",
)
KERNEL_SETTINGS = ("sys", "irq", "bus", "fs")
"""Parts of /proc that change the kernel; a second mount makes them read-only."""
MASKED = ("keys", "key-users", "kcore", "timer_list", "sched_debug", "latency_stats")
"""Files of /proc that tell of the whole host, whatever name space reads them."""
USER = 1000
"""Who a command is, inside."""
TEMPORARY_BYTES = 256 * 1024 * 1024
SHARED_MEMORY_BYTES = 64 * 1024 * 1024
PASSWD = f"root:x:0:0:root:/:/bin/sh\nagent:x:{USER}:{USER}:agent:/tmp/home:/bin/bash\n"
GROUP = f"root:x:0:\nagent:x:{USER}:\n"
ENVIRONMENT: Mapping[str, str] = {
    "PATH": "/usr/local/bin:/usr/bin:/bin",
    "LANG": "C.UTF-8",
    "TERM": "dumb",
    "HOME": "/tmp/home",  # noqa: S108 (a private one, inside)
    "TMPDIR": "/tmp",  # noqa: S108
    "USER": "agent",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "PAGER": "cat",
}
"""All that a command finds in its environment."""
BARE = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"}
"""The environment of bubblewrap itself, which commands could read."""
FORWARDER = "/run/forwarder.py"
PRLIMIT = "/usr/bin/prlimit"
NEEDED = (BASH, PRLIMIT)
"""What a run starts beside bubblewrap."""


@dataclass(frozen=True, slots=True)
class Descriptors:
    """Open files that bubblewrap reads: the filter, and the small files it makes inside."""

    seccomp: int
    passwd: int
    group: int
    gate: int
    """Of a pipe: it can be read (to its end) once the run is over, or the bot is."""
    forwarder: int | None = None

    def all(self) -> tuple[int, ...]:
        always = (self.seccomp, self.passwd, self.group, self.gate)
        return always if self.forwarder is None else (*always, self.forwarder)


@dataclass(frozen=True, slots=True)
class Bubblewrap:
    """`tools.sandbox.contract.Confinement` by bubblewrap at the absolute path `program`."""

    program: Path
    settings: SandboxSettings
    machine: str
    """As in os.uname()."""
    owner: tuple[int, int] | None = None
    """uid and gid to drop to when the bot is root."""
    host_proc: bool = False
    """Show the host's /proc, read-only: for containers that forbid to mount another."""

    @property
    def name(self) -> str:
        return "bwrap-hostproc" if self.host_proc else "bwrap"

    @property
    def gaps(self) -> tuple[str, ...]:
        if not self.host_proc:
            return ()
        return ("Commands see the names and command lines of the host's processes.",)

    def launch(self, workspace: Path, command: str, network_socket: Path | None) -> Launch:
        sockets = Sockets.UNIX if network_socket is None else Sockets.INET
        filtering = filter_program(self.machine, sockets)
        contents = {"seccomp": filtering, "passwd": PASSWD.encode(), "group": GROUP.encode()}
        if network_socket is not None:
            # By its content: the file itself may stand where only the bot's user can go.
            contents["forwarder"] = Path(SOURCE).read_bytes()
        gate, alive = _pipe()
        try:
            descriptors = Descriptors(**_open_all(contents), gate=gate)
        except SandboxUnavailable:
            _close_all((gate, alive))
            raise
        arguments = (
            *_name_spaces(host_proc=self.host_proc),
            *_environment(),
            *_system(_links(Path("/"))),
            *_files(descriptors),
            *_proc(host=self.host_proc),
            *_writable(workspace, self.settings.read_only),
            *_network(network_socket, descriptors),
            *("--remount-ro", "/dev", "--remount-ro", "/", "--seccomp", str(descriptors.seccomp)),
            "--",
            *(PRLIMIT, f"--nproc={self.settings.processes}", "--"),
            *(("/usr/bin/env", "python3", "-I", "-S", FORWARDER, "--") if network_socket else ()),
            *(BASH, "-c", command),
        )
        return Launch(
            argv=leashed(gate, (*_limits(self.settings), str(self.program), *arguments)),
            pass_fds=descriptors.all(),
            env=BARE,
            owner=self.owner,
            close=lambda: _close_all(descriptors.all()),
            alive=alive,
        )


def _name_spaces(*, host_proc: bool) -> Iterator[str]:
    for kind in ("user", "ipc", "pid", "net", "uts", "cgroup-try"):
        yield f"--unshare-{kind}"
    if not host_proc:  # it writes to /proc/sys, which is read-only there; the filter says it too
        yield from ("--disable-userns", "--assert-userns-disabled")
    yield from ("--uid", str(USER), "--gid", str(USER), "--hostname", "sandbox")
    yield from ("--die-with-parent", "--new-session", "--cap-drop", "ALL")


def _environment() -> Iterator[str]:
    yield "--clearenv"
    for name, value in ENVIRONMENT.items():
        yield from ("--setenv", name, value)


def _links(root: Path) -> Mapping[str, str | None]:
    """The names of LINKED that `root` has: what each link points to, None for a directory."""
    found = {name: root / name for name in LINKED if (root / name).exists()}
    return {
        name: str(path.readlink()) if path.is_symlink() else None for name, path in found.items()
    }


def _system(links: Mapping[str, str | None]) -> Iterator[str]:
    yield from ("--ro-bind", "/usr", "/usr")
    for name, target in links.items():
        if target is None:
            yield from ("--ro-bind", f"/{name}", f"/{name}")
        else:
            yield from ("--symlink", target, f"/{name}")
    for name in SHOWN_ETC:
        yield from ("--ro-bind-try", f"/etc/{name}", f"/etc/{name}")


def _files(descriptors: Descriptors) -> Iterator[str]:
    yield from ("--ro-bind-data", str(descriptors.passwd), "/etc/passwd")
    yield from ("--ro-bind-data", str(descriptors.group), "/etc/group")


def _proc(*, host: bool) -> Iterator[str]:
    if host:
        yield from ("--ro-bind", "/proc", "/proc")
    else:
        yield from ("--proc", "/proc")
        for name in KERNEL_SETTINGS:
            yield from ("--ro-bind-try", f"/proc/{name}", f"/proc/{name}")
    for name in MASKED:
        if Path("/proc", name).exists():
            yield from ("--ro-bind", "/dev/null", f"/proc/{name}")


def _writable(workspace: Path, read_only: Sequence[Path]) -> Iterator[str]:
    yield from ("--dev", "/dev")
    yield from ("--size", str(SHARED_MEMORY_BYTES), "--tmpfs", "/dev/shm")  # noqa: S108
    yield from ("--size", str(TEMPORARY_BYTES), "--tmpfs", "/tmp", "--dir", "/tmp/home")  # noqa: S108
    for path in read_only:
        yield from ("--ro-bind", str(path), str(path))
    yield from ("--bind", str(workspace), MOUNT, "--chdir", MOUNT)


def _network(network_socket: Path | None, descriptors: Descriptors) -> Iterator[str]:
    if network_socket is not None:
        yield from ("--ro-bind", str(network_socket), SOCKET)
        yield from ("--ro-bind-data", str(descriptors.forwarder), FORWARDER)


def _limits(settings: SandboxSettings) -> Iterator[str]:
    """Around bubblewrap, whose own process 1 a command can take over.

    The number of processes is not among them: it is set inside the user name space, where the
    kernel counts those of this command alone.
    """
    mega = 1024 * 1024
    yield PRLIMIT
    yield from ("--core=0:0", f"--cpu={settings.cpu_s}", f"--data={settings.memory_mb * mega}")
    yield from (f"--fsize={settings.file_mb * mega}", "--nofile=512", "--memlock=0")
    yield from ("--msgqueue=0", "--rtprio=0", "--")


def _pipe() -> tuple[int, int]:
    try:
        return os.pipe()
    except OSError as error:
        raise _unprepared(error) from error


def _unprepared(error: OSError) -> SandboxUnavailable:
    return SandboxUnavailable(
        f"The command was not run: its sandbox could not be prepared ({error.strerror}). "
        "Try again in a moment."
    )


def _open_all(contents: Mapping[str, bytes]) -> dict[str, int]:
    opened: dict[str, int] = {}
    try:
        for name, data in contents.items():
            opened[name] = os.memfd_create(name)
            os.write(opened[name], data)
            os.lseek(opened[name], 0, os.SEEK_SET)
    except OSError as error:
        _close_all(opened.values())
        raise _unprepared(error) from error
    return opened


def _close_all(descriptors: Iterable[int]) -> None:
    for descriptor in descriptors:
        os.close(descriptor)
