"""A process and all that came from it, as /proc shows them: who they are, and how all are ended."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

_PROC = Path("/proc")
_STOPPED = "TtZX"
"""States in which a process starts no other; see proc_pid_stat(5)."""
_PATIENCE = 0.25
"""Seconds for a process to stop; it takes as long as the system call it is in."""


def family(root: int) -> Iterator[int]:
    """Process `root` and everything below it; what ends meanwhile may be left out."""
    waiting, seen = [root], {root}
    while waiting:
        process = waiting.pop()
        yield process
        new = set(_children(process)) - seen
        seen |= new
        waiting.extend(new)


def end_family(root: int) -> None:
    """Kill process `root`, a child of this one that was not waited for, and all below it.

    Each is stopped before it is asked who is below it, so that it starts nothing after that:
    bubblewrap's second process would be missed, and is not bound to the first from its beginning.
    """
    waiting, found = [root], []
    while waiting:
        process = waiting.pop()
        _stop(process)
        found.append(process)
        waiting.extend(_children(process))
    for process in reversed(found):
        _send(process, signal.SIGKILL)


def _stop(process: int) -> None:
    _send(process, signal.SIGSTOP)
    end = time.monotonic() + _PATIENCE
    while _state(process) not in _STOPPED and time.monotonic() < end:
        time.sleep(0.0005)


def _send(process: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError):
        os.kill(process, number)


def _state(process: int) -> str:
    try:
        text = (_PROC / str(process) / "stat").read_text("utf-8", "replace")
    except OSError:
        return "X"
    return text.rpartition(")")[2].split()[0]


def _children(process: int) -> Iterator[int]:
    try:
        for task in (_PROC / str(process) / "task").iterdir():
            yield from map(int, (task / "children").read_text("ascii").split())
    except OSError:  # it has ended
        return
