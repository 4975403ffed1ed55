"""Everybody whom a killed process left behind, by the kernel's own account."""

from __future__ import annotations

import ctypes
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tools.sandbox.family import family

_SET_CHILD_SUBREAPER = 36
"""See prctl(2)."""


@contextmanager
def adopted() -> Iterator[Callable[[], list[int]]]:
    """This process inherits whoever is left by what it starts within; gives a look at them.

    A look misses nobody, whatever a process calls itself: not one that is just being started, and
    not one that hangs. What is left at the end is killed.
    """
    before = set(_all())
    _inherit(True)
    try:
        yield lambda: _alive(before)
    finally:
        while left := _alive(before):
            for process in left:
                with suppress(ProcessLookupError):
                    os.kill(process, signal.SIGKILL)
        _inherit(False)


def named(processes: list[int]) -> list[str]:
    """What each process calls itself, its state and where in the kernel it waits; for a failure."""
    return [" ".join(_facts(process)) for process in processes]


def _facts(process: int) -> Iterator[str]:
    for name in ("stat", "wchan", "cmdline"):
        with suppress(OSError):
            yield Path(f"/proc/{process}/{name}").read_text("utf-8", "replace").strip()[-200:]


def _alive(before: set[int]) -> list[int]:
    for process in set(_all()) - before:
        with suppress(ChildProcessError):  # a grandchild: it is reaped by its parent, or later
            os.waitpid(process, os.WNOHANG)
    return sorted(set(_all()) - before)


def _all() -> list[int]:
    return [process for process in family(os.getpid()) if process != os.getpid()]


def _inherit(wanted: bool) -> None:
    if ctypes.CDLL(None, use_errno=True).prctl(_SET_CHILD_SUBREAPER, int(wanted), 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "prctl")
