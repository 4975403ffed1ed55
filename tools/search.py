"""search_files: RE2 over the files of the workspace, in bounded time and space."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from tools.base import BadArguments, ToolContext, ToolError, ToolOutput, tool
from tools.content import is_binary, size
from tools.errors import NotFound
from tools.files import DirectoryPath
from tools.listing import EntryKind
from tools.outputs import DIRECTORY as OUTPUTS
from tools.paths import shown
from tools.workspace import FILE_LIMIT, Workspace

if TYPE_CHECKING:
    import re2

PATTERN_LIMIT = 1000
"""Characters of a pattern; RE2's own memory cap refuses what compiles to too much."""
MEMORY = 2 * 1024 * 1024
FILES = 5_000
TOTAL = 64 * 1024 * 1024
SECONDS = 5.0
MATCHES = 200
LINE = 200
_BLOCK = 64 * 1024
_NEWLINE = ord("\n")
_UNSEARCHED = frozenset({".git", OUTPUTS})


@tool()
def search_files(context: ToolContext, pattern: str, path: DirectoryPath = ".") -> ToolOutput:
    """Find lines that match a regular expression in the text files of the workspace.

    Each match is shown as path:line: text. Directories called .git and .outputs are left out.

    Args:
        pattern: a regular expression (RE2 syntax: no look-around, no back-references);
            put (?i) first to ignore case
        path: the directory or file to search, relative to the workspace
    """
    search = _Search(_compile(pattern), time.monotonic() + SECONDS)
    search.run(context.workspace, path)
    return ToolOutput(search.report(), more="Search a smaller directory or a rarer pattern.")


def _compile(pattern: str) -> re2._Regexp:
    import re2

    if not pattern or len(pattern) > PATTERN_LIMIT:
        raise BadArguments(f"search_files: the pattern must have 1 to {PATTERN_LIMIT} characters.")
    options = re2.Options()
    options.max_mem = MEMORY
    options.log_errors = False
    options.never_capture = True
    try:
        return re2.compile(f"(?m){pattern}", options)
    except re2.error as error:
        reason = error.args[0] if error.args else "unreadable"
        text = reason.decode(errors="replace") if isinstance(reason, bytes) else str(reason)
        raise BadArguments(
            f"search_files: the pattern is not a regular expression of RE2 ({text}); "
            "to find the text as it is, put a backslash before each of .*+?()[]{}|^$\\."
        ) from error


@dataclass
class _Search:
    pattern: re2._Regexp
    deadline: float
    lines: list[str] = field(default_factory=list)
    files: int = 0
    matching: int = 0
    read: int = 0
    skipped: dict[str, int] = field(default_factory=dict)
    ended: str = ""

    def run(self, workspace: Workspace, path: str) -> None:
        for name in _files(workspace, path):
            self.ended = self._limit_reached()
            if self.ended:
                return
            self._search_file(workspace, name)
        self.ended = self._limit_reached()

    def _limit_reached(self) -> str:
        if len(self.lines) >= MATCHES:
            return f"after {MATCHES} matches"
        if time.monotonic() > self.deadline:
            return f"after {SECONDS:g} seconds"
        if self.files >= FILES or self.read >= TOTAL:
            return f"after {self.files:,} files ({size(self.read)})"
        return ""

    def _search_file(self, workspace: Workspace, name: str) -> None:
        try:
            data = workspace.read_bytes(name)
        except ToolError:
            self._skip(f"unreadable or larger than {size(FILE_LIMIT)}")
            return
        self.files += 1
        self.read += len(data)
        if is_binary(data):
            self._skip("binary")
            return
        before = len(self.lines)
        for number, line in self._matches(data):
            text = line[: LINE * 4].decode("utf-8", "replace").strip()
            text = text if len(text) <= LINE else text[:LINE] + "…"
            self.lines.append(f"{shown(name, 255)}:{number}: {text}")
            if len(self.lines) >= MATCHES:
                break
        self.matching += len(self.lines) > before

    def _skip(self, why: str) -> None:
        self.skipped[why] = self.skipped.get(why, 0) + 1

    def _matches(self, data: bytes) -> Iterator[tuple[int, bytes]]:
        """Each matching line once. Block by block, as one call to RE2 cannot be interrupted."""
        start, number = 0, 1
        while start < len(data):
            end = _block_end(data, start)
            at = counted = start
            while at < end and time.monotonic() <= self.deadline:
                match = self.pattern.search(data, at, end)
                # A match of nothing after the last line end is in no line.
                if match is None or (match.start() == end and data[end - 1] == _NEWLINE):
                    break
                number += data.count(b"\n", counted, match.start())
                counted = match.start()
                line_end = data.find(b"\n", counted)
                line_end = len(data) if line_end < 0 else line_end
                yield number, data[data.rfind(b"\n", 0, counted) + 1 : line_end]
                at = line_end + 1
            number += data.count(b"\n", counted, end)
            start = end

    def report(self) -> str:
        found = len(self.lines)
        head = (
            f"{found} match{'es' if found != 1 else ''} in {self.matching} of {self.files:,} files"
            if found
            else f"No match in {self.files:,} file{'s' if self.files != 1 else ''}"
        )
        notes = [f"{count} skipped ({why})" for why, count in self.skipped.items()]
        if self.ended:
            notes.append(
                f"ended early, {self.ended}: search a smaller directory or a rarer pattern"
            )
        return "\n".join([*self.lines, f"[{'; '.join([head, *notes])}]"])


def _block_end(data: bytes, start: int) -> int:
    """The end of a block: after a line if one ends in reach, so that no line is searched in two."""
    if len(data) - start <= _BLOCK:
        return len(data)
    line_end = data.rfind(b"\n", start, start + _BLOCK)
    if line_end < 0:
        line_end = data.find(b"\n", start, start + 4 * _BLOCK)
    return start + 4 * _BLOCK if line_end < 0 else line_end + 1


def _files(workspace: Workspace, path: str) -> Iterator[str]:
    try:
        for name, entry in workspace.walk(path, skip=_UNSEARCHED):
            if entry.kind is EntryKind.FILE:
                yield name
    except NotFound:
        workspace.read_bytes(path)  # no directory: a file, or this says what is wrong
        yield path
