"""Where workspaces stand: direct children of one root directory, named by scope.

`shared`, `<team>-<channel>` or `<team>-<channel>-<root_ts>`: never one inside another, so that
no workspace is part of what another one may touch.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress
from enum import StrEnum
from pathlib import Path

from tools.errors import WorkspaceUnavailable
from tools.openat import DIRECTORY, DirectoryHandle, Opener, open_beneath
from tools.workspace import Workspace

_ID = re.compile(r"[A-Z0-9]{1,32}")
"""Slack's ids of teams, channels and users: upper-case letters and digits."""
_TS = re.compile(r"[0-9]{1,12}\.[0-9]{1,9}")
"""Slack's message timestamps: seconds, a dot, six digits."""


class Scope(StrEnum):
    """Who shares a workspace: a thread alone, a channel's threads, or all."""

    CHANNEL = "channel"
    THREAD = "thread"
    SHARED = "shared"


class Workspaces:
    """Opens the workspace of a thread, making its directory when it is first needed."""

    def __init__(
        self,
        root: Path,
        scope: Scope = Scope.CHANNEL,
        *,
        owner: tuple[int, int] | None = None,
        quota: int | None = None,
        opener: Opener = open_beneath,
    ) -> None:
        """`owner` (uid, gid) gets new directories and files; needed when the bot runs as root.

        `quota`: bytes on disk that each workspace may hold. Raises WorkspaceUnavailable.
        """
        self._scope = scope
        self._owner = owner
        self._quota = quota
        self._opener = opener
        try:
            self.root = root.resolve()
            self.root.mkdir(parents=True, exist_ok=True)
            self._handle = DirectoryHandle(os.open(self.root, DIRECTORY))
        except (OSError, RuntimeError) as error:  # RuntimeError: a loop of links, on 3.11 and 3.12
            raise _unavailable(str(root), error) from error

    def close(self) -> None:
        """Give the root's handle back; open workspaces stay usable."""
        self._handle.close()

    def name(self, team: str, channel: str, root_ts: str) -> str:
        """The directory name for a thread; WorkspaceUnavailable for ids that Slack cannot send."""
        if self._scope is Scope.SHARED:
            return "shared"
        for value, form in ((team, _ID), (channel, _ID), (root_ts, _TS)):
            if not form.fullmatch(value):
                raise WorkspaceUnavailable(
                    f"There is no workspace for {value!r}: it is not an id or a time of Slack."
                )
        if self._scope is Scope.CHANNEL:
            return f"{team}-{channel}"
        return f"{team}-{channel}-{root_ts}"

    def open(self, team: str, channel: str, root_ts: str) -> Workspace:
        """The workspace of a thread; close it when the turn ends. Raises WorkspaceUnavailable."""
        name = self.name(team, channel, root_ts)
        try:
            with self._handle.hold() as root:
                directory = self._enter(root, name)
        except OSError as error:
            raise _unavailable(name, error) from error
        return Workspace(
            directory,
            self.root / name,
            owner=self._owner,
            quota=self._quota,
            opener=self._opener,
        )

    def _enter(self, root: int, name: str) -> int:
        # One validated name, so O_NOFOLLOW says it all; a mount of the operator's is welcome here.
        try:
            directory = os.open(name, DIRECTORY, dir_fd=root)
        except FileNotFoundError:
            with suppress(FileExistsError):
                # Private: other channels' workspaces are nobody else's business on this host.
                os.mkdir(name, 0o700, dir_fd=root)
            directory = os.open(name, DIRECTORY, dir_fd=root)
        try:
            self._give_away(directory, root, name)
        except OSError:
            os.close(directory)
            raise
        return directory

    def _give_away(self, directory: int, root: int, name: str) -> None:
        found = os.fstat(directory)
        if self._owner is not None and (found.st_uid, found.st_gid) != self._owner:
            os.chown(name, *self._owner, dir_fd=root, follow_symlinks=False)


def _unavailable(name: str, error: Exception) -> WorkspaceUnavailable:
    reason = error.strerror if isinstance(error, OSError) else str(error)
    return WorkspaceUnavailable(
        f"The workspace {name} cannot be used ({reason}); "
        "ask the operator to look at that directory: it must be a real one, and the bot's own."
    )
