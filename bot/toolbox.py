"""What a turn works with: the tools on its workspace, the rules, the facts for the prompt."""

from __future__ import annotations

import platform
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from bot import words
from bot.admin.live import Live
from bot.agent.context import observation_limit
from bot.agent.dialects.tool_docs import FILES
from bot.agent.ports import Clock
from bot.agent.prompt import Facts
from bot.config import Settings
from bot.errors import TreadleError
from bot.runs.brains import Brains, Hands
from bot.shell import SHELL, Shell
from tools.base import Tool, ToolContext, ToolError
from tools.listing import EntryKind
from tools.locks import Locks
from tools.toolset import Toolset
from tools.truncate import OUTPUT_LIMIT
from tools.workspaces import Workspaces


def make_brains(
    settings: Settings,
    tools: tuple[Tool, ...],
    workspaces: Workspaces,
    shell: Shell,
    live: Live,
    clock: Clock,
    redact: Callable[[str], str],
    locks: Locks,
) -> Brains:
    """`redact` is for what no journal has cleaned: the names of files, and a diff of one."""
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
            context = ToolContext(workspace, shell.sandbox, output_limit=output_limit, locks=locks)
            yield Toolset(tools, context, enabled, off)

    # What the operator switched off does not exist; what this host lacks is said once.
    lacking = {name: why for name, why in off.items() if name != SHELL or shell.missed}
    missing = {name: why for name, why in lacking.items() if enabled is None or name in enabled}

    def facts(thread: str) -> Facts:
        return Facts(
            words.place_of(thread.split(":", 2)[1]),
            missing=missing,
            files=tuple(map(redact, file_names(workspaces, thread))),
            system=platform.system(),
            machine=platform.machine(),
            python=platform.python_version(),
        )

    return Brains(hands, lambda: live.book, facts, ToolError, clock, redact)


def file_names(workspaces: Workspaces, thread: str) -> tuple[str, ...]:
    """What stands in a thread's workspace, for the prompts that say so."""
    try:
        with workspaces.open(*thread.split(":", 2)) as workspace:
            entries = workspace.list_directory(limit=FILES).entries
    except ToolError:
        return ()  # the turn itself will say what is wrong with the workspace
    slash = {EntryKind.DIRECTORY: "/"}
    return tuple(f"{entry.name}{slash.get(entry.kind, '')}" for entry in entries)
