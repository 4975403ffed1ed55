"""Bytes in and out: uploads, downloads, and answers to response addresses."""

import json
from urllib.parse import quote

from aiohttp import web

from bot.local_slack import responses
from bot.local_slack.guard import Guard
from bot.local_slack.options import TEAM_ID
from bot.local_slack.shapes import Refusal
from bot.local_slack.world import World

_SHOWN_INLINE = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
_LOGIN_PAGE = "<!DOCTYPE html><html><head><title>Sign in | Slack</title></head></html>"


class Transfers:
    """Routes that are not JSON calls of the Web API."""

    def __init__(self, world: World, guard: Guard) -> None:
        self._world = world
        self._guard = guard

    def routes(self) -> list[web.RouteDef]:
        """Uploads, downloads and response addresses."""
        return [
            web.post("/upload/v1/{ticket}", self._upload),
            web.get("/files-pri/{place}/{name:.+}", self._download),
            web.post("/response/{token}", self._respond),
        ]

    async def _upload(self, request: web.Request) -> web.StreamResponse:
        """Raw bytes or a multipart form, as Slack's upload addresses take both."""
        if request.content_type.startswith("multipart/"):
            form = await request.post()
            part = next((v for v in form.values() if isinstance(v, web.FileField)), None)
            data = part.file.read() if part is not None else b""
        else:
            data = await request.read()
        if not self._world.files.receive(request.match_info["ticket"], data):
            return web.Response(status=400, text="Goodbye")
        return web.Response(text=f"OK - {len(data)}")

    async def _download(self, request: web.Request) -> web.StreamResponse:
        """The bytes for a bot token with files:read or for the page; else Slack's login page."""
        if not self._may_download(request):
            return web.Response(text=_LOGIN_PAGE, content_type="text/html")
        file_id = request.match_info["place"].removeprefix(f"{TEAM_ID}-")
        file = self._world.files.get(file_id)
        if file is None or file.data is None:
            return web.Response(status=404, text=_LOGIN_PAGE, content_type="text/html")
        kind = str(file.object["mimetype"])
        # Never as a page of this server: a script in it could drive the control API.
        kind = "application/octet-stream" if "html" in kind or "xml" in kind else kind
        shown = "inline" if kind in _SHOWN_INLINE else "attachment"
        name = quote(str(file.object["name"]))
        headers = {
            "Content-Disposition": f"{shown}; filename*=UTF-8''{name}",
            "Content-Security-Policy": "sandbox; default-src 'none'",
        }
        return web.Response(body=file.data, content_type=kind, headers=headers)

    def _may_download(self, request: web.Request) -> bool:
        options = self._world.options
        bearer = request.headers.get("Authorization", "").partition(" ")[2].strip()
        if bearer:
            return bearer == options.bot_token and "files:read" in options.scopes
        return self._guard.knows_token(request)

    async def _respond(self, request: web.Request) -> web.StreamResponse:
        """An app's answer to a click or a command."""
        try:
            given = json.loads(await request.read())
            if not isinstance(given, dict):
                raise Refusal("invalid_payload")
            address = self._world.views.use_address(request.match_info["token"])
            responses.respond(self._world, address, given)
        except ValueError:
            return web.json_response({"ok": False, "error": "invalid_payload"}, status=400)
        except Refusal as refusal:
            gone = refusal.word in ("used_url", "expired_url", "invalid_url")
            return web.json_response(refusal.answer(), status=404 if gone else 400)
        return web.Response(text="ok", content_type="text/plain")
