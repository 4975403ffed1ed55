"""What a tool is, and how a plain function becomes one.

    @tool(aliases=("write_to_file",), changes=True)
    def write_file(context: ToolContext, path: str, content: str) -> str:
        \"""Store a text file.

        Args:
            path: where
            content: the whole text
        \"""

A tool returns text (or anything JSON can carry) and raises ToolError to tell the model what to do
instead; any other exception is a bug of the tool.
"""

from __future__ import annotations

import dataclasses
import inspect
import json
import re
from collections.abc import Callable, Coroutine, Mapping
from typing import Any

from tools.arguments import check_arguments
from tools.aside import in_thread
from tools.changes import Change
from tools.errors import BadArguments as BadArguments
from tools.errors import NotAllowed as NotAllowed
from tools.errors import NotFound as NotFound
from tools.errors import OutsideWorkspace as OutsideWorkspace
from tools.errors import ToolDefinitionError as ToolDefinitionError
from tools.errors import ToolError as ToolError
from tools.errors import Unreachable as Unreachable
from tools.locks import Locks
from tools.sandbox.sandbox import Sandbox
from tools.schema import Canonical as Canonical
from tools.schema import Json, Signature, signature
from tools.truncate import OUTPUT_LIMIT
from tools.web import DirectHttp, Http
from tools.workspace import Workspace

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")
"""Names that the chat-completions API accepts for a function."""


@dataclasses.dataclass(frozen=True, slots=True)
class ToolContext:
    """The ports that a tool may use; one is made for each turn."""

    workspace: Workspace
    sandbox: Sandbox | None = None
    """Runs commands; None on a host where none can be held in."""
    http: Http = dataclasses.field(default_factory=DirectHttp)
    output_limit: int = OUTPUT_LIMIT
    """Characters of one observation; what is longer is cut, and kept whole in a file."""
    locks: Locks = dataclasses.field(default_factory=Locks)
    """Shared by all who work in the same workspaces."""


@dataclasses.dataclass(frozen=True, slots=True)
class ToolOutput:
    """What a tool found or did, as the model reads it."""

    text: str
    more: str = ""
    """How to see the rest, should the text be cut: one sentence."""


Run = Callable[[ToolContext, Mapping[str, Json]], Coroutine[Any, Any, ToolOutput]]
Preview = Callable[[ToolContext, Mapping[str, Json]], Change]


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Tool:
    """A tool as it is registered. Raises ToolDefinitionError if it cannot be one."""

    name: str
    description: str
    parameters: Mapping[str, Json]
    """A JSON Schema object, closed (`additionalProperties` is false)."""
    run: Run
    """Takes the result of `arguments`; raises ToolError, or anything else for a bug."""
    aliases: tuple[str, ...] = ()
    """Other names that a model may call it by; they are not shown to it."""
    changes: bool = False
    """Whether it can change anything, in the workspace or outside."""
    alone: bool = False
    """Whether such calls wait for each other in a workspace: each finds files as it leaves them."""
    key_argument: str = ""
    """The argument that tells people what a call is about; "" where there is none."""
    canonical: Mapping[str, Callable[[str], str]] = dataclasses.field(default_factory=dict)
    """For arguments with one true spelling, the function that finds it or raises ToolError."""
    on_loop: bool = True
    """Whether it works on the event loop that calls it, and not in a thread of its own."""
    preview: Preview | None = None
    """What a call would do to a file, worked out without doing it; raises nothing."""

    def __post_init__(self) -> None:
        for name in (self.name, *self.aliases):
            if not _NAME.fullmatch(name):
                raise ToolDefinitionError(
                    f"{name!r} cannot be a tool's name; use up to 64 letters, digits, _ and -."
                )
        properties = self.parameters.get("properties")
        if not isinstance(properties, dict) or "required" not in self.parameters:
            raise ToolDefinitionError(
                f"{self.name}: parameters must be a JSON Schema with properties and required."
            )
        if self.key_argument and self.key_argument not in properties:
            raise ToolDefinitionError(f"{self.name} has no parameter {self.key_argument}.")

    def arguments(self, raw: str) -> dict[str, Json]:
        """The checked arguments of a call, defaults filled in, each in its one spelling.

        This is what the policy must judge and an approval must bind. Raises ToolError.
        """
        checked = check_arguments(self.name, self.parameters, raw)
        for name, spell in self.canonical.items():
            value = checked[name]
            if isinstance(value, str):
                checked[name] = spell(value)
        return checked


def tool(
    *,
    aliases: tuple[str, ...] = (),
    changes: bool = False,
    alone: bool = False,
    key_argument: str | None = None,
    preview: Preview | None = None,
) -> Callable[[Callable[..., object]], Tool]:
    """Make a Tool of a typed function, sync or async, with a Google-style docstring.

    A first parameter named `context` receives the ToolContext. A sync function runs in a thread of
    its own, so that it never holds up other conversations. The key argument is the first one
    unless named. A `preview` lets people see the diff before they say yes to a change of a file.
    """

    def register(function: Callable[..., object]) -> Tool:
        names = list(inspect.signature(function).parameters)
        wants_context = names[:1] == ["context"]
        read = signature(function, skip=int(wants_context))
        given = names[int(wants_context) :]
        return Tool(
            name=function.__name__,
            description=read.description,
            parameters=read.parameters,
            run=_runner(function, read, wants_context),
            aliases=aliases,
            changes=changes,
            alone=alone,
            key_argument=(given[0] if given else "") if key_argument is None else key_argument,
            canonical=read.canonical,
            on_loop=inspect.iscoroutinefunction(function),
            preview=preview,
        )

    return register


def _runner(function: Callable[..., object], read: Signature, wants_context: bool) -> Run:
    async def run(context: ToolContext, arguments: Mapping[str, Json]) -> ToolOutput:
        keywords: dict[str, object] = dict(arguments)
        for name, members in read.enums.items():
            keywords[name] = members(keywords[name])
        if wants_context:
            keywords["context"] = context
        if inspect.iscoroutinefunction(function):
            return _output(await function(**keywords))
        return _output(await in_thread(lambda: _call(function, keywords)))

    return run


def _call(function: Callable[..., object], keywords: Mapping[str, object]) -> object:
    try:
        return function(**keywords)
    except StopIteration as error:
        # A future refuses to carry StopIteration: the caller would wait for ever.
        raise RuntimeError("the tool let a StopIteration out") from error


def _output(value: object) -> ToolOutput:
    if isinstance(value, ToolOutput):
        return value
    if isinstance(value, str):
        return ToolOutput(value)
    if value is None:
        return ToolOutput("Done.")
    return ToolOutput(json.dumps(value, ensure_ascii=False))
