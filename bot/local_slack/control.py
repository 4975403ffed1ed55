"""The control API of the page and of benchmarks in other processes."""

import asyncio
import contextlib
import json
from collections.abc import Awaitable, Callable

from aiohttp import WSMsgType, web

from bot.local_slack import snapshot
from bot.local_slack.call_log import CallLog
from bot.local_slack.delivery import Courier
from bot.local_slack.faults import FaultRule, Faults
from bot.local_slack.guard import Guard
from bot.local_slack.host import Change
from bot.local_slack.people import Person
from bot.local_slack.shapes import Json, PersonError
from bot.local_slack.world import World

_LIVE_QUEUE = 2_000


class Control:
    """Everything under ``/control/``; every route needs the page token."""

    def __init__(
        self,
        world: World,
        courier: Courier,
        faults: Faults,
        log: CallLog,
        connected: Callable[[], bool],
    ) -> None:
        self._world = world
        self._courier = courier
        self._faults = faults
        self._log = log
        self._connected = connected
        self._live: set[web.WebSocketResponse] = set()
        self._actions: dict[str, Callable[[Person, Json], Awaitable[Json]]] = {
            "post": _post,
            "edit": _edit,
            "delete": _delete,
            "react": _react,
            "unreact": _unreact,
            "click": _click,
            "submit": _submit,
            "close": _close,
            "home": _home,
            "slash": _slash,
            "stop": _stop,
            "shortcut": _shortcut,
        }

    def routes(self, guard: Guard) -> list[web.RouteDef]:
        """The routes, each behind the token."""
        return [
            web.get("/control/state", guard.with_token(self._state)),
            web.get("/control/live", guard.with_token(self._live_socket)),
            web.get("/control/log", guard.with_token(self._calls)),
            web.post("/control/faults", guard.with_token(self._set_faults)),
            web.post("/control/{action}", guard.with_token(self._act)),
        ]

    async def close(self) -> None:
        """Close every live socket."""
        for ws in list(self._live):
            await ws.close()

    async def _state(self, request: web.Request) -> web.StreamResponse:
        try:
            user = self._user(request.query.get("user", ""))
        except PersonError as problem:
            return _error(problem)
        return web.json_response(snapshot.of_person(self._world, user, self._connected()))

    async def _calls(self, request: web.Request) -> web.StreamResponse:
        return web.json_response({"calls": [call.as_json() for call in self._log]})

    async def _set_faults(self, request: web.Request) -> web.StreamResponse:
        try:
            rules = (await _body(request)).get("rules")
            if not isinstance(rules, list) or not all(isinstance(rule, dict) for rule in rules):
                raise PersonError("Give the fault rules as a list under the key rules.")
            self._faults.replace([FaultRule.from_json(rule) for rule in rules])
        except PersonError as problem:
            return _error(problem)
        return web.json_response({"ok": True})

    async def _act(self, request: web.Request) -> web.StreamResponse:
        """Anything that a person does."""
        act = self._actions.get(request.match_info["action"])
        if act is None:
            return _error(PersonError("There is no such action."), 404)
        try:
            body = await _body(request)
            member = self._world.members[self._user(_text(body, "user"))]
            answer = await act(Person(self._world, self._courier, member), body)
        except PersonError as problem:
            return _error(problem)
        return web.json_response({"ok": True, **answer})

    async def _live_socket(self, request: web.Request) -> web.StreamResponse:
        """Push changes to one page. A page that cannot follow is closed and loads anew."""
        try:
            user = self._user(request.query.get("user", ""))
        except PersonError as problem:
            return _error(problem)
        ws = web.WebSocketResponse(heartbeat=20.0, timeout=1.0)
        await ws.prepare(request)
        queue: asyncio.Queue[str | None] = asyncio.Queue(_LIVE_QUEUE)

        def tell(change: Change) -> None:
            if snapshot.concerns(self._world, change, user):
                with contextlib.suppress(asyncio.QueueFull):
                    queue.put_nowait(json.dumps({"type": change.type, **change.data}))

        self._live.add(ws)
        unsubscribe = self._world.subscribe(tell)
        writer = asyncio.get_running_loop().create_task(_write(ws, queue))
        try:
            async for message in ws:
                if message.type is WSMsgType.ERROR:
                    break
        finally:
            unsubscribe()
            self._live.discard(ws)
            writer.cancel()
        return ws

    def _user(self, wanted: str) -> str:
        member = self._world.member(wanted)
        if member.role == "bot":
            raise PersonError("The page cannot be the bot.")
        return member.id


async def _write(ws: web.WebSocketResponse, queue: asyncio.Queue[str | None]) -> None:
    """Send what is queued; when the queue overflowed, close so that the page loads anew."""
    with contextlib.suppress(ConnectionError):
        while True:
            if queue.full():
                await ws.close(message=b"too slow")
                return
            await ws.send_str(await queue.get() or "")


async def _body(request: web.Request) -> Json:
    """The JSON object of a request; other content types are what foreign forms can send."""
    if request.content_type != "application/json":
        raise PersonError("Send JSON.")
    try:
        body = json.loads(await request.read())
    except ValueError:
        raise PersonError("This is no JSON.") from None
    if not isinstance(body, dict):
        raise PersonError("Send a JSON object.")
    return body


def _text(body: Json, name: str, default: str | None = None) -> str:
    value = body.get(name, default)
    if not isinstance(value, str):
        raise PersonError(f"The field {name!r} is missing or no text.")
    return value


def _error(problem: PersonError, status: int = 400) -> web.Response:
    return web.json_response({"ok": False, "error": str(problem)}, status=status)


async def _post(person: Person, body: Json) -> Json:
    thread_ts = _text(body, "thread_ts", "") if body.get("thread_ts") else None
    ts = await person.say(_text(body, "channel"), _text(body, "text"), thread_ts=thread_ts)
    return {"ts": ts}


async def _edit(person: Person, body: Json) -> Json:
    await person.edit(_text(body, "channel"), _text(body, "ts"), _text(body, "text"))
    return {}


async def _delete(person: Person, body: Json) -> Json:
    await person.delete(_text(body, "channel"), _text(body, "ts"))
    return {}


async def _react(person: Person, body: Json) -> Json:
    await person.react(_text(body, "channel"), _text(body, "ts"), _text(body, "name"))
    return {}


async def _unreact(person: Person, body: Json) -> Json:
    await person.unreact(_text(body, "channel"), _text(body, "ts"), _text(body, "name"))
    return {}


async def _click(person: Person, body: Json) -> Json:
    shown = body.get("message_ts") or body.get("view_id")
    if not isinstance(shown, str):
        raise PersonError("A click needs message_ts or view_id.")
    block_id = _text(body, "block_id", "") if body.get("block_id") else ""
    await person.click(
        shown,
        _text(body, "action_id"),
        block_id=block_id,
        value=body.get("value"),
        selected=body.get("selected"),
    )
    return {}


async def _submit(person: Person, body: Json) -> Json:
    values = body.get("values")
    if not isinstance(values, dict):
        raise PersonError("A submission needs its values.")
    errors = await person.submit(_text(body, "view_id"), values)
    return {"errors": errors} if errors else {}


async def _close(person: Person, body: Json) -> Json:
    await person.close_view(_text(body, "view_id"))
    return {}


async def _home(person: Person, body: Json) -> Json:
    await person.open_home(_text(body, "tab", "home"))
    return {}


async def _slash(person: Person, body: Json) -> Json:
    command, text = _text(body, "command"), _text(body, "text", "")
    answer = await person.slash(_text(body, "channel"), command, text)
    return {"response": answer} if answer else {}


async def _stop(person: Person, body: Json) -> Json:
    await person.stop(_text(body, "channel"), _text(body, "thread_ts"))
    return {}


async def _shortcut(person: Person, body: Json) -> Json:
    callback_id = _text(body, "callback_id")
    await person.shortcut(callback_id, _text(body, "channel", ""), _text(body, "ts", ""))
    return {}
