"""Which threads wait for people's answers, and until when: what the sweep and Home look for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, bindparam, delete, select

from bot.agent.entries import (
    Answered,
    ApprovalAsked,
    Entry,
    Failed,
    Observation,
    Stopped,
    ToolStarted,
)
from bot.storage.statements import put
from bot.storage.tables import approvals

_ASK_NO_MORE = delete(approvals).where(approvals.c.thread == bindparam("thread"))


@dataclass(frozen=True, slots=True)
class Question:
    """A question that nobody has answered, at a journal position; times are epoch seconds."""

    thread: str
    seq: int
    expires_at: float


def note(connection: Connection, thread: str, seq: int, entry: Entry) -> None:
    """Keep what this entry of the journal means for the thread's questions."""
    match entry:
        case ApprovalAsked(expires_at=expires_at):
            put(connection, approvals, {"thread": thread}, {"seq": seq, "expires_at": expires_at})
        case ToolStarted() | Observation() | Answered() | Failed() | Stopped():
            # Not sooner: the last of several questions may be open still.
            connection.execute(_ASK_NO_MORE, {"thread": thread})
        case _:
            pass


def overdue(connection: Connection, now: float) -> Sequence[Question]:
    """The open questions whose time is over; `now` is in epoch seconds."""
    query = select(approvals).where(approvals.c.expires_at <= now)
    return [Question(r.thread, r.seq, r.expires_at) for r in connection.execute(query)]
