"""A MediaWiki on loopback: articles with their extracts, and searches for their words."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from html import unescape

from aiohttp import web

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@asynccontextmanager
async def serving(handler: Handler) -> AsyncIterator[str]:
    """A server that answers everything with `handler`; the value is its address."""
    app = web.Application()
    app.router.add_route("*", "/{rest:.*}", handler)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


def wiki(articles: Mapping[str, str], *, extracts: bool = True) -> Handler:
    """Answers as the Action API does; without `extracts`, as a wiki that lacks TextExtracts.

    The articles are HTML, and so are the snippets; an extract is plain text if asked for as such.
    """

    async def answer(request: web.Request) -> web.StreamResponse:
        asked = request.query
        if request.path != "/w/api.php" or asked["action"] != "query":
            raise web.HTTPNotFound
        words = asked["srsearch"].casefold().split()
        found = [t for t in articles if all(word in t.casefold() for word in words)]
        if not found:
            return web.json_response({"batchcomplete": True, "query": {"search": []}})
        hits = [
            {"ns": 0, "title": t, "pageid": n, "snippet": articles[t]}
            for n, t in enumerate(found, 1)
        ]
        page = {"pageid": 1, "ns": 0, "title": found[0], "index": 1}
        if extracts and asked.get("prop") == "extracts":
            html = articles[found[0]]
            page["extract"] = _rendered(html) if asked.get("explaintext") == "1" else html
        return web.json_response(
            {"batchcomplete": True, "query": {"search": hits, "pages": [page]}}
        )

    return answer


def _rendered(html: str) -> str:
    return unescape(re.sub(r"<script>.*?</script>|</?[a-z][^<>]*>", "", html))
