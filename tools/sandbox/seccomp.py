"""The system call filter of every command: classic BPF, made in Python, for x86_64 and aarch64.

A list of what is denied (EPERM), everything else is allowed. What a name space or Landlock already
keeps out of reach stands here a second time; what they do not know stands here alone: sockets of
other families (a network name space does not part AF_VSOCK), typing into a terminal (TIOCSTI),
set-uid files left in the workspace, and the parts of the kernel that attackers use first.

Format: struct sock_filter and struct seccomp_data of the kernel's linux/filter.h and
linux/seccomp.h; the argument n stands at offset 16 + 8 n, its low half first on both machines.
"""

from __future__ import annotations

import errno
import struct
from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from typing import NamedTuple

from tools.errors import SandboxUnavailable
from tools.sandbox.syscalls import (
    ATTACKED,
    BURSTS,
    JUDGED,
    KEYS,
    MACHINE,
    MOUNTS,
    NODES,
    OTHERS,
    PRIORITIES,
    QUEUES,
    SOCKETS,
    UNCOUNTED,
    WATCHES,
    Numbers,
)

LOAD, AND, RETURN = 0x20, 0x54, 0x06
EQUAL, AT_LEAST, ANY_BIT = 0x15, 0x35, 0x45
ALLOW, KILL_PROCESS, ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
NUMBER_AT, MACHINE_AT = 0, 4
X32_BIT = 0x40000000
"""Numbers from here on are the x32 calls of an x86_64 kernel: other numbers for the same deeds."""

_NEW_NAME_SPACE = 0x7E020080
"""CLONE_NEWNS NEWCGROUP NEWUTS NEWIPC NEWUSER NEWPID NEWNET NEWTIME."""
_SET_ID = 0o6000
_CREATE = 0o100 | 0o20000000  # O_CREAT and O_TMPFILE: the opens that carry a mode
_TYPE, _CHARACTER, _BLOCK = 0o170000, 0o020000, 0o060000
_TIOCSTI, _TIOCLINUX = 0x5412, 0x541C
_UNIX, _INET, _INET6 = 1, 2, 10
_ITSELF, _THIS_PROCESS, _THIS_PROCESS_IO = 0, 0, 1
"""An id of 0; PRIO_PROCESS and IOPRIO_WHO_PROCESS."""
_PAGE = 4096
_SOCKET_KIND, _STREAM, _SEQUENCED = 0xF, 1, 5


class Sockets(Enum):
    """Which sockets a command may open."""

    UNIX = "unix"
    INET = "unix and inet, for the proxy on the sandbox's own loopback"
    NONE = "none, where no network name space holds them in; socketpair stays"


class Machine(NamedTuple):
    """A kind of processor: its AUDIT_ARCH_* value and its column in the table of numbers."""

    audit: int
    column: int


MACHINES = {"x86_64": Machine(0xC000003E, 0), "aarch64": Machine(0xC00000B7, 1)}


class Instruction(NamedTuple):
    """One struct sock_filter; jumps count the instructions to skip."""

    code: int
    value: int
    if_true: int = 0
    if_false: int = 0


def _error(number: int) -> Instruction:
    return Instruction(RETURN, ERRNO | number)


_ALLOWED = Instruction(RETURN, ALLOW)
_DENIED = _error(errno.EPERM)


def filter_program(machine: str, sockets: Sockets) -> bytes:
    """The filter as the kernel takes it. `machine` as in os.uname(); raises SandboxUnavailable."""
    if machine not in MACHINES:
        raise SandboxUnavailable(
            f"Commands can be held in on {' and '.join(MACHINES)}; this machine is {machine}."
        )
    return b"".join(
        struct.pack("<HBBI", step.code, step.if_true, step.if_false, step.value)
        for step in _steps(MACHINES[machine], sockets)
    )


def _steps(machine: Machine, sockets: Sockets) -> Iterator[Instruction]:
    yield Instruction(LOAD, MACHINE_AT)
    yield Instruction(EQUAL, machine.audit, if_true=1)
    yield Instruction(RETURN, KILL_PROCESS)
    yield Instruction(LOAD, NUMBER_AT)
    if machine.column == 0:
        yield Instruction(AT_LEAST, X32_BIT, if_false=1)
        yield _DENIED
    for name, numbers in _judged(sockets):
        number = numbers[machine.column]
        if number is not None:
            body = _body(name, sockets)
            yield Instruction(EQUAL, number, if_false=len(body))
            yield from body
    yield _ALLOWED


def _judged(sockets: Sockets) -> Iterator[tuple[str, Numbers]]:
    yield from JUDGED.items()
    groups = [OTHERS, MOUNTS, KEYS, ATTACKED, MACHINE, NODES, UNCOUNTED, BURSTS]
    if sockets is Sockets.NONE:
        groups += [QUEUES, SOCKETS, WATCHES, PRIORITIES]
    for group in groups:
        yield from group.items()


def _body(name: str, sockets: Sockets) -> Sequence[Instruction]:
    """What is done about a call; it always ends with a verdict."""
    match name:
        case "clone":
            return _without(0, _NEW_NAME_SPACE)
        case "clone3" | "openat2":  # the flags stand behind a pointer; C libraries then use
            return [_error(errno.ENOSYS)]  # clone and openat
        case "memfd_create" | "inotify_init" | "inotify_init1":  # programs then do without
            return [_error(errno.ENOSYS)]
        case "fallocate":  # C libraries then write for posix_fallocate
            return [_error(errno.EOPNOTSUPP)]
        case "shmget":
            return [_error(errno.ENOSYS)] if sockets is Sockets.NONE else _small(1)
        case "setpriority":
            return _only({0: _THIS_PROCESS, 1: _ITSELF})
        case "ioprio_set":
            return _only({0: _THIS_PROCESS_IO, 1: _ITSELF})
        case _ if name in PRIORITIES:
            return _only({0: _ITSELF})
        case "ioctl":  # the kernel reads 32 bits of the request, so only these are compared
            return _among(1, (_TIOCSTI, _TIOCLINUX), hit=_DENIED, miss=_ALLOWED)
        case "socket" | "socketpair":
            return _families(name, sockets)
        case "chmod" | "fchmod" | "creat":
            return _without(1, _SET_ID)
        case "fchmodat" | "fchmodat2":
            return _without(2, _SET_ID)
        case "open":
            return _creating(1)
        case "openat":
            return _creating(2)
        case "mknod":
            return _no_device(1)
        case "mknodat":
            return _no_device(2)
        case _:
            return [_DENIED]


def _argument(position: int) -> Instruction:
    return Instruction(LOAD, 16 + 8 * position)


def _without(position: int, bits: int) -> list[Instruction]:
    return [_argument(position), Instruction(ANY_BIT, bits, if_false=1), _DENIED, _ALLOWED]


def _only(wanted: Mapping[int, int]) -> list[Instruction]:
    """These values of these arguments, which the kernel reads as 32 bits."""
    tests = [
        step
        for position, value in wanted.items()
        for step in (_argument(position), Instruction(EQUAL, value, if_true=1), _DENIED)
    ]
    return [*tests, _ALLOWED]


def _small(position: int) -> list[Instruction]:
    """A size of up to one page: what databases lock with, and no place to keep anything."""
    return [
        Instruction(LOAD, 16 + 8 * position + 4),
        Instruction(EQUAL, 0, if_true=1),
        _error(errno.ENOSYS),
        _argument(position),
        Instruction(AT_LEAST, _PAGE + 1, if_false=1),
        _error(errno.ENOSYS),
        _ALLOWED,
    ]


def _among(
    position: int, values: Sequence[int], hit: Instruction, miss: Instruction
) -> list[Instruction]:
    tests = [
        Instruction(EQUAL, value, if_true=len(values) - place) for place, value in enumerate(values)
    ]
    return [_argument(position), *tests, miss, hit]


def _families(name: str, sockets: Sockets) -> list[Instruction]:
    refused = _error(errno.EAFNOSUPPORT)
    if sockets is Sockets.NONE:
        return [refused] if name == "socket" else _stream_pair(refused)
    more = (_INET, _INET6) if name == "socket" and sockets is Sockets.INET else ()
    return _among(0, (_UNIX, *more), hit=_ALLOWED, miss=refused)


def _stream_pair(refused: Instruction) -> list[Instruction]:
    """A datagram socket of a pair could be sent to, or connected with, any socket of the host."""
    return [
        _argument(0),
        Instruction(EQUAL, _UNIX, if_true=1),
        refused,
        _argument(1),
        Instruction(AND, _SOCKET_KIND),
        Instruction(EQUAL, _STREAM, if_true=2),
        Instruction(EQUAL, _SEQUENCED, if_true=1),
        refused,
        _ALLOWED,
    ]


def _creating(flags: int) -> list[Instruction]:
    """Set-uid bits in a mode, which is only there (and only then no garbage) with O_CREAT."""
    return [
        _argument(flags),
        Instruction(ANY_BIT, _CREATE, if_true=1),
        _ALLOWED,
        *_without(flags + 1, _SET_ID),
    ]


def _no_device(mode: int) -> list[Instruction]:
    return [
        _argument(mode),
        Instruction(ANY_BIT, _SET_ID, if_true=3),
        Instruction(AND, _TYPE),
        Instruction(EQUAL, _CHARACTER, if_true=1),
        Instruction(EQUAL, _BLOCK, if_false=1),
        _DENIED,
        _ALLOWED,
    ]
