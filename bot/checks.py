"""What `treadle doctor` looks at, made from the settings."""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from bot import words
from bot.agent.entries import User
from bot.agent.prompt import Facts
from bot.config import Need, Settings
from bot.doctor import Check, Finding, examine
from bot.errors import ConfigError, DatabaseBusy, DeliveryRefused, TreadleError
from bot.making import all_tools, make_model, read_settings, reveal
from bot.model import ChatModel
from bot.model.knowledge import DIALECT, REFUSES
from bot.redact import Redactor, redact_log
from bot.rehearsal import NAME as REHEARSAL
from bot.runs.pulse import Pulse
from bot.shell import prove_sandbox
from bot.slack.app import Visits, build_app
from bot.slack.inbound import Self
from bot.slack.preflight import Identity, identify
from bot.slack.sockets import Sockets, address_refused, new_address
from bot.slack.web import call, close_client, web_client
from bot.state import open_reading, open_state
from bot.storage.capabilities import Capabilities, known_facts
from bot.storage.items import Item
from bot.storage.limits import limited_minutes
from bot.storage.writer import Writer
from tools.errors import SandboxUnavailable

NO_CHANNEL = "C00000000"
"""A channel that no workspace has: Slack answers this before it does anything."""
TOKEN_ERRORS = frozenset(
    {"invalid_auth", "not_authed", "account_inactive", "token_revoked", "token_expired"}
    | {"missing_scope", "not_allowed_token_type"}
)
DAY = 24 * 3600.0
AGENT_ERRORS = frozenset({"not_authorized", "unknown_method", "not_allowed", "feature_not_enabled"})


async def examine_host(
    environ: Mapping[str, str], cwd: Path, wait: int, *, forget: bool = False
) -> Sequence[Finding]:
    """Every finding, in the order in which things have to work.

    `forget` first drops what was found out about the model's endpoint.
    """
    try:
        settings = read_settings(environ, cwd, Need.RUN)
    except ConfigError as error:
        return [Finding("settings", False, str(error))]
    checks = [
        Check("settings", lambda: _settings(settings)),
        Check("database", lambda: _database(settings)),
        Check("workspace", lambda: _workspace(settings.workspace_root)),
        Check("tools", lambda: _tools(settings)),
        Check("shell", lambda: _shell(settings)),
        Check("model", lambda: _model(settings)),
        Check("model format", lambda: _model_format(settings, forget)),
        Check("slack token", lambda: _token(settings)),
        Check("slack agent features", lambda: _agent(settings)),
        Check("slack event limit", lambda: _event_limit(settings)),
    ]
    if settings.database_path is None:
        checks.insert(2, Check("workers", lambda: _workers(settings)))
    if settings.env.slack_app_token is not None:
        checks.append(Check("socket mode", lambda: _socket(settings)))
        if wait:
            checks.append(Check("events", lambda: _events(settings, wait)))
    redactor = Redactor(settings.secrets)
    redact_log(redactor)
    return [replace(f, text=redactor.text(f.text)) for f in await examine(checks)]


async def _settings(settings: Settings) -> str:
    if settings.warnings:
        raise ConfigError(" ".join(settings.warnings))
    path = settings.config_path
    return words.found_settings(path.name, there=path.is_file())


async def _database(settings: Settings) -> str:
    try:
        open_state(settings).close()
    except DatabaseBusy as error:
        return words.found_running(str(error))
    return words.found_database(settings.home) if settings.database_path else words.found_server()


async def _workers(settings: Settings) -> str:
    """How many processes there are that work on threads."""
    from bot.storage.claims import Claims  # only in the cluster

    database = open_state(settings)
    writer = Writer(database.engine)
    try:
        count = await Claims(writer, "doctor", Pulse().stall).workers()
    finally:
        await writer.close()
        database.close()
    if not count:
        raise ConfigError(words.no_worker())
    return words.found_workers(count)


async def _workspace(root: Path) -> str:
    try:
        await asyncio.to_thread(_try_to_write, root)
    except OSError as error:
        raise ConfigError(words.workspace_unusable(root, f"{error.strerror}.")) from error
    return words.found_workspace(root)


def _try_to_write(root: Path) -> None:
    root.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=root) as file:
        file.write(b"x")


async def _tools(settings: Settings) -> str:
    known = [tool.name for tool in all_tools(settings)]
    enabled = known if settings.tools.enabled is None else settings.tools.enabled
    on = [name for name in known if name in enabled]
    off = [name for name in known if name not in enabled]
    return words.found_tools(on, off, words.TOOLS_NOT_YET)


async def _shell(settings: Settings) -> str:
    if settings.sandbox.mode == "off":
        return words.shell_off()
    try:
        confinement = (await prove_sandbox(settings)).confinement
    except SandboxUnavailable as error:
        raise ConfigError(words.shell_unavailable(str(error))) from error
    return words.found_shell(confinement.name, confinement.gaps)


async def _model(settings: Settings) -> str:
    model = make_model(settings, retries=1)
    if model.name == REHEARSAL:
        return words.banner_rehearsal()
    try:
        question = User("Say ok.", "UDOCTOR", "Doctor", "0.0")
        await model.reply(Facts("a connection test", has_tools=False), [question], ())
    finally:
        await model.close()
    return words.found_model(model.name)


async def _model_format(settings: Settings, forget: bool) -> str:
    """In which dialect the model is spoken to, and what its endpoint was found to refuse."""
    model = make_model(settings)
    if not isinstance(model, ChatModel):
        return words.banner_rehearsal()
    address, name = model.endpoint.address, model.name
    gone = await _forget(settings, address, name) if forget else 0
    with open_reading(settings).connect() as connection:
        known = known_facts(connection, address, name, time.time())
    refused = sorted(fact.removeprefix(REFUSES) for fact in known if fact.startswith(REFUSES))
    return words.found_model_format(settings.model.dialect, known.get(DIALECT), refused, gone)


async def _forget(settings: Settings, address: str, model: str) -> int:
    """Forget what was found out; how many facts there were."""
    try:
        database = open_state(settings)
    except DatabaseBusy as error:
        raise TreadleError(words.nothing_forgotten()) from error
    writer = Writer(database.engine)
    try:
        return await Capabilities(writer).forget(address, model)
    finally:
        await writer.close()
        database.close()


async def _token(settings: Settings) -> str:
    identity = await _identity(settings)
    if identity.warnings:
        raise ConfigError(" ".join(identity.warnings))
    return words.found_slack(identity.user, identity.team)


async def _identity(settings: Settings) -> Identity:
    client = web_client(reveal(settings.env.slack_bot_token), settings.env.slack_api_url)
    try:
        return await identify(client)
    finally:
        await close_client(client)


async def _agent(settings: Settings) -> str:
    client = web_client(reveal(settings.env.slack_bot_token), settings.env.slack_api_url)
    arguments = {"channel_id": NO_CHANNEL, "thread_ts": "1.0", "status": ""}
    try:
        await call(client, "assistant.threads.setStatus", arguments)
    except DeliveryRefused as error:
        if error.code in AGENT_ERRORS:
            raise TreadleError(words.agent_off(error.code)) from error
        if error.code in TOKEN_ERRORS:
            raise
    finally:
        await close_client(client)
    return words.found_agent()


async def _event_limit(settings: Settings) -> str:
    """Whether Slack held events back during the last day, as the bot was told."""
    minutes = limited_minutes(open_reading(settings), time.time() - DAY)
    if minutes:
        raise TreadleError(words.events_were_held_back(len(minutes), minutes[-1]))
    return words.found_no_event_limit()


async def _socket(settings: Settings) -> str:
    try:
        await new_address(reveal(settings.env.slack_app_token), settings.env.slack_api_url or None)
    except DeliveryRefused as error:
        raise address_refused(error.code) from error
    return words.found_socket()


async def _events(settings: Settings, wait: int) -> str:
    """Whether a mention arrives. Its event is not acknowledged, so Slack sends it again later."""
    client = web_client(reveal(settings.env.slack_bot_token), settings.env.slack_api_url)
    seen: set[str] = set()
    mentioned = asyncio.Event()

    async def look(item: Item) -> None:
        seen.add(item.kind)
        mentioned.set()
        raise TreadleError("only looked at")

    try:
        identity = await identify(client)
        me = Self(identity.user_id, identity.bot_id)
        app = build_app(client, identity, me, None, look, Visits())
        sockets = Sockets(app, client, reveal(settings.env.slack_app_token))
        await sockets.start()
        try:
            await asyncio.wait_for(mentioned.wait(), wait)
        except TimeoutError as error:
            raise ConfigError(words.no_event(identity.user, wait)) from error
        finally:
            await sockets.close()
    finally:
        await close_client(client)
    return words.found_events()
