"""The workspaces' part: their root, made from the settings."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager

from bot import words
from bot.config import MARKER, Settings
from bot.errors import ConfigError
from bot.shell import sandbox_settings
from tools.base import ToolError
from tools.sandbox.probe import owner_of
from tools.workspaces import Scope, Workspaces


@contextmanager
def open_workspaces(settings: Settings) -> Iterator[Workspaces]:
    try:
        scope = Scope(settings.workspace.scope)
        quota = settings.workspace.quota_mb * 1024 * 1024
        owner = owner_of(sandbox_settings(settings))
        workspaces = Workspaces(settings.workspace_root, scope, owner=owner, quota=quota)
        (workspaces.root / MARKER).write_text(words.workspace_marker(), "utf-8")
    except ToolError as error:
        raise ConfigError(words.workspace_unusable(settings.workspace_root, str(error))) from error
    except OSError as error:
        why = f"{error.strerror}."
        raise ConfigError(words.workspace_unusable(settings.workspace_root, why)) from error
    with closing(workspaces):
        yield workspaces
