"""The page and its assets."""

import re
from pathlib import Path

from aiohttp import web

from bot.local_slack.guard import PAGE_POLICY, Guard

PAGE = Path(__file__).parent / "page"
_ASSET = re.compile(r"[a-z0-9_]+(?:[-.][a-z0-9_]+)*\.(?:js|css|svg|png|ico)")


def routes(guard: Guard) -> list[web.RouteDef]:
    """``/`` with the token, ``/static/`` without, and an answer for permanent links."""
    return [
        web.get("/", guard.with_token(_index)),
        web.get("/static/{name}", _asset),
        web.get("/archives/{channel}/{message}", _archive),
    ]


async def _index(request: web.Request) -> web.StreamResponse:
    index = PAGE / "index.html"
    if not index.is_file():
        return web.Response(status=404, text="The page is not part of this installation.")
    # Older browsers do not count WebSockets of the same origin as 'self'.
    policy = f"{PAGE_POLICY}; connect-src 'self' ws://{request.host}"
    headers = {"Content-Security-Policy": policy, "Cache-Control": "no-store"}
    return web.FileResponse(index, headers=headers)


async def _asset(request: web.Request) -> web.StreamResponse:
    name = request.match_info["name"]
    asset = PAGE / name
    if not _ASSET.fullmatch(name) or not asset.is_file():
        return web.Response(status=404, text="There is no such file.")
    return web.FileResponse(asset, headers={"Cache-Control": "no-cache"})


async def _archive(request: web.Request) -> web.StreamResponse:
    sentence = "This is the address of a message; find it in the page that the demo opened."
    return web.Response(status=404, text=sentence)
