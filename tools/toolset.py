"""The tools of one turn: what is shown is exactly what can run, and every failure is an answer."""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from tools import outputs
from tools.base import Tool, ToolContext, ToolDefinitionError, ToolError, ToolOutput
from tools.changes import Change
from tools.paths import shown
from tools.schema import Json
from tools.truncate import truncate

log = logging.getLogger(__name__)

_GIST = 80


class Ran(NamedTuple):
    """What a call came to, as the model reads it."""

    text: str
    is_error: bool


class Toolset:
    """Registered tools, of which those in `enabled` can run (None: all)."""

    def __init__(
        self,
        tools: Iterable[Tool],
        context: ToolContext,
        enabled: frozenset[str] | None = None,
        off: Mapping[str, str] | None = None,
    ) -> None:
        """Raises ToolDefinitionError if two tools claim a name, or `enabled` has an unknown one.

        `off` names tools that this host cannot run, each with a sentence that says why; they need
        not be among `tools`.
        """
        self._registered = registry(tools)
        self._context = context
        self._off = {self.resolve(name): reason for name, reason in (off or {}).items()}
        names = {tool.name for tool in self._registered.values()}
        wanted = names if enabled is None else {self.resolve(name) for name in enabled}
        if unknown := sorted(wanted - names - self._off.keys()):
            raise ToolDefinitionError(
                f"There is no tool {', '.join(unknown)}; there are {', '.join(sorted(names))}."
            )
        self._usable = {name: self._registered[name] for name in names & wanted - self._off.keys()}

    def specs(self) -> Sequence[Tool]:
        """The tools that can run, by name."""
        return [self._usable[name] for name in sorted(self._usable)]

    def resolve(self, name: str) -> str:
        """The name that policy and audit know a tool by; an unknown name stays as it is."""
        tool = self._registered.get(name)
        return name if tool is None else tool.name

    def arguments(self, name: str, raw: str) -> dict[str, Json]:
        """A call's arguments as the tool will get them, for policy, approval and audit.

        Raises ToolError if the call cannot run; `run` then says the same.
        """
        return self._tool(name).arguments(raw)

    def changes(self, name: str) -> bool:
        """Whether a call can change anything; an unknown tool counts as one that can."""
        tool = self._registered.get(name)
        return tool is None or tool.changes

    @property
    def workspace(self) -> str:
        """The name of the workspace's directory."""
        return self._context.workspace.path.name

    def change_by(self, name: str, raw: str) -> Change | None:
        """What a call would do to a file; None for a call that changes no file that can be named.

        Raises ToolError if the call cannot run whatever the file is; `run` then says the same.
        """
        tool = self._tool(name)
        arguments = tool.arguments(raw)
        return None if tool.preview is None else tool.preview(self._context, arguments)

    def describe(self, name: str, raw: str) -> str:
        """What a call is about, for people: its key argument in at most 80 characters."""
        return describe(self._registered, name, raw)

    async def run(self, name: str, raw: str) -> Ran:
        """Run one call. Raises nothing but a cancellation of the caller's own."""
        try:
            tool = self._tool(name)
            output = await self._alone(tool, tool.arguments(raw))
        except ToolError as error:
            return await self._ran(name, ToolOutput(str(error)), is_error=True)
        except asyncio.CancelledError as error:
            if _cancelled():
                raise
            return self._bug(name, error)
        except (Exception, SystemExit) as error:
            return self._bug(name, error)
        return await self._ran(name, output, is_error=False)

    async def _alone(self, tool: Tool, arguments: Mapping[str, Json]) -> ToolOutput:
        """Run it, after the calls before it where they would get in each other's way."""
        context = self._context
        if not tool.alone:
            return await tool.run(context, arguments)
        async with context.locks.hold(f"files {context.workspace.path.name}"):
            return await tool.run(context, arguments)

    def _tool(self, name: str) -> Tool:
        canonical = self.resolve(name)
        if canonical in self._usable:
            return self._usable[canonical]
        there = ", ".join(sorted(self._usable)) or "none"
        if canonical in self._off:
            raise ToolError(f"{self._off[canonical]} Tools that can be used: {there}.")
        if canonical in self._registered:
            raise ToolError(f"The tool {canonical} is switched off here. Use one of: {there}.")
        raise ToolError(f"There is no tool {shown(name, 64)}. Use one of: {there}.")

    def _bug(self, name: str, error: BaseException) -> Ran:
        incident = secrets.token_hex(4)
        log.error("Tool %s failed, error id %s", self.resolve(name), incident, exc_info=error)
        text = (
            f"The tool {self.resolve(name)} failed by a fault of its own (error id {incident}). "
            "Try another way, or report this id."
        )
        return Ran(text, is_error=True)

    async def _ran(self, name: str, output: ToolOutput, *, is_error: bool) -> Ran:
        """The output as the model sees it: head and tail of a long one, the whole in a file."""
        context, text = self._context, _storable(output.text)
        if len(text) > context.output_limit:
            kept = await asyncio.to_thread(
                outputs.keep, context.workspace, self.resolve(name), text
            )
            text = truncate(text, context.output_limit, f"{output.more} {kept}".strip())
        return Ran(text or "(no output)", is_error)


def registry(tools: Iterable[Tool]) -> dict[str, Tool]:
    """Every name and alias with its tool. Raises ToolDefinitionError if two tools claim one."""
    found: dict[str, Tool] = {}
    for tool in tools:
        for name in (tool.name, *tool.aliases):
            if found.setdefault(name, tool) is not tool:
                raise ToolDefinitionError(
                    f"Two tools claim the name {name} ({found[name].name} and {tool.name}); "
                    "rename one of them."
                )
    return found


def describe(registered: Mapping[str, Tool], name: str, raw: str) -> str:
    """What a call is about, for people: its key argument in at most 80 characters."""
    tool = registered.get(name)
    if tool is None:
        return _gist(raw)
    try:
        return _gist(str(tool.arguments(raw).get(tool.key_argument, "")))
    except ToolError:
        return _gist(raw)


def _cancelled() -> bool:
    """Whether this task was asked to end, rather than a tool having cancelled something itself."""
    task = asyncio.current_task()
    return task is None or task.cancelling() > 0


def _storable(text: str) -> str:
    # Half characters cannot be sent, and a NUL cannot be stored by PostgreSQL.
    return (
        text.encode("utf-8", "backslashreplace").decode().replace("\0", "\N{REPLACEMENT CHARACTER}")
    )


def _gist(text: str) -> str:
    return shown(" ".join(text.split()), _GIST)
