"""The audit trail's rows: written with what they are about, in one transaction."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields
from typing import TypeVar

from sqlalchemy import (
    Connection,
    Engine,
    RowMapping,
    Select,
    Transaction,
    bindparam,
    func,
    insert,
    select,
)

from bot.audit.chain import Head, Row, Sealer, append
from bot.audit.claims import process_started
from bot.audit.records import Json, Kind, Record
from bot.storage.tables import audit
from bot.storage.writer import Writer

T = TypeVar("T")
NAMED = 100
"""Of so many chains, those with the newest rows, a new one names the heads: more than there are
processes at a time, so every chain is named after its last row."""
COLUMNS = [audit.c[field.name] for field in fields(Row)]
_NAMES = [column.name for column in COLUMNS]
_INSERT = insert(audit)
_HEAD = (
    select(audit.c.seq, audit.c.seal)
    .where(audit.c.chain == bindparam("name"))
    .order_by(audit.c.seq.desc())
    .limit(1)
)
PIECE = 2000
"""Rows that are held in memory at a time."""


class Audit:
    """This process's chain. One `Writer` has one; it is used in the writer's thread only."""

    def __init__(
        self,
        writer: Writer,
        chain: str,
        sealer: Sealer | None = None,
        redact: Callable[[str], str] = str,
        now: Callable[[], float] = time.time,
    ) -> None:
        self.chain = chain
        self.sealer = sealer or Sealer()
        self._writer, self._redact, self._now = writer, redact, now
        self._head: Head | None = None
        self._within: Transaction | None = None

    def now(self) -> int:
        """Microseconds since the epoch."""
        return round(self._now() * 1_000_000)

    def add(self, connection: Connection, *records: Record) -> None:
        """Write records in the transaction of a work of the writer: with it, or not at all."""
        if not records:
            return
        within = connection.get_transaction()
        if self._head is None or within is None or within is not self._within:
            # An earlier transaction may have been rolled back: what is stored counts.
            self._head = head_of(connection, self.chain) or Head(self.chain, -1, "")
            self._within = within
        rows = list(append(self.sealer, self._head, self.now(), records, self._redact))
        connection.execute(_INSERT, [{name: getattr(r, name) for name in _NAMES} for r in rows])
        self._head = Head(self.chain, rows[-1].seq, rows[-1].seal)

    async def record(self, *records: Record) -> None:
        """Write records that belong to no other write; durable on return."""
        await self._writer.run(lambda connection: self.add(connection, *records))

    async def start(self, about: Mapping[str, Json]) -> None:
        """Begin the chain. Nothing is recorded before."""

        def work(connection: Connection) -> None:
            others = [head for _, head in newest(connection) if head.chain != self.chain][:NAMED]
            self.add(connection, process_started({**about, "key": self.sealer.name}, others))

        await self._writer.run(work)

    async def stop(self) -> None:
        """End the chain: whoever verifies it knows that nothing is to follow."""
        await self.record(Record(Kind.PROCESS_STOPPED))

    async def head(self) -> Head | None:
        """The newest row that is durable."""
        return await self._writer.run(lambda connection: head_of(connection, self.chain))


def row_of(found: RowMapping) -> Row:
    """What a query of `COLUMNS` found."""
    return Row(**found)


def head_of(connection: Connection, chain: str) -> Head | None:
    """The newest row of a chain; None if there is none."""
    found = connection.execute(_HEAD, {"name": chain}).first()
    return None if found is None else Head(chain, found.seq, found.seal)


def chains(connection: Connection) -> Iterator[str]:
    """The name of every chain that has rows; costs one look into the index for each."""
    name = connection.scalar(select(func.min(audit.c.chain)))
    while name is not None:
        yield str(name)
        name = connection.scalar(select(func.min(audit.c.chain)).where(audit.c.chain > name))


def newest(connection: Connection) -> list[tuple[int, Head]]:
    """The time and head of every chain, the one with the newest row first."""
    found = []
    for chain in chains(connection):
        query = select(audit.c.at, audit.c.seq, audit.c.seal).where(audit.c.chain == chain)
        row = connection.execute(query.order_by(audit.c.seq.desc()).limit(1)).one()
        found.append((int(row.at), Head(chain, row.seq, row.seal)))
    return sorted(found, key=lambda pair: (-pair[0], pair[1].chain))


class Trail:
    """Reads the whole trail, beside whatever process may be writing it."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def read(self, use: Callable[[Snapshot], T]) -> T:
        """What `use` makes of the trail as it is at one moment."""
        with self._engine.connect() as connection:
            connection = connection.execution_options(yield_per=PIECE)
            with connection.begin():
                return use(Snapshot(connection))


class Snapshot:
    """The trail at one moment; rows are streamed."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def chains(self) -> Sequence[str]:
        return list(chains(self._connection))

    def rows(self, chain: str) -> Iterator[Row]:
        """A chain's rows in order."""
        query = select(*COLUMNS).where(audit.c.chain == chain).order_by(audit.c.seq)
        return self._rows(query)

    def of_kinds(self, *kinds: Kind) -> Iterator[Row]:
        """The rows that say something of other rows, whichever chain they stand in."""
        return self._rows(select(*COLUMNS).where(audit.c.kind.in_(kinds)))

    def between(self, since: int | None, until: int | None, thread: str) -> Iterator[Row]:
        """Rows by time (microseconds since the epoch; `until` is not included) and thread."""
        query = select(*COLUMNS)
        if since is not None:
            query = query.where(audit.c.at >= since)
        if until is not None:
            query = query.where(audit.c.at < until)
        if thread:
            query = query.where(audit.c.thread == thread)
        return self._rows(query.order_by(audit.c.at, audit.c.chain, audit.c.seq))

    def _rows(self, query: Select[tuple[object, ...]]) -> Iterator[Row]:
        for found in self._connection.execute(query).mappings():
            yield row_of(found)
