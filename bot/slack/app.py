"""The Bolt app: its listeners parse, store and return; only then is Slack acknowledged."""

from __future__ import annotations

import logging
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass

from slack_bolt.async_app import AsyncAck, AsyncApp
from slack_bolt.authorization import AuthorizeResult
from slack_bolt.response import BoltResponse
from slack_sdk.web.async_client import AsyncWebClient

from bot import words
from bot.errors import TreadleError
from bot.slack.card import DENY_WHY
from bot.slack.gestures import read_click, read_reaction, read_session_stop
from bot.slack.inbound import Payload, Self, read_event, read_limit, team_of, text_of
from bot.slack.preflight import Identity
from bot.slack.reasons import REASON, read_reason
from bot.storage.items import Item

log = logging.getLogger(__name__)


def _bolt_log() -> logging.Logger:
    """Bolt's log without its remarks on how the app is built."""
    bolt = logging.getLogger("bot.slack.bolt")
    bolt.setLevel(logging.ERROR)
    return bolt


HOME = re.compile("treadle_home_.*")
OURS = re.compile("treadle_.*")
ANYTHING = re.compile(r".*", re.S)


def _nothing(_: Payload) -> None:
    """Nobody is there to be told."""


def _no_problem(_: Payload) -> Mapping[str, str]:
    return {}


async def _not_kept(_: str, __: float) -> None:
    """Nobody keeps Slack's notices."""


@dataclass(frozen=True, slots=True)
class Visits:
    """Who is told of what is no inbox item. Each must return at once: Slack waits.

    `submitted` returns what is wrong with a modal, by block; nothing wrong closes it. `limited` is
    told in which workspace and from when on (epoch seconds) Slack holds events back.
    """

    opened: Callable[[Payload], None] = _nothing
    clicked: Callable[[Payload], None] = _nothing
    submitted: Callable[[Payload], Mapping[str, str]] = _no_problem
    command: Callable[[Payload], None] = _nothing
    limited: Callable[[str, float], Awaitable[None]] = _not_kept
    ask_reason: Callable[[str, Item], None] = lambda *_: None
    """Gets the trigger id of a click that wants a window for a reason, and the click."""


def build_app(
    client: AsyncWebClient,
    identity: Identity,
    me: Self,
    signing_secret: str | None,
    store: Callable[[Item], Awaitable[None]],
    visits: Visits,
) -> AsyncApp:
    """An AsyncApp whose listeners hand everything to `store` before Slack is acknowledged.

    What is no inbox item goes to `visits`.
    """
    app = _bare_app(client, identity, signing_secret)
    app.error(_on_error)
    items, others = _Items(me, identity.team_id, store), _Others(identity.team_id, visits)
    app.middleware(others.on_limit)
    app.event("message")(items.on_message)
    app.event("app_mention")(items.on_message)
    app.event("reaction_added")(items.on_reaction)
    app.event("agent_session_stopped")(items.on_session_stop)
    app.action(HOME)(others.on_home_click)
    app.view(HOME)(others.on_submission)
    app.action(DENY_WHY)(others.on_deny_why)
    app.action(OURS)(items.on_click)
    app.view(REASON)(items.on_reason)
    app.event("app_home_opened")(others.on_home)
    app.command("/treadle")(others.on_command)
    app.event(ANYTHING)(_on_other_event)
    for register in (app.action, app.shortcut, app.view, app.options, app.command):
        register(ANYTHING)(_on_anything)
    app.view_closed(ANYTHING)(_on_anything)
    return app


def _bare_app(client: AsyncWebClient, identity: Identity, signing_secret: str | None) -> AsyncApp:
    async def authorize(**_: object) -> AuthorizeResult:
        # No network: if Bolt's own call failed it would acknowledge without running listeners.
        return AuthorizeResult(
            enterprise_id=None,
            team_id=identity.team_id,
            bot_user_id=identity.user_id,
            bot_id=identity.bot_id,
            bot_token=client.token,
        )

    return AsyncApp(
        name="treadle",  # else Bolt reads the source of every caller to find one
        client=client,
        authorize=authorize,
        signing_secret=signing_secret,
        process_before_response=True,
        request_verification_enabled=signing_secret is not None,
        ignoring_self_events_enabled=False,
        ignoring_self_assistant_message_events_enabled=False,
        attaching_function_token_enabled=False,
        attaching_conversation_kwargs_enabled=False,
        ssl_check_enabled=False,
        logger=_bolt_log(),
    )


@dataclass(frozen=True, slots=True)
class _Items:
    """Listeners of what is stored; Slack is acknowledged when they return."""

    me: Self
    team: str
    store: Callable[[Item], Awaitable[None]]

    async def on_message(self, body: Payload) -> None:
        await self._keep(read_event(body, self.me))

    async def on_reaction(self, body: Payload) -> None:
        await self._keep(read_reaction(body, self.me))

    async def on_session_stop(self, body: Payload) -> None:
        await self._keep(read_session_stop(body))

    async def on_click(self, ack: AsyncAck, body: Payload) -> None:
        await self._keep(read_click(body, self.team))
        await ack()

    async def on_reason(self, ack: AsyncAck, body: Payload) -> None:
        await self._keep(read_reason(body, self.team))
        await ack()

    async def _keep(self, item: Item | None) -> None:
        if item is not None:
            await self.store(item)


@dataclass(frozen=True, slots=True)
class _Others:
    """Listeners of what is shown or changed at once and not stored."""

    team: str
    visits: Visits

    async def on_limit(
        self, body: Payload, next_: Callable[[], Awaitable[None]]
    ) -> BoltResponse | None:
        minute = read_limit(body)  # it is no event: no listener could have it
        if minute is None:
            await next_()
            return None
        await self.visits.limited(team_of(body), minute)
        return BoltResponse(status=200)

    async def on_deny_why(self, ack: AsyncAck, body: Payload) -> None:
        item = read_click(body, self.team)
        if item is not None:
            self.visits.ask_reason(text_of(body, "trigger_id"), item)
        await ack()

    async def on_home(self, event: Payload) -> None:
        if event.get("tab") == "home":
            self.visits.opened(event)

    async def on_home_click(self, ack: AsyncAck, body: Payload) -> None:
        self.visits.clicked(body)
        await ack()

    async def on_submission(self, ack: AsyncAck, body: Payload) -> None:
        problems = self.visits.submitted(body)
        await (ack(response_action="errors", errors=dict(problems)) if problems else ack())

    async def on_command(self, ack: AsyncAck, command: Payload) -> None:
        self.visits.command(command)
        await ack()


async def _on_error(error: Exception) -> None:
    """Bolt's answer stays the status 500: Slack repeats an event, and tells who clicked."""
    bug = None if isinstance(error, TreadleError) else error
    log.error("%s", words.not_acknowledged(str(error) or type(error).__name__), exc_info=bug)


async def _on_other_event(event: Payload) -> None:
    log.debug("acknowledged %s", event.get("type"))


async def _on_anything(ack: AsyncAck) -> None:
    await ack()
