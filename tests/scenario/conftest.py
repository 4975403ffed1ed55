from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bot.slack.patience import Patience
from tests.doubles.desk import QUICK, Desk, open_desk


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    """A Slack stand-in with quick limits, and a scripted model; the test starts Treadle itself."""
    async with open_desk(tmp_path) as opened:
        opened.patience = QUICK
        yield opened


@pytest.fixture
def slacks_pace(desk: Desk) -> None:
    """Slack's own limits, for tests that are about waiting for them."""
    desk.patience = Patience()
