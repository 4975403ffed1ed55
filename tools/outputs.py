"""Where the whole of a long output is kept: a file of the workspace that read_file can page."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from datetime import UTC, datetime

from tools.base import ToolError
from tools.content import size
from tools.listing import EntryKind
from tools.workspace import FILE_LIMIT, Workspace

DIRECTORY = ".outputs"
LINE = 1_000
"""Characters; read_file pages by lines, so a longer line is broken to be readable to its end."""
KEPT = 50
"""Files; with FILE_LIMIT they bound what outputs take of the workspace's quota."""


def keep(workspace: Workspace, tool: str, text: str) -> str:
    """Store `text`, let the oldest outputs go, and return a sentence that says where it stands."""
    moment = datetime.now(UTC).strftime("%Y%m%d-%H%M%S-%f")
    path = f"{DIRECTORY}/{moment}-{secrets.token_hex(2)}-{tool}.txt"
    data = "\n".join(_broken(text)).encode()
    whole = data[:FILE_LIMIT].decode(errors="ignore").encode()
    try:
        workspace.write_bytes(path, whole)
        _forget(workspace)
    except ToolError as error:
        return f"The whole could not be kept: {error}"
    what = "The whole" if whole == data else f"Its first {size(FILE_LIMIT)}"
    return f"{what} is in {path}: page it with read_file or search it with search_files."


def _broken(text: str) -> Iterator[str]:
    for line in text.split("\n"):
        yield from (line[at : at + LINE] for at in range(0, len(line) or 1, LINE))


def _forget(workspace: Workspace) -> None:
    """Names begin with their time, so the first ones are the oldest."""
    files = [
        entry.name
        for entry in workspace.list_directory(DIRECTORY).entries
        if entry.kind is EntryKind.FILE
    ]
    for name in files[:-KEPT]:
        workspace.delete_file(f"{DIRECTORY}/{name}")
