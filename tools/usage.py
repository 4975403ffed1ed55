"""How much of the disk a directory takes, counted so that nothing in it can hide."""

from __future__ import annotations

import os
import stat
from contextlib import suppress

DEEPEST = 100
"""Directories below each other that are counted; each one costs a descriptor meanwhile."""
AT_LEAST = 512
"""Bytes that every name counts for: an empty file takes room in the file system, too."""
UNCOUNTABLE = 2**62
"""The answer for a directory in which something is too deep or may not be looked into."""

_OPEN = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class _Enough(Exception):
    """No further counting changes the answer."""


def disk_usage(top: int, enough: int | None = None) -> int:
    """Bytes on disk of all that is below the directory open at `top`.

    Counting ends once it exceeds `enough`. A file with several names counts once; no link is
    followed. A directory that goes away meanwhile counts nothing.
    """
    count = _Count(enough)
    try:
        count.enter(os.dup(top), 0)
    except _Enough:
        return count.total
    return count.total


class _Count:
    def __init__(self, enough: int | None) -> None:
        self.total = 0
        self._enough = UNCOUNTABLE if enough is None else enough
        self._seen: set[tuple[int, int]] = set()

    def enter(self, directory: int, depth: int) -> None:
        """Count what is in `directory`, a descriptor that is closed on return."""
        try:
            for name in self._names(directory):
                with suppress(FileNotFoundError, NotADirectoryError):
                    self.enter(self._open(name, directory, depth), depth + 1)
        finally:
            os.close(directory)

    def _open(self, name: str, parent: int, depth: int) -> int:
        if depth < DEEPEST:
            with suppress(PermissionError):
                return os.open(name, _OPEN, dir_fd=parent)
        self.total = UNCOUNTABLE
        raise _Enough

    def _names(self, directory: int) -> list[str]:
        """The directories in a directory; what else is in it is counted at once."""
        found = []
        with os.scandir(directory) as entries:
            for entry in entries:
                with suppress(FileNotFoundError):
                    self._add(entry.stat(follow_symlinks=False))
                    if entry.is_dir(follow_symlinks=False):
                        found.append(entry.name)
        return found

    def _add(self, found: os.stat_result) -> None:
        if found.st_nlink > 1 and not stat.S_ISDIR(found.st_mode):
            identity = (found.st_dev, found.st_ino)
            if identity in self._seen:
                return
            self._seen.add(identity)
        self.total += max(AT_LEAST, found.st_blocks * 512)
        if self.total > self._enough:
            raise _Enough
