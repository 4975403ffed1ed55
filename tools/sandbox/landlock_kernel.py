"""What the Landlock launcher asks of the kernel, by ctypes: rules, filter, capabilities.

Sources: landlock(7), prctl(2), capset(2), and linux/landlock.h, linux/prctl.h for the numbers.
"""

from __future__ import annotations

import ctypes
import os
import signal
import stat
import struct
from collections.abc import Sequence
from contextlib import suppress
from functools import cache

NEEDED_ABI = 6
"""The first Landlock that holds in signals and abstract sockets."""

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446  # the same on every architecture
_ASK_VERSION = 1
_PATH_BENEATH = 1
_EXECUTE, _WRITE, _READ, _READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
_MAKE_CHAR, _MAKE_SOCK, _MAKE_BLOCK, _TRUNCATE = 1 << 6, 1 << 9, 1 << 11, 1 << 14
_ALL_FILES = (1 << 16) - 1
_ALL_TCP = 0b11
_ALL_SCOPES = 0b11  # abstract unix sockets, signals

_SET_DEATH_SIGNAL, _SET_DUMPABLE, _SET_SECCOMP = 1, 4, 22
_SET_SUBREAPER, _SET_NO_NEW_PRIVS = 36, 38
_SECCOMP_FILTER = 2
_CAPABILITY_VERSION_3 = 0x20080522


class Refused(Exception):
    """The command cannot be held in; the text says why."""


class _Filter(ctypes.Structure):
    """struct sock_fprog of linux/filter.h."""

    _fields_ = (("length", ctypes.c_ushort), ("steps", ctypes.c_char_p))


class _Capabilities(ctypes.Structure):
    """struct __user_cap_header_struct of linux/capability.h."""

    _fields_ = (("version", ctypes.c_uint32), ("pid", ctypes.c_int))


@cache
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _check(result: int, what: str) -> int:
    if result < 0:
        raise Refused(f"{what}: {os.strerror(ctypes.get_errno())}")
    return result


def _call(number: int, *arguments: int | bytes | None) -> int:
    words = [ctypes.c_long(a) if isinstance(a, int) else ctypes.c_char_p(a) for a in arguments]
    return int(_libc().syscall(ctypes.c_long(number), *words))


def _prctl(option: int, value: int) -> None:
    _check(_libc().prctl(option, *map(ctypes.c_ulong, (value, 0, 0, 0))), f"prctl {option}")


def landlock_abi() -> int:
    """The kernel's version of Landlock; 0 where there is none."""
    return max(0, _call(_CREATE_RULESET, None, 0, _ASK_VERSION))


def no_new_privileges() -> None:
    """From here on no program gives rights; needed before the filter and the rules."""
    _prctl(_SET_NO_NEW_PRIVS, 1)


def inherit_orphans() -> None:
    """Orphans below this process become its children."""
    _prctl(_SET_SUBREAPER, 1)


def set_dumpable(dumpable: bool) -> None:
    """Whether other processes of the user may look into this one."""
    _prctl(_SET_DUMPABLE, int(dumpable))


def die_with(parent: int, number: signal.Signals) -> None:
    """Get `number` when the process `parent`, which started this one, ends."""
    _prctl(_SET_DEATH_SIGNAL, number)
    if os.getppid() != parent:
        raise Refused("the process that asked for it has ended")


def drop_capabilities() -> None:
    """All of them, for good."""
    header, nothing = _Capabilities(_CAPABILITY_VERSION_3, 0), (ctypes.c_uint32 * 6)()
    _check(_libc().capset(ctypes.byref(header), nothing), "capset")


def install_filter(program: bytes) -> None:
    """The seccomp filter, for this process and all that it starts."""
    steps = _Filter(len(program) // 8, program)
    done = _libc().prctl(_SET_SECCOMP, ctypes.c_ulong(_SECCOMP_FILTER), ctypes.byref(steps))
    _check(done, "seccomp")


def restrict_files(write: Sequence[str], devices: Sequence[str], read: Sequence[str]) -> None:
    """Nothing but these: trees to use, files to read and write, trees to read and execute.

    Also: no TCP, no abstract socket and no signal beyond this process and what it starts. Raises
    Refused on an older kernel, OSError for a tree to write that is not there.
    """
    if (abi := landlock_abi()) < NEEDED_ABI:
        raise Refused(f"Landlock {NEEDED_ABI} or later is needed, this kernel has {abi}")
    handled = struct.pack("=QQQ", _ALL_FILES, _ALL_TCP, _ALL_SCOPES)
    rules = _check(_call(_CREATE_RULESET, handled, len(handled), 0), "Landlock")
    for path in write:
        _permit(rules, path, _ALL_FILES & ~(_MAKE_CHAR | _MAKE_BLOCK | _MAKE_SOCK))
    for path in devices:
        _permit(rules, path, _READ | _WRITE)
    for path in read:
        with suppress(FileNotFoundError):
            _permit(rules, path, _EXECUTE | _READ | _READ_DIR)
    _check(_call(_RESTRICT_SELF, rules, 0), "Landlock")
    os.close(rules)


def _permit(rules: int, path: str, access: int) -> None:
    descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    try:
        if not stat.S_ISDIR(os.fstat(descriptor).st_mode):
            access &= _EXECUTE | _READ | _WRITE | _TRUNCATE
        rule = struct.pack("=Qi", access, descriptor)
        _check(_call(_ADD_RULE, rules, _PATH_BENEATH, rule, 0), f"Landlock {path}")
    finally:
        os.close(descriptor)
