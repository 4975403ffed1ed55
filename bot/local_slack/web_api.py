"""The Web API over HTTP: arguments, tokens, scopes, rates, faults, then the method itself."""

import asyncio
import json
import math
from collections.abc import Iterable

from aiohttp import web

from bot.local_slack import (
    api_agents,
    api_chat,
    api_conversations,
    api_files,
    api_people,
    api_streams,
    api_surfaces,
)
from bot.local_slack.call_log import CallLog, LoggedCall
from bot.local_slack.faults import CALL_EFFECTS, Effect, FaultRule, Faults
from bot.local_slack.method import Call, Method, Token
from bot.local_slack.rates import Rates
from bot.local_slack.shapes import Json, Refusal
from bot.local_slack.tickets import Tickets
from bot.local_slack.world import World

_ALL = (
    *api_agents.METHODS, *api_chat.METHODS, *api_conversations.METHODS, *api_files.METHODS,
    *api_people.METHODS, *api_streams.METHODS, *api_surfaces.METHODS,
)  # fmt: skip


def by_name(methods: Iterable[Method]) -> dict[str, Method]:
    """The methods by name; the same name twice is a mistake in the program."""
    found: dict[str, Method] = {}
    for method in methods:
        if method.name in found:
            raise ValueError(f"The method {method.name} is defined twice.")
        found[method.name] = method
    return found


class WebApi:
    """Answers ``/api/<method>``."""

    def __init__(self, world: World, tickets: Tickets, faults: Faults) -> None:
        self._world = world
        self._tickets = tickets
        self._faults = faults
        self._methods = by_name(_ALL)
        self._rates = Rates(world.clock.now, world.options.post_burst, world.options.pace)
        self.log = CallLog(world.options.max_calls)

    @property
    def names(self) -> frozenset[str]:
        """Every method that can be called."""
        return frozenset(self._methods)

    async def handle(self, request: web.Request) -> web.StreamResponse:
        """One call, from the bytes of the request to the bytes of the answer."""
        name = request.match_info["method"]
        try:
            args = await _arguments(request)
        except Refusal as refusal:
            return self._answer(name, {}, refusal.answer())
        token = _token(request, args)
        channel = str(args.get("channel") or args.get("channel_id") or "")
        rules = self._faults.matching(CALL_EFFECTS, name, channel)
        for rule in rules:
            if rule.effect is Effect.SLOW_BEFORE:
                await asyncio.sleep(rule.seconds)
            elif (refused := self._refused_by(rule, name, args)) is not None:
                return refused
        if (limited := self._limited(name, channel, args)) is not None:
            return limited
        lost = any(rule.effect is Effect.LOSE_ANSWER for rule in rules)
        response = self._answer(name, args, self._run(name, token, args), 0 if lost else 200)
        for rule in rules:
            if rule.effect is Effect.SLOW_AFTER:
                await asyncio.sleep(rule.seconds)
            elif rule.effect is Effect.LOSE_ANSWER and request.transport is not None:
                request.transport.abort()
        return response

    def _run(self, name: str, token: str, args: Json) -> Json:
        """What the method answers, refusals included."""
        try:
            method = self._methods.get(name)
            if method is None or name in self._world.options.absent_methods:
                raise Refusal("unknown_method", req_method=name)
            self._check_token(token, method)
            call = Call(self._world, self._tickets, args)
            call.need(method.scope)
            return method.run(call)
        except Refusal as refusal:
            return refusal.answer()

    def _check_token(self, token: str, method: Method) -> None:
        options = self._world.options
        if not token:
            raise Refusal("not_authed")
        kinds = {options.bot_token: Token.BOT, options.app_token: Token.APP}
        if token == options.user_token:
            raise Refusal("not_allowed_token_type")
        if token not in kinds:
            raise Refusal("invalid_auth")
        if kinds[token] is not method.token:
            raise Refusal("not_allowed_token_type")

    def _limited(self, name: str, channel: str, args: Json) -> web.Response | None:
        method = self._methods.get(name)
        if method is None or not self._world.options.rate_limits:
            return None
        wait = self._rates.wait(method, channel)
        return self._too_many(name, args, wait) if wait else None

    def _too_many(self, name: str, args: Json, wait: float) -> web.Response:
        answer = {"ok": False, "error": "ratelimited"}
        response = self._answer(name, args, answer, 429)
        response.headers["Retry-After"] = str(max(1, math.ceil(wait)))
        return response

    def _refused_by(self, rule: FaultRule, name: str, args: Json) -> web.Response | None:
        if rule.effect is Effect.RATE_LIMIT:
            return self._too_many(name, args, rule.seconds)
        if rule.effect is Effect.ERROR:
            return self._answer(name, args, {"ok": False, "error": rule.error})
        if rule.effect is Effect.SERVER_ERROR:
            self._note(name, args, rule.status, False, "server_error")
            return web.Response(status=rule.status, text="Server error", content_type="text/html")
        return None

    def _answer(self, name: str, args: Json, answer: Json, status: int = 200) -> web.Response:
        self._note(name, args, status, bool(answer["ok"]), str(answer.get("error", "")))
        method = self._methods.get(name)
        headers = {"x-oauth-scopes": ",".join(sorted(self._world.options.scopes))}
        if method is not None and method.scope:
            headers["x-accepted-oauth-scopes"] = method.scope
        return web.json_response(answer, status=status or 200, headers=headers)

    def _note(self, name: str, args: Json, status: int, ok: bool, error: str) -> None:
        self.log.add(LoggedCall(self._world.clock.now(), name, args, status, ok, error))
        self._world.pulse.beat()


async def _arguments(request: web.Request) -> Json:
    """All arguments: query, and a form or JSON body."""
    args: Json = dict(request.query)
    if request.method != "POST":
        return args
    if request.content_type == "application/json":
        try:
            body = json.loads(await request.read() or b"{}")
        except ValueError:
            raise Refusal("invalid_json") from None
        if not isinstance(body, dict):
            raise Refusal("json_not_object")
        return args | body
    if request.content_type in ("application/x-www-form-urlencoded", "multipart/form-data"):
        form = await request.post()
        args |= {key: value for key, value in form.items() if isinstance(value, str)}
    return args


def _token(request: web.Request, args: Json) -> str:
    """The token of the header, else of the arguments; it is taken out of the arguments."""
    given = str(args.pop("token", "") or "")
    kind, _, value = request.headers.get("Authorization", "").partition(" ")
    return value.strip() if kind.lower() == "bearer" else given
