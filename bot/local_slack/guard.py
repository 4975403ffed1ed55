"""Who may talk to the stand-in: only this machine's own page and programs.

A page of any web site that is open in the same browser can send requests to 127.0.0.1. It cannot
know the token, its Origin is another, and with DNS rebinding its Host is another.
"""

import hmac
from collections.abc import Awaitable, Callable

from aiohttp import web

from bot.local_slack.options import Options

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
_HEADERS = {
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Resource-Policy": "same-origin",
}
PAGE_POLICY = "default-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"


class Guard:
    """Checks Host and Origin of every request, and the page token where it is needed."""

    def __init__(self, options: Options) -> None:
        self._token = options.page_token
        self._hosts: frozenset[str] = frozenset()

    def bind(self, port: int) -> None:
        """Accept the names of this port from now on."""
        self._hosts = frozenset({f"127.0.0.1:{port}", f"localhost:{port}"})

    def own(self, request: web.Request) -> bool:
        """Whether Host names this server and Origin, if sent, is this server's page."""
        hosts = request.headers.getall("Host", [])
        origins = request.headers.getall("Origin", [])
        host = hosts[0].lower() if len(hosts) == 1 else ""
        return host in self._hosts and all(origin.lower() == f"http://{host}" for origin in origins)

    def knows_token(self, request: web.Request) -> bool:
        """Whether the page token came in the query or in ``X-Page-Token``."""
        given = request.headers.get("X-Page-Token") or request.query.get("token", "")
        return hmac.compare_digest(given.encode(), self._token.encode())

    @web.middleware
    async def check_every(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Refuse foreign requests before anything else looks at them."""
        if not self.own(request):
            return _refused("This request does not come from the page of this server.")
        response = await handler(request)
        if not response.prepared:
            for name, value in _HEADERS.items():
                response.headers.setdefault(name, value)
        return response

    def with_token(self, handler: Handler) -> Handler:
        """The same handler for whoever knows the page token; 403 for anybody else."""

        async def checked(request: web.Request) -> web.StreamResponse:
            if not self.knows_token(request):
                return _refused("Open the page with the address that was printed at the start.")
            return await handler(request)

        return checked


def _refused(sentence: str) -> web.Response:
    return web.json_response({"ok": False, "error": sentence}, status=403)
