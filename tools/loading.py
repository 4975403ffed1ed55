"""Tools of one's own: Python modules that the operator names in `[tools] modules`."""

from __future__ import annotations

import hashlib
import importlib.util
import sys
from collections.abc import Iterable, Mapping
from dataclasses import replace
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType

from tools.aside import Aside, SandboxFromAside
from tools.base import Tool, ToolContext, ToolDefinitionError, ToolOutput
from tools.schema import Json


def load_tools(modules: Iterable[str], base: Path, forbidden: Path) -> tuple[Tool, ...]:
    """The Tool objects at the top level of each module, in the order of their definition.

    A module is a file (`mytools.py`, relative to `base`, where the configuration stands) or an
    importable name (`package.module`). Nothing below `forbidden`, the root of the workspaces, is
    ever loaded: what an agent wrote must not run in the bot. Whoever wrote them, no tool runs on
    the event loop that calls it. Raises ToolDefinitionError.
    """
    aside = Aside()
    return tuple(
        _moved(tool, aside) if tool.on_loop else tool
        for name in modules
        for tool in _tools_of(name, base, forbidden)
    )


def _moved(tool: Tool, aside: Aside) -> Tool:
    async def run(context: ToolContext, arguments: Mapping[str, Json]) -> ToolOutput:
        sandbox = context.sandbox
        if sandbox is not None:
            context = replace(context, sandbox=SandboxFromAside.of(sandbox))
        return await aside.run(lambda: tool.run(context, arguments))

    return replace(tool, run=run, on_loop=False)


def _tools_of(name: str, base: Path, forbidden: Path) -> list[Tool]:
    try:
        spec = _file_spec(base / name) if name.endswith(".py") else importlib.util.find_spec(name)
    except (ImportError, ValueError, AttributeError) as error:
        raise _unloadable(name, error) from error
    if spec is None or spec.loader is None or spec.origin is None:
        raise ToolDefinitionError(
            f"[tools] modules: there is no {name}; name a file.py or a package.module."
        )
    if Path(spec.origin).resolve().is_relative_to(forbidden.resolve()):
        raise ToolDefinitionError(
            f"[tools] modules: {name} stands in a workspace, where agents write; move it elsewhere."
        )
    found = [value for value in vars(_execute(name, spec)).values() if isinstance(value, Tool)]
    if not found:
        raise ToolDefinitionError(
            f"[tools] modules: {name} holds no tool; put @tool() before a function in it."
        )
    return found


def _file_spec(path: Path) -> ModuleSpec | None:
    if not path.is_file():
        return None
    resolved = path.resolve()
    digest = hashlib.sha256(str(resolved).encode()).hexdigest()[:12]
    return importlib.util.spec_from_file_location(f"_tools_{digest}_{path.stem}", resolved)


def _execute(name: str, spec: ModuleSpec) -> ModuleType:
    if spec.name in sys.modules:
        return sys.modules[spec.name]
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # types named as text are looked up there
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        del sys.modules[spec.name]
        raise _unloadable(name, error) from error
    return module


def _unloadable(name: str, error: BaseException) -> ToolDefinitionError:
    return ToolDefinitionError(
        f"[tools] modules: {name} cannot be loaded ({type(error).__name__}: {error}); "
        "correct it or remove the name."
    )
