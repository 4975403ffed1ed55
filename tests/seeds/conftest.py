from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.doubles.desk import QUICK, Desk, open_desk
from tests.doubles.shell import open_place


@pytest.fixture
async def desk() -> AsyncIterator[Desk]:
    """A Slack stand-in and a scripted model; the test starts Treadle itself.

    Its home can be entered by the user that commands run as.
    """
    with open_place() as place:
        async with open_desk(place) as opened:
            opened.patience = QUICK
            yield opened
