"""Opens the database: one owner process, write-ahead log, schema brought up to date."""

from __future__ import annotations

import fcntl
import os
import socket
import sqlite3
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from sqlalchemy import Engine, create_engine, event, inspect, text
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import ConnectionPoolEntry, NullPool

from bot import words
from bot.errors import DatabaseBusy, StorageError

HEAD = "0012"
"""The newest revision in `migrations/versions`; a test keeps it true."""


@dataclass(frozen=True, slots=True)
class Database:
    """An open database and the lock that makes this process its only owner."""

    engine: Engine
    lock: TextIO

    def close(self) -> None:
        self.engine.dispose()
        self.lock.close()


def open_database(path: Path) -> Database:
    """Open or create the SQLite file at `path`, with its schema at `HEAD`.

    Raises DatabaseBusy if another process owns it and StorageError if it cannot be used.
    """
    with ExitStack() as undo:
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            lock = undo.enter_context(_take_lock(path.with_name(path.name + ".lock")))
            path.touch(mode=0o600)  # before SQLite does: its log beside it gets the same mode
        except OSError as error:
            why = error.strerror or ""
            raise StorageError(words.home_not_writable(path.parent, why)) from error
        engine = create_engine(f"sqlite:///{path}", poolclass=NullPool)
        event.listen(engine, "connect", _configure)
        try:
            _bring_up_to_date(engine)
        except DBAPIError as error:
            raise StorageError(words.database_unusable(path, str(error.orig))) from error
        undo.pop_all()
        return Database(engine, lock)


def open_reader(path: Path) -> Engine:
    """The SQLite file at `path`, to be read beside the process that owns it; nothing is written.

    A transaction sees the file as it was at its first statement. Raises StorageError if there is
    no such file, or its schema is another one.
    """
    if not path.is_file():
        raise StorageError(words.database_absent(path))

    def connect() -> sqlite3.Connection:
        return sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True, isolation_level=None)

    engine = create_engine("sqlite://", creator=connect, poolclass=NullPool)
    event.listen(engine, "begin", lambda connection: connection.exec_driver_sql("BEGIN"))
    try:
        with engine.connect() as connection:
            found = None
            if inspect(connection).has_table("alembic_version"):
                found = connection.scalar(text("SELECT version_num FROM alembic_version"))
    except DBAPIError as error:
        raise StorageError(words.database_unusable(path, str(error.orig))) from error
    if found != HEAD:
        raise StorageError(words.database_older(str(found or "none"), HEAD))
    return engine


def _take_lock(path: Path) -> TextIO:
    lock = path.open("a+", encoding="utf-8")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        lock.seek(0)
        holder = lock.read().strip()
        lock.close()
        raise DatabaseBusy(words.database_busy(path.parent, holder)) from error
    lock.truncate(0)
    lock.write(f"process {os.getpid()} on {socket.gethostname()}")
    lock.flush()
    return lock


def _configure(connection: DBAPIConnection, _: ConnectionPoolEntry) -> None:
    cursor = connection.cursor()
    # The kernel caches the file as well: 256 KB of pages here are enough.
    pragmas = ("journal_mode=WAL", "synchronous=FULL", "busy_timeout=5000", "cache_size=-256")
    for pragma in pragmas:
        cursor.execute(f"PRAGMA {pragma}")
    cursor.close()


def _bring_up_to_date(engine: Engine) -> None:
    """Alembic costs half a second to import, so it is only called when there is work for it."""
    with engine.connect() as connection:
        found = None
        if inspect(connection).has_table("alembic_version"):
            found = connection.scalar(text("SELECT version_num FROM alembic_version"))
            # Changes nothing, but fails here and now where the file may only be read.
            connection.execute(text("UPDATE alembic_version SET version_num = NULL WHERE 0"))
    if found == HEAD:
        return
    if found is not None and found > HEAD:
        raise StorageError(words.database_newer(found, HEAD))
    from bot.storage.migrations.run import upgrade

    upgrade(engine)
