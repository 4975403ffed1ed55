"""Toolset: what is shown is exactly what can run, and every failure is an answer."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tools.base import BadArguments, Tool, ToolContext, ToolDefinitionError, ToolError, tool
from tools.catalog import builtin_tools
from tools.errors import OutsideWorkspace
from tools.toolset import Toolset
from tools.workspace import Workspace


@tool(aliases=("echo", "say"))
def repeat(text: str) -> str:
    """Repeat."""
    return text


@tool(changes=True)
def fail(how: str) -> str:
    """Fail in a way of one's choice."""
    errors: dict[str, BaseException] = {
        "tool": ToolError("Use another file."),
        "bug": ZeroDivisionError("secret detail"),
        "recursion": RecursionError(),
        "memory": MemoryError(),
        "exit": SystemExit(3),
        "stop": StopIteration(),
        "group": ExceptionGroup("several", [ValueError("one")]),
        "cancelled": asyncio.CancelledError(),
    }
    raise errors[how]


@tool()
async def fail_async(how: str) -> str:
    """Fail in the event loop."""
    if how == "exit":
        raise SystemExit(3)
    if how == "cancelled":
        raise asyncio.CancelledError
    return str(await asyncio.wait_for(asyncio.Event().wait(), 0))


@tool()
async def hang() -> str:
    """Wait for ever."""
    await asyncio.Event().wait()
    return ""


@tool()
def unprintable() -> object:
    """Return what JSON cannot carry."""
    return object()


TOOLS = (repeat, fail, fail_async, hang, unprintable)


@pytest.fixture
def context(tmp_path: Path) -> Iterator[ToolContext]:
    with Workspace.at(tmp_path) as workspace:
        yield ToolContext(workspace)


@pytest.fixture
def toolset(context: ToolContext) -> Toolset:
    return Toolset(TOOLS, context)


async def test_a_call_by_name_or_alias_gives_the_tools_text(toolset: Toolset) -> None:
    assert await toolset.run("repeat", '{"text": "x"}') == ("x", False)
    assert await toolset.run("echo", '{"text": "y"}') == ("y", False)
    assert (toolset.resolve("say"), toolset.resolve("other")) == ("repeat", "other")


async def test_what_is_shown_is_exactly_what_can_run(context: ToolContext) -> None:
    every = {tool.name for tool in builtin_tools()}
    for enabled in (frozenset[str](), frozenset({"read_file"}), frozenset({"write_to_file"}), None):
        toolset = Toolset(builtin_tools(), context, enabled)
        shown = {spec.name for spec in toolset.specs()}
        answers = {name: await toolset.run(name, "{") for name in every}

        assert shown == {n for n, a in answers.items() if "not valid JSON" in a.text}
        assert all("switched off here" in answers[name].text for name in every - shown)


def test_tools_are_shown_in_one_order_whatever_order_they_came_in(context: ToolContext) -> None:
    names = [spec.name for spec in Toolset(reversed(TOOLS), context).specs()]

    assert names == sorted(names) == [spec.name for spec in Toolset(TOOLS, context).specs()]


async def test_an_unknown_tool_is_answered_with_the_tools_there_are(context: ToolContext) -> None:
    toolset = Toolset(TOOLS, context, frozenset({"repeat", "fail"}))

    assert await toolset.run("shout\x1b[2J", "{}") == (
        "There is no tool shout\\x1b[2J. Use one of: fail, repeat.",
        True,
    )


async def test_a_disabled_tool_says_so_also_by_its_alias(context: ToolContext) -> None:
    toolset = Toolset(TOOLS, context, frozenset({"fail"}))

    assert await toolset.run("echo", '{"text": "x"}') == (
        "The tool repeat is switched off here. Use one of: fail.",
        True,
    )


async def test_a_tool_that_this_host_cannot_run_gives_the_reason(context: ToolContext) -> None:
    off = {"run_command": "The shell tool is off: no sandbox.", "echo": "It broke."}
    toolset = Toolset(TOOLS, context, frozenset({"fail", "run_command"}), off)

    assert await toolset.run("run_command", "{}") == (
        "The shell tool is off: no sandbox. Tools that can be used: fail.",
        True,
    )
    assert (await toolset.run("repeat", "{}")).text.startswith("It broke. ")
    assert [spec.name for spec in toolset.specs()] == ["fail"]


def test_an_enabled_name_that_no_tool_has_is_refused(context: ToolContext) -> None:
    with pytest.raises(ToolDefinitionError, match="There is no tool shout; there are fail,"):
        Toolset(TOOLS, context, frozenset({"repeat", "shout"}))


def test_two_tools_with_one_name_are_refused(context: ToolContext) -> None:
    @tool(aliases=("echo",))
    def other(text: str) -> str:
        """Do otherwise."""
        return text

    clash = Tool("say", "Say.", {"properties": {}, "required": []}, run=repeat.run)
    for second in (other, clash):
        with pytest.raises(ToolDefinitionError, match="Two tools claim the name"):
            Toolset((repeat, second), context)


def test_the_same_tool_given_twice_is_one_tool(context: ToolContext) -> None:
    assert len(Toolset((repeat, repeat), context).specs()) == 1


async def test_a_tool_error_is_the_observation(toolset: Toolset) -> None:
    assert await toolset.run("fail", '{"how": "tool"}') == ("Use another file.", True)


async def test_arguments_that_do_not_fit_are_the_observation(toolset: Toolset) -> None:
    text, is_error = await toolset.run("repeat", '{"text": []}')

    assert is_error
    assert text == 'repeat: text must be a text, got []. Right: {"text": "text"}'


@pytest.mark.parametrize("name", ["fail", "fail_async", "unprintable"])
@pytest.mark.parametrize(
    "how", ["bug", "recursion", "memory", "exit", "stop", "group", "cancelled"]
)
async def test_a_bug_becomes_an_observation_with_an_id_and_the_traceback_is_logged(
    toolset: Toolset, caplog: pytest.LogCaptureFixture, name: str, how: str
) -> None:
    raw = "{}" if name == "unprintable" else f'{{"how": "{how}"}}'

    text, is_error = await asyncio.wait_for(toolset.run(name, raw), 5)

    (record,) = [record for record in caplog.records if record.levelno == logging.ERROR]
    incident = record.getMessage().rsplit(" ", 1)[1]
    assert is_error
    assert text == (
        f"The tool {name} failed by a fault of its own (error id {incident}). "
        "Try another way, or report this id."
    )
    assert record.exc_info is not None
    assert record.exc_info[1] is not None


async def test_a_cancelled_call_is_cancelled(toolset: Toolset) -> None:
    running = asyncio.create_task(toolset.run("hang", ""))
    await asyncio.sleep(0)
    running.cancel()

    with pytest.raises(asyncio.CancelledError):
        await running


async def test_a_thread_that_outlives_its_cancelled_call_meets_no_other_directory(
    tmp_path: Path,
) -> None:
    """The workspace's descriptor is not reused under a tool that is still running."""
    (tmp_path / "mine").mkdir()
    (tmp_path / "other").mkdir()
    started, go_on, ended = threading.Event(), threading.Event(), threading.Event()
    outcome: list[str] = []

    @tool()
    def slow(context: ToolContext) -> str:
        """Write after its call is gone."""
        started.set()
        go_on.wait(10)
        try:
            context.workspace.write_text("late.txt", "late")
        except ToolError as error:
            outcome.append(str(error))
        ended.set()
        return ""

    workspace = Workspace.at(tmp_path / "mine")
    running = asyncio.create_task(Toolset((slow,), ToolContext(workspace)).run("slow", ""))
    await asyncio.to_thread(started.wait, 10)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    workspace.close()
    with Workspace.at(tmp_path / "other") as other:  # takes the number that was given back
        go_on.set()
        assert await asyncio.to_thread(ended.wait, 10)

        assert other.list_directory().entries == ()
    assert outcome == [
        "The workspace was closed before late.txt could be used: the run ended.",
    ]


async def test_a_long_output_is_cut_and_an_empty_one_is_named(context: ToolContext) -> None:
    toolset = Toolset(TOOLS, ToolContext(context.workspace, output_limit=100))

    long, _ = await toolset.run("repeat", '{"text": "' + "x" * 500 + '"}')

    assert "400 characters cut here" in long
    assert await toolset.run("repeat", '{"text": ""}') == ("(no output)", False)


async def test_output_holds_nothing_that_a_database_or_network_refuses(
    context: ToolContext,
) -> None:
    @tool()
    def odd() -> str:
        """Give odd characters."""
        return "a\0b\udcffc"

    assert await Toolset((odd,), context).run("odd", "") == (
        "a\N{REPLACEMENT CHARACTER}b\\udcffc",
        False,
    )


def test_arguments_are_given_as_the_tool_will_get_them(context: ToolContext) -> None:
    """A rule about notes.txt must not be passed by another spelling of it."""
    toolset = Toolset(builtin_tools(), context)

    for spelling in ("notes.txt", "./notes.txt", "/workspace/notes.txt", "/workspace//./notes.txt"):
        assert toolset.arguments("write_to_file", f'{{"path": "{spelling}", "content": "x"}}') == {
            "path": "notes.txt",
            "content": "x",
        }
    assert toolset.arguments("list_dir", "") == {"path": "."}
    with pytest.raises(OutsideWorkspace):
        toolset.arguments("read_file", '{"path": "../x"}')
    with pytest.raises(BadArguments):
        toolset.arguments("read_file", "{}")
    with pytest.raises(ToolError, match="There is no tool"):
        toolset.arguments("shout", "{}")


@pytest.mark.parametrize(
    ("name", "raw", "gist"),
    [
        ("write_to_file", '{"path": "/workspace/a.txt", "content": "x"}', "a.txt"),
        ("search_files", '{"pattern": "a\\n b\\u202e"}', "a b\\u202e"),
        ("list_dir", "", "."),
        ("read_file", '{"path": "' + "x" * 200 + '"}', "x" * 79 + "…"),
        ("read_file", '{"path": ', '{"path":'),
        ("shout", '{"path": "x"}', '{"path": "x"}'),
    ],
)
def test_a_call_is_described_by_its_key_argument_in_one_short_line(
    context: ToolContext, name: str, raw: str, gist: str
) -> None:
    assert Toolset(builtin_tools(), context).describe(name, raw) == gist


def test_which_tools_change_anything_is_known_and_an_unknown_one_counts(
    context: ToolContext,
) -> None:
    toolset = Toolset(builtin_tools(), context)
    names = ("read_file", "write_to_file", "edit_file", "list_dir", "search_files", "calculate")

    assert [name for name in names if toolset.changes(name)] == ["write_to_file", "edit_file"]
    assert toolset.changes("shout")


def test_the_names_and_arguments_of_the_built_in_tools_are_those_of_the_contract() -> None:
    assert {tool.name: list(tool.parameters["properties"]) for tool in builtin_tools()} == {  # type: ignore[arg-type]
        "read_file": ["path", "start_line", "max_lines"],
        "write_file": ["path", "content"],
        "edit_file": ["path", "old", "new"],
        "list_dir": ["path"],
        "search_files": ["pattern", "path"],
        "run_command": ["command", "timeout_s"],
        "calculate": ["expression"],
        "wikipedia": ["query"],
    }
