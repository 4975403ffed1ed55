"""Removes old rows of the audit trail in such a way that what is left can still be proved."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import takewhile

from sqlalchemy import Connection, delete, select

from bot.audit.chain import Head, Row
from bot.audit.claims import Cut, checkpoint, cuts_of
from bot.audit.records import Kind
from bot.storage.audit import COLUMNS, PIECE, Audit, chains, row_of
from bot.storage.tables import audit
from bot.storage.writer import Writer

MARGIN = 7 * 24 * 3600 * 1_000_000
"""Microseconds that the word about a chain that is gone outlives those rows which name the chain,
so that hosts whose clocks differ cannot remove the one before the others."""


@dataclass(slots=True)
class Removed:
    """What one piece of the work removed."""

    rows: int = 0
    gone: list[str] = field(default_factory=list)
    """Chains of which nothing is left."""


async def prune(writer: Writer, trail: Audit, before: int) -> list[str]:
    """Remove the rows from before a time (microseconds since the epoch), oldest first.

    A chain keeps its last row until its process has said that it stops. Each piece leaves a
    checkpoint in the process's own chain, in the same transaction: up to where rows were removed
    and with which seal the rest begins. Returns the chains of which nothing is left.
    """
    gone: list[str] = []
    while (removed := await writer.run(lambda c: _piece(c, trail, before))).rows:
        gone += removed.gone
    return gone


def _piece(connection: Connection, trail: Audit, before: int) -> Removed:
    found = Removed()
    cuts: dict[str, Cut] = {}
    old: list[Row] = []
    for chain in list(chains(connection)):
        rows, whole = _oldest(connection, chain, before, PIECE - found.rows)
        if rows:
            cuts[chain] = Cut(Head(chain, rows[-1].seq, rows[-1].seal), trail.now())
            found.rows += len(rows)
            found.gone += [chain] if whole else []
            old += rows
        if found.rows >= PIECE:
            break
    if cuts:
        said = (cut for row in old for cut in cuts_of(row))
        left = set(chains(connection))
        kept = _still_needed(said, left, before - MARGIN)
        kept.update(cuts)
        trail.add(connection, checkpoint(kept.values()))
    for cut in cuts.values():
        this = (audit.c.chain == cut.head.chain) & (audit.c.seq <= cut.head.seq)
        connection.execute(delete(audit).where(this))
    return found


def _oldest(
    connection: Connection, chain: str, before: int, limit: int
) -> tuple[Sequence[Row], bool]:
    """The chain's first rows that may go, at most `limit`; and whether that is all of it."""
    query = select(*COLUMNS).where(audit.c.chain == chain).order_by(audit.c.seq).limit(limit + 1)
    rows = [row_of(found) for found in connection.execute(query).mappings()]
    old = list(takewhile(lambda row: row.at < before, rows))[:limit]
    whole = len(old) == len(rows)
    if whole and old and old[-1].kind != Kind.PROCESS_STOPPED:
        return old[:-1], False
    return old, whole


def _still_needed(said: Iterable[Cut], left: Collection[str], since: int) -> dict[str, Cut]:
    """What the checkpoints that go said, where it must still be known: of chains that have rows
    `left`, and of those that went after `since`."""
    needed: dict[str, Cut] = {}
    for cut in said:
        name, known = cut.head.chain, needed.get(cut.head.chain)
        if (name in left or cut.at >= since) and (known is None or known.head.seq < cut.head.seq):
            needed[name] = cut
    return needed
