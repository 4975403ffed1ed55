"""@tool: a typed function becomes a tool."""

from __future__ import annotations

import asyncio
import enum
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tools.base import Tool, ToolContext, ToolDefinitionError, ToolOutput, tool
from tools.errors import OutsideWorkspace
from tools.files import FilePath
from tools.workspace import Workspace


@pytest.fixture
def context(tmp_path: Path) -> Iterator[ToolContext]:
    with Workspace.at(tmp_path) as workspace:
        yield ToolContext(workspace)


class Size(enum.Enum):
    SMALL = "small"
    LARGE = "large"


@tool(aliases=("print_label",), changes=True)
def label(context: ToolContext, text: str, size: Size = Size.SMALL) -> str:
    """Print a label.

    Args:
        text: what stands on it
    """
    return f"{text} {size.name} {context.workspace.path.name} {threading.current_thread().name}"


@tool(key_argument="")
async def wait_for(seconds: float) -> ToolOutput:
    """Wait."""
    await asyncio.sleep(seconds)
    return ToolOutput("waited", more="Wait longer.")


@tool(key_argument="place")
def visit(when: int, place: FilePath) -> list[str]:
    """Visit."""
    return [place, "ä"]


@tool()
def quiet() -> None:
    """Say nothing."""


async def test_a_plain_function_becomes_a_tool_with_its_name_docstring_and_first_argument(
    context: ToolContext,
) -> None:
    assert (label.name, label.description) == ("label", "Print a label.")
    assert (label.aliases, label.changes, label.key_argument) == (("print_label",), True, "text")
    assert "context" not in str(label.parameters)


async def test_a_sync_tool_gets_context_and_enum_members_and_runs_outside_the_event_loop(
    context: ToolContext,
) -> None:
    output = await label.run(context, label.arguments('{"text": "x", "size": "large"}'))

    text, size, workspace, thread = output.text.split(" ", 3)
    assert (text, size, workspace) == ("x", "LARGE", context.workspace.path.name)
    assert thread != threading.current_thread().name


async def test_a_sync_tool_that_blocks_does_not_hold_up_the_event_loop(
    context: ToolContext,
) -> None:
    released = threading.Event()

    @tool()
    def block() -> str:
        """Block until the event loop releases it."""
        return str(released.wait(10))

    running = asyncio.create_task(block.run(context, {}))
    await asyncio.sleep(0)
    released.set()

    assert (await running).text == "True"


async def test_an_async_tool_may_return_its_output_as_it_is(context: ToolContext) -> None:
    output = await wait_for.run(context, {"seconds": 0})

    assert output == ToolOutput("waited", more="Wait longer.")
    assert wait_for.key_argument == ""


async def test_other_values_are_shown_as_json_and_nothing_as_done(context: ToolContext) -> None:
    assert (await visit.run(context, {"when": 1, "place": "x"})).text == '["x", "ä"]'
    assert (await quiet.run(context, {})).text == "Done."


def test_an_argument_with_one_true_spelling_reaches_everybody_in_that_spelling() -> None:
    assert visit.arguments('{"when": 1, "place": "/workspace/./a//b"}')["place"] == "a/b"
    with pytest.raises(OutsideWorkspace):
        visit.arguments('{"when": 1, "place": "../b"}')


def test_the_key_argument_must_be_a_parameter() -> None:
    with pytest.raises(ToolDefinitionError, match="quiet has no parameter nothing"):

        @tool(key_argument="nothing")
        def quiet() -> None:
            """Say nothing."""


@pytest.mark.parametrize("name", ["", "two words", "a" * 65, "1st", "naïve"])
def test_a_name_that_the_api_would_refuse_cannot_be_registered(name: str) -> None:
    with pytest.raises(ToolDefinitionError, match="cannot be a tool's name"):
        Tool(name, "Say.", {"properties": {}, "required": []}, run=quiet.run)
    with pytest.raises(ToolDefinitionError, match="cannot be a tool's name"):
        Tool("fine", "Say.", {"properties": {}, "required": []}, quiet.run, aliases=(name,))


def test_parameters_that_are_no_object_schema_cannot_be_registered() -> None:
    with pytest.raises(ToolDefinitionError, match="must be a JSON Schema"):
        Tool("fine", "Say.", {"type": "object"}, run=quiet.run)
