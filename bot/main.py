"""The composition root: joins the parts and runs them. It decides nothing.

What only one command needs is imported where it is needed: `treadle run` starts without it.
"""

from __future__ import annotations

import asyncio
import logging
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from bot import words
from bot.accounts import footer
from bot.admin.live import Setting
from bot.admission import answerers
from bot.cluster import Role as Role
from bot.config import Need as Need
from bot.config import Settings as Settings
from bot.errors import ConfigError
from bot.inert import inert
from bot.making import make_model, reveal
from bot.making import read_settings as read_settings
from bot.parts import Core, open_core
from bot.rehearsal import NAME as REHEARSAL
from bot.runs.local import GRACE_SECONDS
from bot.runs.pulse import Pulse
from bot.service import TURNS, serve, warn
from bot.slack.front import Wiring
from bot.slack.patience import Patience
from bot.slack.pieces import Verbosity
from bot.slack.preflight import Identity as Identity

if TYPE_CHECKING:
    from bot.doctor import Finding
    from bot.model import ChatModel
    from bot.rehearsal import RehearsalModel

log = logging.getLogger(__name__)


async def run_slack(
    settings: Settings,
    *,
    stop: asyncio.Event,
    ready: Callable[[Identity], None],
    host: str = "127.0.0.1",
    port: int = 3000,
    patience: Patience | None = None,
    model: ChatModel | RehearsalModel | None = None,
    grace: float = GRACE_SECONDS,
    role: Role = Role.ALL,
    turns: int = TURNS,
    pulse: Pulse | None = None,
) -> None:
    """Serve one Slack workspace until `stop` is set. Raises TreadleError if it cannot start.

    The model is that of the settings unless one is given. At the end a step that is going on may
    take up to `grace` seconds to come to its end. With SQLite this process does it alone. With
    PostgreSQL it has the given role among others, and works on so many `turns` at a time.
    """
    if role is Role.WORK and settings.database_path is not None:
        raise ConfigError(words.work_needs_server())
    async with open_core(settings, model or make_model(settings), pulse or Pulse()) as core:
        wiring = slack_wiring(core, host, port)
        wiring = replace(wiring, patience=patience or wiring.patience)
        await serve(core, wiring, stop=stop, ready=ready, grace=grace, role=role, turns=turns)


async def run_demo(
    settings: Settings, *, stop: asyncio.Event, ready: Callable[[str], None], port: int | None
) -> None:
    """The Slack stand-in with its page, and Treadle in it; `ready` gets the page's address.

    Without a port it is the usual one, or a free one where that is taken.
    """
    from bot.demo import open_page

    model = make_model(settings)
    banner = words.banner_rehearsal() if model.name == REHEARSAL else words.banner_model(model.name)
    async with open_core(settings, model) as core, open_page(settings, port, banner) as slack:
        options = slack.options
        wiring = replace(
            slack_wiring(core, "127.0.0.1", 0),
            bot_token=options.bot_token,
            app_token=options.app_token,
            api_url=slack.api_url,
        )
        await serve(core, wiring, stop=stop, ready=lambda _: ready(slack.page_url))


async def run_chat(
    settings: Settings, write: Callable[[str], None], put: Callable[[str], None]
) -> None:
    """Talk in the terminal until the input ends. `write` writes a line, `put` a part of one."""
    from bot.live_text import LiveText
    from bot.terminal import Asking, Lines, TerminalOutlet, TerminalPeople, converse

    model = make_model(settings)
    async with open_core(settings, model) as core, AsyncExitStack() as stack:
        stack.push_async_callback(model.close)
        warn(core)
        people = TerminalPeople()

        def safe(text: str) -> None:
            write(core.redactor.text(inert(text)))  # so that nothing unseen hides a secret

        asking = Asking()
        live = LiveText(put, core.redactor.stream)
        runs = core.runs(TerminalOutlet(safe, core.describe, live, asking), people, people)
        stack.push_async_callback(runs.close)
        await stack.enter_async_context(core.sweeping(runs))
        await converse(core.storing(runs), runs.idle, Lines(sys.stdin.fileno()), safe, asking)


async def examine_host(
    environ: Mapping[str, str], cwd: Path, wait: int, *, forget: bool = False
) -> Sequence[Finding]:
    """Every finding of `treadle doctor`; waits up to `wait` seconds for a mention.

    `forget` drops what was found out about the model's endpoint.
    """
    from bot.checks import examine_host

    return await examine_host(environ, cwd, wait, forget=forget)


def demo_settings(environ: Mapping[str, str], cwd: Path) -> Settings:
    """The demo's own settings; no Slack variable is read."""
    from bot.demo import demo_settings

    return demo_settings(environ, cwd)


def slack_wiring(core: Core, host: str, port: int) -> Wiring:
    settings, env = core.settings, core.settings.env
    return Wiring(
        bot_token=reveal(env.slack_bot_token),
        app_token=reveal(env.slack_app_token) or None,
        signing_secret=reveal(env.slack_signing_secret) or None,
        api_url=env.slack_api_url,
        host=host,
        port=port,
        admins=frozenset(settings.access.admins),
        slack_admins=settings.access.slack_admins,
        bots=frozenset(settings.access.bots),
        verbosity=lambda channel: Verbosity(core.live.value(Setting.VERBOSITY, channel)),
        describe=core.describe,
        footer=partial(footer, settings, core.budget.rates),
        answerers=answerers(settings),
        redact=core.redactor.text,
        deliveries=core.deliveries,
        model=core.model.name,
        slots=core.shared.slots if core.shared else None,
    )
