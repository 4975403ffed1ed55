"""wikipedia: what an encyclopedia of the MediaWiki kind says, as plain text.

Source of the format: the MediaWiki Action API (list=search, generator=search) and its extension
TextExtracts (prop=extracts). A wiki without that extension still gives the search's snippets.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from html import unescape
from urllib.parse import urlencode, urlsplit

from tools.base import BadArguments, Tool, ToolContext, ToolError, tool
from tools.errors import NotFound, Unreachable
from tools.paths import shown
from tools.schema import Json

WIKIPEDIA = "https://en.wikipedia.org"
SECONDS = 15.0
LIMIT = 1024 * 1024
"""Bytes of a response."""
EXTRACT = 4_000
"""Characters of the article's beginning that are given to the model."""
LONGEST_WORD = 40
"""Characters; a script without spaces is cut anywhere."""
QUERY = 300
"""Characters; MediaWiki refuses longer searches."""
OTHERS = 4
_TAG = re.compile(
    r"<!--|-->|<(?P<slash>/?)(?P<name>[a-zA-Z][a-zA-Z0-9]*)"
    r"(?:[\s/](?:[^<>\"']|\"[^\"<]{0,300}\"|'[^'<]{0,300}')*)?>"
)
"""A tag never reaches over the next <, so that no text takes more than linear time."""
_HIDDEN = frozenset({"script", "style"})
_BREAKS = frozenset({"p", "br", "div", "li", "ul", "ol", "tr", "h1", "h2", "h3", "h4"})


def wikipedia_at(base_url: str = WIKIPEDIA) -> Tool:
    """The tool `wikipedia` on the wiki at `base_url`, which has its API under /w/api.php."""

    @tool()
    async def wikipedia(context: ToolContext, query: str) -> str:
        """Look something up in Wikipedia: the title and beginning of the article that fits best.

        Args:
            query: what to look for, for example Narendra Modi
        """
        wanted = " ".join(query.split())
        if not wanted or len(wanted) > QUERY:
            raise BadArguments(f"wikipedia: give a query of 1 to {QUERY} characters.")
        url = f"{base_url}/w/api.php?{urlencode(_question(wanted))}"
        fetched = await context.http.get(url, limit=LIMIT, timeout=SECONDS)
        host = urlsplit(base_url).hostname or base_url
        return _answer(_read(fetched.status, fetched.body, host), wanted)

    return wikipedia


def _question(query: str) -> dict[str, str]:
    """One request for both: the search with its snippets, and the best article's beginning."""
    found = str(OTHERS + 1)
    return {
        "action": "query",
        "format": "json",
        "formatversion": "2",
        "list": "search",
        "srsearch": query,
        "srlimit": found,
        "srprop": "snippet",
        "generator": "search",
        "gsrsearch": query,
        "gsrlimit": "1",
        "prop": "extracts",
        "exintro": "1",
        "explaintext": "1",
    }


def _read(status: int, body: bytes, host: str) -> Mapping[str, Json]:
    """The `query` part of a response. Raises ToolError for anything that is none."""
    if status == 429 or status >= 500:
        raise Unreachable(f"{host} is busy (HTTP {status}). Try again later or go on without it.")
    if status != 200:
        raise Unreachable(f"{host} refused the search (HTTP {status}). Go on without it.")
    try:
        reply = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise _unreadable(host) from error
    if isinstance(reply, dict) and isinstance(complaint := reply.get("error"), dict):
        said = shown(str(complaint.get("info", complaint.get("code", ""))), 200)
        raise Unreachable(f"{host} refused the search: {said} Ask in other words.")
    found = reply.get("query", {}) if isinstance(reply, dict) else None
    if not isinstance(found, dict):
        raise _unreadable(host)
    return found


def _unreadable(host: str) -> ToolError:
    return Unreachable(
        f"{host} did not answer as a MediaWiki does; the operator should look at "
        "[tools] wikipedia_url. Go on without it."
    )


def _answer(found: Mapping[str, Json], query: str) -> str:
    hits = _rows(found.get("search"))
    articles = _rows(found.get("pages"))
    if not hits and not articles:
        raise NotFound(
            f"Wikipedia has nothing about {shown(query)}. Try another spelling or fewer words."
        )
    first = (articles or hits)[0]
    title = _tidy(_text(first, "title"))
    body = _tidy(_text(first, "extract")) or _snippet(hits, _text(first, "title"))
    if len(body) > EXTRACT:
        word = body.rfind(" ", EXTRACT - LONGEST_WORD, EXTRACT)
        body = f"{body[: EXTRACT if word < 0 else word]} …"
    others = [_tidy(_text(hit, "title")) for hit in hits]
    others = [other for other in others if other and other != title][:OTHERS]
    more = f"\n\nOther articles: {'; '.join(others)}" if others else ""
    return f"{title}\n\n{body or '(no text)'}{more}"


def _snippet(hits: Sequence[Mapping[str, Json]], title: str) -> str:
    return next((plain(_text(hit, "snippet")) for hit in hits if _text(hit, "title") == title), "")


def _rows(value: Json | None) -> list[Mapping[str, Json]]:
    return [row for row in value if isinstance(row, dict)] if isinstance(value, list) else []


def _text(row: Mapping[str, Json], key: str) -> str:
    value = row.get(key)
    return value if isinstance(value, str) else ""


def plain(markup: str) -> str:
    """The text of a piece of HTML: no tags, scripts or comments, entities as characters."""
    parts: list[str] = []
    position = 0
    hidden = ""
    for tag in _TAG.finditer(markup):
        if not hidden:
            parts.append(markup[position : tag.start()])
        position = tag.end()
        name = (tag["name"] or "").lower()
        if hidden:
            closes = tag[0] if tag["slash"] is None else tag["slash"] + name
            hidden = "" if closes == hidden else hidden
        elif tag[0] == "<!--":
            hidden = "-->"
        elif name in _HIDDEN and not tag["slash"]:
            hidden = f"/{name}"
        elif name in _BREAKS:
            parts.append("\n")
    parts.append("" if hidden else markup[position:])
    return _tidy(unescape("".join(parts)))


def _tidy(text: str) -> str:
    """The text without empty lines; one that was asked for as plain holds no markup to strip."""
    lines = (" ".join(line.split()) for line in text.splitlines())
    return "\n".join(line for line in lines if line)
