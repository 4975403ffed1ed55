"""What stands in one directory, read from its descriptor; no link is followed."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum

from tools.errors import ToolError
from tools.paths import TOP

SCAN_LIMIT = 20_000
"""Names read from one directory; what is beyond is only said to be there."""


MAX_DEPTH = 32
"""Directories below each other that a walk enters."""


class EntryKind(StrEnum):
    """What a name stands for."""

    FILE = "file"
    DIRECTORY = "directory"
    LINK = "link"
    OTHER = "other"
    """A FIFO, socket or device: shown, never opened."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One name in a directory. `target` is where a link points, as its text."""

    name: str
    kind: EntryKind
    size: int = 0
    """Bytes, as the directory says; 0 for all but files."""
    disk: int = 0
    """Bytes on disk: less than `size` for a file with holes."""
    target: str = ""


@dataclass(frozen=True, slots=True)
class Listing:
    """Names in order; `more` were left out, and `complete` is false if not even all were read."""

    entries: tuple[Entry, ...]
    more: int = 0
    complete: bool = True


def scan(fd: int, limit: int) -> Listing:
    """The first `limit` entries, by name, of the directory open at `fd`."""
    with os.scandir(fd) as names:
        found = list(itertools.islice(names, SCAN_LIMIT + 1))
        complete = len(found) <= SCAN_LIMIT
        found = sorted(found[:SCAN_LIMIT], key=lambda entry: entry.name)
        entries = tuple(filter(None, (_entry(fd, item) for item in found[:limit])))
    return Listing(entries, more=max(0, len(found) - limit), complete=complete)


def _entry(fd: int, item: os.DirEntry[str]) -> Entry | None:
    try:
        if item.is_symlink():
            target = os.readlink(item.name, dir_fd=fd)
            return Entry(item.name, EntryKind.LINK, target=target)
        if item.is_dir(follow_symlinks=False):
            return Entry(item.name, EntryKind.DIRECTORY)
        found = item.stat(follow_symlinks=False)
        if item.is_file(follow_symlinks=False):
            return Entry(item.name, EntryKind.FILE, found.st_size, found.st_blocks * 512)
        return Entry(item.name, EntryKind.OTHER)
    except OSError:
        return None  # the name went away between the two looks


def walk(
    list_directory: Callable[[str], Listing], start: str, skip: frozenset[str]
) -> Iterator[tuple[str, Entry]]:
    """Every entry below `start` with its path, a directory's own before what is deeper.

    Directories named in `skip`, too deep, gone or unreadable are not entered; `start` must be one.
    """
    waiting: list[str] = []
    yield from _children(list_directory, start, skip, waiting)
    while waiting:
        with suppress(ToolError):
            yield from _children(list_directory, waiting.pop(), skip, waiting)


def _children(
    list_directory: Callable[[str], Listing],
    directory: str,
    skip: frozenset[str],
    waiting: list[str],
) -> Iterator[tuple[str, Entry]]:
    prefix = "" if directory == TOP else directory + "/"
    below = []
    for entry in list_directory(directory).entries:
        yield prefix + entry.name, entry
        enter = entry.kind is EntryKind.DIRECTORY and entry.name not in skip
        if enter and prefix.count("/") < MAX_DEPTH:
            below.append(prefix + entry.name)
    waiting.extend(reversed(below))
