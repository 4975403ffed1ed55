"""Starts one confined process, reads what it writes, and makes sure that nothing of it is left."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Sequence
from contextlib import ExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from tools.errors import SandboxUnavailable
from tools.sandbox.contract import Completed, Launch, Limit, SandboxSettings
from tools.sandbox.family import end_family
from tools.sandbox.monitor import watch_disk, watch_load

T = TypeVar("T")

PATIENCE = 0.3
"""Seconds to wait for the last output once the command itself has ended."""
KILL_AFTER = 1.0
"""Seconds from the moment it is asked to end to SIGKILL."""
_BLOCK = 64 * 1024


class Output:
    """What arrives in a pipe, up to `limit` bytes; reads only while there is room."""

    def __init__(self, descriptor: int, limit: int) -> None:
        self._descriptor, self._limit = descriptor, limit
        self._data = bytearray()
        self.ended = asyncio.Event()
        self.overflowed = asyncio.Event()
        os.set_blocking(descriptor, False)
        asyncio.get_running_loop().add_reader(descriptor, self._read)

    def _read(self) -> None:
        try:
            block = os.read(self._descriptor, _BLOCK)
        except BlockingIOError:
            return
        self._data += block
        if not block:
            self.ended.set()
        elif len(self._data) > self._limit:
            self.overflowed.set()
        else:
            return
        self._stop()

    def _stop(self) -> None:
        asyncio.get_running_loop().remove_reader(self._descriptor)

    def close(self) -> None:
        self._stop()
        os.close(self._descriptor)

    def text(self) -> str:
        """UTF-8; what is none shows as replacement characters."""
        return self._data[: self._limit].decode("utf-8", "replace")


class Process:
    """A child of this one; its end is waited for on the event loop, by its pidfd."""

    def __init__(
        self,
        child: subprocess.Popen[bytes],
        ends_on: signal.Signals | None,
        let_go: Callable[[], None],
    ) -> None:
        """`ends_on` as in a launch; `let_go` closes its pipe, and may be called again."""
        self._child, self.pid = child, child.pid
        self._ends_on, self._let_go = ends_on, let_go
        self._ended = asyncio.Event()
        self._handle = os.pidfd_open(child.pid)
        asyncio.get_running_loop().add_reader(self._handle, self._ended.set)

    @property
    def code(self) -> int | None:
        """As `subprocess.Popen.returncode`; None while it runs."""
        return self._child.poll()

    async def wait(self) -> None:
        """Until it has ended."""
        await self._ended.wait()

    def ask(self) -> None:
        """Let it end with everything that it started."""
        if self._ends_on is not None:
            self._child.send_signal(self._ends_on)
        self._let_go()

    def kill(self) -> None:
        """With its family, if it is not over yet."""
        if self.code is None and self._ends_on is not None:
            self._child.kill()  # what is below it ends all the rest when it ends
        elif self.code is None:
            end_family(self.pid)

    def close(self) -> None:
        """Give everything back; whatever of it still runs is killed."""
        asyncio.get_running_loop().remove_reader(self._handle)
        os.close(self._handle)
        self._let_go()
        if self._ends_on is None:
            with suppress(subprocess.TimeoutExpired):
                self._child.wait(KILL_AFTER)
        self.kill()
        self._child.wait()


@dataclass(frozen=True, slots=True)
class HostLimits:
    """What a command may fill of the host, in bytes; the first two may change while it runs."""

    shared: Callable[[], int]
    """By which the host's shared memory may grow."""
    taken: Callable[[], int]
    """By which the free space of the workspace's file system may shrink."""
    held: int | None
    """What its files may come to; None for any."""
    usage: Callable[[], int]
    """Counts the bytes of the workspace's files."""


async def run(
    launch: Launch,
    workspace: Path,
    settings: SandboxSettings,
    timeout_s: float,
    host: HostLimits,
) -> Completed:
    """Run to the end, or to a limit. A cancelled caller leaves no process behind.

    Must be called on the event loop's own thread: the process is killed by the kernel when the
    thread that started it ends. Raises SandboxUnavailable if it cannot be started.
    """
    started = time.monotonic()
    async with _started(launch, settings.output_kb * 1024) as (process, output):
        limit = await _until_over(
            process,
            [
                _after(output.overflowed.wait(), Limit.OUTPUT),
                _after(asyncio.sleep(timeout_s), Limit.TIME),
                watch_load(process.pid, settings, host.shared),
                watch_disk(workspace, host.taken, host.held, host.usage),
            ],
        )
        await _end(process)
        await _until_first([output.ended.wait(), output.overflowed.wait()], PATIENCE)
        if limit is None and output.overflowed.is_set():
            limit = Limit.OUTPUT
        code = process.code
        assert code is not None
        by_itself = limit is None and code >= 0
        return Completed(
            text=output.text(),
            exit_code=code if by_itself else None,
            seconds=time.monotonic() - started,
            stopped_for=limit,
            signal=-code if code < 0 else None,
        )


@asynccontextmanager
async def _started(launch: Launch, limit: int) -> AsyncIterator[tuple[Process, Output]]:
    with ExitStack() as alive, ExitStack() as stack:
        if launch.alive is not None:
            alive.callback(os.close, launch.alive)
        read, write = os.pipe()
        output = Output(read, limit)
        stack.callback(output.close)
        try:
            process = _start(launch, write, alive.close)
        finally:
            os.close(write)
            launch.close()
        stack.callback(process.close)
        try:
            yield process, output
        finally:
            await _end(process)


def _start(launch: Launch, write: int, let_go: Callable[[], None]) -> Process:
    """Not by asyncio, which kills the first process alone when its caller is cancelled."""
    user, group = launch.owner or (None, None)
    try:
        if launch.owner is not None:
            os.fchown(write, *launch.owner)  # else it could not be opened as /dev/stdout
        child = subprocess.Popen(  # noqa: S603 (what a confinement made)
            launch.argv,
            stdin=subprocess.DEVNULL,
            stdout=write,
            stderr=write,
            cwd="/",
            env=launch.env,
            pass_fds=launch.pass_fds,
            start_new_session=True,
            user=user,
            group=group,
            extra_groups=None if launch.owner is None else [],
        )
    except OSError as error:
        raise SandboxUnavailable(
            f"The command was not run: {launch.argv[0]} could not be started ({error.strerror}). "
            "Try again in a moment; if it stays so, the operator can run treadle doctor."
        ) from error
    return Process(child, launch.ends_on, let_go)


async def _end(process: Process) -> None:
    """Ends the process with its family; `Process.close` does it if this one is cancelled."""
    if process.code is not None:
        return
    process.ask()
    await _until_first([process.wait()], KILL_AFTER)
    process.kill()
    await process.wait()


async def _until_over(
    process: Process, watchers: Sequence[Coroutine[Any, Any, Limit]]
) -> Limit | None:
    """The limit that was reached first, or None if the process ended before any."""
    found = await _until_first([_after(process.wait(), None), *watchers], None)
    return found[0] if found else None


async def _until_first(waiting: Sequence[Coroutine[Any, Any, T]], seconds: float | None) -> list[T]:
    """What those came to that were over first; the rest is cancelled."""
    tasks = [asyncio.ensure_future(one) for one in waiting]
    try:
        done, _ = await asyncio.wait(tasks, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
        return [task.result() for task in tasks if task in done]
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _after(event: Awaitable[object], then: T) -> T:
    await event
    return then
