"""`treadle runs`: which threads there are, how they stand, and what each entry of one says."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from bot import words
from bot.agent.approvals import pending
from bot.agent.entries import (
    Answered,
    Decided,
    Entry,
    Failed,
    ModelReply,
    Observation,
    Refused,
    Stopped,
    Summary,
    ToolStarted,
    User,
    covers,
    open_turn,
)
from bot.config import Settings
from bot.errors import ConfigError, JournalUnreadable
from bot.inert import inert
from bot.state import open_reading
from bot.storage.runs import Runs, Written

GIST = 100
"""Characters of an entry in a line."""


def list_runs(settings: Settings, limit: int) -> str:
    """The threads that were written last, newest first, as a table for a terminal."""
    from rich.console import Console
    from rich.table import Table

    runs = _runs(settings)
    table = Table("thread", "last written", "entries", "state", "last question")
    for thread in runs.newest(limit):
        table.add_row(thread, *_row(runs, thread))
    console = Console(color_system=None, width=160)
    with console.capture() as captured:
        console.print(table)
    return captured.get().rstrip()


def show_run(settings: Settings, thread: str) -> Iterator[str]:
    """One thread's journal, an entry in a line. Raises ConfigError if there is no such thread."""
    found = _runs(settings).read(thread)
    if found is None:
        raise ConfigError(words.no_such_thread(thread))
    for seq, (entry, at) in enumerate(zip(found.entries, found.at, strict=True)):
        yield f"{seq:4}  {_time(at)}  {type(entry).__name__:16}  {_gist(entry)}".rstrip()


def _runs(settings: Settings) -> Runs:
    return Runs(open_reading(settings))


def _row(runs: Runs, thread: str) -> Sequence[str]:
    try:
        found = runs.read(thread)
    except JournalUnreadable as error:
        return ("", "", words.RUN_UNREADABLE, str(error))
    assert found is not None, "its journal was just read"
    asked = [entry for entry in found.entries if isinstance(entry, User)]
    question = _short(asked[-1].text) if asked else ""
    return (_time(found.at[-1]), str(len(found.entries)), _state(found), question)


def _state(found: Written) -> str:
    turn = open_turn(found.entries)
    if covers(turn):
        return words.RUN_WAITS if pending(turn) else words.RUN_OPEN
    endings = [e for e in found.entries if isinstance(e, Answered | Stopped | Failed | Refused)]
    return words.RUN_STATES[type(endings[-1]).__name__] if endings else words.RUN_STATES["Refused"]


def _gist(entry: Entry) -> str:
    match entry:
        case User(name=name, text=text):
            return _short(f"{name}: {text}")
        case ModelReply(answer=str(answer)):
            return _short(answer)
        case ModelReply(thought=thought, calls=calls):
            return _short(" ".join([thought, *(f"{c.name} {c.arguments}" for c in calls)]))
        case Decided(verdict=verdict, reason=reason, rule=rule):
            return _short(" ".join(filter(None, [verdict.value, reason, rule])))
        case Observation(text=text) | Failed(text=text) | Refused(text=text) | Summary(text=text):
            return _short(text)
        case Stopped(by=by) | ToolStarted(call_id=by):
            return _short(by)
        case _:
            return ""


def _short(text: str) -> str:
    """A line in which nothing that the terminal would obey is left."""
    line = " ".join(inert(text).split())
    return line if len(line) <= GIST else f"{line[: GIST - 1]}…"


def _time(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%S")
