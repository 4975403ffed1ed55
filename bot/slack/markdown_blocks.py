"""Pieces of one message to Slack blocks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby

from bot.slack.blocks import Block, Element, Json, rich_text
from bot.slack.markdown_pieces import Kind, Piece, Span, together


def blocks_of(pieces: Sequence[Piece]) -> tuple[Block, ...]:
    """One `rich_text` block per stretch between rules, and a `divider` for each rule."""
    blocks: list[Block] = []
    for rule, run in groupby(pieces, key=lambda piece: piece.kind is Kind.RULE):
        if rule:
            blocks.append({"type": "divider"})
        else:
            blocks.append(rich_text(_elements(list(run))))
    return tuple(blocks)


def _elements(pieces: Sequence[Piece]) -> list[Element]:
    elements: list[Element] = []
    start = 0
    while start < len(pieces):
        end = start + 1
        while end < len(pieces) and together(pieces[end - 1], pieces[end]):
            end += 1
        before = pieces[start - 1].kind if start else None
        elements.append(_element(pieces[start:end], before))
        start = end
    return elements


def _element(pieces: Sequence[Piece], before: Kind | None) -> Element:
    first = pieces[0]
    match first.kind:
        case Kind.ITEM:
            return _list(pieces)
        case Kind.CODE:
            # Style means nothing in a preformatted box.
            texts: list[Json] = [{"type": "text", "text": span.text} for span in first.spans]
            return _framed({"type": "rich_text_preformatted", "elements": texts}, first)
        case Kind.QUOTE:
            return {"type": "rich_text_quote", "elements": list(_paragraphs(pieces))}
        case _:
            # Slack puts no space between a list and the paragraph behind it.
            lead = [_leaf(Span("\n"))] if before in (Kind.ITEM, Kind.QUOTE) else []
            return {"type": "rich_text_section", "elements": [*lead, *_paragraphs(pieces)]}


def _list(pieces: Sequence[Piece]) -> Element:
    first = pieces[0]
    items: list[Element] = [
        {"type": "rich_text_section", "elements": _leaves(piece.spans)} for piece in pieces
    ]
    element: dict[str, Json] = {
        "type": "rich_text_list",
        "style": "ordered" if first.number else "bullet",
        "indent": first.indent,
        "elements": items,
    }
    if first.number > 1:
        element["offset"] = first.number - 1
    return _framed(element, first)


def _framed(element: dict[str, Json], piece: Piece) -> Element:
    # What the composer writes for a list or code inside a quotation: the quotation's bar.
    return {**element, "border": 1} if piece.quoted else element


def _paragraphs(pieces: Sequence[Piece]) -> Iterator[Element]:
    previous: Piece | None = None
    for piece in pieces:
        if previous:
            yield _leaf(Span("\n" if previous.heading else "\n\n"))
        yield from _leaves(piece.spans)
        previous = piece


def _leaves(spans: Sequence[Span]) -> list[Element]:
    return [_leaf(span) for span in spans]


def _leaf(span: Span) -> Element:
    leaf: dict[str, Json] = {"type": "text", "text": span.text}
    if span.url:
        leaf = {"type": "link", "url": span.url, "text": span.text}
    if span.style:
        leaf["style"] = dict.fromkeys(sorted(span.style), True)
    return leaf
