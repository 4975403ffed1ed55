"""search_files: RE2 over the workspace, within limits."""

from __future__ import annotations

import json
import time
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


async def search(toolset: Toolset, pattern: str, path: str = ".") -> list[str]:
    raw = json.dumps({"pattern": pattern, "path": path})
    text, is_error = await toolset.run("search_files", raw)
    assert not is_error, text
    return text.splitlines()


async def refusal(toolset: Toolset, pattern: str, path: str = ".") -> str:
    raw = json.dumps({"pattern": pattern, "path": path})
    text, is_error = await toolset.run("search_files", raw)
    assert is_error, text
    assert "fault of its own" not in text
    return text


async def test_each_matching_line_is_shown_once_with_its_place(
    toolset: Toolset, tmp_path: Path
) -> None:
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "c.txt").write_text("one two two\n  two\nthree")
    (tmp_path / "a.txt").write_text("nothing\nTwo")

    assert await search(toolset, "two|three") == [
        "b/c.txt:1: one two two",
        "b/c.txt:2: two",
        "b/c.txt:3: three",
        "[3 matches in 1 of 2 files]",
    ]
    assert await search(toolset, "(?i)TWO$", "a.txt") == [
        "a.txt:2: Two",
        "[1 match in 1 of 1 files]",
    ]
    assert await search(toolset, "x{3}", "b") == ["[No match in 1 file]"]


@pytest.mark.parametrize(
    ("pattern", "lines"),
    [
        ("^$", [2]),
        ("^", [1, 2, 3, 4]),
        ("$", [1, 2, 3, 4]),
        ("^b", [3]),
        ("ä+", [4]),
        ("[äö]$", [4]),
        (r"a\b", [1]),
        ("(?i)Ä", [4]),
        (r"\.", [1]),
        ("(a)(b)?", [1, 3]),
    ],
)
async def test_a_pattern_sees_lines_and_whole_characters(
    toolset: Toolset, tmp_path: Path, pattern: str, lines: list[int]
) -> None:
    (tmp_path / "f").write_text("a.\n\nbab\nxä\n")

    found = await search(toolset, pattern)

    assert [int(line.split(":")[1]) for line in found[:-1]] == lines


async def test_line_numbers_hold_across_blocks_of_a_large_file(
    toolset: Toolset, tmp_path: Path
) -> None:
    rows = [f"row {number} " + "x" * (number % 90) for number in range(1, 40_001)]
    (tmp_path / "f").write_text("\n".join(rows))

    found = await search(toolset, r"row (1|777|20000|33333|40000) ")

    assert [line.split(":")[1] for line in found[:-1]] == ["1", "777", "20000", "33333", "40000"]


async def test_binary_too_large_and_git_files_are_left_out_and_counted(
    toolset: Toolset, tmp_path: Path
) -> None:
    (tmp_path / "bin").write_bytes(b"\0word")
    (tmp_path / "big").write_bytes(b"word" * 2_000_000)
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "config").write_text("word")
    (tmp_path / "latin").write_bytes(b"caf\xe9 word")

    assert await search(toolset, "word") == [
        "latin:1: caf\N{REPLACEMENT CHARACTER} word",
        "[1 match in 1 of 2 files; 1 skipped (unreadable or larger than 4.0 MB); "
        "1 skipped (binary)]",
    ]
    assert len(await search(toolset, "word", ".git")) == 2


async def test_too_many_matches_end_the_search_and_it_says_so(
    toolset: Toolset, tmp_path: Path
) -> None:
    (tmp_path / "f").write_text("x\n" * 1_000)

    found = await search(toolset, "x")

    assert len(found) == 201
    assert "ended early, after 200 matches: search a smaller directory" in found[-1]


async def test_a_long_line_is_shown_in_part(toolset: Toolset, tmp_path: Path) -> None:
    (tmp_path / "f").write_text("x" * 10_000)

    found = await search(toolset, "x")

    assert found[0] == "f:1: " + "x" * 200 + "…"


@pytest.mark.parametrize("pattern", ["(", "a)(b", r"(?=x)", r"(x)\1", "[z-a]", "x{99999}", "\\"])
async def test_what_re2_cannot_read_is_refused_with_the_reason(
    toolset: Toolset, pattern: str
) -> None:
    assert "not a regular expression of RE2 (" in await refusal(toolset, pattern)


@pytest.mark.parametrize("pattern", ["", "x" * 1001])
async def test_an_empty_or_endless_pattern_is_refused(toolset: Toolset, pattern: str) -> None:
    assert "1 to 1000 characters" in await refusal(toolset, pattern)


@pytest.mark.parametrize("path", ["missing", "missing/f", "../x", "~"])
async def test_a_place_that_is_not_there_is_refused(toolset: Toolset, path: str) -> None:
    assert "workspace" in await refusal(toolset, "x", path)


@pytest.mark.wall_clock
async def test_the_costliest_patterns_end_in_time(toolset: Toolset, tmp_path: Path) -> None:
    """RE2 is linear, but its factor for such a pattern is microseconds a byte: time bounds it."""
    for number in range(4):
        (tmp_path / f"f{number}").write_bytes((b"abcdefghij" * 20 + b"\n") * 15_000)

    for pattern in ("(x+x+)+y", "(a.*){20}z", "(?s)(.{1,100}){1,10}zz"):
        began = time.monotonic()
        found = await search(toolset, pattern)
        took = time.monotonic() - began

        assert took < 9
        assert ("ended early, after 5 seconds" in found[-1]) is (took > 5)
