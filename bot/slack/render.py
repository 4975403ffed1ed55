"""Answers and notices as messages. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeAlias

from bot import words
from bot.agent.entries import (
    Answered,
    ApprovalAsked,
    Entry,
    Failed,
    ModelReply,
    Noted,
    Refused,
    Stopped,
    open_turn,
)
from bot.agent.work import stop_notice
from bot.inert import inert
from bot.slack.blocks import Element, clip, context, escape, plain, section, visible_text
from bot.slack.card import question_messages
from bot.slack.markdown import RenderedMessage, notification, to_messages

TEXT_LIMIT = 3000
MOST_BLOCKS = 50
"""Blocks of a message (docs: reference/block-kit/blocks)."""
_CHANNEL = re.compile(r"<#([CG][A-Z0-9]+)>")
PLAIN_LIMIT = 3000
"""Characters of a message that has no blocks; Slack recommends at most 4,000."""


Footer: TypeAlias = Callable[[Sequence[Entry]], str]
"""The line under the answer of a turn; "" for none."""


def final_messages(
    entries: Sequence[Entry], seq: int, footer: Footer = lambda _: "", answerers: str = ""
) -> tuple[RenderedMessage, ...]:
    """The messages of an answer, a question or a notice: one, or as many as its length needs.

    Under the last one stands what people were to be told besides. `answerers` says who may answer
    a question.
    """
    *first, last = _final_messages(entries, seq, answerers)
    if not isinstance(entries[seq], Answered | Failed | Stopped):
        return (*first, last)
    turn = open_turn(entries[:seq])
    lines = [entry.text for entry in turn if isinstance(entry, Noted)]
    lines += [footer(turn)] if isinstance(entries[seq], Answered) else []
    text = "\n".join(filter(None, lines))
    if not text or len(last.blocks) >= MOST_BLOCKS:
        return (*first, last)
    return (*first, replace(last, blocks=(*last.blocks, context(text))))


def _final_messages(
    entries: Sequence[Entry], seq: int, answerers: str
) -> tuple[RenderedMessage, ...]:
    entry = entries[seq]
    match entry:
        case Answered():
            reply = entries[seq - 1]
            assert isinstance(reply, ModelReply)
            answer = reply.answer or ""
            shown = to_messages(f"{answer}\n\n{words.cut_off()}" if reply.cut_off else answer)
            return shown or (notice(words.nothing_visible()),)
        case ApprovalAsked():
            return question_messages(entries, seq, answerers)
        case Stopped():
            text = stop_notice(entries, seq)
            return (RenderedMessage(notification(inert(text)), (section(plain(text)),)),)
        case Failed(text=text):
            return (notice(text),)
        case Refused(text=text):
            return (notice(text, channels=True),)
        case _:
            raise AssertionError(f"{type(entry).__name__} is not shown as a final message")


def as_text(message: RenderedMessage, limit: int = PLAIN_LIMIT) -> list[RenderedMessage]:
    """What a message's blocks show, as plain text in messages of at most `limit` characters.

    They are cut behind a line where there is one; together they hold every character.
    """
    text = visible_text(message.blocks)
    parts = []
    while len(text) > limit:
        end = text.rfind("\n", 0, limit) + 1 or limit
        parts.append(text[:end])
        text = text[end:]
    return [RenderedMessage(escape(part), ()) for part in (*parts, text)]


def final_covers(entry: Entry) -> tuple[str, ...]:
    """The `ts` of the messages that a final piece answers."""
    return entry.covers if isinstance(entry, Answered | Failed | Stopped | Refused) else ()


def notice(text: str, *, channels: bool = False) -> RenderedMessage:
    """A sentence on what happened instead of an answer; `channels` shows `<#C…>` by its name."""
    line = clip(text, TEXT_LIMIT)
    parts = _CHANNEL.split(f"⚠️ {line}") if channels else [f"⚠️ {line}"]
    elements = [_channel(part) if odd % 2 else plain(part) for odd, part in enumerate(parts)]
    return RenderedMessage(notification(inert(line)), (section(*elements),))


def _channel(channel_id: str) -> Element:
    return {"type": "channel", "channel_id": channel_id}
