"""Fit a journal to the model's window: what of it is shown, and what is folded into a summary.

Nothing is taken out of the journal. A Summary entry says up to where the model sees the summary
instead of the entries, so what the model is sent depends on the journal alone, and each call's
messages begin with those of the call before it until the next folding, or until somebody changes
or deletes a message that is only quoted. Pure.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, islice
from typing import cast

from bot.agent.entries import (
    Answered,
    Edited,
    Entry,
    Failed,
    ModelReply,
    Observation,
    Overheard,
    Requoted,
    Stopped,
    Summary,
    User,
    Warned,
    open_turn,
)
from bot.agent.ports import ToolSpec

BYTES_PER_TOKEN = 3
"""An estimate on the safe side: English has about 4 bytes a token, code and Chinese about 3."""
PER_MESSAGE = 20
"""Tokens of a message beside its text: role, author, time, ids."""
PROMPT = 700
"""Tokens of the system prompt without the tools."""
FIRST_SHARE = 4
"""The thread's first question stays verbatim if it takes at most this part of the room."""


def room(window: int) -> int:
    """Tokens that a request may have; the rest of the window is left for the reply."""
    return window - min(16_000, window // 4)


def observation_limit(window: int, most: int) -> int:
    """Characters of one observation: `most`, or an eighth of a small window."""
    return max(500, min(most, room(window) * BYTES_PER_TOKEN // 8))


def tokens(text: str) -> int:
    """A cheap estimate, without a tokenizer."""
    return (len(text) if text.isascii() else len(text.encode(errors="replace"))) // BYTES_PER_TOKEN


def visible(entries: Sequence[Entry]) -> Sequence[Entry]:
    """What the model is sent of a journal: after a folding, the summary in place of the start."""
    entries = _as_it_reads_now(entries)
    at = _last_summary(entries)
    if at is None:
        return entries
    summary = cast(Summary, entries[at])
    rest = (e for e in islice(entries, summary.upto, None) if not isinstance(e, Summary))
    first = _first_question(entries)
    kept = _verbatim(entries, summary)
    before = [entry for at, entry in kept if at == first]
    return [*before, summary, *(entry for at, entry in kept if at != first), *rest]


def _verbatim(entries: Sequence[Entry], summary: Summary) -> list[tuple[int, Entry]]:
    """What a folding kept, with positions, as the changes left it that were folded away."""
    folded = enumerate(islice(entries, summary.upto))
    changes = {
        entry.at: entry.text
        for at, entry in folded
        if isinstance(entry, Edited) and at not in summary.kept
    }
    found: list[tuple[int, Entry]] = []
    for at in summary.kept:
        entry = entries[at]
        if isinstance(entry, User):
            text = changes.get(entry.at, entry.text)
            if text is None:
                continue
            entry = replace(entry, text=text)
        found.append((at, entry))
    return found


def _first_question(entries: Sequence[Entry]) -> int | None:
    return next((at for at, entry in enumerate(entries) if isinstance(entry, User)), None)


def _as_it_reads_now(entries: Sequence[Entry]) -> Sequence[Entry]:
    """The same entries, each quote with its newest text and without those that were deleted."""
    newest = {entry.at: entry.text for entry in entries if isinstance(entry, Requoted)}
    if not newest:
        return entries
    return [_requoted(e, newest) if isinstance(e, Overheard) else e for e in entries]


def _requoted(overheard: Overheard, newest: Mapping[str, str | None]) -> Overheard:
    texts = [(quote, newest.get(quote.at, quote.text)) for quote in overheard.quotes]
    return Overheard(tuple(replace(quote, text=text) for quote, text in texts if text is not None))


def overhead(specs: Sequence[ToolSpec]) -> int:
    """Tokens of what stands beside the conversation in each request."""
    tools = sum(
        tokens(spec.name + spec.description + json.dumps(dict(spec.parameters))) + PER_MESSAGE
        for spec in specs
    )
    return PROMPT + tools


def size(entries: Sequence[Entry], beside: int) -> int:
    """Tokens of the next request: as the endpoint counted its last one, and what came since.

    A count of less than half our estimate is not believed: some servers count only what their
    cache did not hold. `beside` is the `overhead`.
    """
    at = _last_summary(entries)
    since = 0 if at is None else at
    summary = 0 if at is None else tokens(cast(Summary, entries[at]).text)
    estimate = beside + summary + sum(map(weight, visible(entries)))
    for at in range(len(entries) - 1, since - 1, -1):
        reply = entries[at]
        if isinstance(reply, ModelReply) and reply.usage.input_tokens:
            counted = reply.usage.input_tokens + reply.usage.output_tokens
            counted += sum(map(weight, islice(entries, at + 1, None)))
            return counted if counted * 2 >= estimate else estimate
    return estimate


def weight(entry: Entry) -> int:
    """About how many tokens an entry takes in a request; a summary, shown once at most, none."""
    match entry:
        case User() | Observation() | Warned() | Failed():
            return PER_MESSAGE + tokens(entry.text)
        case ModelReply():
            said = tokens(entry.raw or (entry.thought + (entry.answer or "")) + entry.reasoning)
            return said + sum(_call_weight(c.name, c.arguments) for c in entry.calls) + PER_MESSAGE
        case Edited():
            return PER_MESSAGE + tokens(entry.text or "")
        case Overheard():
            return sum(PER_MESSAGE + tokens(quote.text) for quote in entry.quotes)
        case _:
            return 0


def _call_weight(name: str, arguments: str) -> int:
    return PER_MESSAGE + tokens(name) + tokens(arguments)


def too_long(entries: Sequence[Entry], space: int) -> bool:
    """Whether what people just wrote does not fit, however much of the rest is folded."""
    turn = open_turn(entries)
    return sum(weight(e) for e in turn if isinstance(e, User | Edited)) > space


@dataclass(frozen=True, slots=True)
class Fold:
    """Entries before `upto` are to be folded; those at the positions `kept` stay verbatim."""

    upto: int
    kept: tuple[int, ...]

    def of(self, entries: Sequence[Entry]) -> list[Entry]:
        """What the new summary stands for: the one before it, and what came since."""
        entries = _as_it_reads_now(entries)
        at = _last_summary(entries)
        if at is None:
            return list(entries[: self.upto])
        before = cast(Summary, entries[at])
        since = islice(entries, before.upto, self.upto)
        return [before, *(entry for entry in since if not isinstance(entry, Summary))]


def plan(entries: Sequence[Entry], space: int) -> Fold | None:
    """Where to fold so that about half of `space` tokens is used; None if nothing is left to fold.

    Whole turns go first, the oldest ones; then the steps of the turn that is going on. A fold
    never falls between a call and its observation.
    """
    at = _last_summary(entries)
    done = 0 if at is None else cast(Summary, entries[at]).upto
    turn = len(entries) - len(open_turn(entries))
    keep = _kept(entries, turn, space)
    if not any(weight(entries[at]) for at in range(done, len(entries)) if at not in keep):
        return None
    # weights[i] is what entries[i:] and a summary weigh
    shown = map(weight, reversed(entries))
    weights = list(accumulate(shown, initial=summary_limit(space) // BYTES_PER_TOKEN))[::-1]
    upto = len(entries)
    for upto in _boundaries(entries, done, turn):
        left = weights[upto] + sum(weight(entries[at]) for at in keep if at < upto)
        if left <= space // 2 or (upto == turn and left <= space * 3 // 4):
            break
    return Fold(upto, tuple(at for at in keep if at < upto))


def summary_limit(space: int) -> int:
    """Characters of a summary."""
    return max(400, min(8_000, space // 4))


def _boundaries(entries: Sequence[Entry], done: int, turn: int) -> list[int]:
    """Positions beyond `done` before which everything can be folded, in order.

    Called where the model is asked next, so that every call has its observation.
    """
    ends = [
        at + 1 for at in range(done, turn) if isinstance(entries[at], Answered | Stopped | Failed)
    ]
    steps = [
        at for at in range(max(turn, done) + 1, len(entries)) if isinstance(entries[at], ModelReply)
    ]
    return [*ends, *steps, len(entries)]


def _kept(entries: Sequence[Entry], turn: int, space: int) -> list[int]:
    """The positions of what stays verbatim: the first question, and what is to be answered."""
    asked = [at for at in range(turn, len(entries)) if isinstance(entries[at], User | Edited)]
    first = _first_question(entries)
    if first is None or first in asked:
        return asked
    question = cast(User, entries[first])
    changes = [e.text for e in entries[:turn] if isinstance(e, Edited) and e.at == question.at]
    text = changes[-1] if changes else question.text
    if text is None or weight(replace(question, text=text)) > space // FIRST_SHARE:
        return asked
    return [first, *asked]


def _last_summary(entries: Sequence[Entry]) -> int | None:
    return next(
        (at for at in range(len(entries) - 1, -1, -1) if isinstance(entries[at], Summary)), None
    )
