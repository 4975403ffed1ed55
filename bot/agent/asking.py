"""Ask the model, with the journal made to fit its window first.

A folding is one Summary entry, journaled before the model is asked with it, so a restart finds it
and makes no other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from bot import words
from bot.agent import context
from bot.agent.entries import (
    Edited,
    Entry,
    Failed,
    ModelReply,
    Observation,
    Overheard,
    Stopped,
    Summary,
    User,
)
from bot.agent.ports import Journal, Model, ToolSpec
from bot.agent.prompt import Facts
from bot.errors import ContextTooLong, ModelError

ENTRY = 3_000
"""Characters of one entry that the model reads when it makes a summary."""
LINE = 240
"""Characters of one entry in a summary that is made without the model."""


async def ask(
    journal: Journal, model: Model, facts: Facts, specs: Sequence[ToolSpec], window: int
) -> ModelReply:
    """The model's next reply. `window` is in tokens.

    Raises ContextTooLong if what people just wrote is too long whatever is folded, and what
    `Model.reply` raises. An endpoint whose window is smaller than `window` says is believed.
    """
    space, beside = context.room(window), context.overhead(specs)
    while True:
        if context.too_long(journal.entries, space):
            raise ContextTooLong(words.message_too_long())
        talk = max(space - beside, space // 4)
        if context.size(journal.entries, beside) > beside + talk:
            await _fold(journal, model, facts, talk)
        try:
            return await model.reply(facts, context.visible(journal.entries), specs)
        except ContextTooLong as error:
            if context.plan(journal.entries, space) is None:
                raise ContextTooLong(words.message_too_long()) from error
            space = min(space, context.size(journal.entries, beside) - 1)
            await _fold(journal, model, facts, max(1, space // 2))


async def _fold(journal: Journal, model: Model, facts: Facts, space: int) -> None:
    """Append the summary of what no longer fits; nothing if there is nothing left to fold."""
    fold = context.plan(journal.entries, space)
    if fold is None:
        return
    folded = fold.of(journal.entries)
    summary = Summary(_plain(folded, space), fold.upto, fold.kept)
    try:
        question = _question(folded, space, journal.entries)
        reply = await model.reply(replace(facts, has_tools=False, missing={}), [question], ())
    except ModelError:
        await journal.append(summary)
        return
    text = (reply.answer or reply.thought).strip()
    usage = reply.usage.plus(reply.wasted)
    made = replace(summary, model=reply.model, usage=usage, seconds=reply.seconds)
    if text:
        made = replace(made, text=_cut(text, context.summary_limit(space)))
    await journal.append(made)


def _question(folded: Sequence[Entry], space: int, entries: Sequence[Entry]) -> User:
    """One message that holds what is to be folded, as data; it fits where `space` tokens do."""
    transcript = _cut("\n\n".join(_lines(folded, ENTRY)), space)
    at = next((e.at for e in reversed(entries) if isinstance(e, User)), "")
    return User(words.summary_request(transcript), "treadle", "Treadle", at)


def _plain(folded: Sequence[Entry], space: int) -> str:
    """The fallback: who asked what, what was called, what was answered; each in a line or two."""
    text = "\n".join(_lines(folded, LINE))
    return words.summary_plain(_cut(text, context.summary_limit(space)))


def _lines(entries: Sequence[Entry], limit: int) -> list[str]:
    found: list[str] = []
    for entry in entries:
        found += [f"{who}: {_cut(text.strip(), limit)}" for who, text in _said(entry) if text]
    return found


def _said(entry: Entry) -> list[tuple[str, str]]:
    match entry:
        case User():
            return [(f"{entry.name} ({entry.author})", entry.text)]
        case Overheard():
            return [(f"{q.name} ({q.author}), not to you", q.text) for q in entry.quotes]
        case Edited():
            return [("An earlier message was changed", entry.text or "(deleted)")]
        case ModelReply():
            calls = [("You called", f"{call.name} {call.arguments}") for call in entry.calls]
            return [("You thought", entry.thought), *calls, ("You answered", entry.answer or "")]
        case Observation():
            return [("It returned", entry.text)]
        case Summary():
            return [("What came before", entry.text)]
        case Failed():
            return [("The turn ended without an answer", entry.text)]
        case Stopped():
            return [("The turn was stopped by", entry.by)]
        case _:
            return []


def _cut(text: str, limit: int) -> str:
    """The text, or its head and tail with a note between them; `limit` is in characters."""
    if len(text) <= limit:
        return text
    head = limit * 2 // 5
    tail = limit - head
    return f"{text[:head]}\n[… {len(text) - limit:,} characters left out …]\n{text[-tail:]}"
