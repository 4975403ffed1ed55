"""What must stand in a thread, computed from its journal. Pure.

Every journal entry that people are to see is one piece, or several where it is too long for one
message; a message shows one or several pieces, and which ones were posted is all that has to be
remembered.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum

from bot.agent.approvals import card_at, card_start
from bot.agent.entries import (
    Answered,
    ApprovalAsked,
    Entry,
    Failed,
    ModelReply,
    Observation,
    Refused,
    Stopped,
    Told,
    ToolCall,
    User,
    open_turn,
)
from bot.slack.blocks import clip, units

LINE_LIMIT = 380
"""Characters of a call and its result in short, at most."""
FULL_LIMIT = 3000
"""Characters that are shown of arguments or of an observation in full."""
STEPS_LIMIT = 6600
"""Characters of steps in one message: a call in full fits; well under what Slack refuses."""

ENDING = (Answered, Failed, Stopped)


class Verbosity(Enum):
    """How much of a turn people see."""

    STEPS = "steps"
    QUIET = "quiet"
    FULL = "full"
    CARD = "card"
    """The steps stand in one live message, which is no piece: it may be lost."""

    @property
    def has_steps(self) -> bool:
        """Whether each step is a piece."""
        return self in (Verbosity.STEPS, Verbosity.FULL)


class PieceKind(Enum):
    """What a piece is; a CALL may wait for its observations, a FINAL goes first."""

    CALL = "call"
    OBSERVATION = "observation"
    FINAL = "final"


@dataclass(frozen=True, slots=True)
class Piece:
    """One entry, or the `part` of it with these `calls`, to be shown.

    `whole` says that all calls of a CALL have their observations.
    """

    key: str
    kind: PieceKind
    seq: int
    whole: bool = True
    calls: tuple[ToolCall, ...] = ()
    part: int = 0


def pieces(entries: Sequence[Entry], verbosity: Verbosity, start: int = 0) -> list[Piece]:
    """The pieces of the entries from position `start` on, in order."""
    result: list[Piece] = []
    for seq in range(start, len(entries)):
        entry = entries[seq]
        match entry:
            case ModelReply() if entry.calls and verbosity.has_steps:
                result += _calls(entries, seq, entry, verbosity)
            case Observation() if verbosity.has_steps:
                result.append(Piece(f"o{seq}", PieceKind.OBSERVATION, seq))
            case Answered() if withdrawn(entries, seq):
                pass
            case Answered() | Failed() | Stopped() | Told():
                result.append(Piece(f"f{seq}", PieceKind.FINAL, seq))
            case ApprovalAsked() if card_start(entries, seq) == seq and card_at(entries, seq).open:
                result.append(Piece(f"f{seq}", PieceKind.FINAL, seq))
            case Refused() if entry.text:
                result.append(Piece(f"f{seq}", PieceKind.FINAL, seq))
            case _:
                pass
    return result


def _calls(
    entries: Sequence[Entry], seq: int, reply: ModelReply, verbosity: Verbosity
) -> Iterator[Piece]:
    observed = observations(entries, seq)
    for part, calls in enumerate(_fitting(reply.calls, verbosity)):
        key = f"c{seq}.{part}" if part else f"c{seq}"
        whole = all(call.id in observed for call in calls)
        yield Piece(key, PieceKind.CALL, seq, whole, calls, part)


def _fitting(calls: Sequence[ToolCall], verbosity: Verbosity) -> list[tuple[ToolCall, ...]]:
    """The calls in parts that fit into a message; what they return has no say in it."""
    parts: list[tuple[ToolCall, ...]] = []
    room = 0
    for call in calls:
        length = call_length(call, verbosity)
        if length > room:
            parts.append(())
            room = STEPS_LIMIT
        parts[-1] += (call,)
        room -= length
    return parts


def call_length(call: ToolCall, verbosity: Verbosity) -> int:
    """Characters that a call takes in a message, its result in short included."""
    full = verbosity is Verbosity.FULL
    return LINE_LIMIT + (units(full_arguments(call)) if full else 0)


def full_arguments(call: ToolCall) -> str:
    """The arguments as people read them; cut where they are very long."""
    try:
        text = json.dumps(json.loads(call.arguments), ensure_ascii=False, indent=2)
    except ValueError:
        text = call.arguments
    return clip(text, FULL_LIMIT)


def observations(entries: Sequence[Entry], reply_seq: int) -> dict[str, tuple[int, Observation]]:
    """The observations of a reply's calls, by call id, with their positions."""
    found: dict[str, tuple[int, Observation]] = {}
    for seq in range(reply_seq + 1, len(entries)):
        entry = entries[seq]
        if isinstance(entry, ModelReply):
            break
        if isinstance(entry, Observation):
            found[entry.call_id] = (seq, entry)
    return found


def withdrawn(entries: Sequence[Entry], answer_seq: int) -> bool:
    """Whether the delivery of the answer at this position was stopped before its last message."""
    later = (e for e in entries[answer_seq + 1 :] if isinstance(e, Answered | Failed | Stopped))
    ending = next(later, None)
    return isinstance(ending, Stopped) and ending.posted < ending.parts


def askers(entries: Sequence[Entry], seq: int) -> tuple[str, ...]:
    """The ids of those who wait for the ending or the question at this position, each once."""
    entry = entries[seq]
    if isinstance(entry, Refused):
        return (entry.author,) if entry.author else ()
    turn = open_turn(entries[:seq])
    return tuple(dict.fromkeys(e.author for e in turn if isinstance(e, User)))


def seq_of(key: str) -> int:
    """The journal position of a final piece: "f12.0" or "f12.0~1" is at 12."""
    return int(key[1:].partition(".")[0])


def is_held_back(entries: Sequence[Entry], final: int, doubted: Sequence[str]) -> bool:
    """Whether the final piece at this position waits until pieces in doubt have been looked up.

    Those are its own, as parts keep their order, and the endings of earlier turns.
    """
    finals = [seq_of(key) for key in doubted if key.startswith("f")]
    return any(s == final or (s < final and isinstance(entries[s], ENDING)) for s in finals)
