"""What a turn has done so far, for whoever ends it in the middle. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bot import words
from bot.agent.entries import (
    Answered,
    Entry,
    ModelReply,
    Observation,
    Resumed,
    Stopped,
    ToolCall,
    ToolStarted,
    open_turn,
)


@dataclass(frozen=True, slots=True)
class Work:
    """The calls of a turn: those that ran, those broken off, those that were not begun.

    What was refused is in none of them.
    """

    done: tuple[ToolCall, ...] = ()
    broken: tuple[ToolCall, ...] = ()
    left: tuple[ToolCall, ...] = ()


def work_of(turn: Sequence[Entry]) -> Work:
    """What the calls of these entries came to."""
    done: list[ToolCall] = []
    broken: list[ToolCall] = []
    calls: dict[str, ToolCall] = {}
    started: set[str] = set()
    for entry in turn:
        match entry:
            case ModelReply():
                calls, started = {call.id: call for call in entry.calls}, set()
            case ToolStarted(call_id=call_id):
                started.add(call_id)
            case Observation(call_id=call_id) if call_id in calls:
                call = calls.pop(call_id)
                if call_id in started:
                    (broken if _broken(call, entry) else done).append(call)
            case _:
                pass
    broken += [call for call in calls.values() if call.id in started]
    left = [call for call in calls.values() if call.id not in started]
    return Work(tuple(done), tuple(broken), tuple(left))


def interruptions(turn: Sequence[Entry]) -> list[Observation]:
    """The observations of the calls that are running: nobody will know how they ended."""
    last = max((i for i, e in enumerate(turn) if isinstance(e, ModelReply)), default=len(turn))
    observed = {e.call_id for e in turn[last:] if isinstance(e, Observation)}
    running = [call for call in work_of(turn[last:]).broken if call.id not in observed]
    return [
        Observation(c.id, words.interrupted_observation(c.name), is_error=True) for c in running
    ]


def resumed_in_vain(turn: Sequence[Entry]) -> int:
    """How often the turn was taken up again since it last brought a call to its end.

    What a person wrote meanwhile, a reply of the model, or a note that a call was interrupted is
    no progress: the same call would break it off again.
    """
    count = 0
    started: set[str] = set()
    for entry in turn:
        match entry:
            case ToolStarted(call_id=call_id):
                started.add(call_id)
            case Resumed():
                count += 1
                started.clear()
            case Observation(call_id=call_id) if call_id in started:
                count = 0
            case _:
                pass
    return count


def stop_notice(entries: Sequence[Entry], seq: int) -> str:
    """What people read of the stop at this position: who, what was done and what was not."""
    stop = entries[seq]
    assert isinstance(stop, Stopped)
    if stop.parts:
        answer = max(i for i in range(seq) if isinstance(entries[i], Answered))
        finished = work_of(open_turn(entries[:answer]))
        return words.delivery_stopped(stop.by, stop.posted, stop.parts, _names(finished.done))
    work = work_of(open_turn(entries[:seq]))
    done, broken, left = _names(work.done), _names(work.broken), _names(work.left)
    return words.stopped(stop.by, done, broken, left)


def _broken(call: ToolCall, observation: Observation) -> bool:
    return observation.is_error and observation.text == words.interrupted_observation(call.name)


def _names(calls: Sequence[ToolCall]) -> list[str]:
    return [call.name for call in calls]
