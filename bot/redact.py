"""Hide configured secrets by their live values, in every form in which they are likely to leak.

Every outlet passes its text through `Redactor.text` before anything else sees it: the journal,
Slack, the log, the terminal. Forms: as it is, JSON-escaped (once and twice), as a Python repr,
HTML-escaped, URL-encoded, hexadecimal, and base64 (standard and URL-safe) in its three
alignments; each also where it is broken into lines, indented or not, and where the breaks are
escaped as in JSON.
"""

from __future__ import annotations

import base64
import html
import json
import logging
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import Any
from urllib.parse import quote, quote_plus

SHORTEST_SECRET = 8
"""Characters; shorter values would also hide ordinary words, so the start refuses them."""
SHORT_TEXT = 4000
"""Characters; up to here looking for each form costs less than a call of the engine."""
MARK = "[redacted]"
_BREAK = re.compile(r"[\r\n\\](?:(?<=[\r\n])|\\*[rn])[ \t]*(?:(?:[\r\n]|\\+[rn])[ \t]*)*")
"""Line breaks with the indentation behind them, as they are and as JSON writes them. It begins with
a set of characters, for which the engine looks eight times as fast as for a choice."""


class Redactor:
    """Replaces the given secrets by `MARK`. Raises ValueError for one shorter than 8 characters.

    Shows none of them in its own repr. Texts without a hit cost a linear scan or two.
    """

    def __init__(self, secrets: Iterable[str]) -> None:
        values = sorted(set(secrets))
        if any(len(value) < SHORTEST_SECRET for value in values):
            raise ValueError(f"A secret is shorter than {SHORTEST_SECRET} characters.")
        forms = {form for value in values for form in _forms(value)}
        # A form that itself holds what looks like an escaped line break is also looked for without.
        closed = {_BREAK.sub("", form) for form in forms}
        self._forms = sorted(forms | {form for form in closed if len(form) >= SHORTEST_SECRET})
        self._first = {form[0] for form in self._forms}
        self.longest = max(map(len, self._forms), default=0)
        """Characters of the longest form, line breaks within it not counted."""

    def __repr__(self) -> str:
        return f"Redactor({len(self._forms)} forms)"

    @cached_property
    def _pattern(self) -> Any:
        """None if there is no secret. Made when first needed: its engine takes 1.5 MB."""
        return _compile(self._forms) if self._forms else None

    def text(self, text: str) -> str:
        """The text with every form of every secret replaced."""
        if not text or not self._forms:
            return text
        closed = _BREAK.sub("", text)
        if len(text) <= SHORT_TEXT:
            clean = not any(form in text or form in closed for form in self._forms)
        else:
            clean = not (self._hits(text) or (len(closed) < len(text) and self._hits(closed)))
        return text if clean else _replaced(text, self._spans(text))

    def stream(self) -> StreamRedactor:
        """A redactor for one text that arrives in pieces."""
        return StreamRedactor(self)

    def split(self, text: str) -> tuple[str, str]:
        """The redacted part that no later text can change, and the rest as it came."""
        if not self._forms:
            return text, ""
        spans, keep = self._spans(text), self._open_end(text)
        for start, end in spans:
            # A hit that reaches into what is held back is held back whole.
            if start < keep < end:
                keep = start
        done = [span for span in spans if span[1] <= keep]
        return _replaced(text[:keep], done), text[keep:]

    def _hits(self, text: str) -> bool:
        return self._pattern.search(_bytes(text)) is not None

    def _spans(self, text: str) -> list[tuple[int, int]]:
        """Where secrets stand, in order and apart; also those that line breaks go through."""
        closed = _Closed.of(text)
        found = [*self._found(text), *(closed.span(hit) for hit in self._found(closed.text))]
        spans: list[tuple[int, int]] = []
        for start, end in sorted(found):
            if spans and start < spans[-1][1]:
                spans[-1] = (spans[-1][0], max(end, spans[-1][1]))
            else:
                spans.append((start, end))
        return spans

    def _found(self, text: str) -> Iterator[tuple[int, int]]:
        data = _bytes(text)
        at, before = 0, 0
        for hit in self._pattern.finditer(data):
            start, end = hit.span()
            before += len(_text(data[at:start]))
            length = len(_text(data[start:end]))
            yield before, before + length
            at, before = end, before + length

    def _open_end(self, text: str) -> int:
        """Where the earliest form begins that the next piece could complete."""
        # The last of what came may be the beginning of an escaped line break.
        ways = {text, text.rstrip("\\")}
        starts = [self._opens(text)]
        for closed in map(_Closed.of, ways):
            if len(closed.text) < len(text):
                starts.append(closed.place(self._opens(closed.text)))
        return min(starts)

    def _opens(self, text: str) -> int:
        for index in range(max(0, len(text) - self.longest + 1), len(text)):
            if text[index] in self._first and self._begins_form(text[index:]):
                return index
        return len(text)

    def _begins_form(self, tail: str) -> bool:
        at = bisect_left(self._forms, tail)
        return at < len(self._forms) and self._forms[at].startswith(tail)


@dataclass(frozen=True, slots=True)
class _Closed:
    """A text without its line breaks, and where each part of it stood."""

    text: str
    starts: list[int]
    """Of the parts between breaks, in the closed text."""
    places: list[int]
    """Of the same parts, in the text as it was."""
    length: int

    @classmethod
    def of(cls, text: str) -> _Closed:
        breaks = [hit.span() for hit in _BREAK.finditer(text)]
        places = [0, *(end for _, end in breaks)]
        ends = [*(start for start, _ in breaks), len(text)]
        parts = [text[place:end] for place, end in zip(places, ends, strict=True)]
        starts = list(accumulate(map(len, parts[:-1]), initial=0))
        return cls("".join(parts), starts, places, len(text))

    def place(self, index: int) -> int:
        """Where a character of the closed text stood; its end is the end."""
        if index >= len(self.text):
            return self.length
        part = bisect_right(self.starts, index) - 1
        return self.places[part] + index - self.starts[part]

    def span(self, hit: tuple[int, int]) -> tuple[int, int]:
        return self.place(hit[0]), self.place(hit[1] - 1) + 1


class StreamRedactor:
    """Redacts a text that arrives in pieces.

    It holds back at most as many characters as the longest form of a secret has, and only while
    the text so far ends like the beginning of one.
    """

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self._held = ""

    def feed(self, piece: str) -> str:
        """What can be shown now."""
        shown, self._held = self._redactor.split(self._held + piece)
        return shown

    def finish(self) -> str:
        """The rest, when the text is at its end."""
        held, self._held = self._held, ""
        return self._redactor.text(held)


class RedactingFormatter(logging.Formatter):
    """Formats a log record as `inner` does, with traceback and stack, and redacts the result."""

    def __init__(self, redactor: Redactor, inner: logging.Formatter | None = None) -> None:
        super().__init__()
        self._redactor = redactor
        self._inner = inner or logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s")

    def format(self, record: logging.LogRecord) -> str:
        """One redacted text, ready to be written."""
        return self._redactor.text(self._inner.format(record))


def redact_log(redactor: Redactor) -> None:
    """Let no handler of the process's log write a secret from now on."""
    for handler in logging.getLogger().handlers:
        handler.setFormatter(RedactingFormatter(redactor))


def _forms(secret: str) -> Iterator[str]:
    yield secret
    for ascii_only in (True, False):
        once = json.dumps(secret, ensure_ascii=ascii_only)[1:-1]
        yield from (once, once.replace("/", "\\/"))
        yield json.dumps(once, ensure_ascii=ascii_only)[1:-1]
    yield repr(secret)[1:-1]
    yield html.escape(secret)
    yield html.escape(secret, quote=False)
    for encoded in (quote(secret, safe=""), quote(secret), quote_plus(secret)):
        yield encoded
        yield _lower_percent(encoded)
    yield from _byte_forms(secret.encode("utf-8", "surrogatepass"))


def _lower_percent(encoded: str) -> str:
    head, *rest = encoded.split("%")
    return "%".join([head, *(part[:2].lower() + part[2:] for part in rest)])


def _byte_forms(data: bytes) -> Iterator[str]:
    yield data.hex()
    yield data.hex().upper()
    for shift in range(3):
        # The first and last characters also hold bits of the neighbours: only those between are
        # the same wherever the secret stands.
        first, last = -(-shift * 8 // 6), (shift + len(data)) * 8 // 6
        encoded = base64.b64encode(b"\0" * shift + data)[first:last].decode("ascii")
        yield encoded
        yield encoded.replace("+", "-").replace("/", "_")


def _compile(forms: Iterable[str]) -> Any:
    import re2  # an alternation of this size is slow in `re` and linear here

    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1  # bytes
    options.log_errors = False
    options.max_mem = 64 << 20
    # The longest first: a secret may begin with another one.
    ordered = sorted(forms, key=lambda form: (-len(form), form))
    return re2.compile(b"|".join(re2.escape(_bytes(form)) for form in ordered), options)


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogatepass")


def _replaced(text: str, spans: Iterable[tuple[int, int]]) -> str:
    parts, at = [], 0
    for start, end in spans:
        parts.append(text[at:start])
        at = end
    parts.append(text[at:])
    return MARK.join(parts)
