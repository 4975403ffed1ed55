"""What is left after a run: all that the checker may look at. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Said:
    """A message of a person, and what its author meant by it."""

    channel: str
    root: str
    ts: str
    for_bot: bool
    accepted: bool = True
    """Slack has the acknowledgement of an event that tells it."""
    deleted: bool = False
    by_edit: bool = False
    """Only the event of its edit tells that it is for the bot."""


@dataclass(frozen=True, slots=True)
class Posted:
    """A message of the bot, as Slack has it; `key` and `covers` are its metadata."""

    channel: str
    root: str
    ts: str
    key: str
    covers: tuple[str, ...]
    text: str


@dataclass(frozen=True, slots=True)
class Row:
    """One journal entry; `body` is its JSON."""

    thread: str
    seq: int
    kind: str
    body: Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Stored:
    """One inbox item, in the order in which it was stored; `taken` is the journal position."""

    thread: str
    kind: str
    ts: str
    received_at: float
    taken: int | None


@dataclass(frozen=True, slots=True)
class Evidence:
    """Everything. A thread is called `team:channel:root`."""

    said: tuple[Said, ...] = ()
    posted: tuple[Posted, ...] = ()
    journal: tuple[Row, ...] = ()
    inbox: tuple[Stored, ...] = ()
    busy: tuple[str, ...] = ()
    """Threads that are written down as unfinished."""
    unsure: tuple[str, ...] = ()
    """Keys of posts whose outcome nobody has found out, and of what was not brought to its end."""
    starts: tuple[str, ...] = ()
    """What the tools wrote down, each at its start: the token of the call."""
    orphans: tuple[str, ...] = ()
    """Processes that outlived the Treadle which started them."""
    signs: tuple[str, ...] = ()
    """Threads under which a sign of life was left."""
    eyes: tuple[str, ...] = ()
    """Threads in which the reaction was left that stands for a sign of life."""
    deaths: tuple[str, ...] = ()
    """Ends of a process that nobody had asked for, or that were not in order."""
    bugs: tuple[str, ...] = ()
    """Tracebacks in the log."""
