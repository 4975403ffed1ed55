"""What a journal says about a person's yes to a call, and the questions that ask for one.

Pure, but that `questions` looks at what the calls would do.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, replace

from bot import words
from bot.agent.entries import (
    Answer,
    Answered,
    ApprovalAnswered,
    ApprovalAsked,
    Decided,
    Edited,
    Entry,
    Failed,
    ModelReply,
    Observation,
    Stopped,
    ToolCall,
    ToolStarted,
    User,
)
from bot.agent.ports import Toolset
from bot.agent.preview import LONGEST

MOST_ON_A_CARD = 10
"""Calls that are asked about at once; more of one reply are asked about afterwards."""

Ask = tuple[ToolCall, Decided]


def pending(turn: Sequence[Entry]) -> tuple[ApprovalAsked, ...]:
    """The questions of this turn that nobody has answered yet."""
    found: dict[str, ApprovalAsked] = {}
    for entry in turn:
        match entry:
            case ModelReply():
                found.clear()
            case ApprovalAsked():
                found[entry.call_id] = entry
            case ApprovalAnswered() | ToolStarted() | Observation():
                found.pop(entry.call_id, None)
            case _:
                pass
    return tuple(found.values())


def given(after: Sequence[Entry], decided: Decided) -> ApprovalAnswered | None:
    """The answer to the last question about this call, if it still counts.

    `after` are the entries since the reply that holds the call. A no always counts; a yes only for
    the call in exactly this form, with the file that it changes as it was shown.
    """
    asked, answer = _last(after, decided.call_id)
    if asked is None or answer is None or answer.answer is not Answer.ALLOWED:
        return answer
    same = (asked.digest, asked.before) == (decided.digest, decided.before)
    return answer if same else None


def _last(
    after: Sequence[Entry], call_id: str
) -> tuple[ApprovalAsked | None, ApprovalAnswered | None]:
    asked: ApprovalAsked | None = None
    answer: ApprovalAnswered | None = None
    for entry in after:
        if isinstance(entry, ApprovalAsked) and entry.call_id == call_id:
            asked, answer = entry, None
        elif isinstance(entry, ApprovalAnswered) and entry.call_id == call_id:
            answer = entry
    return asked, answer


async def questions(
    asks: Sequence[Ask], tools: Toolset, turn: Sequence[Entry], now: float, seconds: float
) -> list[Entry]:
    """The entries that ask people about these calls, or say to the model why nobody is asked.

    Of several calls that change one file only the first is asked about: what the others would
    change is known when it is done.
    """
    decisions: list[Entry] = []
    told: list[Entry] = []
    asked: list[Entry] = []
    files: set[str] = set()
    for call, decided in asks:
        seen = await tools.preview(call.name, call.arguments)
        if seen.path in files:
            continue
        files |= {seen.path} - {""}
        decisions.append(decided)
        size = len(seen.head) + len(seen.text)
        if seen.unusable or size > LONGEST:
            why = seen.unusable or words.too_long_to_ask(call.name, size, LONGEST)
            told.append(Observation(call.id, why, is_error=True))
            continue
        again = _last(_since_reply(turn), call.id)[1] is not None
        until = now + seconds
        offer = None if decided.offer is None else replace(decided.offer, until=until)
        asked.append(
            ApprovalAsked(
                call.id, decided.digest, now, until, seen.head, seen.text, seen.before, again, offer
            )
        )
    return [*decisions, *told, *asked]


def _since_reply(turn: Sequence[Entry]) -> Sequence[Entry]:
    last = max((i for i, e in enumerate(turn) if isinstance(e, ModelReply)), default=-1)
    return turn[last + 1 :]


@dataclass(frozen=True, slots=True)
class Line:
    """One call on a card, what was asked about it at position `seq`, and what came of it."""

    seq: int
    asked: ApprovalAsked
    call: ToolCall
    decided: Decided
    answer: ApprovalAnswered | None


@dataclass(frozen=True, slots=True)
class Card:
    """The questions that were asked at once, the first of them at position `seq`.

    `askers` are the names of those who are heard, by their ids; `over` says that no answer counts
    any more.
    """

    seq: int
    lines: tuple[Line, ...]
    thought: str
    askers: dict[str, str]
    over: bool

    @property
    def open(self) -> tuple[Line, ...]:
        """The lines that wait for an answer."""
        return () if self.over else tuple(line for line in self.lines if line.answer is None)

    @property
    def digest(self) -> str:
        """Of all its questions together: what an answer to all of them is bound to."""
        parts = "".join(f"{line.asked.digest}:{line.asked.before};" for line in self.lines)
        return hashlib.sha256(parts.encode()).hexdigest()


def card_start(entries: Sequence[Entry], seq: int) -> int:
    """The position of the first question on the card of the question at this position."""
    while seq and isinstance(entries[seq - 1], ApprovalAsked):
        seq -= 1
    return seq


def card_at(entries: Sequence[Entry], seq: int) -> Card:
    """The card of the question at this position."""
    start = card_start(entries, seq)
    reply_at = next(i for i in range(start, -1, -1) if isinstance(entries[i], ModelReply))
    reply = entries[reply_at]
    assert isinstance(reply, ModelReply)
    calls = {call.id: call for call in reply.calls}
    decided = {e.call_id: e for e in entries[reply_at:start] if isinstance(e, Decided)}
    end = start
    while end < len(entries) and isinstance(entries[end], ApprovalAsked):
        end += 1
    answers, over = _answers(entries[end:])
    lines = [
        Line(at, asked, calls[asked.call_id], decided[asked.call_id], answers.get(asked.call_id))
        for at, asked in enumerate(entries[start:end], start)
        if isinstance(asked, ApprovalAsked)
    ]
    thought = (reply.thought or reply.reasoning).strip()
    return Card(start, tuple(lines), thought, _askers(entries[:start]), over)


def _answers(after: Sequence[Entry]) -> tuple[dict[str, ApprovalAnswered], bool]:
    """The answers to a card's questions, and whether the turn has gone on since."""
    answers: dict[str, ApprovalAnswered] = {}
    for entry in after:
        match entry:
            case ApprovalAnswered():
                answers.setdefault(entry.call_id, entry)
            case (
                ApprovalAsked() | ModelReply() | ToolStarted() | Observation()
                | Answered() | Failed() | Stopped()
            ):  # fmt: skip
                return answers, True
            case _:
                pass
    return answers, False


def _askers(entries: Sequence[Entry]) -> dict[str, str]:
    """The names of those who were heard since the last answer, by their ids."""
    names = {entry.author: entry.name for entry in entries if isinstance(entry, User)}
    found: list[str] = []
    for entry in reversed(entries):
        match entry:
            case Answered():
                break
            case User(author=author) | Edited(author=author, text=str()):
                found.append(author)
    return {author: names.get(author, author) for author in reversed(found) if author}
