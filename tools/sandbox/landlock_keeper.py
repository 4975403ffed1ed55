"""The keeper of a command: starts it confined, inherits its orphans, and ends them all with it."""

# pathlib would add 10 ms to every command.
# ruff: noqa: PTH102, PTH106, PTH116, PTH118, PTH123, PTH208

from __future__ import annotations

import os
import resource
import signal
import stat
import time
from contextlib import suppress
from typing import NoReturn, TypedDict

from tools.sandbox.landlock_kernel import (
    Refused,
    die_with,
    drop_capabilities,
    inherit_orphans,
    install_filter,
    restrict_files,
    set_dumpable,
)

REFUSED = 125
"""Exit code where the command was not started; the reason is on stderr."""
AWAITED = frozenset({signal.SIGCHLD, signal.SIGTERM})
"""Blocked and waited for by leash and keeper."""
LOOK_EVERY = 0.2
"""Seconds between two looks at the free disk space."""


class Orders(TypedDict):
    """What the bot wants; paths are absolute and real."""

    bot: int
    """The process id of the bot: the launcher ends when it does."""
    owner: tuple[int, int] | None
    """uid and gid to become; only where the bot is root."""
    argv: list[str]
    workspace: str
    environment: dict[str, str]
    scratch: str
    """The directory in which the command's private HOME and TMPDIR are made."""
    read: list[str]
    devices: list[str]
    """Files to read and write, beside the workspace and the scratch directory."""
    limits: dict[str, int]
    """RLIMIT_* by the rest of the name."""
    processes: int
    disk: int
    """Bytes by which the free space of the scratch directory's file system may fall."""
    filter: str
    """The seccomp program, in hexadecimal."""


def refuse(error: Exception) -> NoReturn:
    os.write(2, f"The command was not started, because it cannot be held in: {error}\n".encode())
    os._exit(REFUSED)


def keep(orders: Orders, leash: int) -> NoReturn:
    """The keeper: runs the command to its end, then ends everything it has left behind."""
    try:
        os.setsid()  # out of the group that the bot kills: somebody has to clear up
        inherit_orphans()
        die_with(leash, signal.SIGTERM)
        scratch = os.path.join(orders["scratch"], f"treadle-{os.urandom(12).hex()}")
        os.mkdir(scratch, 0o700)
        try:
            code = _command(orders, scratch)
        finally:
            sweep()
            _remove(scratch)
    except (Refused, OSError) as error:
        refuse(error)
    os._exit(code)


def _command(orders: Orders, scratch: str) -> int:
    keeper = os.getpid()
    tasks = _tasks_of(os.getuid())
    child = os.fork()
    if child == 0:
        try:
            die_with(keeper, signal.SIGKILL)
            _confine(orders, scratch, tasks)
            signal.pthread_sigmask(signal.SIG_UNBLOCK, AWAITED)
            home = {"HOME": scratch, "TMPDIR": scratch}
            os.execve(orders["argv"][0], orders["argv"], orders["environment"] | home)  # noqa: S606
        except (Refused, OSError, ValueError) as error:
            refuse(error)
    floor = _free(scratch) - orders["disk"]
    while _free(scratch) > floor:
        signalled = signal.sigtimedwait(AWAITED, LOOK_EVERY)
        if signalled is not None and signalled.si_signo == signal.SIGTERM:
            return 128 + signal.SIGTERM
        for pid, status in ended():
            if pid == child:
                return exit_code(status)
    return 128 + signal.SIGKILL


def exit_code(status: int) -> int:
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code


def _free(directory: str) -> int:
    found = os.statvfs(directory)
    return found.f_bavail * found.f_frsize


def _tasks_of(uid: int) -> int:
    """How many tasks the user has already: RLIMIT_NPROC counts them with the command's."""
    count = 0
    for name in filter(str.isdecimal, os.listdir("/proc")):
        with suppress(OSError):
            found = os.stat(f"/proc/{name}/task")
            count += found.st_nlink - 2 if found.st_uid == uid else 0
    return count


def _confine(orders: Orders, scratch: str, tasks: int) -> None:
    """Give up everything that the command must not have."""
    os.setsid()
    os.chdir(orders["workspace"])
    os.closerange(3, 1 << 20)
    set_dumpable(True)
    drop_capabilities()
    limits = {**orders["limits"], "NPROC": tasks + orders["processes"]}
    for name, value in limits.items():
        resource.setrlimit(getattr(resource, f"RLIMIT_{name}"), (value, value))
    restrict_files((orders["workspace"], scratch), orders["devices"], orders["read"])
    install_filter(bytes.fromhex(orders["filter"]))


def ended() -> list[tuple[int, int]]:
    """The children that have ended since, each with its status."""
    found = []
    with suppress(ChildProcessError):
        while (child := os.waitpid(-1, os.WNOHANG))[0]:
            found.append(child)
    return found


def sweep() -> None:
    """End every descendant: stopped first, so that none forks while the others are killed."""
    while True:
        for number in (signal.SIGSTOP, signal.SIGKILL):
            for pid in _descendants(os.getpid()):
                with suppress(OSError):
                    os.kill(pid, number)
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return
        time.sleep(0.002)


def _descendants(root: int) -> list[int]:
    found, left = [], [root]
    while left:
        pid = left.pop()
        with suppress(OSError):
            for task in os.listdir(f"/proc/{pid}/task"):
                with open(f"/proc/{pid}/task/{task}/children") as file:
                    children = [int(word) for word in file.read().split()]
                found += children
                left += children
    return found


def _remove(directory: str) -> None:
    """Delete what the command left: any depth with two descriptors, and no link is followed."""
    top = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    moved = 0
    while names := os.listdir(top):
        for name in names:
            if not stat.S_ISDIR(os.stat(name, dir_fd=top, follow_symlinks=False).st_mode):
                os.unlink(name, dir_fd=top)
                continue
            os.chmod(name, 0o700, dir_fd=top)
            child = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=top)
            for inner in os.listdir(child):
                if stat.S_ISDIR(os.stat(inner, dir_fd=child, follow_symlinks=False).st_mode):
                    os.chmod(inner, 0o700, dir_fd=child)  # moving a directory writes into it
                moved += 1
                os.rename(inner, f"{moved}-{os.urandom(8).hex()}", src_dir_fd=child, dst_dir_fd=top)
            os.close(child)
            os.rmdir(name, dir_fd=top)
    os.close(top)
    os.rmdir(directory)
