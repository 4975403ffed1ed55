from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.doubles.shell import open_place


@pytest.fixture
def place() -> Iterator[Path]:
    """A directory that the sandbox's user can reach."""
    with open_place() as path:
        yield path
