"""The composition root: builds the parts and joins them. It decides nothing."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, closing, contextmanager
from dataclasses import dataclass

from pydantic import SecretStr

from bot import words
from bot.agent.entries import ToolCall
from bot.agent.guard import Limits
from bot.agent.ports import Model
from bot.agent.prompt import Facts
from bot.config import Settings
from bot.errors import ConfigError, TreadleError
from bot.model import ChatModel, Endpoint
from bot.policy import Access, Person, Place, may_speak
from bot.redact import Redactor
from bot.rehearsal import RehearsalModel
from bot.runs.brains import Brains, Hands
from bot.runs.intake import Admit, Intake
from bot.runs.local import LocalRuns
from bot.runs.ports import Outlet, People, Surroundings
from bot.runs.runner import Runner
from bot.slack.front import SlackFront, Wiring
from bot.slack.preflight import Identity
from bot.slack.render import Verbosity
from bot.storage.database import open_database
from bot.storage.deliveries import Deliveries
from bot.storage.inbox import Inbox, Item
from bot.storage.journal import Journals
from bot.storage.writer import Writer
from bot.terminal import TerminalOutlet, TerminalPeople, converse
from tools.base import Tool, ToolContext, ToolDefinitionError, ToolError
from tools.catalog import builtin_tools
from tools.loading import load_tools
from tools.toolset import Toolset, describe, registry
from tools.workspaces import Scope, Workspaces


class SystemClock:
    """`bot.agent.ports.Clock`."""

    def now(self) -> float:
        return time.time()


@dataclass(frozen=True, slots=True)
class Core:
    """What every front door shares."""

    settings: Settings
    redactor: Redactor
    journals: Journals
    inbox: Inbox
    deliveries: Deliveries
    model: Model
    tools: tuple[Tool, ...]
    brains: Brains

    def describe(self, call: ToolCall) -> str:
        """A call's key argument, for people."""
        return describe(registry(self.tools), call.name, call.arguments)

    def runs(self, outlet: Outlet, people: People, surroundings: Surroundings) -> LocalRuns:
        """The scheduler for one front door, not yet started."""
        settings = self.settings
        intake = Intake(
            people,
            surroundings,
            admit(settings),
            lambda channel: settings.for_channel(channel).reply_in_threads == "mention",
            frozenset(settings.access.bots),
            SystemClock(),
        )
        limits = settings.limits
        runner = Runner(
            self.journals,
            self.inbox,
            intake,
            self.model,
            self.brains,
            outlet,
            Limits(limits.max_steps, limits.max_seconds, limits.max_tokens),
            SystemClock(),
        )
        return LocalRuns(runner.work)

    def storing(self, runs: LocalRuns) -> Callable[[Item], Awaitable[None]]:
        """Stores an item, then wakes its thread; durable on return."""

        async def store(item: Item) -> None:
            if await self.inbox.store(item):
                runs.wake(item.thread)

        return store


@asynccontextmanager
async def open_core(settings: Settings, model: Model) -> AsyncIterator[Core]:
    """Open the database and the workspaces; closed in order at the end."""
    if settings.database_path is None:
        raise ConfigError(words.cluster_not_yet())
    tools = all_tools(settings)
    with open_workspaces(settings) as workspaces:
        database = open_database(settings.database_path)
        writer = Writer(database.engine)
        try:
            yield Core(
                settings,
                Redactor(settings.secrets),
                Journals(writer),
                Inbox(writer),
                Deliveries(writer),
                model,
                tools,
                make_brains(settings, tools, workspaces),
            )
        finally:
            await writer.close()
            database.close()


async def run_slack(
    settings: Settings,
    *,
    stop: asyncio.Event,
    ready: Callable[[Identity], None],
    host: str = "127.0.0.1",
    port: int = 3000,
) -> None:
    """Serve one Slack workspace until `stop` is set. Raises TreadleError if it cannot start."""
    model = make_model(settings)
    async with open_core(settings, model) as core, AsyncExitStack() as stack:
        stack.push_async_callback(model.close)
        warming = asyncio.create_task(model.warm())
        stack.push_async_callback(asyncio.wait, [warming])
        front = await SlackFront.open(slack_wiring(core, host, port))
        stack.push_async_callback(front.close)
        runs = core.runs(front.outlet, front.people, front.threads)
        stack.push_async_callback(runs.close)
        stack.push_async_callback(front.deafen)
        await front.listen(core.storing(runs))
        runs.wake_all(await core.journals.unfinished())
        ready(front.identity)
        await stop.wait()


async def run_chat(settings: Settings, write: Callable[[str], None]) -> None:
    """Talk in the terminal until the input ends."""
    model = make_model(settings)
    async with open_core(settings, model) as core, AsyncExitStack() as stack:
        stack.push_async_callback(model.close)
        people = TerminalPeople()

        def safe(text: str) -> None:
            write(core.redactor.text(text))

        runs = core.runs(TerminalOutlet(safe, core.describe), people, people)
        stack.push_async_callback(runs.close)
        await converse(core.storing(runs), runs.idle, safe)


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
        verbosity=lambda channel: Verbosity(settings.for_channel(channel).verbosity),
        describe=core.describe,
        redact=core.redactor.text,
        deliveries=core.deliveries,
        model=core.model.name,
        tools=[(tool.name, tool.description.split("\n")[0]) for tool in core.tools],
    )


def reveal(secret: SecretStr | None) -> str:
    return secret.get_secret_value() if secret is not None else ""


def make_model(settings: Settings) -> ChatModel | RehearsalModel:
    """The endpoint's model, or the rehearsal model where no endpoint is given."""
    env = settings.env
    if env.openai_api_key is None and env.needs_model_key:
        return RehearsalModel()
    return ChatModel(Endpoint(settings.model_name, reveal(env.openai_api_key), env.openai_base_url))


def all_tools(settings: Settings) -> tuple[Tool, ...]:
    """The tools of this release and the operator's own."""
    try:
        base, root = settings.config_path.parent, settings.workspace_root
        return (*builtin_tools(), *load_tools(settings.tools.modules, base, root))
    except ToolDefinitionError as error:
        raise ConfigError(str(error)) from error


@contextmanager
def open_workspaces(settings: Settings) -> Iterator[Workspaces]:
    try:
        scope = Scope(settings.workspace.scope)
        quota = settings.workspace.quota_mb * 1024 * 1024
        workspaces = Workspaces(settings.workspace_root, scope, quota=quota)
    except ToolError as error:
        raise ConfigError(words.workspace_unusable(settings.workspace_root, str(error))) from error
    with closing(workspaces):
        yield workspaces


def make_brains(settings: Settings, tools: tuple[Tool, ...], workspaces: Workspaces) -> Brains:
    enabled = None if settings.tools.enabled is None else frozenset(settings.tools.enabled)
    off = {name: words.tool_not_yet(name) for name in words.TOOLS_NOT_YET}

    @contextmanager
    def hands(thread: str) -> Iterator[Hands]:
        try:
            workspace = workspaces.open(*thread.split(":", 2))
        except ToolError as error:
            raise TreadleError(str(error)) from error
        with workspace:
            yield Toolset(tools, ToolContext(workspace), enabled, off)

    def facts(thread: str) -> Facts:
        missing = {name: why for name, why in off.items() if enabled is None or name in enabled}
        return Facts(words.place_of(thread.split(":", 2)[1]), missing=missing)

    return Brains(hands, lambda: settings.rules, facts, ToolError)


def admit(settings: Settings) -> Admit:
    """Who may speak, as `[access]` says."""
    rules = settings.access
    access = Access(rules.guests, rules.external, tuple(rules.bots), tuple(rules.channels))

    def judge(person: Person, place: Place) -> str | None:
        refusal = may_speak(access, person, place)
        if refusal is None:
            return None
        return words.REFUSALS[refusal] if rules.refusal == "say" else ""

    return judge
