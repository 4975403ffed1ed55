"""Slack as a whole: who we are, what we post, and the door that events come in by."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from aiohttp import web
from slack_bolt.async_app import AsyncApp

from bot import words
from bot.admin.house import House
from bot.agent.entries import Entry
from bot.errors import ConfigError
from bot.slack.app import Visits, build_app
from bot.slack.commands import SlashCommands
from bot.slack.home import Home
from bot.slack.inbound import Self
from bot.slack.live_ends import LiveCards
from bot.slack.mail import Mail
from bot.slack.outbound import Outbound
from bot.slack.pacing import Pacer
from bot.slack.patience import Patience
from bot.slack.people import SlackPeople
from bot.slack.pieces import Verbosity
from bot.slack.preflight import Identity, identify
from bot.slack.reasons import Windows
from bot.slack.signs import Signs
from bot.slack.slots import LocalSlots, Slots
from bot.slack.sockets import Sockets
from bot.slack.steps import Describe
from bot.slack.streams import MessageForm, StreamForm
from bot.slack.threads import SlackThreads
from bot.slack.view import SlackOutlet
from bot.slack.web import SlackClient, close_client, web_client
from bot.storage.deliveries import Deliveries
from bot.storage.items import Item

EVENTS_PATH = "/slack/events"


@dataclass(frozen=True, slots=True)
class Wiring:
    """What Slack needs of the rest. With an app token events come by Socket Mode, else by HTTP."""

    bot_token: str = field(repr=False)
    app_token: str | None = field(repr=False)
    signing_secret: str | None = field(repr=False)
    api_url: str | None
    host: str
    port: int
    admins: frozenset[str]
    slack_admins: bool
    bots: frozenset[str]
    verbosity: Callable[[str], Verbosity]
    describe: Describe
    footer: Callable[[str, Sequence[Entry]], str]
    answerers: str
    redact: Callable[[str], str]
    deliveries: Deliveries
    model: str
    patience: Patience = field(default_factory=Patience)
    slots: Slots | None = None
    """Where Slack's limits are counted; None: in this process."""


class SlackFront:
    """One workspace: `open`, `listen`, then `deafen` (no more events) and `close`."""

    def __init__(self, wiring: Wiring, client: SlackClient, identity: Identity) -> None:
        self._wiring, self._client, self.identity = wiring, client, identity
        self._me = Self(identity.user_id, identity.bot_id, wiring.bots)
        self.people = SlackPeople(
            client, wiring.admins, wiring.slack_admins, wiring.patience.person
        )
        self.threads = SlackThreads(client, self.people, self._me)
        mail = Mail(client)
        outbound = Outbound(
            mail,
            wiring.deliveries,
            self.threads,
            wiring.patience.look_up,
        )
        cards = LiveCards(
            mail,
            wiring.deliveries,
            self.threads,
            wiring.describe,
            wiring.patience.stream,
            StreamForm(mail),
            MessageForm(mail),
        )
        self.outlet = SlackOutlet(
            outbound,
            cards,
            Signs(client, wiring.patience.silent),
            wiring.verbosity,
            wiring.describe,
            wiring.footer,
            wiring.answerers,
            identity.url,
        )
        self._windows = Windows(client, self.people)
        self._commands: SlashCommands | None = None
        self._home: Home | None = None
        self._sockets: Sockets | None = None
        self._server: web.AppRunner | None = None

    @classmethod
    async def open(cls, wiring: Wiring) -> SlackFront:
        """Find out who we are. Raises ConfigError if Slack refuses the token."""
        slots = wiring.slots or LocalSlots(wiring.patience.pace)
        pacer = Pacer(slots, time.monotonic)
        client = web_client(wiring.bot_token, wiring.api_url, pacer, wiring.redact)
        try:
            return cls(wiring, client, await identify(client, wiring.patience.start))
        except BaseException:
            await close_client(client)
            raise

    async def listen(
        self,
        store: Callable[[Item], Awaitable[None]],
        house: House,
        limited: Callable[[str, float], Awaitable[None]],
    ) -> None:
        """Let events in; for `limited` see `Visits`.

        Raises ConfigError if Slack refuses the app token or a port is taken.
        """
        wiring = self._wiring
        secret = None if wiring.app_token else wiring.signing_secret
        team = self.identity.team_id
        commands = SlashCommands(self._client, self.people, house, team)
        home = Home(self._client, self.people, house, wiring.model, team)
        self._commands, self._home = commands, home
        visits = Visits(
            home.opened,
            home.clicked,
            home.submitted,
            commands.received,
            limited,
            self._windows.ask_reason,
        )
        app = build_app(self._client, self.identity, self._me, secret, store, visits)
        if wiring.app_token:
            self._sockets = Sockets(app, self._client, wiring.app_token, wiring.patience)
            await self._sockets.start()
        else:
            self._server = await _serve(app, wiring.host, wiring.port)

    async def deafen(self) -> None:
        """Take no more events; what is acknowledged is stored."""
        if self._sockets is not None:
            await self._sockets.close()
        if self._server is not None:
            await self._server.cleanup()

    async def close(self) -> None:
        for visited in (self._commands, self._home, self._windows):
            if visited is not None:
                await visited.close()
        await self.people.close()
        await close_client(self._client)


async def _serve(app: AsyncApp, host: str, port: int) -> web.AppRunner:
    runner = web.AppRunner(app.web_app(EVENTS_PATH), access_log=None)
    await runner.setup()
    try:
        await web.TCPSite(runner, host, port).start()
    except OSError as error:
        await runner.cleanup()
        raise ConfigError(words.cannot_listen(host, port, str(error.strerror))) from error
    return runner
