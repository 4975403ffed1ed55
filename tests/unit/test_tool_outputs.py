"""A long observation is shown by its head and tail; the whole stands in a file to be paged."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tools import outputs
from tools.base import ToolContext, tool
from tools.files import read_file
from tools.search import search_files
from tools.toolset import Toolset
from tools.workspace import FILE_LIMIT, Workspace

LIMIT = 2_000


@pytest.fixture
def workspace(tmp_path: Path) -> Iterator[Workspace]:
    with Workspace.at(tmp_path) as opened:
        yield opened


def toolset(workspace: Workspace, text: str) -> Toolset:
    @tool()
    def print_much() -> str:
        """Print much."""
        return text

    context = ToolContext(workspace, output_limit=LIMIT)
    return Toolset((print_much, read_file, search_files), context)


async def whole(tools: Toolset, path: str) -> str:
    """The file as a model reads it: page after page."""
    lines: list[str] = []
    start = 1
    while True:
        raw = json.dumps({"path": path, "start_line": start})
        text, is_error = await tools.run("read_file", raw)
        assert not is_error
        assert "cut here" not in text
        page, _, note = text.rpartition("\n[lines ")
        lines += (page or text).split("\n")
        more = re.search(r"start_line=(\d+)", note)
        if more is None:
            return "\n".join(lines)
        start = int(more[1])


async def test_a_long_output_is_cut_and_its_whole_can_be_paged(workspace: Workspace) -> None:
    text = "\n".join(f"line {n} of the output" for n in range(1_000))
    tools = toolset(workspace, text)

    seen, _ = await tools.run("print_much", "")

    assert len(seen) < LIMIT + 300
    assert seen.startswith("line 0 of")
    assert seen.endswith("line 999 of the output")
    found = re.search(r"The whole is in (\S+): page it with read_file", seen)
    assert found is not None
    assert await whole(tools, found[1]) == text


async def test_a_line_longer_than_a_page_can_be_read_to_its_end(workspace: Workspace) -> None:
    text = "".join(f"{n:05}," for n in range(5_000))
    tools = toolset(workspace, text)

    seen, _ = await tools.run("print_much", "")

    found = re.search(r"in (\.outputs/\S+): page", seen)
    assert found is not None
    assert (await whole(tools, found[1])).replace("\n", "") == text


async def test_a_short_output_makes_no_file(workspace: Workspace) -> None:
    assert (await toolset(workspace, "x" * LIMIT).run("print_much", "")).text == "x" * LIMIT
    assert workspace.list_directory().entries == ()


async def test_only_the_newest_outputs_are_kept(workspace: Workspace) -> None:
    for n in range(outputs.KEPT + 3):
        outputs.keep(workspace, "t", f"output {n}")

    names = [entry.name for entry in workspace.list_directory(outputs.DIRECTORY).entries]
    assert len(names) == outputs.KEPT
    texts = {workspace.read_text(f"{outputs.DIRECTORY}/{name}") for name in names}
    assert texts == {f"output {n}" for n in range(3, outputs.KEPT + 3)}


def test_an_output_larger_than_a_file_may_be_is_kept_in_part(workspace: Workspace) -> None:
    said = outputs.keep(workspace, "t", "é" * FILE_LIMIT)

    assert said.startswith("Its first 4.0 MB is in .outputs/")
    (entry,) = workspace.list_directory(outputs.DIRECTORY).entries
    assert FILE_LIMIT - 1 <= entry.size <= FILE_LIMIT


async def test_where_the_whole_cannot_be_kept_the_model_is_told_why(tmp_path: Path) -> None:
    with Workspace.at(tmp_path, quota=1_000) as small:
        seen, is_error = await toolset(small, "x" * 10_000).run("print_much", "")

    assert not is_error
    assert "The whole could not be kept: The workspace may hold" in seen


async def test_a_link_in_the_place_of_the_directory_is_not_followed(
    workspace: Workspace, tmp_path: Path
) -> None:
    outside = tmp_path.parent / "outside"
    outside.mkdir()
    (tmp_path / outputs.DIRECTORY).symlink_to(outside)

    seen, _ = await toolset(workspace, "x" * 10_000).run("print_much", "")

    assert "could not be kept" in seen
    assert list(outside.iterdir()) == []


async def test_kept_outputs_are_searched_where_they_are_named_and_nowhere_else(
    workspace: Workspace,
) -> None:
    workspace.write_text("notes.txt", "needle\n")
    tools = toolset(workspace, "needle\n" * 10 + "hay\n" * 1_000)
    await tools.run("print_much", "")
    (kept,) = workspace.list_directory(outputs.DIRECTORY).entries

    everywhere = await tools.run("search_files", '{"pattern": "needle"}')
    raw = json.dumps({"pattern": "needle", "path": f"{outputs.DIRECTORY}/{kept.name}"})
    there = await tools.run("search_files", raw)

    assert everywhere.text.count("needle") == 1
    assert there.text.count("needle") == 10
