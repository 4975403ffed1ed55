"""Brings a database to the newest revision."""

from __future__ import annotations

from pathlib import Path

from alembic import command
from alembic.config import Config
from sqlalchemy import Engine


def alembic_config() -> Config:
    """Alembic's settings, without an ini file."""
    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent).replace("%", "%%"))
    return config


def upgrade(engine: Engine) -> None:
    """Run every migration that is missing, in one transaction: all or nothing, also if killed."""
    config = alembic_config()
    with engine.begin() as connection:
        if connection.dialect.name == "sqlite":  # its driver begins none for CREATE TABLE
            connection.exec_driver_sql("BEGIN IMMEDIATE")
        config.attributes["connection"] = connection
        command.upgrade(config, "head")
