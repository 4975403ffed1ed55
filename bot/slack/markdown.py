"""A model's Markdown as Slack messages: pure, complete, harmless.

Blocks are `rich_text`, whose text elements are shown as they are: nothing a model writes can
notify a person or channel, load an image or hide an address. Every visible character of the
answer stands in some message.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from bot.inert import inert
from bot.slack.blocks import Block, clip, escape, visible_text
from bot.slack.markdown_blocks import blocks_of
from bot.slack.markdown_pieces import Piece, plain_pieces
from bot.slack.split import split

MESSAGE_LIMIT = 8000
"""Visible characters of one message; Slack has refused blocks from about 11,300 on."""
TEXT_LIMIT = 3000
"""Characters of a message's `text`, escapes included."""
TEXT_BYTES = 3900
"""UTF-8 bytes of `text`: chat.update has refused more than 4,000 (`msg_too_long`)."""

# Whatever could be Markdown; too wide a net only costs time.
_SYNTAX = re.compile(
    r"[*_`~\[\]<>&\\#|]|://|^[ \t]*(?:[-+=]|\d{1,9}[.)])|^(?: {4}| {0,3}\t)|[ \t]$", re.M
)


@dataclass(frozen=True, slots=True)
class RenderedMessage:
    """One message: `blocks` to show, `text` for notifications and clients without blocks."""

    text: str
    blocks: tuple[Block, ...]


def to_messages(markdown: str, limit: int = MESSAGE_LIMIT) -> tuple[RenderedMessage, ...]:
    """The messages that show `markdown`, in order; none if it holds nothing visible.

    `limit` is the most visible characters (UTF-16 units) of one message; below 200 it counts as
    200. A message has at most 50 blocks, and its JSON three times `limit` (or
    4,000) characters: after `msg_blocks_too_long`, half the limit helps. Never raises.
    """
    return tuple(_message(pieces) for pieces in split(_pieces(inert(markdown)), limit))


def _pieces(text: str) -> list[Piece]:
    if _SYNTAX.search(text) is None:
        return plain_pieces(text)
    # The parser takes 45 ms to import, which a process that meets no Markdown need not spend.
    from bot.slack.markdown_reader import read_pieces

    try:
        return read_pieces(text)
    except RecursionError:
        # The parser's depth is bounded, but the caller may stand near the end of the stack.
        return plain_pieces(text)


def _message(pieces: list[Piece]) -> RenderedMessage:
    blocks = blocks_of(pieces)
    return RenderedMessage(notification(visible_text(blocks)), blocks)


def notification(text: str) -> str:
    """The beginning of `text` for a message's `text` field: escaped, ≤ 3,000 characters."""
    beginning = clip(text.strip(), TEXT_LIMIT)
    while True:
        escaped = escape(beginning)
        excess = max(
            len(escaped) - TEXT_LIMIT, len(escaped.encode("utf-8", "replace")) - TEXT_BYTES
        )
        if excess <= 0:
            return escaped
        # At most five characters stand for one, and at most four bytes.
        beginning = clip(beginning, max(1, len(beginning) - max(1, excess // 5)))
