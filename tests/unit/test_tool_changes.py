"""What a call would do to a file, worked out without doing it."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tools.base import ToolContext, ToolError, tool
from tools.catalog import builtin_tools
from tools.changes import ABSENT, Change, look
from tools.toolset import Toolset
from tools.workspace import Workspace


@pytest.fixture
def tools(tmp_path: Path) -> Iterator[Toolset]:
    with Workspace.at(tmp_path) as workspace:
        yield Toolset(builtin_tools(), ToolContext(workspace))


def write(tools: Toolset, path: str, content: str = "new\n") -> Change:
    change = tools.change_by("write_file", json.dumps({"path": path, "content": content}))
    assert change is not None
    return change


def edit(tools: Toolset, path: str, old: str, new: str) -> Change:
    change = tools.change_by("edit_file", json.dumps({"path": path, "old": old, "new": new}))
    assert change is not None
    return change


def test_a_write_shows_the_file_as_it_is_and_as_it_will_be(tools: Toolset, tmp_path: Path) -> None:
    (tmp_path / "f").write_text("old\n")
    change = write(tools, "./f")

    assert (change.path, change.before.text, change.after) == ("f", "old\n", "new\n")
    assert change.before.digest == hashlib.sha256(b"old\n").hexdigest()
    assert (tmp_path / "f").read_text() == "old\n"


def test_a_file_that_is_not_there_has_a_digest_of_its_own(tools: Toolset, tmp_path: Path) -> None:
    change = write(tools, "deep/f")
    (tmp_path / "f").write_text("")

    assert (change.before.text, change.before.digest, change.before.note) == (None, ABSENT, "")
    assert write(tools, "f").before.digest != ABSENT
    assert not (tmp_path / "deep").exists()


def test_what_cannot_be_read_as_text_says_so_and_has_a_digest(
    tools: Toolset, tmp_path: Path
) -> None:
    (tmp_path / "binary").write_bytes(b"\0\1\2")
    (tmp_path / "latin").write_bytes("Grüße, so lang wie möglich\n".encode("latin-1"))
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "secret").symlink_to("/etc/hostname")
    (tmp_path / "huge").touch()
    os.truncate(tmp_path / "huge", 5 * 1024 * 1024)
    found = [write(tools, name).before for name in ("binary", "latin", "fifo", "secret", "huge")]

    assert [one.text for one in found] == [None] * 5
    assert all(one.note and one.digest not in ("", ABSENT) for one in found)
    (tmp_path / "binary").write_bytes(b"\0\1\3")
    assert write(tools, "binary").before.digest != found[0].digest


def test_an_edit_is_worked_out_as_it_is_made(tools: Toolset, tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"one\r\ntwo\r\n")
    change = edit(tools, "f", "one\ntwo", "1\n2")

    assert change.after == "1\r\n2\r\n"
    assert (tmp_path / "f").read_bytes() == b"one\r\ntwo\r\n"


def test_an_edit_that_would_fail_says_why(tools: Toolset, tmp_path: Path) -> None:
    (tmp_path / "f").write_text("one\none\n")

    assert "does not stand in f" in edit(tools, "f", "three", "3").problem
    assert "stands in f 2 times" in edit(tools, "f", "one", "1").problem
    assert "no g" in edit(tools, "g", "one", "1").problem
    assert edit(tools, "f", "three", "3").after is None


def test_a_tool_that_changes_no_file_has_no_change_to_show(tools: Toolset) -> None:
    assert tools.change_by("read_file", '{"path": "f"}') is None


@pytest.mark.parametrize(
    ("name", "raw"),
    [("write_file", "{"), ("write_file", '{"path": "f"}'), ("nothing", "{}"),
     ("write_file", '{"path": "../f", "content": ""}')],
)  # fmt: skip
def test_a_call_that_cannot_run_says_so_as_a_run_would(tools: Toolset, name: str, raw: str) -> None:
    with pytest.raises(ToolError):
        tools.change_by(name, raw)


def test_ones_own_tool_may_show_what_it_changes(tmp_path: Path) -> None:
    def shown(context: ToolContext, arguments: object) -> Change:
        return Change("log", look(context.workspace, "log"), "x\n")

    @tool(changes=True, preview=shown)
    def append(context: ToolContext) -> str:
        """Append a line."""
        return "Done."

    with Workspace.at(tmp_path) as workspace:
        change = Toolset([append], ToolContext(workspace)).change_by("append", "{}")

    assert change is not None
    assert change.after == "x\n"
