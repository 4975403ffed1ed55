"""Socket Mode: the WebSockets of the app, their envelopes and acknowledgements."""

import asyncio
import contextlib
import json
import uuid
from dataclasses import dataclass, field

from aiohttp import WSCloseCode, WSMsgType, web

from bot.local_slack.delivery import Kind, Outcome, Parcel
from bot.local_slack.faults import SOCKET_EFFECTS, Effect, Faults
from bot.local_slack.host import Change
from bot.local_slack.options import APP_ID
from bot.local_slack.shapes import Json
from bot.local_slack.tickets import Tickets
from bot.local_slack.world import World

MAX_SOCKETS = 10
_STALE_TICKET = 408


@dataclass(slots=True, eq=False)
class Socket:
    """One connection. A mute one is half-open: it neither answers pings nor carries payloads."""

    ws: web.WebSocketResponse
    request: web.Request
    mute: bool = False
    unacknowledged: dict[str, asyncio.Future[Outcome]] = field(default_factory=dict)

    def cut(self) -> None:
        """Drop the TCP connection without a word."""
        if self.request.transport is not None:
            self.request.transport.abort()


class SocketHub:
    """The open sockets of the app; any one of them gets a payload."""

    def __init__(self, world: World, tickets: Tickets, faults: Faults) -> None:
        self._world = world
        self._tickets = tickets
        self._faults = faults
        self._turn = 0
        self.sockets: list[Socket] = []
        self.opened = 0

    # -- what tests and the demo do to sockets ----------------------------------------------
    async def refresh(self, reason: str = "refresh_requested") -> None:
        """Tell every socket to reconnect (reason ``warning`` or ``refresh_requested``)."""
        for socket in list(self.sockets):
            await socket.ws.send_str(_disconnect(reason))
            if reason != "warning":
                await socket.ws.close(code=WSCloseCode.GOING_AWAY)

    def cut(self) -> None:
        """Drop every connection at once, as a dying network does."""
        for socket in list(self.sockets):
            socket.cut()

    def mute(self) -> None:
        """Make every present socket half-open: it stays, and nothing comes through."""
        for socket in self.sockets:
            socket.mute = True

    async def close(self) -> None:
        """Close every socket politely."""
        for socket in list(self.sockets):
            await socket.ws.close(code=WSCloseCode.GOING_AWAY)

    # -- delivering -------------------------------------------------------------------------
    async def send(self, parcel: Parcel) -> Outcome:
        """Put the payload on one socket and wait for its acknowledgement."""
        options = self._world.options
        patience = None
        if parcel.kind is not Kind.EVENT or not options.hold_while_offline:
            patience = options.ack_seconds
        socket = await self._some_socket(patience)
        if socket is None:
            return Outcome(ok=False, reason="connection_failed")
        envelope_id = str(uuid.uuid4())
        future: asyncio.Future[Outcome] = asyncio.get_running_loop().create_future()
        socket.unacknowledged[envelope_id] = future
        try:
            if not socket.mute:
                await socket.ws.send_str(json.dumps(_envelope(parcel, envelope_id)))
            return await asyncio.wait_for(future, options.ack_seconds)
        except TimeoutError:
            return Outcome(ok=False, reason="timeout")
        except ConnectionError:
            return Outcome(ok=False, reason="connection_failed")
        finally:
            socket.unacknowledged.pop(envelope_id, None)

    async def _some_socket(self, patience: float | None) -> Socket | None:
        """The next socket in turn; waits for one if there is none (None: without end)."""
        if not self.sockets:
            forever = 10.0**9
            with contextlib.suppress(TimeoutError):
                await self._world.pulse.until(
                    lambda: self.sockets, patience or forever, "a socket of the app"
                )
        if not self.sockets:
            return None
        self._turn += 1
        return self.sockets[self._turn % len(self.sockets)]

    # -- one connection ---------------------------------------------------------------------
    async def handle(self, request: web.Request) -> web.StreamResponse:
        """The WebSocket behind an address of ``apps.connections.open``."""
        rules = self._faults.matching(SOCKET_EFFECTS, "socket", "")
        refused = next((r for r in rules if r.effect is Effect.REFUSE_SOCKET), None)
        if not self._tickets.take(request.query.get("ticket", "")):
            return web.Response(status=_STALE_TICKET, text="This address was used or is too old.")
        if refused is not None:
            return web.Response(status=refused.status, text="Refused by a fault rule.")
        ws = web.WebSocketResponse(autoping=False, timeout=1.0)
        await ws.prepare(request)
        if len(self.sockets) >= MAX_SOCKETS:
            await ws.send_str(_disconnect("too_many_websockets"))
            await ws.close()
            return ws
        socket = Socket(ws, request, mute=any(r.effect is Effect.MUTE_SOCKET for r in rules))
        await self._serve(socket, [r.seconds for r in rules if r.effect is Effect.CUT_SOCKET])
        return ws

    async def _serve(self, socket: Socket, cuts: list[float]) -> None:
        if not socket.mute:
            await socket.ws.send_str(_hello(len(self.sockets) + 1))
        self.sockets.append(socket)
        self.opened += 1
        loop = asyncio.get_running_loop()
        timers = [loop.call_later(seconds, socket.cut) for seconds in cuts]
        pings = loop.create_task(self._ping(socket))
        try:
            self._tell()
            await self._read(socket)
        finally:
            pings.cancel()
            for timer in timers:
                timer.cancel()
            self.sockets.remove(socket)
            for future in socket.unacknowledged.values():
                if not future.done():
                    future.set_result(Outcome(ok=False, reason="connection_failed"))
            self._tell()

    async def _read(self, socket: Socket) -> None:
        async for message in socket.ws:
            if socket.mute:
                continue
            if message.type is WSMsgType.PING:
                await socket.ws.pong(message.data)
            elif message.type is WSMsgType.TEXT:
                _acknowledge(socket, message.data)

    async def _ping(self, socket: Socket) -> None:
        """Slack pings its sockets now and then; a client that is gone shows here."""
        with contextlib.suppress(ConnectionError):
            while not socket.ws.closed:
                await asyncio.sleep(self._world.options.ping_seconds)
                if not socket.mute:
                    await socket.ws.ping()

    def _tell(self) -> None:
        self._world.notify(Change("connection", {"connected": bool(self.sockets)}))


def _envelope(parcel: Parcel, envelope_id: str) -> Json:
    envelope: Json = {
        "envelope_id": envelope_id,
        "payload": parcel.payload,
        "type": str(parcel.kind),
        "accepts_response_payload": parcel.kind is not Kind.EVENT,
    }
    if parcel.kind is Kind.EVENT:
        envelope |= {"retry_attempt": parcel.attempt, "retry_reason": parcel.reason}
    return envelope


def _hello(connections: int) -> str:
    debug = {"host": "applink-local", "build_number": 1, "approximate_connection_time": 18060}
    return json.dumps(
        {
            "type": "hello",
            "num_connections": connections,
            "debug_info": debug,
            "connection_info": {"app_id": APP_ID},
        }
    )


def _disconnect(reason: str) -> str:
    return json.dumps(
        {"type": "disconnect", "reason": reason, "debug_info": {"host": "applink-local"}}
    )


def _acknowledge(socket: Socket, text: str) -> None:
    """Finish the delivery that an acknowledgement names; anything else is ignored, as by Slack."""
    try:
        answer = json.loads(text)
    except ValueError:
        return
    if not isinstance(answer, dict):
        return
    future = socket.unacknowledged.get(str(answer.get("envelope_id")))
    if future is not None and not future.done():
        payload = answer.get("payload")
        body = payload if isinstance(payload, dict) else None
        future.set_result(
            Outcome(ok=True, body=body, text=payload if isinstance(payload, str) else "")
        )
