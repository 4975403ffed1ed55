"""Splits pieces over messages so that Slack takes each one, and no character is lost.

A message ends between two pieces. Only a piece that no message could hold is cut: code at a line
end, prose at a line end, else a sentence end, else white space, all in the last half of what fits,
else anywhere but inside a visible character. A cut in code replaces one newline or nothing; a
cut in prose drops the white space around it. Every part of a cut piece is a piece of the same
look; a list item's mark stays with its first part. Rules at a message's edge are left out.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from bot.slack.blocks import units
from bot.slack.markdown_pieces import Kind, Piece, Span, together

JSON_SHARE = 3
"""Characters of a message's JSON for each visible one. Slack documents no number; it has answered
`msg_blocks_too_long` to some 11,300 characters of text, and counts more than the text. Whoever
meets that answer renders again with half the limit."""
MAX_BLOCKS = 50
"""Blocks of one message (docs: reference/block-kit/blocks)."""
MIN_LIMIT = 200
"""Smallest limit of characters that splitting works with."""

_SENTENCE = re.compile(r"[.!?][\"'”’)\]]*(?=\s)|[。！？…；][\"”’」』）]*")
# Characters that json.dumps writes around texts, rounded up.
_BLOCK_JSON = 50
_LIST_JSON, _ITEM_JSON = 120, 55
_BOX_JSON, _GAP_JSON = 100, 36
_LEAF_JSON, _STYLE_JSON, _LINK_JSON = 30, 16, 14
_MIN_JSON = 4000  # room for a link with the longest address


class Room(NamedTuple):
    """What a message holds or can still hold: visible characters (UTF-16 units) and JSON."""

    units: int
    json: int

    def holds(self, other: Room) -> bool:
        return self.units >= other.units and self.json >= other.json

    def without(self, other: Room) -> Room:
        return Room(self.units - other.units, self.json - other.json)


def split(pieces: Sequence[Piece], limit: int) -> list[list[Piece]]:
    """The pieces by message: at most `limit` visible characters and JSON_SHARE times that of JSON.

    A limit below MIN_LIMIT counts as MIN_LIMIT.
    """
    limit = max(limit, MIN_LIMIT)
    packer = _Packer(Room(limit, max(JSON_SHARE * limit, _MIN_JSON) - _BLOCK_JSON))
    for piece in pieces:
        packer.add(piece)
    return packer.finished()


class _Packer:
    def __init__(self, full: Room) -> None:
        self._full = self._left = full
        self._now: list[Piece] = []
        self._blocks = 0
        self._done: list[list[Piece]] = []

    def add(self, piece: Piece) -> None:
        if piece.kind is Kind.RULE:
            self._rule(piece)
            return
        size = _size(piece)
        if self._full.holds(size):
            if not self._left.holds(self._size_here(piece)):
                self._next(size)
            self._append(piece, self._size_here(piece))
            return
        first = self._left if self._left.units * 4 >= self._full.units else None
        for number, part in enumerate(_parts(piece, first, self._full)):
            if number or first is None or not self._left.holds(_size(part)):
                self._next()
            self._append(part, _size(part))

    def _size_here(self, piece: Piece) -> Room:
        return _size(piece, self._now[-1] if self._now else None)

    def finished(self) -> list[list[Piece]]:
        self._next()
        return self._done

    def _rule(self, piece: Piece) -> None:
        if self._blocks > MAX_BLOCKS - 3:
            self._next()
        elif self._now and self._now[-1].kind is not Kind.RULE:
            self._append(piece, Room(0, 2 * _BLOCK_JSON))
            self._blocks += 1

    def _append(self, piece: Piece, size: Room) -> None:
        if piece.kind is not Kind.RULE and (not self._now or self._now[-1].kind is Kind.RULE):
            self._blocks += 1
        self._now.append(piece)
        self._left = self._left.without(size)

    def _next(self, coming: Room | None = None) -> None:
        """Ends the message; headings at its end go with the piece that is `coming`."""
        now = self._now
        carried: list[Piece] = []
        while now and (now[-1].kind is Kind.RULE or (coming and now[-1].heading)):
            carried.insert(0, now.pop())
        headings = [piece for piece in carried if piece.heading]
        sizes = [_size(piece) for piece in headings]
        fits = coming and self._full.holds(Room(*map(sum, zip(coming, *sizes, strict=True))))
        if not (fits and now):
            now, headings, sizes = now + headings, [], []
        # Blank lines of a huge code box, or nothing: Slack refuses such a message.
        if any(not piece.text.isspace() for piece in now if piece.kind is not Kind.RULE):
            self._done.append(now)
        self._now, self._blocks, self._left = [], 0, self._full
        for piece, size in zip(headings, sizes, strict=True):
            self._append(piece, size)


def _size(piece: Piece, previous: Piece | None = None) -> Room:
    around = _around(piece, previous)
    return Room(
        around.units + sum(units(span.text) + len(span.url) for span in piece.spans),
        around.json + sum(_json(span) for span in piece.spans),
    )


def _around(piece: Piece, previous: Piece | None = None) -> Room:
    """What stands around the piece's spans: list marks, blank lines and the JSON of elements."""
    shared = previous is not None and together(previous, piece)
    if piece.kind is Kind.ITEM:
        # A mark is at most "999. " behind two spaces a level.
        return Room(2 * piece.indent + 6, _ITEM_JSON + (0 if shared else _LIST_JSON))
    return Room(3, _GAP_JSON if shared else _BOX_JSON)


def _json(span: Span) -> int:
    look = _LEAF_JSON + (_STYLE_JSON * (1 + len(span.style)) if span.style else 0)
    link = _LINK_JSON + len(span.url) if span.url else 0
    return look + link + len(span.text) + sum(map(span.text.count, '"\\\n\t'))


def _parts(piece: Piece, first: Room | None, full: Room) -> Iterator[Piece]:
    """The piece in parts: the first for the room that is left, the others for a whole message."""
    spans, at, offset = piece.spans, 0, 0
    room = (first or full).without(_around(piece))
    while at < len(spans):
        taken = _window(spans, at, offset, room, whole=room.units >= full.units - 40)
        text = "".join([span.text for span in taken])
        end_at, end = _moved(spans, at, offset, len(text))
        if end_at < len(spans) and text:
            following = spans[end_at].text[end]
            length = _break(text, following, piece.kind is Kind.CODE)
            end_at, end = _moved(spans, at, offset, length)
            taken = _shortened(taken, length)
            end_at, end = _skipped(spans, end_at, end, piece.kind is Kind.CODE)
        if piece.kind is not Kind.CODE:
            taken = _shortened(taken, len("".join([span.text for span in taken]).rstrip()))
        if taken:
            yield replace(piece, spans=tuple(taken))
            piece = _continued(piece)
        at, offset = end_at, end
        room = full.without(_around(piece))


def _continued(piece: Piece) -> Piece:
    if piece.kind is not Kind.ITEM:
        return piece
    return Piece(Kind.QUOTE if piece.quoted else Kind.TEXT)


def _window(spans: Sequence[Span], at: int, offset: int, room: Room, whole: bool) -> list[Span]:
    """The spans from a place on that fit; in a `whole` message at least one character does."""
    taken: list[Span] = []
    left = room
    while at < len(spans):
        span = spans[at]._replace(text=spans[at].text[offset : offset + left.units + 1])
        text = _fitting(span, left)
        if not text and whole and not taken:
            # An address longer than the limit hides behind its text; MAX_URL bounds it.
            text = _fitting(span, Room(left.units + len(span.url), left.json))
        if not text:
            break
        taken.append(span._replace(text=text))
        left = left.without(Room(units(text) + len(span.url), _json(taken[-1])))
        if offset + len(text) < len(spans[at].text):
            break
        at, offset = at + 1, 0
    return taken


def _fitting(span: Span, room: Room) -> str:
    most = room.units - len(span.url)
    if _json(span) > room.json:
        # Every character may need two in JSON.
        most = min(most, (room.json - _json(span._replace(text=""))) // 2)
    if most <= 0:
        return ""
    text = span.text[:most]
    if units(text) <= most:
        return text
    return text.encode("utf-16-le")[: 2 * most].decode("utf-16-le", "ignore")


def _break(text: str, following: str, code: bool) -> int:
    """How many characters of `text` stay before the cut; `following` is what comes next."""
    half = len(text) // 2
    if code:
        return len(text) if following == "\n" else max(text.rfind("\n"), 0) or len(text)
    line = len(text) if following == "\n" else text.rfind("\n", half)
    if line > 0:
        return line
    sentence = max((found.end() for found in _SENTENCE.finditer(text, half)), default=0)
    if sentence:
        return sentence
    if following.isspace():
        return len(text)
    space = max(text.rfind(char) for char in " \t\u3000")
    return space if space > 0 and text[:space].strip() else _whole_character(text + following)


def _whole_character(text: str) -> int:
    """The last place before the end of `text` that is not inside a visible character."""
    for place in range(len(text) - 1, max(0, len(text) - 33), -1):
        if not _clings(text[place]) and text[place - 1] != "\u200d":
            return place
    return len(text) - 1


def _clings(char: str) -> bool:
    return (
        bool(unicodedata.combining(char))
        or char in "\u200c\u200d"
        or "\ufe00" <= char <= "\ufe0f"
        or "\U0001f3fb" <= char <= "\U0001f3ff"
    )


def _moved(spans: Sequence[Span], at: int, offset: int, count: int) -> tuple[int, int]:
    """The place `count` characters after a place; never at the end of a span."""
    while at < len(spans) and count >= len(spans[at].text) - offset:
        count -= len(spans[at].text) - offset
        at, offset = at + 1, 0
    return at, offset + count if at < len(spans) else 0


def _skipped(spans: Sequence[Span], at: int, offset: int, code: bool) -> tuple[int, int]:
    """The place behind the newline (code) or white space (prose) that a cut replaces."""
    while at < len(spans) and spans[at].text[offset].isspace():
        if code:
            newline = spans[at].text[offset] == "\n"
            return _moved(spans, at, offset, 1) if newline else (at, offset)
        at, offset = _moved(spans, at, offset, 1)
    return at, offset


def _shortened(taken: Sequence[Span], length: int) -> list[Span]:
    kept: list[Span] = []
    for span in taken:
        if length <= 0:
            break
        kept.append(span._replace(text=span.text[:length]))
        length -= len(kept[-1].text)
    return kept
