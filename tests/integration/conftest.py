from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from bot.storage.database import Database, open_database
from bot.storage.postgres import open_postgres
from tests.doubles.shell import open_place


@pytest.fixture
def place() -> Iterator[Path]:
    """A directory that the sandbox's user can reach."""
    with open_place() as path:
        yield path


@pytest.fixture(params=["sqlite", "postgresql"])
def opens(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], Database]:
    """Opens one and the same database, once of each kind."""
    if request.param == "sqlite":
        return lambda: open_database(tmp_path / "treadle.db")
    url: str = request.getfixturevalue("postgres")
    return lambda: open_postgres(url)
