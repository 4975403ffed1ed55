"""Opens what must not be forgotten: the database that the settings name."""

from __future__ import annotations

from collections.abc import Sequence

from bot.config import Settings
from bot.storage.database import Database, Reader, open_database, open_reader
from bot.storage.schema import Addition


def open_state(settings: Settings, additions: Sequence[Addition] = ()) -> Database:
    """The SQLite file, or PostgreSQL with `additions` beside our tables. Raises StorageError."""
    url = settings.env.database_url
    if settings.database_path is not None or url is None:
        return open_database(settings.database_path or settings.home / "treadle.db")
    from bot.storage.postgres import open_postgres  # only in the cluster

    return open_postgres(url.get_secret_value(), additions)


def open_reading(settings: Settings) -> Reader:
    """The same to be read beside whoever writes; nothing is written. Raises StorageError."""
    url = settings.env.database_url
    if settings.database_path is not None or url is None:
        return open_reader(settings.database_path or settings.home / "treadle.db")
    from bot.storage.postgres import open_server_reader

    return open_server_reader(url.get_secret_value())
