"""What the commands and the Home tab need of the rest, in one bundle; and who asks them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from bot.admin.attempts import Attempts
from bot.admin.live import Admin, Live
from bot.agent.budgets import Cap
from bot.agent.entries import ToolCall
from bot.policy import Person, Place, Refusal, Role
from bot.storage.refusals import Refusals


@dataclass(frozen=True, slots=True)
class ToolInfo:
    """A tool that this host can run, with what it does in one line."""

    name: str
    what: str


@dataclass(frozen=True, slots=True)
class Running:
    """A turn that is going on or waits for a person's yes.

    `since` and `newest` are when its first and its newest message came, in epoch seconds.
    """

    thread: str
    askers: tuple[str, ...]
    since: float
    waits: bool = False
    newest: float = 0.0

    @property
    def channel(self) -> str:
        return self.thread.split(":", 2)[1]


class Turns(Protocol):
    """The turns of all threads."""

    async def running(self) -> Sequence[Running]:
        """Longest first; at most a few dozen."""
        ...

    async def stop(self, turn: Running, by: Person) -> None:
        """Stop it as if its Stop button had been pressed; durable on return."""
        ...


class Budgets(Protocol):
    """What was used today, and the caps on it."""

    async def lines(self, team: str, user: str, channel: str) -> Sequence[str]:
        """What this person and this channel have used today, and how full their caps are."""
        ...

    async def all_lines(self) -> Sequence[str]:
        """What everybody together has used today, and how full their caps are."""
        ...

    async def add(self, admin: Admin, cap: Cap, subject: str, team: str) -> bool:
        """Add an amount to a cap for today; False if there is no such cap.

        `subject` is a user or channel id, or "" for everybody. Raises NotPermitted.
        """
        ...


class People(Protocol):
    """Who somebody is. Raises LookupFailed."""

    async def lookup(self, user: str, team: str, *, acts: bool = False) -> Person:
        """`acts`: something is to be changed, so that an admin must not be known from before."""
        ...

    async def name(self, user: str, team: str) -> str: ...


class Status(Protocol):
    """How things are, one line each; reasons and host names only in the `whole`, for admins."""

    async def __call__(self, *, whole: bool) -> Sequence[str]: ...


@dataclass(frozen=True, slots=True)
class Asker:
    """Whoever uses a command or the Home tab, and where."""

    person: Person
    name: str
    place: Place

    @property
    def is_admin(self) -> bool:
        return self.person.role == Role.ADMIN and not self.person.external

    @property
    def as_admin(self) -> Admin:
        """For a change; whether it is an admin is asked when the change is made."""
        return Admin(self.person, self.name)


@dataclass(frozen=True, slots=True)
class House:
    """Everything behind `/treadle` and the Home tab.

    `names` maps every name of a tool to its own; `describe` is a call's key argument. `refusal`
    says why somebody may not speak here, and `silent` that they are not told.
    """

    live: Live
    tools: Sequence[ToolInfo]
    names: Mapping[str, str]
    describe: Callable[[ToolCall], str]
    refusal: Callable[[Person, Place], Refusal | None]
    silent: bool
    refusals: Refusals
    turns: Turns
    status: Status
    budgets: Budgets
    attempts: Attempts
