"""The spelling of paths: what a model may write, and the one form that everything else sees.

The policy, the approval's hash and the tools must agree on what a path names, so each accepted
path has exactly one canonical spelling: relative, POSIX, no `.` or empty components, no slash at
the end. This is about spelling only; `tools.workspace` decides what can be reached.
"""

from __future__ import annotations

import unicodedata

from tools.errors import BadArguments, NotAllowed, OutsideWorkspace

MAX_BYTES = 4096
"""PATH_MAX of Linux."""
MOUNT = "/workspace"
"""Where the shell sees the workspace; models carry this name over to the file tools."""
TOP = "."


def file_path(path: str) -> str:
    """The canonical spelling of a path to a file.

    Raises OutsideWorkspace for a path that leads out, BadArguments for one that cannot name a file.
    """
    canonical = directory_path(path)
    if canonical == TOP or path.endswith(("/", "/.")):
        raise NotAllowed(f"{shown(path)} names a directory; give the path of a file in it.")
    return canonical


def directory_path(path: str) -> str:
    """The canonical spelling of a path to a directory or a file; `.` is the workspace itself."""
    _refuse_unusable(path)
    relative = _strip_mount(path)
    parts = [part for part in relative.split("/") if part not in ("", TOP)]
    if relative.startswith("/") or ".." in parts or (parts and parts[0] == "~"):
        raise OutsideWorkspace(f"Paths are relative to the workspace; {shown(path)} is outside it.")
    return "/".join(parts) or TOP


def _strip_mount(path: str) -> str:
    if path == MOUNT:
        return TOP
    if path.startswith(MOUNT + "/"):
        return path[len(MOUNT) :].lstrip("/") or TOP
    return path


def _refuse_unusable(path: str) -> None:
    if not path:
        raise BadArguments(f'The path is empty; use "{TOP}" for the workspace itself.')
    if any(unicodedata.category(character) in ("Cc", "Cs") for character in path):
        raise BadArguments(
            f"The path {shown(path)} holds a control character or half a character; "
            "use a plain file name."
        )
    if len(path.encode()) > MAX_BYTES:
        raise BadArguments(f"The path is longer than {MAX_BYTES} bytes; use a shorter one.")


def shown(name: str, limit: int = 120) -> str:
    """A path or file name for people: one line, nothing invisible, at most `limit` characters."""
    text = "".join(_visible(character) for character in name)
    return text if len(text) <= limit else text[: limit - 1] + "…"


def _visible(character: str) -> str:
    # Cc Cf Cs: controls, bidi and zero-width marks, surrogates. Zl Zp: line and paragraph ends.
    if unicodedata.category(character) in ("Cc", "Cf", "Cs", "Zl", "Zp"):
        return character.encode("unicode_escape").decode("ascii")
    return character
