"""The file tools as a model uses them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tools.base import ToolContext
from tools.catalog import builtin_tools
from tools.toolset import Toolset
from tools.workspace import Workspace


@pytest.fixture
def toolset(tmp_path: Path) -> Iterator[Toolset]:
    with Workspace.at(tmp_path) as workspace:
        yield Toolset(builtin_tools(), ToolContext(workspace))


async def call(toolset: Toolset, name: str, **arguments: object) -> str:
    text, is_error = await toolset.run(name, json.dumps(arguments))
    assert not is_error, text
    return text


async def failure(toolset: Toolset, name: str, **arguments: object) -> str:
    text, is_error = await toolset.run(name, json.dumps(arguments))
    assert is_error, text
    assert "fault of its own" not in text
    return text


async def test_write_then_read_then_edit_then_list(toolset: Toolset, tmp_path: Path) -> None:
    code = 'print("hello world!")\n'

    assert await call(toolset, "write_to_file", path="src/test.py", content=code) == (
        "Created src/test.py (1 line, 22 bytes)."
    )
    assert await call(toolset, "read_file", path="src/test.py") == 'print("hello world!")'
    assert await call(toolset, "edit_file", path="src/test.py", old="world", new="agent") == (
        "Edited src/test.py at line 1."
    )
    assert (tmp_path / "src" / "test.py").read_text() == 'print("hello agent!")\n'
    assert await call(toolset, "list_dir") == "src/"
    assert await call(toolset, "list_dir", path="src") == "test.py (22 bytes)"
    assert await call(toolset, "write_file", path="src/test.py", content="a\nb") == (
        "Replaced src/test.py (2 lines, 3 bytes)."
    )


async def test_a_path_outside_is_an_observation_that_says_what_paths_are(toolset: Toolset) -> None:
    assert await failure(toolset, "list_dir", path="~/Downloads") == (
        "Paths are relative to the workspace; ~/Downloads is outside it."
    )


class TestReadFile:
    async def test_a_long_file_comes_in_pages_that_say_how_to_go_on(
        self, toolset: Toolset, tmp_path: Path
    ) -> None:
        (tmp_path / "f").write_text("".join(f"line {number}\n" for number in range(1, 1201)))

        first = await call(toolset, "read_file", path="f")
        second = await call(toolset, "read_file", path="f", start_line=501)
        last = await call(toolset, "read_file", path="f", start_line=1001, max_lines=900)

        assert first.startswith("line 1\n")
        assert first.endswith("line 500\n[lines 1 to 500 of 1200; go on with start_line=501]")
        assert second.startswith("line 501\n")
        assert last.endswith("line 1200\n[lines 1001 to 1200 of 1200]")

    async def test_following_the_pages_gives_the_whole_file(
        self, toolset: Toolset, tmp_path: Path
    ) -> None:
        lines = [f"{number} " + "x" * (number % 700) for number in range(900)]
        (tmp_path / "f").write_text("\n".join(lines))
        collected: list[str] = []
        start = 1
        while start <= len(lines):
            text = await call(toolset, "read_file", path="f", start_line=start)
            page = text.split("\n")[:-1]
            collected += page
            start += len(page)

        assert collected == lines

    async def test_a_line_longer_than_a_page_is_shown_in_part_and_can_be_passed(
        self, toolset: Toolset, tmp_path: Path
    ) -> None:
        (tmp_path / "f").write_text("x" * 100_000 + "\nsecond")

        first = await call(toolset, "read_file", path="f")
        second = await call(toolset, "read_file", path="f", start_line=2)

        assert first.endswith(
            "x\n[line 1 is too long: its first 24,000 characters are shown; "
            "go on with start_line=2]"
        )
        assert second == "second\n[lines 2 to 2 of 2]"

    async def test_an_empty_file_is_named_as_such(self, toolset: Toolset, tmp_path: Path) -> None:
        (tmp_path / "f").touch()

        assert await call(toolset, "read_file", path="f") == "(f is empty)"

    async def test_a_line_beyond_the_end_and_a_senseless_number_are_refused(
        self, toolset: Toolset, tmp_path: Path
    ) -> None:
        (tmp_path / "f").write_text("one\ntwo\n")

        assert "f has 2 lines; start_line 3 is beyond" in await failure(
            toolset, "read_file", path="f", start_line=3
        )
        for arguments in ({"start_line": 0}, {"max_lines": 0}, {"start_line": -5}):
            assert "must be 1 or more" in await failure(toolset, "read_file", path="f", **arguments)

    async def test_a_missing_file_is_answered_with_what_to_try(self, toolset: Toolset) -> None:
        assert await failure(toolset, "read_file", path="no.txt") == (
            "There is no no.txt in the workspace; list_dir shows what there is."
        )


class TestEditFile:
    async def test_only_the_named_piece_changes(self, toolset: Toolset, tmp_path: Path) -> None:
        (tmp_path / "f").write_text("a\nb (x)\nc\n")

        await call(toolset, "edit_file", path="f", old="b (x)\n", new="")

        assert (tmp_path / "f").read_text() == "a\nc\n"

    async def test_a_piece_that_stands_there_more_than_once_is_refused_with_its_lines(
        self, toolset: Toolset, tmp_path: Path
    ) -> None:
        (tmp_path / "f").write_text("x = 1\ny = 2\nx = 1\n" + "x = 1\n" * 20)

        text = await failure(toolset, "edit_file", path="f", old="x = 1", new="x = 3")

        assert text == (
            "edit_file: old stands in f 22 times (lines 1, 3, 4, 5, 6, 7, 8, 9, 10, 11, …); "
            "give more of the text around the one place."
        )
        assert "x = 3" not in (tmp_path / "f").read_text()

    async def test_pieces_that_overlap_count_as_several(
        self, toolset: Toolset, tmp_path: Path
    ) -> None:
        (tmp_path / "f").write_text("aaa")

        assert "2 times (lines 1, 1)" in await failure(
            toolset, "edit_file", path="f", old="aa", new="b"
        )

    @pytest.mark.parametrize(
        ("old", "closest"),
        [
            ("def  run(self):", "The closest line is 2: '    def run(self):'."),
            ("\n\n  def run(self):\n    pass", "The closest line is 2: '    def run(self):'."),
            ("return sef.value", "The closest line is 3: '        return self.value'."),
            ("völlig anders!", "No line is like it; read the file again."),
            ("\n\n\n", "No line is like it; read the file again."),
        ],
    )
    async def test_a_piece_that_is_not_there_is_answered_with_the_closest_line(
        self, toolset: Toolset, tmp_path: Path, old: str, closest: str
    ) -> None:
        (tmp_path / "f").write_text("class A:\n    def run(self):\n        return self.value\n")

        text = await failure(toolset, "edit_file", path="f", old=old, new="x")

        assert text.startswith(f"edit_file: old does not stand in f. {closest}")

    async def test_windows_line_ends_are_kept(self, toolset: Toolset, tmp_path: Path) -> None:
        (tmp_path / "f").write_bytes(b"a\r\nb\r\nc\r\n")

        await call(toolset, "edit_file", path="f", old="a\nb", new="x\ny")

        assert (tmp_path / "f").read_bytes() == b"x\r\ny\r\nc\r\n"

    async def test_an_edit_that_changes_nothing_or_has_no_place_is_refused(
        self, toolset: Toolset, tmp_path: Path
    ) -> None:
        (tmp_path / "f").write_text("a")

        assert "are the same" in await failure(toolset, "edit_file", path="f", old="a", new="a")
        assert "use write_file" in await failure(toolset, "edit_file", path="f", old="", new="a")

    async def test_the_closest_line_of_a_large_file_is_found_in_time(
        self, toolset: Toolset, tmp_path: Path
    ) -> None:
        (tmp_path / "f").write_text("".join(f"{n} abcdefghij" * 20 + "\n" for n in range(12_000)))

        text = await failure(toolset, "edit_file", path="f", old="7 abcdefghik" * 20, new="x")

        assert "The closest line is 8: '7 abcdefghij" in text


class TestListDir:
    async def test_names_cannot_forge_lines_and_links_are_shown_not_followed(
        self, toolset: Toolset, tmp_path: Path
    ) -> None:
        (tmp_path / "a\nb.txt").touch()
        (tmp_path / "b").symlink_to("/etc/passwd")
        (tmp_path / "名前.txt").write_text("x" * 2048)
        (tmp_path / "d").mkdir()

        assert await call(toolset, "list_dir") == (
            "a\\nb.txt (0 bytes)\nb -> /etc/passwd (link, not followed)\nd/\n名前.txt (2.0 kB)"
        )

    async def test_a_long_directory_is_cut_with_a_count(
        self, toolset: Toolset, tmp_path: Path
    ) -> None:
        for number in range(510):
            (tmp_path / f"{number:03}").touch()

        lines = (await call(toolset, "list_dir")).splitlines()

        assert lines[-1] == "[10 more are not shown]"
        assert len(lines) == 501

    async def test_an_empty_directory_is_named_as_such(
        self, toolset: Toolset, tmp_path: Path
    ) -> None:
        (tmp_path / "d").mkdir()

        assert await call(toolset, "list_dir", path="d/") == "(d is empty)"
        (tmp_path / "d").rmdir()
        assert await call(toolset, "list_dir") == "(the workspace is empty)"
