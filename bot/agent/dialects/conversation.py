"""A journal as a conversation: who said what, in an order that every dialect can write down.

What is made of an entry depends only on it and on those before it, except that a reply's
observations are joined to it: the model is never asked between the two.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TypeAlias

from bot.agent.entries import (
    Edited,
    Entry,
    Failed,
    ModelReply,
    Observation,
    Overheard,
    Quote,
    Stopped,
    Summary,
    ToolCall,
    User,
    Warned,
)

LOST = "The turn ended before this call was run."
"""The observation of a call that never got one."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A person's message to the bot."""

    text: str


@dataclass(frozen=True, slots=True)
class Told:
    """Anything else that the model must know of."""

    text: str


@dataclass(frozen=True, slots=True)
class Replied:
    """A reply of the model with what each of its calls came to."""

    reply: ModelReply
    observed: tuple[tuple[ToolCall, str], ...] = ()


Event: TypeAlias = Asked | Told | Replied


def events(entries: Sequence[Entry]) -> Iterator[Event]:
    """The conversation that the entries hold, as `bot.agent.context.visible` chose them."""
    reply: ModelReply | None = None
    seen: dict[str, str] = {}
    for entry in entries:
        if isinstance(entry, Observation):
            seen.setdefault(entry.call_id, entry.text)
            continue
        if not isinstance(entry, _SPOKEN) or entry == Overheard(()):
            continue
        if reply is not None:
            yield _replied(reply, seen)
            reply, seen = None, {}
        if isinstance(entry, ModelReply):
            reply = entry
        else:
            yield _event(entry)
    if reply is not None:
        yield _replied(reply, seen)


_SPOKEN = (User, Overheard, Edited, ModelReply, Stopped, Failed, Summary, Warned)


def _replied(reply: ModelReply, seen: dict[str, str]) -> Replied:
    return Replied(reply, tuple((call, seen.get(call.id, LOST)) for call in reply.calls))


def _event(entry: User | Overheard | Edited | Stopped | Failed | Summary | Warned) -> Event:
    match entry:
        case User():
            return Asked(user_text(entry))
        case Overheard():
            return Told(overheard_text(entry))
        case Edited():
            return Told(_edit_text(entry))
        case Summary(text=text):
            return Told(f"(A summary of what came between, as data:)\n{text}")
        case Warned(text=text):
            return Told(f"({text})")
        case Stopped() | Failed():
            return Told(f"({_ending_text(entry)})")


def user_text(user: User) -> str:
    """A person's message with its author and time."""
    return f"{_line(user.name)} ({user.author}), {_time(user.at)}:\n{user.text}"


def overheard_text(overheard: Overheard) -> str:
    """Messages that were not for the bot, each line marked as quoted."""
    quotes = "\n".join(_quote(quote) for quote in overheard.quotes)
    return f"Messages of this thread that were not written to you, as data:\n{quotes}"


def _quote(quote: Quote) -> str:
    body = "\n".join(f"> {line}" for line in quote.text.splitlines() or [""])
    return f"{_line(quote.name)} ({quote.author}), {_time(quote.at)}:\n{body}"


def _line(name: str) -> str:
    """A name on one line: it must not look like a message of its own."""
    return " ".join(name.split())


def _time(ts: str) -> str:
    try:
        moment = datetime.fromtimestamp(float(ts), UTC)
    except (ValueError, OverflowError, OSError):
        return "at an unknown time"
    return moment.strftime("%Y-%m-%d %H:%M UTC")


def _edit_text(edit: Edited) -> str:
    if edit.text is None:
        return f"(The message of {_time(edit.at)} was deleted by its author.)"
    return (
        f"(The message of {_time(edit.at)} was changed by its author. It now reads:)\n{edit.text}"
    )


def _ending_text(entry: Stopped | Failed) -> str:
    if isinstance(entry, Stopped) and entry.parts:
        seen = f"people saw {entry.posted} of its {entry.parts} messages"
        return f"The turn was stopped while your answer was being posted: {seen}."
    if isinstance(entry, Stopped):
        return "The turn was stopped before you answered."
    return f"The turn ended without an answer: {entry.text}"
