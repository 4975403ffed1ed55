"""What a Markdown text comes to before it is split and turned into blocks."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

PLAIN: frozenset[str] = frozenset()
MAX_INDENT = 8
"""Deepest `indent` of a Slack list; deeper items are shown at this level."""
LIST_NUMBERS = range(1, 1000)
"""Numbers that a Slack list is trusted to show; others ("2024. …") become text."""


class Kind(Enum):
    TEXT = "text"
    ITEM = "item"
    QUOTE = "quote"
    CODE = "code"
    RULE = "rule"


class Span(NamedTuple):
    """Characters of one style; `style` holds bold, italic, strike, code; `url` makes it a link."""

    text: str
    style: frozenset[str] = PLAIN
    url: str = ""


@dataclass(frozen=True, slots=True)
class Piece:
    """A paragraph, list item, quotation, code box or rule; only RULE has no spans.

    `number` is an ordered item's number (0: a bullet), `quoted` marks items and code inside a
    quotation, `group` is the quotation that a QUOTE belongs to, `heading` stays with what follows.
    """

    kind: Kind
    spans: tuple[Span, ...] = ()
    indent: int = 0
    number: int = 0
    quoted: bool = False
    group: int = 0
    heading: bool = False

    @property
    def text(self) -> str:
        return "".join([span.text for span in self.spans])


def together(left: Piece, right: Piece) -> bool:
    """If two neighbours share one element of a block."""
    if left.kind is not right.kind or left.kind is Kind.CODE:
        return False
    same = (left.indent, left.quoted, left.group) == (right.indent, right.quoted, right.group)
    step = right.number - left.number
    return same and (left.kind is not Kind.ITEM or (step == 1 if left.number else not step))


def plain_pieces(text: str) -> list[Piece]:
    """The text as it is: one piece per paragraph, lines kept, nothing interpreted."""
    paragraphs = (part.rstrip() for part in re.split(r"(?:\A|\n)(?:[ \t]*\n)+", text))
    return [Piece(Kind.TEXT, (Span(part),)) for part in paragraphs if part]
