"""Brings the tables up to date, once, however many processes start."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sqlalchemy import (
    Column,
    Connection,
    Engine,
    MetaData,
    PrimaryKeyConstraint,
    String,
    Table,
    func,
    inspect,
    select,
    text,
)

from bot import words
from bot.errors import StorageError
from bot.storage.statements import SCHEMA, hold, is_server
from bot.storage.tables import metadata

HEAD = "0015"
"""The newest revision in `migrations/versions`; a test keeps it true."""
_VERSION = Table(
    "alembic_version",
    MetaData(),
    Column("version_num", String(32), nullable=False),
    PrimaryKeyConstraint("version_num", name="alembic_version_pkc"),
)
"""Alembic's own table, as Alembic makes it."""


@dataclass(frozen=True, slots=True)
class Addition:
    """What another part needs beside our tables, on PostgreSQL: `sql` is run where nothing is
    called `relation` (a table or an index; the last one that `sql` makes)."""

    relation: str
    sql: Callable[[], str]


def bring_up_to_date(engine: Engine) -> None:
    """Leave the tables as they are at `HEAD`. Raises StorageError if they are newer.

    Alembic costs half a second and 12 MB to import, so only tables of an older release are its.
    """
    with engine.connect() as connection:
        found = revision(connection)
        if found is not None:
            # Changes nothing, but fails here and now where the database may only be read.
            connection.execute(text("UPDATE alembic_version SET version_num = NULL WHERE 1 = 0"))
    if found == HEAD:
        return None
    if found is not None and found > HEAD:
        raise StorageError(words.database_newer(found, HEAD))
    if found is None:
        _make(engine)
        return bring_up_to_date(engine)  # an older release may have been sooner
    from bot.storage.migrations.run import upgrade

    return upgrade(engine)


def _make(engine: Engine) -> None:
    """All tables of a new database, in one transaction: all or none, also if killed.

    Of several processes that start at once, one does it and the others wait and find it done.
    """
    with engine.begin() as connection:
        begin_changes(connection)
        if revision(connection) is None:
            metadata.create_all(connection)
            _VERSION.create(connection)
            connection.execute(_VERSION.insert().values(version_num=HEAD))


def begin_changes(connection: Connection) -> None:
    """From here on nobody else changes tables, until this transaction ends."""
    if not is_server(connection.dialect):  # SQLite's driver begins none for CREATE TABLE
        connection.exec_driver_sql("BEGIN IMMEDIATE")
    hold(connection, SCHEMA)


def revision(connection: Connection) -> str | None:
    """Which revision the tables have; None where there are none."""
    if not inspect(connection).has_table("alembic_version"):
        return None
    found = connection.scalar(text("SELECT version_num FROM alembic_version"))
    return None if found is None else str(found)


def check_readable(engine: Engine) -> None:
    """Raises StorageError unless the tables are those of this release."""
    with engine.connect() as connection:
        found = revision(connection)
    if found != HEAD:
        raise StorageError(words.database_older(found or "none", HEAD))


def add_missing(engine: Engine, additions: Sequence[Addition]) -> None:
    """Make what is not there, in one transaction; who starts at the same time waits for it."""
    with engine.begin() as connection:
        hold(connection, SCHEMA)
        for addition in additions:
            if connection.scalar(select(func.to_regclass(addition.relation))) is None:
                as_it_is = {
                    "no_parameters": True
                }  # a % in it is a %, and it may be many statements
                connection.exec_driver_sql(addition.sql(), execution_options=as_it_is)
