"""The stand-in itself: one HTTP server with Slack's Web API, Socket Mode and the page."""

import asyncio
import secrets
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, TypeVar

from aiohttp import web

from bot.local_slack import messages, seed, static_page
from bot.local_slack.call_log import CallLog
from bot.local_slack.clock import Clock
from bot.local_slack.control import Control
from bot.local_slack.delivery import Courier, Line
from bot.local_slack.faults import FaultRule, Faults
from bot.local_slack.guard import Guard, Handler
from bot.local_slack.options import Options
from bot.local_slack.people import Person
from bot.local_slack.shapes import Json
from bot.local_slack.signed_http import SignedHttp
from bot.local_slack.socket_mode import SocketHub
from bot.local_slack.state import StateError, StateFile
from bot.local_slack.tickets import Tickets
from bot.local_slack.transfers import Transfers
from bot.local_slack.web_api import WebApi
from bot.local_slack.world import Channel, World

T = TypeVar("T")
MAX_REQUEST = 110_000_000


class LocalSlack:
    """A Slack workspace on 127.0.0.1, for the demo, the tests and the benchmarks.

    >>> slack = await LocalSlack.start()
    >>> ts = await slack.person("alice").say("#general", "@treadle hi")
    >>> reply = await slack.until(lambda: slack.thread("#general", ts)[1:])
    >>> await slack.stop()
    """

    def __init__(self, options: Options | None = None) -> None:
        options = _with_tokens(options or Options())
        self.clock = Clock()
        self.world = World(options, self.clock)
        seed.fill(self.world)
        self.faults = Faults(options.seed)
        tickets = Tickets(self.clock.now, options.ticket_seconds)
        self.sockets = SocketHub(self.world, tickets, self.faults)
        self.http = SignedHttp(self.world)
        line: Line = self.http if options.request_url else self.sockets
        self.courier = Courier(self.world, self.faults, line)
        self.world.on_event = self.courier.event
        self.api = WebApi(self.world, tickets, self.faults)
        self._guard = Guard(options)
        self._control = Control(
            self.world, self.courier, self.faults, self.api.log, lambda: self.connected
        )
        self._state = StateFile(self.world, self.courier, options.state_file)
        self.courier.settled = self._state.settled
        self._runner: web.AppRunner | None = None

    # -- life -------------------------------------------------------------------------------
    @classmethod
    async def start(cls, options: Options | None = None) -> "LocalSlack":
        """A running stand-in. ``OSError`` if the port is taken, ``StateError`` if the saved state
        cannot be read."""
        slack = cls(options)
        await slack.listen()
        return slack

    async def listen(self) -> None:
        """Bind to 127.0.0.1, load the saved state, and deliver what was pending in it."""
        middlewares = [self._guard.check_every, self._settle_first]
        app = web.Application(client_max_size=MAX_REQUEST, middlewares=middlewares)
        app.add_routes(
            [
                web.route("GET", "/api/{method}", self.api.handle),
                web.route("POST", "/api/{method}", self.api.handle),
                web.get("/link/", self.sockets.handle),
                *Transfers(self.world, self._guard).routes(),
                *static_page.routes(self._guard),
                *self._control.routes(self._guard),
            ]
        )
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=1.0)
        await self._runner.setup()
        try:
            await web.TCPSite(self._runner, "127.0.0.1", self.options.port).start()
            port = int(self._runner.addresses[0][1])
            self._guard.bind(port)
            self.world.base_url = f"http://127.0.0.1:{port}"
            pending = self._state.load()
        except (OSError, StateError):
            await self.stop()
            raise
        for payload in pending:
            self.courier.event(payload)
        self._state.follow()

    @web.middleware
    async def _settle_first(self, request: web.Request, handler: Handler) -> web.StreamResponse:
        """Whatever an answer tells stands in the state file, also after `kill -9`."""
        response = await handler(request)
        await self._state.settled()
        return response

    async def stop(self) -> None:
        """Stop delivering, save the state, close every socket and the port."""
        await self.courier.close()
        await self._state.close()
        self.world.sessions.close()
        await self.sockets.close()
        await self._control.close()
        await self.http.close()
        if self._runner is not None:
            await self._runner.cleanup()

    async def __aenter__(self) -> "LocalSlack":
        await self.listen()
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.stop()

    async def vanish(self) -> None:
        """Be gone from the network: every connection is cut, and new ones are refused."""
        assert self._runner is not None
        for site in list(self._runner.sites):
            await site.stop()
        server = self._runner.server
        for connection in server.connections if server is not None else ():
            if connection.transport is not None:
                connection.transport.abort()

    async def appear(self) -> None:
        """Be back at the same address."""
        assert self._runner is not None
        port = int(self.base_url.rpartition(":")[2])
        await web.TCPSite(self._runner, "127.0.0.1", port).start()

    # -- where and with what ----------------------------------------------------------------
    @property
    def options(self) -> Options:
        """The settings in force, with the tokens that were drawn."""
        return self.world.options

    @property
    def base_url(self) -> str:
        """``http://127.0.0.1:<port>``."""
        return self.world.base_url

    @property
    def api_url(self) -> str:
        """What ``SLACK_API_URL`` and ``AsyncWebClient(base_url=…)`` take; ends in a slash."""
        return self.base_url + "/api/"

    @property
    def page_url(self) -> str:
        """The address of the page, with its token."""
        return f"{self.base_url}/?token={self.options.page_token}"

    @property
    def connected(self) -> bool:
        """Whether the app can be reached: it has a socket, or a request address is set."""
        return bool(self.sockets.sockets) or self.options.request_url is not None

    @property
    def log(self) -> CallLog:
        """The calls that the app made."""
        return self.api.log

    def change(self, **changes: Any) -> None:
        """Put other settings in force (``scopes``, ``subscriptions``, ``agent_app``, times …)."""
        self.world.options = replace(self.options, **changes)

    # -- people and what they see -----------------------------------------------------------
    def person(self, name: str) -> Person:
        """Act as this person (a name like ``alice``, or an id)."""
        return Person(self.world, self.courier, self.world.member(name))

    def channel(self, name: str) -> Channel:
        """The channel with this ``#name`` or id."""
        return self.world.channel(name)

    def messages(self, channel: str) -> list[Json]:
        """Every message of a channel, oldest first."""
        return list(self.channel(channel).messages.values())

    def message(self, channel: str, ts: str) -> Json | None:
        """One message, if it is there."""
        return self.channel(channel).messages.get(ts)

    def thread(self, channel: str, ts: str) -> list[Json]:
        """The root and its replies, oldest first."""
        return messages.thread(self.channel(channel), ts)

    def visible_text(self, message: Json) -> str:
        """Everything that a person reads in a message."""
        return self.world.visible_text(message)

    def status(self, channel: str, thread_ts: str) -> str:
        """The status line under a thread (empty: none)."""
        return str(self.world.sessions.shown(self.channel(channel).id, thread_ts)["status"])

    # -- tests' levers ----------------------------------------------------------------------
    def fail(self, *rules: FaultRule) -> None:
        """Put these fault rules in force instead of all earlier ones."""
        self.faults.replace(rules)

    def advance(self, seconds: float) -> None:
        """Let time pass: streams, statuses, triggers and response addresses grow old."""
        self.clock.advance(seconds)
        self.world.sessions.sweep()
        self.world.pulse.beat()

    async def until(
        self, condition: Callable[[], T | None], timeout: float = 10.0, what: str = "the condition"
    ) -> T:
        """The first truthy value of ``condition``; looked at after each change, never polled."""
        return await self.world.pulse.until(condition, timeout, what)

    async def until_connected(self, timeout: float = 10.0) -> None:
        """Wait until the app has a socket."""
        await self.until(lambda: self.connected, timeout, "the app to connect")

    async def until_delivered(self, timeout: float = 10.0) -> None:
        """Wait until every event is acknowledged or lost."""
        await self.until(lambda: not self.courier.pending, timeout, "the events to be delivered")

    def add_channels(self, channels: Iterable[Channel]) -> None:
        """More channels, for tests and benchmarks."""
        for channel in channels:
            self.world.add_channel(channel)


def _with_tokens(options: Options) -> Options:
    """The options with a random value for every token that was left empty."""
    return replace(
        options,
        bot_token=options.bot_token or "xoxb-local-" + secrets.token_hex(16),
        app_token=options.app_token or "xapp-1-local-" + secrets.token_hex(16),
        page_token=options.page_token or secrets.token_urlsafe(24),
        signing_secret=options.signing_secret or secrets.token_hex(16),
    )


async def serve_forever(slack: LocalSlack) -> None:
    """Run until cancelled, then stop in good order."""
    try:
        await asyncio.Event().wait()
    finally:
        await slack.stop()
