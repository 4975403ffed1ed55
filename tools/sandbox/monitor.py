"""Watches a running command from outside: what single-process limits cannot hold.

Every 100 ms it looks at the memory of all its processes together, their number, and the disk. A
burst within that time is bounded by the limits that the kernel keeps for each process.
"""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tools.sandbox.contract import Limit, SandboxSettings
from tools.sandbox.family import family

EVERY = 0.1
"""Seconds between two looks."""
MEGA = 1024 * 1024
FREE_FLOOR = 64 * MEGA
"""Bytes that stay free on the workspace's file system whatever the limits say."""
SHARED_ALLOWANCE = 320 * MEGA
"""What /tmp and /dev/shm of a command may hold in memory, beside its own limit."""
MEMORY_FLOOR = 0.03
"""The share of the host's memory that stays available; below it, commands are ended."""
SPARE_PROCESSES = 72
"""Above the kernel's own limit, for the sandbox's own processes and for hosts without that one."""

KIBI = 1024
_OWN = re.compile(r"^Rss(?:Anon|Shmem):\s+([0-9]+) kB$", re.MULTILINE)
"""See proc_pid_status(5)."""
_PROC = Path("/proc")


@dataclass(frozen=True, slots=True)
class Load:
    """What a command and all that it started use at one moment."""

    processes: int
    memory: int
    """Bytes that each process has for itself or shares, added up; shared ones count for each."""


@dataclass(frozen=True, slots=True)
class HostMemory:
    """Of the whole host, in bytes, from /proc/meminfo (proc_meminfo(5))."""

    total: int
    available: int
    shared: int
    """Held by files in memory and shared mappings, whoever made them and mapped or not."""


def host_memory() -> HostMemory:
    """As it is now."""
    lines = (line.split() for line in (_PROC / "meminfo").read_text("ascii").splitlines())
    sizes = {words[0]: int(words[1]) * 1024 for words in lines}
    return HostMemory(sizes["MemTotal:"], sizes["MemAvailable:"], sizes["Shmem:"])


def measure(root: int) -> Load:
    """The load of process `root` and everything below it; what is gone counts nothing."""
    found = list(family(root))
    return Load(len(found), sum(_own_memory(process) for process in found))


def _own_memory(process: int) -> int:
    """Without what is mapped from files, with what is shared: that is in no other limit."""
    try:
        status = (_PROC / str(process) / "status").read_text("utf-8", "replace")
    except OSError:
        return 0
    return KIBI * sum(map(int, _OWN.findall(status)))


async def watch_load(
    root: int, settings: SandboxSettings, shared_allowed: Callable[[], int]
) -> Limit:
    """Returns the limit that process `root` and its family exceeded, once one is.

    No process owns shared memory: it can be held unmapped, or by a descriptor that waits in a
    socket, where nobody finds it. It is seen by how the host's grows, and that may be by
    `shared_allowed` bytes. Another program of the host can therefore end a command by doing the
    same.
    """
    allowed = settings.memory_mb * MEGA
    before = host_memory()
    while True:
        await asyncio.sleep(EVERY)
        load, host = measure(root), host_memory()
        if load.memory > allowed or host.shared - before.shared > shared_allowed():
            return Limit.MEMORY
        if host.available < MEMORY_FLOOR * host.total:
            return Limit.MEMORY
        if load.processes > settings.processes + SPARE_PROCESSES:
            return Limit.PROCESSES


async def watch_disk(
    workspace: Path, allowed: Callable[[], int], most: int | None, usage: Callable[[], int]
) -> Limit:
    """Returns once the command has filled more of the disk than it may.

    The free space may shrink by `allowed` bytes: files that are deleted and still open take some,
    and are found nowhere else. The files may grow to `most`; `usage` counts their bytes; it may be
    slow, and is asked only while the free space shrinks.
    """
    free_before = free = free_bytes(workspace)
    while True:
        await asyncio.sleep(EVERY)
        free, free_last = free_bytes(workspace), free
        if free < FREE_FLOOR or free_before - free > allowed():
            return Limit.DISK
        shrinking = free < min(free_last, free_before)
        if most is not None and shrinking and await asyncio.to_thread(usage) > most:
            return Limit.DISK


def free_bytes(directory: Path) -> int:
    """Bytes that an ordinary user may still write to the file system of `directory`."""
    found = os.statvfs(directory)
    return found.f_bavail * found.f_frsize
