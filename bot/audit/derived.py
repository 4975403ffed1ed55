"""Journal entries as audit records. Pure.

Records are made of what is appended to a journal and written with it in one transaction, so that
nothing is done that the trail does not hold.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

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
    Overheard,
    Refused,
    Resumed,
    Stopped,
    ToolCall,
    ToolStarted,
    User,
)
from bot.audit.records import Json, Kind, Record

LONGEST = 2000
"""Characters of a call's arguments that a record holds; the digest is of all of them."""
GIST = 200
"""Characters of what a call returned: its first line, which says how a command ended."""


@dataclass(frozen=True, slots=True)
class Taken:
    """An inbox item that was taken: `what` is a message, a click or a stop."""

    what: str
    who: str
    ts: str


def records(
    thread: str, before: Sequence[Entry], new: Sequence[Entry], taken: Sequence[Taken] = ()
) -> list[Record]:
    """What is to be written down of `new`, which follows upon `before`, and of what caused it."""
    entries = [*before, *new]
    found: list[Record] = []
    for index, entry in enumerate(new, len(before)):
        found += [Record(kind, thread, body) for kind, body in _said(entries, index, entry)]
    for item in taken:
        if not any(_accounts_for(entry, item) for entry in new):
            body = {"what": item.what, "who": item.who, "ts": item.ts}
            found.append(Record(Kind.IGNORED, thread, body))
    return found


def digest(call: ToolCall) -> str:
    """Of a tool's name and its arguments as the model wrote them (redacted)."""
    return _sha(f"{call.name}\n{call.arguments}")


def _said(
    entries: Sequence[Entry], index: int, entry: Entry
) -> Iterator[tuple[Kind, dict[str, Json]]]:
    match entry:
        case User() | Edited() | Refused() | Overheard():
            yield _message(entry)
        case Decided() | ApprovalAsked() | ApprovalAnswered():
            yield _permission(entries, index, entry)
        case ToolStarted(call_id=call_id):
            call = _call(entries, index, call_id)
            cut = call.arguments[:LONGEST]
            people: list[Json] = [*_speakers(entries[:index])]
            body: dict[str, Json] = {**_about(call), "arguments": cut, "for": people}
            yield Kind.TOOL_STARTED, body
        case Observation() if _started(entries, index, entry.call_id):
            yield Kind.TOOL_ENDED, _outcome(_call(entries, index, entry.call_id), entry)
        case Resumed(owner=owner):
            yield Kind.TURN_RESUMED, {"by": owner}
        case Answered(covers=covers):
            yield Kind.TURN_ENDED, {"how": "answered", "covers": covers}
        case Stopped(covers=covers, by=by, author=author):
            who: dict[str, Json] = {"who": author} if author else {}
            yield Kind.TURN_ENDED, {"how": "stopped", "by": by, **who, "covers": covers}
        case Failed(covers=covers, text=text, error_id=error_id):
            how: dict[str, Json] = {"how": "failed", "why": text, "error_id": error_id}
            yield Kind.TURN_ENDED, {**how, "covers": covers}
        case _:
            return


def _message(entry: User | Edited | Refused | Overheard) -> tuple[Kind, dict[str, Json]]:
    match entry:
        case User():
            body: dict[str, Json] = {"who": entry.author, "role": entry.role, "ts": entry.at}
            return Kind.MESSAGE_ACCEPTED, {**body, **_text(entry.text)}
        case Edited():
            body = {"who": entry.author, "role": entry.role, "ts": entry.at}
            said: dict[str, Json] = {"deleted": True} if entry.text is None else _text(entry.text)
            return Kind.MESSAGE_CHANGED, {**body, **said}
        case Refused():
            why = entry.why or entry.text
            return Kind.MESSAGE_REFUSED, {"who": entry.author, "ts": entry.covers, "why": why}
        case Overheard():
            quotes = [{"who": quote.author, "ts": quote.at} for quote in entry.quotes]
            return Kind.MESSAGE_OVERHEARD, {"messages": quotes}


def _permission(
    entries: Sequence[Entry], index: int, entry: Decided | ApprovalAsked | ApprovalAnswered
) -> tuple[Kind, dict[str, Json]]:
    body = _about(_call(entries, index, entry.call_id))
    match entry:
        case Decided():
            body |= {"verdict": entry.verdict.value, "rule": entry.rule, "reason": entry.reason}
            return Kind.DECIDED, {**body, "for": [*_speakers(entries[:index])]}
        case ApprovalAsked():
            body |= {"asked_about": entry.digest, "expires_at": entry.expires_at}
            return Kind.APPROVAL_ASKED, body
        case ApprovalAnswered(answer=Answer.EXPIRED):
            return Kind.APPROVAL_EXPIRED, body
        case ApprovalAnswered():
            body |= {"answer": entry.answer.value, "who": entry.by, "name": entry.name}
            body |= {"why": entry.reason} if entry.reason else {}
            if entry.grant is not None:
                body |= {"for_thread_until": entry.grant.until, "rule": entry.grant.rule}
            return Kind.APPROVAL_ANSWERED, body


def _outcome(call: ToolCall, entry: Observation) -> dict[str, Json]:
    first = entry.text.partition("\n")[0][:GIST]
    how: dict[str, Json] = {"error": entry.is_error, "seconds": round(entry.seconds, 3)}
    return {**_about(call), **how, "result": first, "result_digest": _sha(entry.text)}


def _about(call: ToolCall) -> dict[str, Json]:
    return {"tool": call.name, "call": call.id, "digest": digest(call)}


def _text(text: str) -> dict[str, Json]:
    return {"characters": len(text), "text_digest": _sha(text)}


def _call(entries: Sequence[Entry], index: int, call_id: str) -> ToolCall:
    """The call in the last reply before; an empty one where the journal holds none."""
    at = _last_reply(entries, index)
    reply = entries[at] if at >= 0 else None
    calls = reply.calls if isinstance(reply, ModelReply) else ()
    return next((call for call in calls if call.id == call_id), ToolCall(call_id, "", ""))


def _started(entries: Sequence[Entry], index: int, call_id: str) -> bool:
    between = entries[_last_reply(entries, index) + 1 : index]
    return any(isinstance(entry, ToolStarted) and entry.call_id == call_id for entry in between)


def _last_reply(entries: Sequence[Entry], index: int) -> int:
    return next((i for i in range(index - 1, -1, -1) if isinstance(entries[i], ModelReply)), -1)


def _speakers(entries: Sequence[Entry]) -> tuple[str, ...]:
    """Who was heard since the last answer, in order: the people for whom something is done."""
    found: dict[str, None] = {}
    for entry in reversed(entries):
        if isinstance(entry, Answered):
            break
        if isinstance(entry, User) or (isinstance(entry, Edited) and entry.text is not None):
            found[entry.author] = None
    return tuple(reversed(found))


def _accounts_for(entry: Entry, item: Taken) -> bool:
    """Whether an entry says what came of an item."""
    match entry:
        case User(at=at) | Edited(at=at):
            return at == item.ts
        case Overheard(quotes=quotes):
            return any(quote.at == item.ts for quote in quotes)
        case Refused(covers=covers, author=author):
            return item.ts in covers or (not covers and author == item.who)
        case Stopped(covers=covers):
            return item.ts in covers or item.what == "stop"
        case ApprovalAnswered(by=by):
            return item.what == "click" and by == item.who
        case _:
            return False


def _sha(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
