"""The file tools: read, write, edit and list, all through the workspace's gate."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from tools.base import BadArguments, Canonical, NotAllowed, ToolContext, ToolError, ToolOutput, tool
from tools.changes import ABSENT, Change, look
from tools.content import size
from tools.errors import NotFound
from tools.listing import Entry, EntryKind
from tools.matching import closest_line, line_numbers
from tools.paths import directory_path, file_path, shown
from tools.schema import Json

FilePath = Annotated[str, Canonical(file_path)]
DirectoryPath = Annotated[str, Canonical(directory_path)]

PAGE_CHARACTERS = 24_000
"""At most; a page also stays below the cap of an observation, so that it is never cut."""
_PAGE_SHARE = 0.8
LIST_LIMIT = 500


@tool()
def read_file(
    context: ToolContext, path: FilePath, start_line: int = 1, max_lines: int = 500
) -> ToolOutput:
    """Read a UTF-8 text file of the workspace. A long file comes in pages.

    Args:
        path: the file, relative to the workspace
        start_line: the first line to read, counted from 1
        max_lines: how many lines to read at most
    """
    if start_line < 1 or max_lines < 1:
        raise BadArguments("read_file: start_line and max_lines must be 1 or more.")
    text = context.workspace.read_text(path)
    if not text:
        return ToolOutput(f"({shown(path)} is empty)")
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    if start_line > len(lines):
        raise BadArguments(
            f"read_file: {shown(path)} has {len(lines)} lines; start_line {start_line} is beyond."
        )
    wanted = lines[start_line - 1 : start_line - 1 + max_lines]
    space = min(PAGE_CHARACTERS, int(context.output_limit * _PAGE_SHARE))
    page = _page(wanted, space)
    last = start_line - 1 + len(page)
    body = "\n".join(page)
    if len(body) > space:  # a single line may be longer than a page
        body = body[:space]
        note = f"line {start_line} is too long: its first {space:,} characters are shown"
        return ToolOutput(f"{body}\n[{note}{_next(last, len(lines))}]")
    if start_line == 1 and last == len(lines):
        return ToolOutput(body)
    return ToolOutput(
        f"{body}\n[lines {start_line} to {last} of {len(lines)}{_next(last, len(lines))}]"
    )


def _page(lines: list[str], space: int) -> list[str]:
    """As many of the lines as a page of `space` characters holds; at least one."""
    taken, used = 0, 0
    for line in lines:
        used += len(line) + 1
        if taken and used > space:
            break
        taken += 1
    return lines[:taken]


def _next(last: int, total: int) -> str:
    return f"; go on with start_line={last + 1}" if last < total else ""


def _written(context: ToolContext, arguments: Mapping[str, Json]) -> Change:
    path, content = str(arguments["path"]), str(arguments["content"])
    return Change(path, look(context.workspace, path), content)


@tool(aliases=("write_to_file",), changes=True, alone=True, preview=_written)
def write_file(context: ToolContext, path: FilePath, content: str) -> str:
    """Store a whole text file in the workspace, replacing what was there.

    Missing directories are made.

    Args:
        path: the file, relative to the workspace
        content: the whole text of the file
    """
    is_new = context.workspace.write_text(path, content)
    lines = content.count("\n") + (not content.endswith("\n") and content != "")
    what = f"{lines} line{'s' if lines != 1 else ''}, {size(len(content.encode()))}"
    return f"{'Created' if is_new else 'Replaced'} {shown(path)} ({what})."


def _edited(context: ToolContext, arguments: Mapping[str, Json]) -> Change:
    path, old, new = (str(arguments[name]) for name in ("path", "old", "new"))
    found = look(context.workspace, path)
    if found.text is None:
        missing = f"There is no {shown(path)}." if found.digest == ABSENT else found.note
        return Change(path, found, None, missing)
    try:
        return Change(path, found, _replaced(found.text, path, old, new)[0])
    except ToolError as error:
        return Change(path, found, None, str(error))


@tool(changes=True, alone=True, preview=_edited)
def edit_file(context: ToolContext, path: FilePath, old: str, new: str) -> str:
    """Replace one piece of text in a file of the workspace.

    The piece must stand in the file exactly once.

    Args:
        path: the file, relative to the workspace
        old: the text to replace, exactly as it stands in the file
        new: the text to put there; empty to delete
    """
    after, line = _replaced(context.workspace.read_text(path), path, old, new)
    context.workspace.write_text(path, after)
    return f"Edited {shown(path)} at line {line}."


def _replaced(text: str, path: str, old: str, new: str) -> tuple[str, int]:
    """The text after the edit, and the line where it is made. Raises ToolError."""
    if not old:
        raise BadArguments("edit_file: old is empty; use write_file to write a whole file.")
    if old == new:
        raise BadArguments("edit_file: old and new are the same, so nothing would change.")
    if old not in text and "\r\n" in text:  # written with Windows line ends, quoted without them
        old, new = _with_crlf(old), _with_crlf(new)
    lines = line_numbers(text, old)
    if not lines:
        raise NotFound(f"edit_file: old does not stand in {shown(path)}. {closest_line(text, old)}")
    if len(lines) > 1:
        where = ", ".join(str(line) for line in lines[:10]) + (", …" if len(lines) > 10 else "")
        raise NotAllowed(
            f"edit_file: old stands in {shown(path)} {len(lines)} times (lines {where}); "
            "give more of the text around the one place."
        )
    return text.replace(old, new, 1), lines[0]


def _with_crlf(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\n", "\r\n")


@tool()
def list_dir(context: ToolContext, path: DirectoryPath = ".") -> str:
    """List a directory of the workspace: directories end with a slash, files show their size.

    Args:
        path: the directory, relative to the workspace
    """
    listing = context.workspace.list_directory(path, LIST_LIMIT)
    lines = [_line(entry) for entry in listing.entries]
    if not lines:
        return f"({'the workspace' if path == '.' else shown(path)} is empty)"
    if listing.more:
        at_least = "" if listing.complete else "at least "
        lines.append(f"[{at_least}{listing.more:,} more are not shown]")
    return "\n".join(lines)


def _line(entry: Entry) -> str:
    name = shown(entry.name, 255)
    match entry.kind:
        case EntryKind.DIRECTORY:
            return f"{name}/"
        case EntryKind.LINK:
            return f"{name} -> {shown(entry.target)} (link, not followed)"
        case EntryKind.OTHER:
            return f"{name} (not a regular file)"
        case EntryKind.FILE:
            return f"{name} ({size(entry.size)})"
