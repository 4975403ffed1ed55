"""What a runner needs of the place where people write: Slack, a terminal, a test."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from bot.agent.entries import Entry, Quote
from bot.agent.ports import Model
from bot.agent.shown import Piece, Show
from bot.policy import Person
from bot.storage.items import Item


@dataclass(frozen=True, slots=True)
class Signals:
    """Set by whoever stores an item of a thread, for the thread's runner.

    `stop` says that the item may end what is going on. In the beginning both are set: something
    may have come while nobody was there. `leaving` is set when the process is about to end: a
    runner ends at the next point from which another one can go on, and begins nothing more.
    """

    arrived: asyncio.Event = field(default_factory=asyncio.Event)
    stop: asyncio.Event = field(default_factory=asyncio.Event)
    leaving: asyncio.Event = field(default_factory=asyncio.Event)

    def set(self, *, stop: bool = True) -> None:
        """There is something in the inbox."""
        self.arrived.set()
        if stop:
            self.stop.set()


class Scheduler(Protocol):
    """Decides where and when a thread's work is done: by one runner at a time."""

    async def begin(self, left: Sequence[str]) -> None:
        """Begin, with the threads `left` unfinished by an earlier process. Raises TreadleError."""
        ...

    def wake(self, thread: str, *, stop: bool = True) -> None:
        """The thread may have work, which is stored; `stop`: it may end what is going on."""
        ...

    async def close(self, grace: float = 0.0) -> None:
        """No more work here. Each thread's journal is whole; whoever is next goes on from it.

        A step that is going on may come to its end within `grace` seconds.
        """
        ...


class People(Protocol):
    """Who somebody is. Raises LookupFailed; nobody is then let in."""

    async def lookup(self, user: str, team: str, *, acts: bool = False) -> Person:
        """`acts`: what is done now is allowed to admins, so one must not be known from before."""
        ...

    async def name(self, user: str, team: str) -> str:
        """What people call somebody; their id if it cannot be found out."""
        ...

    def whisper(self, click: Item, text: str) -> None:
        """Tell whoever clicked, and nobody else. Decoration: never blocks and never raises."""
        ...


class Surroundings(Protocol):
    """What stands in a thread that the bot has not been sent."""

    async def earlier(self, thread: str, before: str) -> Sequence[Quote]:
        """The thread's messages before the given `ts`, oldest first; empty if unreadable."""
        ...

    async def missed(self, thread: str, after: str) -> Sequence[Item]:
        """The thread's messages after the given `ts`, as inbox items; empty if unreadable.

        Raises DeliveryError where trying again later may help: they were acknowledged.
        """
        ...


class Watchable(Model, Protocol):
    """A model whose replies can be seen while they arrive."""

    def watched(self, show: Show) -> Model:
        """The same model; `show` gets each reply to a conversation with tools as it arrives."""
        ...


class View(Protocol):
    """One thread as people see it, made to match its journal."""

    def begin(self, entries: Sequence[Entry], question: str) -> None:
        """Work on the message with this `ts` has begun: give a sign of life within a second."""
        ...

    def look(self, entries: Sequence[Entry]) -> None:
        """The journal has grown; never blocks and never raises."""
        ...

    def live(self, piece: Piece | None) -> None:
        """A piece of the reply that is arriving; None: its pieces so far are void. Never raises."""
        ...

    async def settle(self, entries: Sequence[Entry], arrived: asyncio.Event | None = None) -> None:
        """Return when everything that must stand in the thread stands there (or was given up).

        Once something new has `arrived`, when everything does that people wait for.
        """
        ...

    async def halt(self, entries: Sequence[Entry]) -> tuple[int, int] | None:
        """Begin no post until the next look.

        Returns how many messages of the latest answer stand, and of how many; None if all do, with
        all that led to it.
        """
        ...

    async def notice(self, text: str, at: str = "") -> None:
        """Say something that no journal holds about the message `at`, or about all that was said.

        Once; returns when told.
        """
        ...

    async def close(self) -> None:
        """No more work: take the sign of life away, end what runs."""
        ...


class Outlet(Protocol):
    """Opens the view of a thread."""

    async def open(self, thread: str, found: Callable[[], None]) -> View:
        """`found` is called when a stop is in the inbox that was waiting for a post to be known."""
        ...
