"""A file's content through its descriptor: judged by what was opened, never by its name."""

from __future__ import annotations

import errno
import os
import stat

from tools.errors import NotAllowed
from tools.paths import shown

BINARY_PROBE = 8 * 1024
"""A NUL within this many bytes makes a file binary."""
_CHUNK = 256 * 1024


def read_regular(fd: int, path: str, limit: int) -> bytes:
    """What is in the regular file open at `fd`: at most `limit` bytes, whatever its size claims.

    Raises NotAllowed for directories, FIFOs and devices, for a file with a second name (it may
    stand outside the workspace), and for more than `limit` bytes; BlockingIOError if the file was
    replaced since it was opened.
    """
    found = os.fstat(fd)
    if stat.S_ISDIR(found.st_mode):
        raise NotAllowed(f"{shown(path)} is a directory; use list_dir, or name a file in it.")
    if not stat.S_ISREG(found.st_mode):
        raise NotAllowed(f"{shown(path)} is not a regular file (a FIFO or device); it is not read.")
    if found.st_nlink == 0:
        raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN), path)
    if found.st_nlink != 1:
        raise NotAllowed(
            f"{shown(path)} has a second name (hard link), perhaps outside the workspace; "
            "make a copy of it and use the copy."
        )
    if found.st_size > limit:
        raise _too_large(path, size(found.st_size), limit)
    data = bytearray()
    while len(data) <= limit:
        block = os.read(fd, min(_CHUNK, limit + 1 - len(data)))
        if not block:
            return bytes(data)
        data += block
    raise _too_large(path, "still growing", limit)


def _too_large(path: str, what: str, limit: int) -> NotAllowed:
    return NotAllowed(
        f"{shown(path)} is {what}; files of up to {size(limit)} can be read. "
        "Use a smaller file, or a part of it made by a command."
    )


def fill(fd: int, data: bytes, mode: int, owner: tuple[int, int] | None) -> None:
    """Write all of `data` to the new file at `fd` and make it durable."""
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(fd, rest) :]
    if owner is not None:
        os.fchown(fd, *owner)
    os.fchmod(fd, mode)  # after fchown, which clears bits
    os.fsync(fd)


def is_binary(data: bytes) -> bool:
    """Whether this is no text: a NUL near its start."""
    return b"\0" in data[:BINARY_PROBE]


def size(count: int) -> str:
    """A number of bytes for people: `999 bytes`, `1.5 kB`, `50.0 GB` (powers of 1024)."""
    if count < 1024:
        return f"{count} bytes" if count != 1 else "1 byte"
    amount = float(count)
    for unit in ("kB", "MB", "GB"):
        amount /= 1024
        if amount < 1024:
            return f"{amount:.1f} {unit}"
    return f"{amount / 1024:.1f} TB"


def mode_of_regular(parent: int, name: str, path: str) -> int | None:
    """The permission bits of the file that is to be replaced, None if there is none.

    Raises NotAllowed if the name stands for anything but a regular file.
    """
    try:
        found = os.stat(name, dir_fd=parent, follow_symlinks=False)
    except FileNotFoundError:
        return None
    if not stat.S_ISREG(found.st_mode):
        raise NotAllowed(
            f"{shown(path)} exists and is not a regular file (a directory, link, FIFO or device); "
            "choose another name."
        )
    return found.st_mode & 0o777
