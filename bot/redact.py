"""Hide configured secrets by their live values, in every form in which they are likely to leak.

Every outlet passes its text through `Redactor.text` before anything else sees it: the journal,
Slack, the log, the terminal. Forms: as it is, JSON-escaped (once and twice), as a Python repr,
HTML-escaped, URL-encoded, hexadecimal, and base64 (standard and URL-safe) in its three
alignments, the last two also when wrapped into lines.
"""

from __future__ import annotations

import base64
import html
import json
import logging
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Any
from urllib.parse import quote, quote_plus

SHORTEST_SECRET = 8
"""Characters; shorter values would also hide ordinary words, so the start refuses them."""
SHORT_TEXT = 4000
"""Characters; up to here looking for each form costs less than a call of the engine."""
MARK = "[redacted]"
_LINE_BREAK = rb"(?:\r?\n)?"


class Redactor:
    """Replaces the given secrets by `MARK`. Raises ValueError for one shorter than 8 characters.

    Shows none of them in its own repr. Texts without a hit cost one linear scan.
    """

    def __init__(self, secrets: Iterable[str]) -> None:
        values = sorted(set(secrets))
        if any(len(value) < SHORTEST_SECRET for value in values):
            raise ValueError(f"A secret is shorter than {SHORTEST_SECRET} characters.")
        plain = {form for value in values for form in _text_forms(value)}
        wrapped = {form for value in values for form in _wrapped_forms(value)} - plain
        self._plain, self._wrapped = plain, wrapped
        self._forms = sorted(plain | wrapped)
        self._first = {form[0] for form in self._forms}
        lengths = [len(form) for form in plain] + [3 * len(form) for form in wrapped]
        self.longest = max(lengths, default=0)
        """Characters that the longest form can take in a text, line breaks included."""

    def __repr__(self) -> str:
        return f"Redactor({len(self._forms)} forms)"

    @cached_property
    def _pattern(self) -> Any:
        """None if there is no secret. Made when first needed: its engine takes 1.5 MB."""
        return _compile(self._plain, self._wrapped) if self._forms else None

    def text(self, text: str) -> str:
        """The text with every form of every secret replaced."""
        if not text or self._clearly_clean(text) or self._pattern is None:
            return text
        data = text.encode("utf-8", "surrogatepass")
        if self._pattern.search(data) is None:
            return text
        return _replaced(data, _spans(self._pattern, data))

    def _clearly_clean(self, text: str) -> bool:
        """Whether a short text holds no form, judged without the engine."""
        if len(text) > SHORT_TEXT:
            return False
        unwrapped = text.replace("\r", "").replace("\n", "")
        return not (
            any(form in text for form in self._plain)
            or any(form in unwrapped for form in self._wrapped)
        )

    def stream(self) -> StreamRedactor:
        """A redactor for one text that arrives in pieces."""
        return StreamRedactor(self)

    def split(self, text: str) -> tuple[str, str]:
        """The redacted part that no later text can change, and the rest as it came."""
        if self._pattern is None:
            return text, ""
        data = text.encode("utf-8", "surrogatepass")
        spans = list(_spans(self._pattern, data))
        keep = len(text[: self._open_end(text)].encode("utf-8", "surrogatepass"))
        for start, end in spans:
            # A hit that reaches into what is held back is held back whole.
            if start < keep < end:
                keep = start
        done = [span for span in spans if span[1] <= keep]
        rest = data[keep:].decode("utf-8", "surrogatepass")
        return _replaced(data[:keep], done), rest

    def _open_end(self, text: str) -> int:
        """Where the earliest form begins that the next piece could complete."""
        for index in range(max(0, len(text) - self.longest + 1), len(text)):
            if text[index] in self._first and self._begins_form(text[index:]):
                return index
        return len(text)

    def _begins_form(self, tail: str) -> bool:
        return any(
            at < len(self._forms) and self._forms[at].startswith(start)
            for start in {tail, tail.replace("\r", "").replace("\n", "")}
            for at in [bisect_left(self._forms, start)]
        )


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


def _text_forms(secret: str) -> Iterator[str]:
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


def _lower_percent(encoded: str) -> str:
    head, *rest = encoded.split("%")
    return "%".join([head, *(part[:2].lower() + part[2:] for part in rest)])


def _wrapped_forms(secret: str) -> Iterator[str]:
    data = secret.encode("utf-8", "surrogatepass")
    yield data.hex()
    yield data.hex().upper()
    for shift in range(3):
        # The first and last characters also hold bits of the neighbours: only those between are
        # the same wherever the secret stands.
        first, last = -(-shift * 8 // 6), (shift + len(data)) * 8 // 6
        encoded = base64.b64encode(b"\0" * shift + data)[first:last].decode("ascii")
        yield encoded
        yield encoded.replace("+", "-").replace("/", "_")


def _compile(plain: set[str], wrapped: set[str]) -> Any:
    import re2  # an alternation of this size is slow in `re` and linear here

    options = re2.Options()
    options.encoding = re2.Options.Encoding.LATIN1  # bytes
    options.log_errors = False
    options.max_mem = 64 << 20
    branches = {form: re2.escape(_bytes(form)) for form in plain}
    for form in wrapped:
        branches[form] = _LINE_BREAK.join(re2.escape(bytes([byte])) for byte in _bytes(form))
    # The longest first: a secret may begin with another one.
    ordered = sorted(branches, key=lambda form: (-len(form), form))
    return re2.compile(b"|".join(branches[form] for form in ordered), options)


def _bytes(form: str) -> bytes:
    return form.encode("utf-8", "surrogatepass")


def _spans(pattern: Any, data: bytes) -> Iterator[tuple[int, int]]:
    for hit in pattern.finditer(data):
        yield hit.span()


def _replaced(data: bytes, spans: Iterable[tuple[int, int]]) -> str:
    parts, at = [], 0
    for start, end in spans:
        parts.append(data[at:start].decode("utf-8", "surrogatepass"))
        at = end
    parts.append(data[at:].decode("utf-8", "surrogatepass"))
    return MARK.join(parts)
