"""The inside of a paragraph: tokens of one line of Markdown to styled spans."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import groupby

from markdown_it.token import Token

from bot.inert import inert
from bot.slack.markdown_links import bare_links, linked
from bot.slack.markdown_pieces import PLAIN, Span

_STYLES = {"strong": "bold", "em": "italic", "s": "strike"}
_OTHERS = frozenset(["code_inline", "softbreak", "hardbreak", "link_open", "link_close", "image"])
_TASK = re.compile(r"\[([ xX])\][ \t]+")


def spans_of(children: Sequence[Token], *extra: str) -> list[Span]:
    """The spans of an inline token's children, all with the `extra` styles too."""
    return _Line(extra).read(children)


def task_marked(spans: Sequence[Span]) -> list[Span]:
    """A list item that begins with `[ ]` or `[x]` gets ☐ or ☑ in its place."""
    found = _TASK.match(spans[0].text) if spans and not spans[0].url else None
    if not found:
        return list(spans)
    box = "☐ " if found[1] == " " else "☑ "
    return [spans[0]._replace(text=box + spans[0].text[found.end() :]), *spans[1:]]


def trimmed(spans: Iterable[Span]) -> tuple[Span, ...]:
    """Without empty spans and outer white space, neighbours of the same style joined."""
    merged: list[list[str]] = []
    looks: list[Span] = []
    for span in spans:
        if not span.text:
            continue
        if looks and looks[-1][1:] == span[1:]:
            merged[-1].append(span.text)
        else:
            looks.append(span)
            merged.append([span.text])
    texts = ["".join(parts) for parts in merged]
    while texts and not texts[0].strip():
        del texts[0], looks[0]
    while texts and not texts[-1].strip():
        del texts[-1], looks[-1]
    if texts:
        texts[0] = texts[0].lstrip()
        texts[-1] = texts[-1].rstrip()
    return tuple(look._replace(text=text) for look, text in zip(looks, texts, strict=True))


def _is_words(token: Token) -> bool:
    return token.tag not in _STYLES and token.type not in _OTHERS


class _Line:
    """Reads one line's tokens; holds the styles that are open."""

    def __init__(self, extra: Sequence[str]) -> None:
        self._open: Counter[str] = Counter(extra)
        self._style = frozenset(extra)
        self._spans: list[Span] = []
        self._link: tuple[int, Token] | None = None

    def read(self, children: Sequence[Token]) -> list[Span]:
        for words, run in groupby(children, key=_is_words):
            if words:
                # Escapes and entities are tokens of their own, also in the middle of an address.
                self._text(inert("".join([token.content for token in run])))
            else:
                for token in run:
                    self._token(token)
        return self._spans

    def _token(self, token: Token) -> None:
        match token.type:
            case "code_inline":
                self._spans.append(Span(inert(token.content), self._style | {"code"}))
            case "softbreak" | "hardbreak":
                self._spans.append(Span("\n", self._style))
            case "link_open":
                self._link = (len(self._spans), token)
            case "link_close":
                self._close_link()
            case "image":
                self._image(token)
            case _:
                self._switch(_STYLES[token.tag], token.nesting)

    def _text(self, text: str) -> None:
        if self._link is None:
            self._spans.extend(bare_links(text, self._style))
        elif text:
            self._spans.append(Span(text, self._style))

    def _close_link(self) -> None:
        if self._link is not None:
            start, opened = self._link
            spans, label = self._spans[start:], str(opened.meta.get("label", ""))
            if label.isdecimal() and label == "".join([span.text for span in spans]):
                # A citation, "[1]": without brackets it would be a number in the sentence.
                spans = [Span("[", self._style), *spans, Span("]", self._style)]
            self._spans[start:] = linked(spans, str(opened.attrs.get("href", "")))
            self._link = None

    def _image(self, token: Token) -> None:
        # An image by address would be fetched by every reader: its text and address stand here.
        words = trimmed(_Line(tuple(self._style)).read(token.children or []))
        address = inert(str(token.attrs.get("src", "")))
        self._spans.extend(span._replace(url="") for span in words)
        if address:
            self._text(f" ({address})" if words else address)

    def _switch(self, style: str, nesting: int) -> None:
        self._open[style] += nesting
        self._style = frozenset(name for name, count in self._open.items() if count > 0) or PLAIN
