"""Socket Mode, supervised: every connection is a new client on an address of its own.

slack_sdk's client retries a refused WebSocket on the same single-use address for ever, so it is
only let connect once, and whoever loses a connection gets a new client from here.
Source: docs.slack.dev, "Using Socket Mode"; apps.connections.open.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging

import aiohttp
from slack_bolt.adapter.socket_mode.async_internals import run_async_bolt_app, send_async_response
from slack_bolt.async_app import AsyncApp
from slack_sdk.socket_mode.aiohttp import SocketModeClient
from slack_sdk.socket_mode.async_client import AsyncBaseSocketModeClient
from slack_sdk.socket_mode.request import SocketModeRequest
from slack_sdk.web.async_client import AsyncWebClient

from bot import words
from bot.errors import ConfigError, DeliveryError, DeliveryRefused
from bot.slack.patience import Patience
from bot.slack.web import RateLimited, call, close_client, web_client

log = logging.getLogger(__name__)

LONGEST_WAIT = 30.0
TOKEN_CODES = frozenset(
    {"invalid_auth", "not_authed", "not_allowed_token_type", "missing_scope", "token_revoked"}
)
PASSING_CODES = frozenset(
    {"internal_error", "fatal_error", "service_unavailable", "request_timeout"}
)
"""Slack's own troubles; every other refusal of an address will be given again."""


class _Connection(SocketModeClient):
    """One WebSocket. It never reconnects: it says that it is lost."""

    def __init__(self, web_client: AsyncWebClient, app_token: str, patience: Patience) -> None:
        quiet = logging.getLogger("bot.slack.socket")
        quiet.setLevel(logging.CRITICAL)  # the supervisor says what happened, in one line
        super().__init__(app_token, logger=quiet, web_client=web_client)
        self._patience = patience
        self.hello = asyncio.Event()
        self.lost = asyncio.Event()
        self.reason = ""

    async def open(self, address: str) -> None:
        """Connect to a single-use address, once. Raises aiohttp.ClientError, TimeoutError."""
        self.current_session = await self.aiohttp_client_session.ws_connect(
            address, autoping=False, heartbeat=self._patience.heartbeat, proxy=self.proxy
        )
        self.message_receiver = asyncio.ensure_future(self._receive())
        await asyncio.wait_for(self.hello.wait(), self._patience.hello)

    async def connect_to_new_endpoint(self, force: bool = False) -> None:
        self.lost.set()

    async def _receive(self) -> None:
        session = self.current_session
        assert session is not None
        async for message in session:
            if message.type is aiohttp.WSMsgType.TEXT:
                self._notice(message)
                await self.enqueue_message(message.data)
            elif message.type is aiohttp.WSMsgType.PING:
                await session.pong(message.data)
        self.reason = self.reason or "connection_lost"
        self.lost.set()

    def _notice(self, message: aiohttp.WSMessage) -> None:
        if '"envelope_id"' in message.data:
            return
        with contextlib.suppress(ValueError):
            frame = json.loads(message.data)
            if frame.get("type") == "hello":
                self.hello.set()
            elif frame.get("type") == "disconnect":
                self.reason = str(frame.get("reason", ""))
                self.lost.set()


class Sockets:
    """Keeps one connection up, from `start` to `close`."""

    def __init__(
        self,
        app: AsyncApp,
        client: AsyncWebClient,
        app_token: str,
        patience: Patience | None = None,
    ) -> None:
        self._app, self._web, self._app_token = app, client, app_token
        self._patience = patience or Patience()
        self._now: _Connection | None = None
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Return when connected. Raises ConfigError if Slack refuses the app token."""
        self._now = await self._connect()
        self._task = asyncio.create_task(self._supervise(), name="sockets")

    async def close(self) -> None:
        """Take no more events."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
        if self._now is not None:
            await _close(self._now)

    async def _supervise(self) -> None:
        while True:
            assert self._now is not None
            await self._now.lost.wait()
            before, reason = self._now, self._now.reason
            log.info("the connection to Slack ended (%s); connecting again", reason)
            if reason == "link_disabled":
                log.error("%s", address_refused(reason))
            try:
                self._now = await self._connect()
            except ConfigError as error:
                log.error("%s", error)
                await asyncio.sleep(LONGEST_WAIT)
            else:
                await _close(before)

    async def _connect(self) -> _Connection:
        wait = self._patience.reconnect
        while True:
            connection = _Connection(self._web, self._app_token, self._patience)
            connection.socket_mode_request_listeners.append(self._handle)
            try:
                await connection.open(await new_address(self._app_token, self._web.base_url))
            except asyncio.CancelledError:
                await _close(connection)
                raise
            except (DeliveryError, aiohttp.ClientError, OSError, TimeoutError) as error:
                await _close(connection)
                if isinstance(error, DeliveryRefused) and error.code not in PASSING_CODES:
                    raise address_refused(error.code) from error
                if connection.reason == "link_disabled":
                    raise address_refused(connection.reason) from error
                wait = max(wait, error.seconds) if isinstance(error, RateLimited) else wait
                log.warning("%s", words.socket_retry(str(error) or "no greeting", wait))
                await asyncio.sleep(wait)
                wait = min(LONGEST_WAIT, wait * 2)
            else:
                return connection

    async def _handle(self, client: AsyncBaseSocketModeClient, request: SocketModeRequest) -> None:
        """Run the listeners; without their success there is no acknowledgement."""
        response = await run_async_bolt_app(self._app, request)
        try:
            await send_async_response(client, request, response, 0.0)
        except (aiohttp.ClientError, ConnectionError) as error:
            log.info("an acknowledgement was not sent, Slack will repeat the event: %s", error)


def address_refused(code: str) -> ConfigError:
    """Why Slack gives out no Socket Mode address, and what to do."""
    if code in TOKEN_CODES:
        return ConfigError(words.app_token_refused(code))
    return ConfigError(words.socket_mode_off(code))


async def new_address(app_token: str, api_url: str | None) -> str:
    """A single-use address. Raises DeliveryError."""
    client = web_client(app_token, api_url)
    try:
        answer = await call(client, "apps.connections.open", {})
    finally:
        await close_client(client)
    return str(answer.get("url", ""))


async def _close(connection: _Connection) -> None:
    with contextlib.suppress(aiohttp.ClientError, OSError):
        await connection.close()  # type: ignore[no-untyped-call]
    for task in (connection.message_receiver, connection.message_processor):
        if task is not None:
            task.cancel()
    await connection.aiohttp_client_session.close()
