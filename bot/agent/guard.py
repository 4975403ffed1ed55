"""Keeps a turn from running for ever: limits, and a model that goes round in circles.

All of it is read from the turn's journal entries, so a restart forgets nothing. A user's message
renews everything: only what came after the newest one counts. Pure.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from bot import words
from bot.agent.entries import Entry, ModelReply, Observation, Summary, User, Warned

UNREADABLE = 3
"""Replies in a row that could not be read before the turn ends."""
PERIOD = 8
"""Calls in the longest cycle that is looked for."""
_TOOK = re.compile(r"\A((?:Exit code -?\d+|Stopped|Killed by [\w ]{1,40}?) after) [\d.,]+ s\b")
"""How long a command took, in the first line of what it came to."""
_CUT_NOTE = re.compile(r"^\[… [\d,]+ characters(?: \([\d,]+ lines\))? cut here\.[^\n]*…\]$", re.M)
"""The note in a long result; it names a new file each time."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Per turn: model replies, seconds of running time, tokens in and out together.

    `repeat`, `cycle` and `stall` are how often the same call may come with the same result, how
    often the same round of calls, and how many steps may bring nothing new. `context_tokens` is
    the model's window; `approval_seconds` how long a person may take to answer a question.
    """

    max_steps: int = 25
    max_seconds: float = 900.0
    max_tokens: int = 400_000
    repeat: int = 3
    cycle: int = 3
    stall: int = 8
    context_tokens: int = 128_000
    approval_seconds: float = 259_200.0


@dataclass(frozen=True, slots=True)
class Warn:
    """Tell the model, once, before it is asked again."""

    text: str


@dataclass(frozen=True, slots=True)
class Halt:
    """End the turn; `text` is the sentence for the thread."""

    text: str


def check(turn: Sequence[Entry], limits: Limits) -> Warn | Halt | None:
    """Whether the model of this turn may be asked again (None), and what to do if not."""
    newest = max((i for i, e in enumerate(turn) if isinstance(e, User)), default=0)
    since = turn[newest:]
    if reason := _unreadable(since) or _limit_reached(since, limits):
        return Halt(reason)
    runs = _runs(since, limits)
    found = [verdict for run in runs if (verdict := _judge(run, since)) is not None]
    return next((v for v in found if isinstance(v, Halt)), found[0] if found else None)


def _unreadable(since: Sequence[Entry]) -> str | None:
    last = [e for e in since if isinstance(e, ModelReply)][-UNREADABLE:]
    if len(last) == UNREADABLE and all(reply.problem for reply in last):
        return words.model_unreadable(UNREADABLE)
    return None


def _limit_reached(since: Sequence[Entry], limits: Limits) -> str | None:
    asked = [e for e in since if isinstance(e, ModelReply | Summary)]
    replies = sum(isinstance(e, ModelReply) for e in asked)
    seconds = sum(e.seconds for e in since if isinstance(e, ModelReply | Observation | Summary))
    used = [e.usage.plus(e.wasted) if isinstance(e, ModelReply) else e.usage for e in asked]
    tokens = sum(usage.input_tokens + usage.output_tokens for usage in used)
    if replies >= limits.max_steps:
        return words.limit_steps(limits.max_steps)
    if seconds >= limits.max_seconds:
        return words.limit_seconds(limits.max_seconds)
    if tokens >= limits.max_tokens:
        return words.limit_tokens(limits.max_tokens)
    return None


class _Did(NamedTuple):
    """One finished call; two are the same if name, arguments and result (see `_result`) are."""

    name: str
    arguments: str
    result: str
    is_error: bool


@dataclass(frozen=True, slots=True)
class _Run:
    """What came `count` times in a row, at the end of the turn, from position `first` to `last`."""

    count: int
    limit: int
    first: int
    last: int
    warning: str
    reason: str


def _judge(run: _Run, since: Sequence[Entry]) -> Warn | Halt | None:
    """Nobody is stopped who was not warned, and had a step to do better, within the same run."""
    warned = [i for i in range(run.first, len(since)) if isinstance(since[i], Warned)]
    if run.count >= run.limit and warned and warned[0] < run.last:
        return Halt(run.reason)
    if run.count >= max(2, run.limit - 1) and not warned:
        return Warn(run.warning)
    return None


def _runs(since: Sequence[Entry], limits: Limits) -> list[_Run]:
    steps = _steps(since)
    done = [pair for step in steps for pair in step]
    if not done:
        return []
    return [_repeats(done, limits.repeat), *_cycles(done, limits.cycle), _stall(steps, limits)]


def _steps(since: Sequence[Entry]) -> list[list[tuple[int, _Did]]]:
    """The finished calls of each reply, with the positions of their observations."""
    steps: list[list[tuple[int, _Did]]] = []
    calls: dict[str, tuple[str, str]] = {}
    for at, entry in enumerate(since):
        if isinstance(entry, ModelReply):
            calls = {call.id: (call.name, _canonical(call.arguments)) for call in entry.calls}
            steps += [[]] if calls else []
        elif isinstance(entry, Observation) and entry.call_id in calls:
            steps[-1].append((at, _did(entry, calls[entry.call_id])))
    return [step for step in steps if step]


def _did(seen: Observation, call: tuple[str, str]) -> _Did:
    return _Did(*call, _result(seen.text), seen.is_error)


def _result(text: str) -> str:
    """What a call came to, without what differs each time it is made."""
    return _CUT_NOTE.sub("[…]", _TOOK.sub(r"\1", text))


def _canonical(arguments: str) -> str:
    """The same arguments read the same whatever their spaces and order."""
    try:
        return json.dumps(json.loads(arguments), sort_keys=True)
    except (ValueError, RecursionError):
        return arguments.strip()


def _repeats(done: Sequence[tuple[int, _Did]], limit: int) -> _Run:
    newest = done[-1][1]
    count = next((n for n, (_, did) in enumerate(reversed(done)) if did != newest), len(done))
    return _Run(
        count,
        limit,
        done[-count][0],
        done[-1][0],
        words.warn_repeat(newest.name, count),
        words.halt_repeat(newest.name, count),
    )


def _cycles(done: Sequence[tuple[int, _Did]], limit: int) -> list[_Run]:
    """A-B-A-B, A-B-C-A-B-C and so on; a round of one call is a repeat, not a cycle."""
    found = []
    for period in range(2, min(PERIOD, len(done) // 2) + 1):
        if len({did for _, did in done[-period:]}) == 1:
            continue
        same = 0
        while same + period < len(done) and done[-1 - same][1] == done[-1 - same - period][1]:
            same += 1
        rounds = same // period + 1
        first, last = done[-min(len(done), same + period)][0], done[-1][0]
        found.append(
            _Run(rounds, limit, first, last, words.warn_cycle(rounds), words.halt_cycle(rounds))
        )
    return found


def _stall(steps: Sequence[Sequence[tuple[int, _Did]]], limits: Limits) -> _Run:
    """Steps at the end whose every call failed or gave what the turn had seen already."""
    seen: set[_Did] = set()
    idle: list[int] = []
    for step in steps:
        if any(not did.is_error and did not in seen for _, did in step):
            idle = []
        else:
            idle.append(step[0][0])
        seen |= {did for _, did in step}
    first, last = idle[0] if idle else steps[-1][0][0], steps[-1][-1][0]
    count = len(idle)
    return _Run(count, limits.stall, first, last, words.warn_stall(count), words.halt_stall(count))
