"""Every attempt to get out, by the real bot: stopped, or one of the known gaps.

The attempts stand in `cases_*.py` (the acceptance list) and `further_*.py` (our own search), what
is expected of them in `suite.py`. As root, commands run as another user; `python -m
tests.hostile.as_user` runs the same as an ordinary user.
"""

from __future__ import annotations

import asyncio
import itertools
import os

import pytest

from tests.hostile.attack import Case
from tests.hostile.house import open_house
from tests.hostile.runs import Runs
from tests.hostile.stage import alone, lacking, open_stage
from tests.hostile.suite import (
    AGAINST_THE_BOT,
    BY_SLACK,
    DOCUMENT,
    HOST_PROC,
    MODES,
    QUICK,
    WITH_NETWORK,
    expected,
    written,
)

pytestmark = pytest.mark.timeout(400)


@pytest.fixture(scope="module")
def runs() -> Runs:
    return Runs()


def named(case: Case) -> str:
    return case.id


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("case", BY_SLACK, ids=named)
def test_an_attempt_ends_as_expected(runs: Runs, mode: str, case: Case) -> None:
    if why := lacking(case, mode):
        pytest.skip(why)
    found = runs.of(mode)[case.id]

    assert found.result == expected(case, mode), f"{case.attempt}:\n{found.text}"


@pytest.mark.parametrize("case", QUICK, ids=named)
def test_an_attempt_ends_as_expected_where_proc_is_the_hosts(runs: Runs, case: Case) -> None:
    if why := lacking(case, HOST_PROC):
        pytest.skip(why)
    found = runs.of(HOST_PROC)[case.id]

    assert found.result == expected(case, HOST_PROC), f"{case.attempt}:\n{found.text}"


@pytest.mark.parametrize("case", WITH_NETWORK, ids=named)
def test_an_attempt_by_the_network_ends_as_expected(runs: Runs, case: Case) -> None:
    if why := lacking(case, "network"):
        pytest.skip(why)
    found = runs.of("network")[case.id]

    assert found.result == expected(case, "bwrap"), f"{case.attempt}:\n{found.text}"


def test_every_attempt_has_an_id_of_its_own() -> None:
    ids = [case.id for case in (*BY_SLACK, *WITH_NETWORK)]

    assert len(ids) == len(set(ids))


def test_the_table_of_the_document_is_what_was_found(runs: Runs) -> None:
    """`python -m tests.hostile.runs` writes it."""
    for mode, case in itertools.product(MODES, BY_SLACK):
        if why := lacking(case, mode):
            pytest.skip(why)
    document = DOCUMENT.read_text("utf-8")

    assert document == written(document, runs.table())


@pytest.mark.parametrize("case", [case for case in BY_SLACK if case.alone], ids=named)
def test_without_a_sandbox_the_attempt_succeeds(case: Case) -> None:
    """An attempt that could not succeed anyway would prove nothing."""
    if why := lacking(case):
        pytest.skip(why)
    if case.works and os.geteuid() == 0:
        pytest.skip("needs an ordinary user: what works has to work inside")
    with open_house() as house:
        house.marks["BOTPID"] = house.marks["TESTPID"]

        assert alone(house, case) in ("reached", "works")


async def test_without_a_sandbox_attempts_against_the_bot_succeed() -> None:
    """By the same user as the bot, beside it."""
    async with open_stage("off") as stage:
        found = {
            case.id: await asyncio.to_thread(alone, stage.house, case) for case in AGAINST_THE_BOT
        }

    assert found == {case.id: "reached" for case in AGAINST_THE_BOT}
