"""What is measured of a family of processes, and what ends it; on processes without a sandbox."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from tools.sandbox.contract import Limit, SandboxSettings
from tools.sandbox.monitor import free_bytes, host_memory, measure, watch_disk, watch_load

MEGA = 1024 * 1024
WIDE = SandboxSettings(memory_mb=100_000, processes=100_000)


def plenty() -> int:
    return 10**15


@contextmanager
def family(script: str) -> Iterator[int]:
    """A Python process that has printed a line; it and all its children end at the end."""
    with subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, start_new_session=True
    ) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline()
            yield process.pid
        finally:
            os.killpg(process.pid, signal.SIGKILL)


CHILDREN = """
import os, signal
for _ in range({count}):
    if os.fork() == 0:
        held = bytearray(b"x" * ({mega} << 20))
        print("ready", flush=True)
        signal.pause()
signal.pause()
"""


async def test_memory_and_number_are_of_all_processes_together() -> None:
    with family(CHILDREN.format(count=3, mega=40)) as root:
        while measure(root).memory < 120 * MEGA:
            await asyncio.sleep(0.01)
        load = measure(root)

    assert load.processes == 4
    assert 120 * MEGA <= load.memory < 300 * MEGA


async def test_a_process_that_is_gone_counts_nothing() -> None:
    with family("print('here', flush=True); import time; time.sleep(60)") as root:
        assert measure(root).processes == 1

    assert measure(root).memory == 0


async def test_too_many_processes_are_noticed() -> None:
    with family(CHILDREN.format(count=90, mega=0)) as root:
        limit = await asyncio.wait_for(watch_load(root, replace(WIDE, processes=1), plenty), 10)

    assert limit is Limit.PROCESSES


async def test_a_family_within_its_limits_is_left_alone() -> None:
    with family(CHILDREN.format(count=3, mega=1)) as root:
        watch = asyncio.create_task(watch_load(root, WIDE, plenty))
        done, _ = await asyncio.wait({watch}, timeout=0.5)
        watch.cancel()

    assert not done


async def test_the_quota_is_counted_only_while_the_disk_fills(tmp_path: Path) -> None:
    asked: list[int] = []

    def usage() -> int:
        asked.append(1)
        return 3 * MEGA

    watch = asyncio.create_task(watch_disk(tmp_path, plenty, 2 * MEGA, usage))
    free = free_bytes(tmp_path)
    while not watch.done():
        with (tmp_path / "growing").open("ab") as file:
            file.write(b"x" * MEGA)
        await asyncio.sleep(0.05)

    assert watch.result() is Limit.DISK
    assert asked == [1]
    assert free_bytes(tmp_path) < free


def test_the_hosts_memory_is_read() -> None:
    found = host_memory()

    assert 0 < found.available < found.total
    assert 0 <= found.shared < found.total
