"""The questions to a person as messages: the whole call, then a card with buttons. Pure.

Format: docs.slack.dev, Block Kit, actions block and button element.
"""

from __future__ import annotations

from collections.abc import Sequence

from bot import words
from bot.agent import card_text
from bot.agent.approvals import Card, Line, card_at, card_start
from bot.agent.consent import Choice
from bot.agent.entries import Entry
from bot.inert import inert
from bot.slack.blocks import Block, Element, bold, code, context, fixed, plain, section, units
from bot.slack.markdown import RenderedMessage, notification

BUTTONS = {
    "treadle_approve": (Choice.YES, words.APPROVE, "primary"),
    "treadle_deny": (Choice.NO, words.DENY, "danger"),
    "treadle_approve_thread": (Choice.THREAD, words.APPROVE_THREAD, ""),
    "treadle_approve_all": (Choice.ALL, words.APPROVE_ALL, "primary"),
    "treadle_deny_all": (Choice.NONE, words.DENY_ALL, "danger"),
}
"""By `action_id`: what a click on it says, its label and its style."""
DENY_WHY = "treadle_deny_why"
"""The `action_id` of the button that opens the window for a reason."""
PAGE = 5_000
"""Characters of a call in one message; Slack takes 12,000 in all of a message's blocks."""
ON_CARD = 2_400
"""Characters of a call that are shown on the card itself."""
ON_LINE = 400
"""The same, of each of several calls."""


def question_messages(
    entries: Sequence[Entry], seq: int, answerers: str
) -> tuple[RenderedMessage, ...]:
    """The messages that ask the questions from this position on; the card is the last of them.

    `answerers` says who may answer.
    """
    card = card_at(entries, seq)
    pages = [page for line in card.lines for page in _pages(card, line)]
    return (*pages, card_message(card, answerers))


def card_message(card: Card, answerers: str) -> RenderedMessage:
    """The card as it is now: with buttons where an answer is still wanted, else what came of it."""
    asks = card_text.question(card)
    lines = "\n".join(card_text.circumstances(card))
    blocks: list[Block] = [section(bold(asks)), section(plain(lines))]
    for line in card.lines:
        blocks += _line(card, line)
    if len(card.lines) > 1 and card.open:
        value = f"{card.seq}:{card.digest}"
        buttons = [_button(action, value) for action in ("treadle_approve_all", "treadle_deny_all")]
        blocks.append({"type": "actions", "block_id": f"all{card.seq}", "elements": buttons})
    if card.open:
        small = [card_text.until(card, answerers), *card_text.coverage(card)]
        blocks += [context(text) for text in small]
    came = "" if card.open else " ".join(card_text.outcome(line) for line in card.lines)
    return RenderedMessage(notification(inert(f"{asks} {came}".strip())), tuple(blocks))


def card_key(entries: Sequence[Entry], seq: int) -> str:
    """What the card of the question at this position is known by among a thread's posts."""
    start = card_start(entries, seq)
    return f"f{start}.{len(question_messages(entries, start, '')) - 1}"


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


def _line(card: Card, line: Line) -> list[Block]:
    """One call: what it is, the whole of it or where it stands, and its buttons or its outcome."""
    blocks: list[Block] = []
    title = [bold(f"{card_text.title(card, line)} ")] if len(card.lines) > 1 else []
    head = card_text.head(line)
    if title or head:
        blocks.append(section(*title, *([fixed(head)] if head else [])))
    if line.asked.again:
        blocks.append(section(plain(words.asked_again())))
    if pages := _pages(card, line):
        blocks.append(section(plain(words.shown_above(len(pages)))))
    elif text := card_text.whole(line):
        blocks.append(code(text))
    if line not in card.open:
        return [*blocks, section(plain(card_text.outcome(line)))]
    value = f"{line.seq}:{line.asked.digest}"
    buttons = [_button("treadle_approve", value), _button("treadle_deny", value)]
    buttons.append(_labelled(DENY_WHY, words.DENY_WHY, value))
    if line.asked.offer is not None:
        buttons.append(_button("treadle_approve_thread", value))
    return [*blocks, {"type": "actions", "block_id": f"q{line.seq}", "elements": buttons}]


def _pages(card: Card, line: Line) -> list[RenderedMessage]:
    """The whole of a call that is too long for the card."""
    text = card_text.whole(line)
    if units(text) <= (ON_LINE if len(card.lines) > 1 else ON_CARD):
        return []
    parts = _parted(text)
    messages = []
    for number, part in enumerate(parts, 1):
        title = words.page_title(card_text.title(card, line), number, len(parts))
        blocks = (section(bold(title), plain(f" {card_text.head(line)}")), code(part))
        messages.append(RenderedMessage(notification(inert(title)), blocks))
    return messages


def _parted(text: str) -> list[str]:
    """The text in parts that fit into a message each, cut behind a line where there is one."""
    parts = []
    while units(text) > PAGE:
        piece = text[:PAGE] if text[:PAGE].isascii() else text[: PAGE // 2]
        end = piece.rfind("\n") + 1 or len(piece)
        parts.append(text[:end])
        text = text[end:]
    return [*parts, text]


def _button(action: str, value: str) -> Element:
    _, label, style = BUTTONS[action]
    return _labelled(action, label, value, style)


def _labelled(action: str, label: str, value: str, style: str = "") -> Element:
    button: dict[str, str | dict[str, str]] = {
        "type": "button",
        "action_id": action,
        "text": {"type": "plain_text", "text": label},
        "value": value,
    }
    return {**button, "style": style} if style else button


def _link(url: str, text: str) -> Element:
    return {"type": "link", "url": url, "text": text}
