"""What the processes on one PostgreSQL database share, made from the settings."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING

from bot import words
from bot.config import Settings
from bot.errors import ConfigError
from bot.runs.pulse import Pulse
from bot.slack.slots import rate_of
from bot.storage.schema import Addition
from bot.storage.statements import News, Statement
from bot.storage.writer import Writer

if TYPE_CHECKING:
    from bot.runs.cluster import Yard
    from bot.storage.agreed import Agreed
    from bot.storage.leases import Leases
    from bot.storage.slots import SharedSlots

PROOF = ".treadle-shared"
"""A file in the root of workspaces, where no tool can reach it: all workers must see the same."""


class Role(Enum):
    """What a process does; with SQLite there is one, and it does all."""

    ALL = "takes events in and works on threads"
    INTAKE = "takes events in"
    WORK = "works on threads"


@dataclass(frozen=True, slots=True)
class Shared:
    """What processes on one PostgreSQL database share, as one of them holds it."""

    yard: Yard
    slots: SharedSlots
    leases: Leases
    agreed: Agreed

    def on_stored(self, news: News) -> Sequence[Statement]:
        """What tells the others of new work, in the transaction that stores it."""
        from bot.storage.wakes import on_stored

        return on_stored(news)


def queue_tables(settings: Settings) -> Sequence[Addition]:
    """What the database needs beside our tables: nothing, where one process has it alone."""
    if settings.database_path is not None:
        return ()
    from bot.storage.wakes import queue_schema

    return [queue_schema()]


def make_shared(
    settings: Settings, writer: Writer, owner: str, pulse: Pulse | None
) -> Shared | None:
    """What this process, called `owner`, shares; None where it has its database alone."""
    url = settings.env.database_url
    if pulse is None or url is None or settings.database_path is not None:
        return None
    from bot.runs.cluster import Yard
    from bot.storage.agreed import Agreed
    from bot.storage.claims import Claims
    from bot.storage.leases import Leases
    from bot.storage.postgres import address_of
    from bot.storage.slots import SharedSlots
    from bot.terminal import in_terminal

    claims = Claims(writer, owner, pulse.stall)
    return Shared(
        Yard(claims, address_of(url.get_secret_value()), pulse, in_terminal),
        SharedSlots(writer, rate_of),
        Leases(writer, owner, pulse.stall),
        Agreed(writer, owner, pulse.stall),
    )


async def prove_workspace(shared: Shared, root: Path) -> None:
    """Raises ConfigError unless all workers see this directory. This one must have said it lives.

    Source of truth is the database: the first worker writes down what stands in its file.
    """
    proof = root / PROOF
    here = await asyncio.to_thread(_read, proof) or uuid.uuid4().hex
    holds = await shared.agreed.on("workspace", here)
    if holds == here:
        await asyncio.to_thread(_write, proof, here)
        return
    deadline = asyncio.get_running_loop().time() + shared.yard.pulse.proof
    while await asyncio.to_thread(_read, proof) != holds:
        if asyncio.get_running_loop().time() > deadline:
            raise ConfigError(words.workspace_not_shared(root))
        await asyncio.sleep(0.2)


def _read(proof: Path) -> str:
    try:
        return proof.read_text("utf-8").strip()
    except FileNotFoundError:
        return ""


def _write(proof: Path, text: str) -> None:
    if _read(proof) != text:
        proof.write_text(text, "utf-8")
