"""What is written differently for SQLite and PostgreSQL: nothing else asks which of them it is."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import TypeAlias

from sqlalchemy import (
    JSON,
    Connection,
    Dialect,
    Insert,
    Table,
    bindparam,
    cast,
    column,
    func,
    select,
    text,
)
from sqlalchemy.dialects import sqlite
from sqlalchemy.exc import DBAPIError

TRY_AGAIN = frozenset({"40001", "40P01"})
"""SQLSTATE of a transaction that must be run again: serialization failure, deadlock
(postgresql.org/docs/current/errcodes-appendix.html)."""
SCHEMA = "schema"
"""The name to hold while tables are made; no thread has it."""
_SEED = 0x7265_6164_6C65
"""Tells our advisory locks from those that others take in the same database."""
_HOLD = select(func.pg_advisory_xact_lock(func.hashtextextended(bindparam("name"), _SEED)))

Row: TypeAlias = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Statement:
    """SQL of another part, for a transaction of ours; `:name` in it stands for a value."""

    sql: str
    values: Row = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class News:
    """A thread has new work."""

    thread: str
    began: bool
    """Whether it had none before, so that nobody is at it."""
    ending: bool
    """Whether the work may end what is going on."""


OnStored: TypeAlias = Callable[[News], Sequence[Statement]]
"""What is to be done in the transaction that stores the new work."""


def nothing_more(news: News) -> Sequence[Statement]:
    """`OnStored` of a process that is alone: it wakes the thread itself."""
    return ()


def perform(connection: Connection, statements: Sequence[Statement]) -> None:
    """Run them, in their order."""
    for statement in statements:
        connection.execute(text(statement.sql), statement.values)


def is_server(dialect: Dialect) -> bool:
    """Whether the database is a server: others use it too, and it may be away for a while."""
    return dialect.name == "postgresql"


def add(connection: Connection, table: Table, row: Row) -> bool:
    """Insert a row; False, and nothing is changed, where one with its key is there already."""
    statement = _add(table, is_server(connection.dialect))
    return connection.execute(statement, row).rowcount == 1


def add_all(connection: Connection, table: Table, rows: Sequence[Row]) -> bool:
    """Insert many rows at once; False if there was one already with the key of one of them."""
    if not rows:
        return True
    if is_server(connection.dialect):
        # One value for all: the driver takes longer over each of them than JSON does.
        values = {"rows": json.dumps(rows)}
        return connection.execute(_add_all(table), values).rowcount == len(rows)
    return connection.execute(_add(table, False), rows).rowcount == len(rows)


def put(connection: Connection, table: Table, key: Row, rest: Row) -> None:
    """Insert a row, or write `rest` over the one with that key."""
    if is_server(connection.dialect):
        from sqlalchemy.dialects import postgresql

        ours = postgresql.insert(table).values({**key, **rest})
        connection.execute(ours.on_conflict_do_update(index_elements=list(key), set_=rest))
    else:
        own = sqlite.insert(table).values({**key, **rest})
        connection.execute(own.on_conflict_do_update(index_elements=list(key), set_=rest))


@cache
def _add(table: Table, server: bool) -> Insert:
    """Built once: this is how each entry is written."""
    statement: Insert
    if server:
        from sqlalchemy.dialects import postgresql  # a start on SQLite does without it

        statement = postgresql.insert(table).on_conflict_do_nothing().inline()
    else:
        statement = sqlite.insert(table).on_conflict_do_nothing()
    return statement.execution_options(preserve_rowcount=True)  # else it may be -1: "unknown"


@cache
def _add_all(table: Table) -> Insert:
    from sqlalchemy.dialects import postgresql

    columns = [column(c.name, c.type) for c in table.c]
    rows = func.json_to_recordset(cast(bindparam("rows"), JSON)).table_valued(*columns)
    source = select(*rows.render_derived(with_types=True).c)
    statement = postgresql.insert(table).from_select([c.name for c in columns], source)
    return statement.on_conflict_do_nothing().execution_options(preserve_rowcount=True)


def hold(connection: Connection, name: str) -> None:
    """Until the end of the transaction, no other process gets past its own `hold` of that name.

    On SQLite there is only one process, whose writer does one thing after the other.
    """
    if is_server(connection.dialect):
        connection.execute(_HOLD, {"name": name})


def worth_repeating(error: BaseException) -> bool:
    """Whether the same work may well succeed when it is run again."""
    orig = error.orig if isinstance(error, DBAPIError) else None
    return getattr(orig, "sqlstate", None) in TRY_AGAIN


def why(error: BaseException) -> str:
    """What a database says is wrong, on one line; never the values of a statement."""
    orig = error.orig if isinstance(error, DBAPIError) else error
    primary = getattr(getattr(orig, "diag", None), "message_primary", None)
    said = str(primary or orig).strip()
    return said.splitlines()[0] if said else type(orig).__name__
