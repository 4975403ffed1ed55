"""Brings a database to the newest revision."""

from __future__ import annotations

from pathlib import Path

from alembic import command
from alembic.config import Config
from sqlalchemy import Engine

from bot.storage.schema import begin_changes


def alembic_config() -> Config:
    """Alembic's settings, without an ini file."""
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent).replace("%", "%%"))
    return config


def upgrade(engine: Engine) -> None:
    """Run every migration that is missing, in one transaction: all or nothing, also if killed.

    Of several processes that start at once, one does it and the others wait and find it done.
    """
    config = alembic_config()
    with engine.begin() as connection:
        begin_changes(connection)
        config.attributes["connection"] = connection
        command.upgrade(config, "head")
