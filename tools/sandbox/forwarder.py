"""Joins the loopback of a sandbox to the proxy's socket. A program of its own:

    python3 -I -S forwarder.py -- COMMAND ARGUMENT...

listens on 127.0.0.1 inside the sandbox, hands every connection to the unix socket of the proxy,
and becomes the command. It decides nothing: whatever a command does to it, it gains no more than
the proxy allows on that socket. Standard library only; it is read by the sandbox's own Python.
"""

from __future__ import annotations

import os
import selectors
import socket
import sys
from contextlib import suppress
from typing import NoReturn

SOURCE = __file__
"""The program's file."""
SOCKET = "/run/proxy.sock"
PORT = 3128
_BLOCK = 65536
_BACKLOG = 64
_MOST = 100
"""Connections at a time; each has two descriptors, and a command may have 512."""


def main(argv: list[str]) -> NoReturn:
    """Start the forwarder as an orphan, then become the command."""
    command = argv[argv.index("--") + 1 :]
    listener = socket.create_server(("127.0.0.1", PORT), backlog=_BACKLOG)
    child = os.fork()
    if child == 0:
        if os.fork() == 0:
            _detach()
            _serve(listener)
        os._exit(0)
    os.waitpid(child, 0)
    listener.close()
    address = f"http://127.0.0.1:{PORT}"
    for name in ("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"):
        os.environ[name] = address
    os.execvp(command[0], command)  # noqa: S606


def _detach() -> None:
    """Let go of the command's output, so that its reader sees the end of it."""
    os.setsid()
    nothing = os.open("/dev/null", os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(nothing, descriptor)


class _Pipe:
    """One direction of one connection: at most one block is waiting."""

    def __init__(self, source: socket.socket, target: socket.socket) -> None:
        self.source = source
        self.target = target
        self.waiting = b""
        self.ended = False

    def move(self) -> None:
        """Carry what can be carried without blocking. Raises OSError when the connection broke."""
        with suppress(BlockingIOError):
            if not self.waiting and not self.ended:
                self.waiting = self.source.recv(_BLOCK)
                if not self.waiting:
                    self.ended = True
                    self.target.shutdown(socket.SHUT_WR)
            if self.waiting:
                self.waiting = self.waiting[self.target.send(self.waiting) :]


def _serve(listener: socket.socket) -> NoReturn:
    chosen = selectors.DefaultSelector()
    chosen.register(listener, selectors.EVENT_READ)
    while True:
        for key, _ in chosen.select():
            if key.fileobj is listener:
                _accept(chosen, listener)
            else:
                _carry(chosen, key.data)


def _accept(chosen: selectors.BaseSelector, listener: socket.socket) -> None:
    inner, _ = listener.accept()
    if len(chosen.get_map()) > 2 * _MOST:
        inner.close()
        return
    outer = socket.socket(socket.AF_UNIX)
    try:
        outer.connect(SOCKET)
    except OSError:
        inner.close()
        outer.close()
        return
    pipes = (_Pipe(inner, outer), _Pipe(outer, inner))
    for end in (inner, outer):
        end.setblocking(False)
        chosen.register(end, selectors.EVENT_READ, pipes)


def _carry(chosen: selectors.BaseSelector, pipes: tuple[_Pipe, _Pipe]) -> None:
    ends = pipes[0].source, pipes[0].target
    try:
        for pipe in pipes:
            pipe.move()
        wanted = {end: _interest(end, pipes) for end in ends}
        over = all(pipe.ended and not pipe.waiting for pipe in pipes)
    except OSError:
        over = True
    if over:
        for end in ends:
            with suppress(KeyError, ValueError):
                chosen.unregister(end)
            end.close()
        return
    for end, events in wanted.items():
        with suppress(KeyError, ValueError):
            chosen.unregister(end)
        if events:
            chosen.register(end, events, pipes)


def _interest(end: socket.socket, pipes: tuple[_Pipe, _Pipe]) -> int:
    events = 0
    for pipe in pipes:
        if pipe.source is end and not pipe.waiting and not pipe.ended:
            events |= selectors.EVENT_READ
        if pipe.target is end and pipe.waiting:
            events |= selectors.EVENT_WRITE
    return events


if __name__ == "__main__":
    main(sys.argv[1:])
