"""Markdown to pieces: walks the parser's tokens once."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from markdown_it.token import Token

from bot.inert import inert
from bot.slack.markdown_inline import spans_of, task_marked, trimmed
from bot.slack.markdown_parser import Document
from bot.slack.markdown_pieces import LIST_NUMBERS, MAX_INDENT, Kind, Piece, Span
from bot.slack.markdown_tables import table_pieces

_LANGUAGE = re.compile(r"[\w+#.:-]{1,30}")
_MAX_SETEXT = 80


def read_pieces(text: str) -> list[Piece]:
    """The pieces of a Markdown text that is already inert. Linear in its length."""
    return _Reader(text).read()


@dataclass(slots=True)
class _List:
    """An open list: the number of its current item (0: bullets) and if its mark is still due."""

    ordered: bool
    number: int
    indent: int
    due: bool = False
    item: int = -1


class _Reader:
    def __init__(self, text: str) -> None:
        self._text = text
        self._document = Document(text)
        self._tokens: Iterator[Token] = self._document.tokens()
        self._pieces: list[Piece] = []
        self._open: list[_List | None] = []  # None stands for a quotation
        self._quotes = 0
        self._ended: tuple[int, int] | None = None  # a top-level list: its last line, its indent
        self._source: list[str] | None = None

    def read(self) -> list[Piece]:
        for token in self._tokens:
            self._token(token)
        return self._pieces

    def _token(self, token: Token) -> None:
        match token.type:
            case "inline":
                self._paragraph(self._spans(token))
            case "heading_open":
                self._heading(token)
            case "fence" | "code_block":
                self._code(token)
            case "hr":
                self._pieces.append(Piece(Kind.RULE))
            case "bullet_list_open" | "ordered_list_open":
                self._open.append(self._list(token))
            case "list_item_open":
                self._item(token)
            case "blockquote_open":
                self._quotes += not self._depth()
                self._open.append(None)
            case "list_item_close":
                self._marks(self._lists()[-1:])
            case "blockquote_close" | "bullet_list_close" | "ordered_list_close":
                self._open.pop()
            case "table_open":
                self._table()

    def _spans(self, inline: Token, *extra: str) -> list[Span]:
        return spans_of(self._document.inside(inline), *extra)

    def _lists(self) -> list[_List]:
        return [each for each in self._open if each]

    def _depth(self) -> int:
        return sum(each is None for each in self._open)

    def _list(self, token: Token) -> _List:
        start = int(token.attrs.get("start", 1))
        indent = len(self._lists())
        if not self._open and token.map:
            indent += self._hangs(token)
            self._ended = (token.map[1], indent)
        return _List(token.type == "ordered_list_open", start - 1, min(indent, MAX_INDENT))

    def _hangs(self, token: Token) -> bool:
        """Bullets under a numbered step, indented by less than CommonMark asks: "1. a\\n  - b"."""
        assert token.map is not None
        if self._ended is None or self._ended[0] != token.map[0] or self._ended[1]:
            return False
        if self._source is None:
            self._source = self._text.split("\n")
        return self._source[token.map[0]].startswith((" ", "\t"))

    def _item(self, token: Token) -> None:
        current = self._open[-1]
        assert current is not None
        wanted = int(token.info) if token.info.isdecimal() else 0
        current.number = max(current.number + 1, wanted)
        current.due, current.item = True, -1

    def _marks(self, lists: Sequence[_List]) -> None:
        """An item without words of its own keeps its number; a bare bullet says nothing."""
        for each in lists:
            if each.due:
                each.due = False
                if each.ordered:
                    self._add((Span(f"{each.number}."),))

    def _paragraph(self, spans: Sequence[Span], heading: bool = False) -> None:
        current = self._open[-1] if self._open else None
        if current is None:
            self._marks(self._lists())
            self._add(trimmed(spans), heading)
        elif current.due:
            self._first_of_item(current, trimmed(task_marked(spans)))
        elif current.item == len(self._pieces) - 1 and current.item >= 0:
            piece = self._pieces[-1]
            joined = trimmed([*piece.spans, Span("\n"), *trimmed(spans)])
            self._pieces[-1] = replace(piece, spans=joined)
        else:
            self._add(trimmed(spans), heading)

    def _first_of_item(self, current: _List, spans: tuple[Span, ...]) -> None:
        self._marks(self._lists()[:-1])
        if not spans:
            return self._marks([current])
        current.due = False
        if current.ordered and current.number not in LIST_NUMBERS:
            return self._add(trimmed([Span(f"{current.number}. "), *spans]))
        number = current.number if current.ordered else 0
        quoted = self._depth() > 0
        current.item = len(self._pieces)
        self._pieces.append(Piece(Kind.ITEM, spans, current.indent, number, quoted))
        return None

    def _add(self, spans: tuple[Span, ...], heading: bool = False) -> None:
        depth = self._depth()
        if not spans:
            return
        if depth:
            inner = (Span("> " * (depth - 1)), *spans) if depth > 1 else spans
            self._pieces.append(Piece(Kind.QUOTE, trimmed(inner), group=self._quotes))
        else:
            self._pieces.append(Piece(Kind.TEXT, spans, heading=heading))

    def _heading(self, token: Token) -> None:
        inline, _close = next(self._tokens), next(self._tokens)
        underlined = token.markup == "-"
        if underlined and ("\n" in inline.content or len(inline.content) > _MAX_SETEXT):
            # A rule that stands directly under a paragraph, which CommonMark reads as a heading.
            self._paragraph(self._spans(inline))
            self._pieces.append(Piece(Kind.RULE))
        else:
            self._paragraph(self._spans(inline, "bold"), heading=True)

    def _code(self, token: Token) -> None:
        text, info = inert(token.content).rstrip("\n"), inert(token.info).strip()
        if info and not (_LANGUAGE.fullmatch(info) and text.strip()):
            # No language but words that stand beside the fence ("```ls -la"): they stay.
            text = f"{info}\n{text}" if text else info
        self._marks(self._lists())
        if text.strip():
            self._pieces.append(Piece(Kind.CODE, (Span(text),), quoted=self._depth() > 0))

    def _table(self) -> None:
        rows: list[list[list[Span]]] = []
        aligns: list[str] = []
        for token in self._tokens:
            if token.type == "table_close":
                break
            if token.type == "tr_open":
                rows.append([])
            elif token.type == "th_open":
                aligns.append(str(token.attrs.get("style", "")).rpartition(":")[2])
            elif token.type == "inline":
                rows[-1].append(self._spans(token))
        self._marks(self._lists())
        indent, quoted = len(self._lists()), self._depth() > 0
        self._pieces.extend(table_pieces(rows, aligns, indent=indent, quoted=quoted))
