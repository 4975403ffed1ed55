"""markdown-it, set up for what models write: CommonMark, tables, strikethrough, no HTML.

It differs from CommonMark where chat readers would lose something: emphasis next to Chinese,
Japanese and Korean text, `2*3*4`, `__init__`, doubled backslashes, link definitions (shown),
and nesting beyond MAX_DEPTH (shown as text).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from markdown_it import MarkdownIt
from markdown_it.common.utils import isMdAsciiPunct, isPunctChar
from markdown_it.rules_block import StateBlock
from markdown_it.rules_block.reference import reference
from markdown_it.rules_block.table import escapedSplit, getLine, table
from markdown_it.rules_inline import StateInline
from markdown_it.rules_inline.escape import escape
from markdown_it.rules_inline.state_inline import Delimiter
from markdown_it.token import Token
from markdown_it.utils import EnvType

MAX_DEPTH = 18
"""Nesting of quotes and lists (a list counts 2); bounds time and recursion."""

_CJK = re.compile(
    "[\u1100-\u11ff\u2e80-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\ufe30-\ufe4f"
    "\uff00-\uffef\U0001b000-\U0001b16f\U00020000-\U0003ffff]"
)
_DUNDER = re.compile(
    "__(?:all|annotations|call|class|del|dict|doc|enter|eq|exit|file|future|getattr|getitem|hash|"
    "init|init_subclass|iter|len|main|module|name|new|next|post_init|pycache|repr|setattr|slots|"
    "str|version)__(?![_\\w])"
)


_PATH = re.compile(r"(?:(?<!\w)[A-Za-z]:|\\\\\w)[^\s`*]*+\Z")
_MAX_PATH = 200


class Document:
    """A Markdown text as tokens. Time is linear in its length, recursion is bounded.

    The tokens of a line's inside are made when the walk comes to it and dropped behind it:
    with all of them alive, a long text costs Python's garbage collector twice the parser's time.
    """

    def __init__(self, text: str) -> None:
        self._references: EnvType = {}
        self._tokens = _parser().parse(text, self._references)

    def tokens(self) -> Iterator[Token]:
        """The block tokens, once."""
        self._tokens.reverse()
        while self._tokens:
            yield self._tokens.pop()

    def inside(self, token: Token) -> list[Token]:
        """The tokens inside an `inline` token."""
        parser = _parser()
        return parser.inline.parse(token.content, parser, self._references, [])


class _Markdown(MarkdownIt):
    """Leaves addresses alone: they are judged when links are made, and none may vanish before."""

    def validateLink(self, url: str) -> bool:  # noqa: N802
        return True

    def normalizeLink(self, url: str) -> str:  # noqa: N802
        return url

    def normalizeLinkText(self, link: str) -> str:  # noqa: N802
        return link


@cache
def _parser() -> MarkdownIt:
    parser = _Markdown(
        "commonmark", {"html": False, "maxNesting": MAX_DEPTH + 2, "store_labels": True}
    )
    parser.enable(["table", "strikethrough"])
    parser.disable(["inline", "text_join"])
    parser.block.ruler.before("table", "too_deep", _too_deep)
    parser.block.ruler.at("table", _table, {"alt": ["paragraph", "reference"]})
    parser.block.ruler.at("reference", _shown_reference)
    parser.inline.ruler.at("escape", _escape)
    parser.inline.ruler.at("emphasis", _emphasis)
    parser.inline.ruler.at("strikethrough", _strikethrough)
    return parser


def _paragraph(state: StateBlock, start: int, end: int) -> None:
    state.push("paragraph_open", "p", 1).map = [start, end]
    inline = state.push("inline", "", 0)
    inline.content = state.getLines(start, end, state.blkIndent, False).strip()
    inline.map, inline.children = [start, end], []
    state.push("paragraph_close", "p", -1)
    state.line = end


def _too_deep(state: StateBlock, start: int, end: int, _silent: bool) -> bool:
    if state.level < MAX_DEPTH:
        return False
    line = start + 1
    while line < end and (state.isEmpty(line) or state.sCount[line] >= state.blkIndent):
        line += 1
    _paragraph(state, start, line)
    return True


def _table(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Tables whose rows keep all cells; the rule drops those that the header has no name for."""
    before = len(state.tokens)
    if not table(state, start, end, silent):
        return False
    columns, last, line = 0, None, start
    for token in state.tokens[before:]:
        if token.type == "th_open":
            columns += 1
        elif token.type == "tr_open" and token.map:
            line = token.map[0]
        elif token.type == "inline":
            last = token
        elif token.type == "tr_close" and last and line > start:
            cells = _cells(getLine(state, line).strip())[columns - 1 :]
            if len(cells) > 1:
                last.content = " | ".join(cell.strip() for cell in cells)
    return True


def _cells(line: str) -> list[str]:
    cells = escapedSplit(line)
    return cells[cells[0] == "" : len(cells) - (cells[-1] == "")]


def _shown_reference(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Definitions (`[1]: https://…`) work and stay in sight: many answers end with such a list."""
    if silent or not reference(state, start, end, False):
        return False
    line = state.line
    while line < end and not state.isEmpty(line) and reference(state, line, end, False):
        line = state.line
    _paragraph(state, start, line)
    return True


def _escape(state: StateInline, silent: bool) -> bool:
    """Backslashes of paths stay: `\\\\server` and `C:\\dir\\_x` hold no escapes."""
    pos, source = state.pos, state.src
    if source[pos] != "\\":
        return False
    doubled = source.startswith("\\\\", pos)
    if not doubled and not _PATH.search(source, max(0, pos - _MAX_PATH), pos):
        return escape(state, silent)
    length = 2 if doubled else 1
    if not silent:
        state.append_pending("\\" * length)
    state.pos += length
    return True


def _emphasis(state: StateInline, silent: bool) -> bool:
    marker = state.src[state.pos]
    if silent or marker not in "*_":
        return False
    dunder = _DUNDER.match(state.src, state.pos) if marker == "_" else None
    if dunder:
        state.push("text", "", 0).content = dunder.group()
        state.pos = dunder.end()
        return True
    can_open, can_close, length = _scan(state, marker)
    for _ in range(length):
        _delimiter(state, marker, length, can_open, can_close)
    state.pos += length
    return True


def _strikethrough(state: StateInline, silent: bool) -> bool:
    marker = state.src[state.pos]
    if silent or marker != "~":
        return False
    can_open, can_close, length = _scan(state, marker)
    if length == 1:
        return False
    if length % 2:
        state.push("text", "", 0).content = marker
    for _ in range(length // 2):
        _delimiter(state, marker * 2, 0, can_open, can_close)
    state.pos += length
    return True


def _delimiter(state: StateInline, text: str, length: int, can_open: bool, can_close: bool) -> None:
    state.push("text", "", 0).content = text
    at = len(state.tokens) - 1
    state.delimiters.append(Delimiter(ord(text[0]), length, at, -1, can_open, can_close))


def _scan(state: StateInline, marker: str) -> tuple[bool, bool, int]:
    """If the run at this position may open and close emphasis, and its length.

    CommonMark's flanking rule, but CJK characters (their punctuation too) count as word
    boundaries: https://github.com/tats-u/markdown-cjk-friendly. A `*` run between two word
    characters of other scripts opens nothing.
    """
    source, start, end = state.src, state.pos, state.pos
    while end < state.posMax and source[end] == marker:
        end += 1
    before = source[start - 1] if start else " "
    after = source[end] if end < state.posMax else " "
    cjk_before, cjk_after = bool(_CJK.match(before)), bool(_CJK.match(after))
    punct_before, punct_after = _is_punct(before), _is_punct(after)
    hard_before, hard_after = punct_before and not cjk_before, punct_after and not cjk_after
    left = not after.isspace() and (not hard_after or before.isspace() or hard_before or cjk_before)
    right = not before.isspace() and (not hard_before or after.isspace() or hard_after or cjk_after)
    if marker == "_":
        return (
            left and (not right or punct_before),
            right and (not left or punct_after),
            end - start,
        )
    inside_word = before.isalnum() and after.isalnum() and not cjk_before and not cjk_after
    return left and not inside_word, right, end - start


def _is_punct(char: str) -> bool:
    return isMdAsciiPunct(ord(char)) or isPunctChar(char)
