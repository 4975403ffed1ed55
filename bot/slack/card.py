"""The question to a person, as a message with two buttons, and the line for those who wait. Pure.

Format: docs.slack.dev, Block Kit, actions block and button element.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from bot import words
from bot.agent.entries import Answer, ApprovalAsked, Decided, Entry, ModelReply, ToolCall
from bot.inert import inert
from bot.slack.blocks import Block, Element, code, context, plain, section
from bot.slack.markdown import RenderedMessage, notification
from bot.slack.pieces import full_arguments

BUTTONS = {
    "treadle_approve": (Answer.ALLOWED, words.APPROVE, "primary"),
    "treadle_deny": (Answer.DENIED, words.DENY, "danger"),
}
"""By `action_id`: what a click on it says, its label and its style."""


def question_card(entries: Sequence[Entry], seq: int) -> RenderedMessage:
    """The message that asks about the call of the question at this position."""
    asked = entries[seq]
    assert isinstance(asked, ApprovalAsked)
    call, reason = _about(entries, seq, asked.call_id)
    question = words.approval_question(words.tool_name(call.name), reason)
    until = datetime.fromtimestamp(asked.expires_at, UTC).strftime("%Y-%m-%d %H:%M UTC")
    blocks: list[Block] = [
        section(plain(question)),
        code(full_arguments(call)),
        {"type": "actions", "elements": _buttons(f"{seq}:{asked.digest}")},
        context(words.approval_until(until)),
    ]
    return RenderedMessage(notification(inert(question)), tuple(blocks))


def waiting_line(link: str) -> RenderedMessage:
    """The line for a message that waits; `link` is the address of the question, if it is known."""
    parts = [plain(f"{words.message_waits()}: ")]
    parts.append(_link(link, words.THE_QUESTION) if link else plain(words.THE_QUESTION))
    text = f"{words.message_waits()}: {words.THE_QUESTION}"
    return RenderedMessage(text, (section(*parts),))


def permalink(url: str, channel: str, root_ts: str, ts: str) -> str:
    """The address of a thread's message; "" where its `ts` or the workspace's is not known.

    Form: what chat.getPermalink gives for a message in a thread.
    """
    if not (ts and url):
        return ""
    query = f"thread_ts={root_ts}&cid={channel}"
    return f"{url}archives/{channel}/p{ts.replace('.', '')}?{query}"


def _about(entries: Sequence[Entry], seq: int, call_id: str) -> tuple[ToolCall, str]:
    """The call and why a person has to be asked about it."""
    reason = ""
    for entry in reversed(entries[:seq]):
        if isinstance(entry, Decided) and entry.call_id == call_id and not reason:
            reason = entry.reason
        if isinstance(entry, ModelReply):
            return next(call for call in entry.calls if call.id == call_id), reason
    raise AssertionError("a question belongs to a call")


def _buttons(value: str) -> list[Element]:
    return [
        {
            "type": "button",
            "action_id": action,
            "text": {"type": "plain_text", "text": label},
            "value": value,
            "style": style,
        }
        for action, (_, label, style) in BUTTONS.items()
    ]


def _link(url: str, text: str) -> Element:
    return {"type": "link", "url": url, "text": text}
