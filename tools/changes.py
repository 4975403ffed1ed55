"""What a call would do to a file, worked out without doing it: for whoever has to say yes to it."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from tools.content import is_binary, size
from tools.errors import NotFound, ToolError
from tools.paths import shown
from tools.workspace import Workspace

ABSENT = "absent"
"""The digest of a file that is not there."""


@dataclass(frozen=True, slots=True)
class Found:
    """A file as it is now: its text (None: no file, or none that can be read as text).

    `digest` is of its bytes, `note` says why there is no text.
    """

    text: str | None
    digest: str
    note: str = ""


@dataclass(frozen=True, slots=True)
class Change:
    """What a call would do to the file at `path`, and what the file was when that was worked out.

    `after` is None if the call would fail as things are; `problem` says why.
    """

    path: str
    before: Found
    after: str | None
    problem: str = ""


def look(workspace: Workspace, path: str) -> Found:
    """The file at `path`, read once. Raises nothing: what cannot be read has a digest too."""
    try:
        data = workspace.read_bytes(path)
    except NotFound:
        return Found(None, ABSENT)
    except ToolError as error:
        return Found(None, _sha256(str(error).encode("utf-8", "replace")), str(error))
    digest = _sha256(data)
    try:
        if not is_binary(data):
            return Found(data.decode("utf-8"), digest)
    except UnicodeDecodeError:
        return Found(None, digest, _no_text(path, data))
    return Found(None, digest, _no_text(path, data))


def _no_text(path: str, data: bytes) -> str:
    return f"{shown(path)} is not UTF-8 text ({size(len(data))})."


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
