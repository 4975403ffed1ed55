"""Opens a PostgreSQL database, which any number of processes may share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from sqlalchemy import Engine, create_engine, text
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import NullPool

from bot import words
from bot.errors import StorageError
from bot.storage.database import Database
from bot.storage.schema import Addition, add_missing, bring_up_to_date, check_readable
from bot.storage.statements import why

if TYPE_CHECKING:
    import psycopg

PATIENT = {
    "application_name": "treadle",
    "connect_timeout": "5",
    "keepalives_idle": "5",
    "keepalives_interval": "5",
    "keepalives_count": "3",
    "tcp_user_timeout": "20000",
}
"""What an address does not say otherwise (postgresql.org/docs/current/libpq-connect.html): seconds
for one attempt to connect, as there are more; a server whose host is silent for 20 is gone."""
IDLE_SECONDS = 10.0
"""The server ends a session that has done nothing in a transaction for so long: its process is
frozen, and what it holds would hold up all others. Shorter than after what a process is dead."""


def open_postgres(
    url: str, additions: Sequence[Addition] = (), idle: float = IDLE_SECONDS
) -> Database:
    """Open the database at `url` (the form of libpq: postgresql://user:password@host/name).

    Its schema is at `HEAD` afterwards, with `additions` beside it. Raises StorageError if it
    cannot be used, without a word of `url`: a password stands in it. `idle`: see IDLE_SECONDS.
    """
    engine = _engine(url, idle)
    try:
        _examine(engine)
        bring_up_to_date(engine)
        add_missing(engine, additions)
    except DBAPIError as error:
        raise StorageError(words.server_unusable(why(error))) from None
    return Database(engine)


def open_server_reader(url: str) -> Engine:
    """The database at `url`, to be read beside the processes that write; nothing is written.

    A transaction sees it as it was at its first statement. Raises StorageError as `open_postgres`
    does, and if its schema is another one.
    """
    engine = _engine(url, 0).execution_options(
        isolation_level="REPEATABLE READ", postgresql_readonly=True
    )
    try:
        check_readable(engine)
    except DBAPIError as error:
        raise StorageError(words.server_unusable(why(error))) from None
    return engine


def _engine(url: str, idle: float) -> Engine:
    return create_engine(
        "postgresql+psycopg://",
        creator=_connector(url, idle),
        poolclass=NullPool,
        isolation_level="READ COMMITTED",
        use_native_hstore=False,
        hide_parameters=True,
    )


def address_of(url: str) -> str:
    """`url` as libpq takes it, with what it does not say; it holds the password.

    Raises StorageError, without a word of `url`.
    """
    try:
        from psycopg import ProgrammingError
        from psycopg.conninfo import conninfo_to_dict, make_conninfo
    except ImportError:
        raise StorageError(words.server_packages_missing()) from None
    try:
        given = conninfo_to_dict(f"postgresql:{url.partition(':')[2]}")
    except ProgrammingError:  # its text may quote a part of the password
        raise StorageError(words.server_address_unclear()) from None
    return make_conninfo("", **(PATIENT | given | {"client_encoding": "UTF8"}))


def _connector(url: str, idle: float) -> Callable[[], psycopg.Connection]:
    address = address_of(url)
    from psycopg import connect

    def connector() -> psycopg.Connection:
        connection = connect(address)
        # Not in the address: a pooler in front need not take it there.
        limit = f"SET idle_in_transaction_session_timeout = {int(1000 * idle)}"
        connection.execute(limit.encode())
        connection.commit()
        return connection

    return connector


def _examine(engine: Engine) -> None:
    with engine.connect() as connection:
        encoding = connection.scalar(text("SHOW server_encoding"))
    if encoding != "UTF8":
        raise StorageError(words.server_unusable(f"its encoding is {encoding}, not UTF8"))
