"""Where a tool runs that may block: never on the event loop by which everybody else is served.

A sync tool gets a thread of its own. The async tools of the operator share one event loop in
another thread, so that they may keep sessions and pools between calls; one that blocks there holds
up the operator's other async tools and nobody else. All these threads end with the process,
whatever they do: nothing waits for them.
"""

from __future__ import annotations

import _thread
import asyncio
import contextlib
import contextvars
import dataclasses
import sys
import threading
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from tools.sandbox.contract import Completed
from tools.sandbox.sandbox import Sandbox
from tools.workspace import Workspace

T = TypeVar("T")

FAIR_SECONDS = 0.0005
"""A tool that computes gives the interpreter up after this long, not after Python's 5 ms: whoever
serves everybody asks for it again at each message, hundreds of times a turn."""


async def in_thread(work: Callable[[], T]) -> T:
    """What `work` returns or raises in a thread of its own; cancelled, one leaves it behind."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[T] = loop.create_future()
    context = contextvars.copy_context()

    def tell(result: T | None, error: BaseException | None) -> None:
        if future.cancelled():
            return
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(result)  # type: ignore[arg-type]

    def run() -> None:
        result, failure = None, None
        try:
            result = context.run(work)
        except BaseException as error:
            failure = error
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(tell, result, failure)

    sys.setswitchinterval(FAIR_SECONDS)
    # Not threading.Thread: its start waits until the thread runs, milliseconds on a busy machine,
    # in which nobody is served.
    _thread.start_new_thread(run, ())
    return await future


class Aside:
    """An event loop in a thread of its own, begun when it is first used."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None

    async def run(self, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """What `work` returns or raises; who is cancelled cancels it, and does not wait."""
        future = asyncio.run_coroutine_threadsafe(_contained(work), self._started())
        return await asyncio.wrap_future(future)

    def _started(self) -> asyncio.AbstractEventLoop:
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            threading.Thread(
                target=self._loop.run_forever, name="treadle-async-tools", daemon=True
            ).start()
        return self._loop


async def _contained(work: Callable[[], Coroutine[Any, Any, T]]) -> T:
    try:
        return await work()
    except (SystemExit, KeyboardInterrupt) as error:  # either would end the loop
        raise RuntimeError(f"the tool let a {type(error).__name__} out") from error


@dataclasses.dataclass(frozen=True, slots=True)
class SandboxFromAside(Sandbox):
    """The sandbox for a tool on another event loop: what it runs, it runs on the bot's."""

    home: asyncio.AbstractEventLoop = dataclasses.field(default_factory=asyncio.get_running_loop)

    @classmethod
    def of(cls, sandbox: Sandbox) -> SandboxFromAside:
        """Must be called on the event loop on which the sandbox was opened."""
        return cls(sandbox.confinement, sandbox.settings, sandbox.lanes, sandbox.network)

    async def run(
        self, workspace: Workspace, command: str, timeout_s: float | None = None
    ) -> Completed:
        # Not super(): a dataclass with slots is another class than the one written here.
        there = Sandbox.run(self, workspace, command, timeout_s)
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(there, self.home))
