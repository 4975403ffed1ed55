from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.doubles.desk import Desk, open_desk


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    """A Slack stand-in and a scripted model; the test starts Treadle itself."""
    async with open_desk(tmp_path) as opened:
        yield opened
