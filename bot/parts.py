"""Makes each part from the settings; `bot.main` joins them. It decides nothing."""

from __future__ import annotations

import asyncio
import platform
import time
from collections.abc import (
    AsyncIterator,
    Awaitable,
    Callable,
    Collection,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import asynccontextmanager, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from pydantic import SecretStr

from bot import sealing, words
from bot.accounts import make_budget, rates
from bot.admission import admit, approvers
from bot.agent.context import observation_limit
from bot.agent.dialects.tool_docs import FILES
from bot.agent.entries import ToolCall
from bot.agent.guard import Limits
from bot.agent.prompt import Facts
from bot.config import MARKER, Need, Settings, load_settings
from bot.errors import ConfigError, TreadleError
from bot.model import RETRIES, ChatModel, Endpoint
from bot.redact import Redactor
from bot.rehearsal import RehearsalModel
from bot.runs.answers import Answers
from bot.runs.brains import Brains, Hands
from bot.runs.budget import Budget
from bot.runs.door import Door
from bot.runs.intake import Intake
from bot.runs.local import LocalRuns
from bot.runs.ports import Outlet, People, Surroundings
from bot.runs.runner import Runner
from bot.runs.sweep import SWEEP_SECONDS, sweep
from bot.shell import SHELL, Shell, open_shell, sandbox_settings
from bot.storage.audit import Audit
from bot.storage.capabilities import Capabilities
from bot.storage.database import open_database
from bot.storage.deliveries import Deliveries
from bot.storage.inbox import ENDING, Inbox, Item
from bot.storage.journal import Journals, new_owner
from bot.storage.usage import Ledger
from bot.storage.writer import Writer
from tools.base import Tool, ToolContext, ToolDefinitionError, ToolError
from tools.catalog import builtin_tools
from tools.listing import EntryKind
from tools.loading import load_tools
from tools.sandbox.probe import owner_of
from tools.toolset import Toolset, describe, registry
from tools.truncate import OUTPUT_LIMIT
from tools.workspaces import Scope, Workspaces

REHEARSAL_PAUSE = 0.5
"""Seconds: people should see the steps arrive one by one."""


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
    budget: Budget
    capabilities: Capabilities
    model: ChatModel | RehearsalModel
    tools: tuple[Tool, ...]
    brains: Brains
    shell: Shell
    audit: Audit

    def usable(self) -> Sequence[Tool]:
        """The tools that this host can run and the operator has not switched off."""
        enabled = self.settings.tools.enabled
        wanted = [tool for tool in self.tools if enabled is None or tool.name in enabled]
        return [tool for tool in wanted if tool.name != SHELL or self.shell.sandbox is not None]

    def describe(self, call: ToolCall) -> str:
        """A call's key argument, for people."""
        return describe(registry(self.tools), call.name, call.arguments)

    def runs(self, outlet: Outlet, people: People, surroundings: Surroundings) -> LocalRuns:
        """The scheduler for one front door, not yet started."""
        settings = self.settings
        door = Door(people, admit(settings))
        intake = Intake(
            people,
            surroundings,
            door,
            Answers(door, approvers(settings), SystemClock()),
            lambda channel: settings.for_channel(channel).reply_in_threads == "mention",
            frozenset(settings.access.bots),
            SystemClock(),
        )
        runner = Runner(
            self.journals,
            self.inbox,
            intake,
            self.model,
            self.brains,
            outlet,
            make_limits(settings),
            SystemClock(),
            self.budget,
        )
        return LocalRuns(runner.work)

    @asynccontextmanager
    async def sweeping(self, runs: LocalRuns, every: float = SWEEP_SECONDS) -> AsyncIterator[None]:
        """Meanwhile questions that nobody answers in time expire."""
        task = asyncio.create_task(sweep(self.journals, self.storing(runs), SystemClock(), every))
        try:
            yield
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    def storing(self, runs: LocalRuns) -> Callable[[Item], Awaitable[None]]:
        """Stores an item, then wakes its thread; durable on return."""

        async def store(item: Item) -> None:
            item = await self.inbox.located(item)
            if await self.inbox.store(item):
                runs.wake(item.thread, stop=item.kind in ENDING)

        return store


@asynccontextmanager
async def open_core(settings: Settings, model: ChatModel | RehearsalModel) -> AsyncIterator[Core]:
    """Open the database and the workspaces; closed in order at the end."""
    if settings.database_path is None:
        raise ConfigError(words.cluster_not_yet())
    tools = all_tools(settings)
    redactor = Redactor(settings.secrets)
    with open_workspaces(settings) as workspaces:
        database = open_database(settings.database_path)
        writer = Writer(database.engine)
        audit = Audit(writer, new_owner(), sealing.sealer(settings), redactor.text)
        trail = sealing.upkeep(settings, writer, audit)
        capabilities = Capabilities(writer)
        if isinstance(model, ChatModel):
            model.remember_in(capabilities)
        known = rates(settings, real=isinstance(model, ChatModel))
        try:
            shell = await open_shell(settings)
            async with trail.running(sealing.about_process(settings)):
                yield Core(
                    settings,
                    redactor,
                    Journals(writer, audit.chain, redactor.text, audit, Ledger(writer, known)),
                    Inbox(writer, redactor.text),
                    Deliveries(writer),
                    make_budget(settings, writer, known),
                    capabilities,
                    model,
                    tools,
                    make_brains(settings, tools, workspaces, shell),
                    shell,
                    audit,
                )
        finally:
            await writer.close()
            database.close()


def reveal(secret: SecretStr | None) -> str:
    return secret.get_secret_value() if secret is not None else ""


def make_limits(settings: Settings) -> Limits:
    """What one turn may take."""
    limits, guard = settings.limits, settings.guard
    return Limits(
        limits.max_steps,
        limits.max_seconds,
        limits.max_tokens,
        guard.repeat,
        guard.cycle,
        guard.stall,
        settings.model.context_tokens,
        settings.approvals.expires_s,
    )


def make_model(settings: Settings, retries: int = RETRIES) -> ChatModel | RehearsalModel:
    """The endpoint's model, or the rehearsal model where no endpoint is given."""
    env = settings.env
    if env.openai_api_key is None and env.needs_model_key:
        return RehearsalModel(REHEARSAL_PAUSE)
    key, dialect = reveal(env.openai_api_key), settings.model.dialect
    return ChatModel(
        Endpoint(settings.model_name, key, env.openai_base_url, retries=retries, dialect=dialect)
    )


def all_tools(settings: Settings) -> tuple[Tool, ...]:
    """The tools of this release and the operator's own."""
    try:
        base, root = settings.config_path.parent, settings.workspace_root
        off = SHELL if settings.sandbox.mode == "off" else ""
        own = load_tools(settings.tools.modules, base, root)
        builtin = builtin_tools(settings.tools.wikipedia_url)
        return (*(tool for tool in builtin if tool.name != off), *own)
    except ToolDefinitionError as error:
        raise ConfigError(str(error)) from error


@contextmanager
def open_workspaces(settings: Settings) -> Iterator[Workspaces]:
    try:
        scope = Scope(settings.workspace.scope)
        quota = settings.workspace.quota_mb * 1024 * 1024
        owner = owner_of(sandbox_settings(settings))
        workspaces = Workspaces(settings.workspace_root, scope, owner=owner, quota=quota)
        (workspaces.root / MARKER).write_text(words.workspace_marker(), "utf-8")
    except ToolError as error:
        raise ConfigError(words.workspace_unusable(settings.workspace_root, str(error))) from error
    except OSError as error:
        why = f"{error.strerror}."
        raise ConfigError(words.workspace_unusable(settings.workspace_root, why)) from error
    with closing(workspaces):
        yield workspaces


def make_brains(
    settings: Settings, tools: tuple[Tool, ...], workspaces: Workspaces, shell: Shell
) -> Brains:
    enabled = None if settings.tools.enabled is None else frozenset(settings.tools.enabled)
    off = {name: words.tool_not_yet(name) for name in words.TOOLS_NOT_YET}
    if shell.off:
        off[SHELL] = shell.off
    output_limit = observation_limit(settings.model.context_tokens, OUTPUT_LIMIT)

    @contextmanager
    def hands(thread: str) -> Iterator[Hands]:
        try:
            workspace = workspaces.open(*thread.split(":", 2))
        except ToolError as error:
            raise TreadleError(str(error)) from error
        with workspace:
            context = ToolContext(workspace, shell.sandbox, output_limit=output_limit)
            yield Toolset(tools, context, enabled, off)

    # What the operator switched off does not exist; what this host lacks is said once.
    lacking = {name: why for name, why in off.items() if name != SHELL or shell.missed}
    missing = {name: why for name, why in lacking.items() if enabled is None or name in enabled}

    def facts(thread: str) -> Facts:
        return Facts(
            words.place_of(thread.split(":", 2)[1]),
            missing=missing,
            files=file_names(workspaces, thread),
            system=platform.system(),
            machine=platform.machine(),
            python=platform.python_version(),
        )

    return Brains(hands, lambda: settings.rules, facts, ToolError)


def file_names(workspaces: Workspaces, thread: str) -> tuple[str, ...]:
    """What stands in a thread's workspace, for the prompts that say so."""
    try:
        with workspaces.open(*thread.split(":", 2)) as workspace:
            entries = workspace.list_directory(limit=FILES).entries
    except ToolError:
        return ()  # the turn itself will say what is wrong with the workspace
    slash = {EntryKind.DIRECTORY: "/"}
    return tuple(f"{entry.name}{slash.get(entry.kind, '')}" for entry in entries)


def read_settings(environ: Mapping[str, str], cwd: Path, need: Need) -> Settings:
    """The settings for a command. Raises ConfigError that names every problem."""
    root = cwd / environ.get("TREADLE_WORKSPACE", "workspace")

    def own_tools(modules: tuple[str, ...]) -> Collection[str]:
        try:
            return [tool.name for tool in load_tools(modules, cwd, root)]
        except ToolDefinitionError as error:
            raise ConfigError(str(error)) from error

    return load_settings(
        environ, cwd, need=need, own_tools=own_tools, off_tools=words.TOOLS_NOT_YET
    )
