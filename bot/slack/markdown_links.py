"""Which addresses become links, and when the address must stand beside its text."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from urllib.parse import urlsplit

from markdown_it.common.normalize_url import normalizeLink

from bot.inert import inert
from bot.slack.markdown_pieces import Span

MAX_URL = 2000
"""Longer addresses are shown as text: Slack refuses links over 3,000 characters."""

_SCHEMES = ("http", "https", "mailto")
_UNFIT = re.compile(r"[\x00-\x20\x7f<>|\"\\^`{}]")
_CJK = r"\u1100-\u11ff\u2e80-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\uff00-\uffef"
_ASCII = r"A-Za-z0-9\-._~:/?#@!$&'()*+,;=%\[\]"
# In Chinese and Japanese no space ends an address: such characters belong to it only where a
# part of the path begins with them.
_BARE = re.compile(
    rf"(?<![A-Za-z0-9])https?://(?:[{_ASCII}]|(?![{_CJK}])[^\W_]|(?<=[/=_(\-])[{_CJK}](?<=\w)"
    rf"(?:(?=\w)[{_CJK}])*+)++",
    re.IGNORECASE,
)
_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]*://")
_WORD = re.compile(r"[\w.-]+")
_FILE_ENDS = re.compile(
    r"\.(?:c|cc|cs|css|go|h|html|ini|java|js|json|lock|log|md|py|rb|rs|sh|sql|toml|ts|txt|xml|ya?ml)$"
)


def safe_url(address: str) -> str:
    """The address as Slack takes it (ASCII, escaped), or "" where it must not be a link."""
    try:
        url = normalizeLink(address.strip())
        parts = urlsplit(url)
        host = parts.hostname
    except ValueError:
        return ""
    if parts.scheme not in _SCHEMES or len(url) > MAX_URL or _UNFIT.search(url):
        return ""
    if host and "%" in host:  # no host: other alphabets arrive here as punycode
        return ""
    return url if host or (parts.scheme == "mailto" and "@" in parts.path) else ""


def linked(spans: list[Span], address: str) -> list[Span]:
    """The spans of a link's text, as a link or with the address as text behind them."""
    address, text = inert(address), "".join([span.text for span in spans])
    url = safe_url(address)
    shown = url or address
    if not text.strip():
        spans, text = ([Span(shown)] if shown else []), shown
    if not url:
        return spans if not address or text == address else [*spans, Span(f" ({address})")]
    link = [span._replace(url=url) for span in spans]
    return [*link, Span(f" ({url})")] if _misleads(text, url) else link


def _misleads(text: str, url: str) -> bool:
    """If the text names an address or host that is not the link's own."""
    if text == url or url == f"mailto:{text}":
        return False
    words = unicodedata.normalize("NFKC", text).replace("。", ".").strip().lower()
    parts = urlsplit(url.lower())
    if _ADDRESS.match(words) and words.rstrip("/") != url.lower().rstrip("/"):
        return True
    host = parts.hostname or parts.path.rpartition("@")[2]
    named = {word for word in _WORD.findall(words) if _is_host(word.strip(".-"))}
    own = {word for word in named if _belongs(word.strip(".-"), host, parts.path)}
    return named != own or (parts.scheme == "mailto" and "@" in words and parts.path not in words)


def _is_host(word: str) -> bool:
    end = word.rpartition(".")[2]
    return end != word and len(end) > 1 and end.isalpha()


def _belongs(word: str, host: str, path: str) -> bool:
    """If the word is the link's host or a parent of it, or the name of the file it leads to."""
    if host == word or host.endswith(f".{word}"):
        return True
    return bool(_FILE_ENDS.search(word)) and path.endswith(f"/{word}")


def bare_links(text: str, style: frozenset[str]) -> Iterator[Span]:
    """`text` with its bare http and https addresses as links."""
    done = 0
    if "://" in text:
        for found in _BARE.finditer(text):
            end = found.start() + len(_trimmed(found.group()))
            address = text[found.start() : end]
            url = safe_url(address)
            if url:
                if found.start() > done:
                    yield Span(text[done : found.start()], style)
                yield Span(address, style, url)
                done = end
    if done < len(text):
        yield Span(text[done:], style)


def _trimmed(address: str) -> str:
    """Without the punctuation that belongs to the sentence around the address."""
    opened = {")": address.count("("), "]": address.count("[")}
    closed = {")": address.count(")"), "]": address.count("]")}
    end = len(address)
    while end:
        last = address[end - 1]
        if last in closed and closed[last] > opened[last]:
            closed[last] -= 1
        elif last not in ".,;:!?'*_~":
            break
        end -= 1
    return address[:end]
