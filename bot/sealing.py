"""The audit trail, made of the settings."""

from __future__ import annotations

import os
import socket

from bot.audit.chain import Sealer
from bot.audit.records import Json
from bot.config import Settings
from bot.storage.audit import Audit
from bot.storage.audit_heads import HeadFiles
from bot.storage.audit_upkeep import Upkeep
from bot.storage.writer import Writer

RULES = {"access", "approvals", "audit", "budget", "policy", "sandbox", "tools"}
"""The sections of treadle.toml by which somebody may do something or not."""


def sealer(settings: Settings) -> Sealer:
    """Seals rows under TREADLE_AUDIT_KEY, if there is one."""
    key = settings.env.audit_key
    return Sealer(None if key is None else key.get_secret_value().encode())


def head_files(settings: Settings) -> HeadFiles:
    """Where the newest seals are kept."""
    return HeadFiles(settings.home / "audit")


def upkeep(settings: Settings, writer: Writer, audit: Audit) -> Upkeep:
    return Upkeep(writer, audit, head_files(settings), settings.audit.keep_days)


def about_process(settings: Settings) -> dict[str, Json]:
    """Which process this is, and the file's rules: a change of them is a start with other rules."""
    rules = settings.model_dump(mode="json", include=RULES, exclude_defaults=True)
    return {"pid": os.getpid(), "host": socket.gethostname(), "rules": rules}
