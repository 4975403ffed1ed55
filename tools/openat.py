"""Opening paths below a directory descriptor without ever leaving it.

Two implementations of one contract (`Opener`): the kernel's openat2(2), and a walk over the
components with O_NOFOLLOW for kernels and containers that lack it. Neither follows a symbolic
link, crosses to another file system, or waits for a FIFO. Linux and other POSIX systems with
`dir_fd`; see openat2(2) for the flags and their numbers.
"""

from __future__ import annotations

import ctypes
import errno
import functools
import os
import stat
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

SYS_OPENAT2 = 437
"""The same on x86_64 and aarch64 (every architecture numbers calls alike since Linux 5.1)."""
RESOLVE_NO_XDEV = 0x01
RESOLVE_NO_MAGICLINKS = 0x02
RESOLVE_NO_SYMLINKS = 0x04
RESOLVE_BENEATH = 0x08
RESOLVE = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS | RESOLVE_NO_XDEV
RETRIES = 32
"""How often EAGAIN (a rename raced with the look-up) is tried again."""

O_PATH = getattr(os, "O_PATH", os.O_RDONLY)
"""A handle for a directory that need not be readable; plain reading where that does not exist."""
DIRECTORY = O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class Opener(Protocol):
    """Opens `path`, a relative POSIX path without `..`, below `dir_fd`; raises OSError.

    A link anywhere in the path gives ELOOP, another file system EXDEV. O_CLOEXEC, O_NOCTTY and
    O_NONBLOCK are added to `flags`, so that nothing leaks to children and no FIFO blocks.
    """

    def __call__(self, dir_fd: int, path: str, flags: int, mode: int = 0) -> int: ...


class _OpenHow(ctypes.Structure):
    """struct open_how of linux/openat2.h."""

    _fields_ = (
        ("flags", ctypes.c_uint64),
        ("mode", ctypes.c_uint64),
        ("resolve", ctypes.c_uint64),
    )


@functools.cache
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _complete(flags: int) -> int:
    # openat2 answers EINVAL to anything that has no meaning beside O_PATH.
    if O_PATH != os.O_RDONLY and flags & O_PATH:
        return flags | os.O_CLOEXEC
    return flags | os.O_CLOEXEC | os.O_NOCTTY | os.O_NONBLOCK


def open_by_kernel(dir_fd: int, path: str, flags: int, mode: int = 0) -> int:
    """The `Opener` of Linux ≥ 5.6; where it is absent: ENOSYS, or EPERM in some containers."""
    # RESOLVE_NO_SYMLINKS refuses the last component too, and with ELOOP; beside O_NOFOLLOW it
    # would hand out an O_PATH descriptor of the link itself (openat2(2)).
    how = _OpenHow(_complete(flags) & ~os.O_NOFOLLOW, mode, RESOLVE)
    for _ in range(RETRIES):
        fd = _libc().syscall(
            ctypes.c_long(SYS_OPENAT2),
            ctypes.c_int(dir_fd),
            ctypes.c_char_p(os.fsencode(path)),
            ctypes.byref(how),
            ctypes.c_size_t(ctypes.sizeof(how)),
        )
        if fd >= 0:
            return int(fd)
        code = ctypes.get_errno()
        if code not in (errno.EAGAIN, errno.EINTR):
            raise OSError(code, os.strerror(code), path)
    raise OSError(errno.EAGAIN, os.strerror(errno.EAGAIN), path)


def open_by_walk(dir_fd: int, path: str, flags: int, mode: int = 0) -> int:
    """The portable `Opener`. Knows another file system by st_dev, not a bind mount of the same."""
    parts = [part for part in path.split("/") if part not in ("", ".")] or ["."]
    if ".." in parts or path.startswith("/"):
        raise OSError(errno.EXDEV, os.strerror(errno.EXDEV), path)
    device = os.fstat(dir_fd).st_dev
    parent = os.dup(dir_fd)
    try:
        for part in parts[:-1]:
            child = _open_child(parent, part, DIRECTORY, 0, device)
            os.close(parent)
            parent = child
        return _open_child(parent, parts[-1], _complete(flags | os.O_NOFOLLOW), mode, device)
    finally:
        os.close(parent)


def _open_child(parent: int, name: str, flags: int, mode: int, device: int) -> int:
    try:
        fd = os.open(name, flags, mode, dir_fd=parent)
    except NotADirectoryError as error:
        # A link opened with O_DIRECTORY says ENOTDIR; the caller is to hear of the link.
        if stat.S_ISLNK(os.stat(name, dir_fd=parent, follow_symlinks=False).st_mode):
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), name) from error
        raise
    found = os.fstat(fd)
    if stat.S_ISLNK(found.st_mode) or found.st_dev != device:  # O_PATH opens the link itself
        os.close(fd)
        code = errno.EXDEV if found.st_dev != device else errno.ELOOP
        raise OSError(code, os.strerror(code), name)
    return fd


def open_beneath(dir_fd: int, path: str, flags: int, mode: int = 0) -> int:
    """The `Opener` to use: the kernel's where it exists, else the walk."""
    try:
        return open_by_kernel(dir_fd, path, flags, mode)
    except OSError as error:
        if error.errno not in (errno.ENOSYS, errno.EPERM):
            raise
    return open_by_walk(dir_fd, path, flags, mode)


class DirectoryHandle:
    """A directory descriptor that several threads may use while its owner closes it.

    The number is freed when the last user is done: a thread that outlives its cancelled call must
    never find another directory under the same number.
    """

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._users = 0
        self._closed = False
        self._lock = threading.Lock()

    @contextmanager
    def hold(self) -> Iterator[int]:
        """The descriptor, valid inside the block. Raises OSError (EBADF) once closed."""
        with self._lock:
            if self._closed:
                raise OSError(errno.EBADF, "the workspace is closed")
            self._users += 1
        try:
            yield self._fd
        finally:
            with self._lock:
                self._users -= 1
                self._free_if_unused()

    def close(self) -> None:
        """Refuse new users; may be called twice."""
        with self._lock:
            if not self._closed:
                self._closed = True
                self._free_if_unused()

    def _free_if_unused(self) -> None:
        if self._closed and self._users == 0:
            os.close(self._fd)
            self._users = -1
