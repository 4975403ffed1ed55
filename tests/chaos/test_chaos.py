"""A short storm, a few kills: what is left is judged by the checker."""

from __future__ import annotations

import random
from dataclasses import replace
from functools import partial

import pytest

from tests.chaos.cluster import Cluster
from tests.chaos.deployment import Embedded
from tests.chaos.plan import SHORT, SHORT_CLUSTER, Blow, Course, Plan, conversations, storm
from tests.chaos.report import report
from tests.chaos.run import Make, Outcome, run
from tests.doubles.postgres import PostgresServer
from tests.doubles.shell import open_place

PROVING = frozenset({"Resumed", "Answered", "Stopped", "ToolStarted"})
"""What must have happened for a run to say much."""


async def judged(plan: Plan, make: Make, capfd: pytest.CaptureFixture[str]) -> None:
    """Run once, and longer if the host was so slow that nothing was broken off; say so then."""
    outcome = await reported(plan, make, capfd)
    if not proves(outcome):
        outcome = await reported(replace(plan, storm=2 * plan.storm), make, capfd)
    if not proves(outcome):
        with capfd.disabled():
            print("  This host is too slow for the storm: the run says little.")


async def reported(plan: Plan, make: Make, capfd: pytest.CaptureFixture[str]) -> Outcome:
    with open_place() as home:
        outcome = await run(plan, home, make)
    with capfd.disabled():
        print(f"\n{report(outcome)}")
    assert outcome.violations == ()
    return outcome


def proves(outcome: Outcome) -> bool:
    kinds = {row.kind for row in outcome.evidence.journal}
    said = outcome.evidence.said
    heard = sum(one.accepted for one in said) > len(said) / 2
    tried = len(outcome.evidence.starts) > 20 and outcome.blows["kill"] > 0
    return heard and tried and kinds >= PROVING


@pytest.mark.wall_clock
@pytest.mark.needs("bwrap")
@pytest.mark.timeout(400)
async def test_nothing_is_lost_and_nothing_happens_twice(capfd: pytest.CaptureFixture[str]) -> None:
    await judged(SHORT, Embedded, capfd)


@pytest.mark.wall_clock
@pytest.mark.needs("bwrap")
@pytest.mark.timeout(400)
async def test_nor_is_it_where_several_processes_share_a_database(
    postgres_server: PostgresServer, capfd: pytest.CaptureFixture[str]
) -> None:
    make = partial(Cluster, postgres_server, frozen=(2.0, 6.0))
    await judged(SHORT_CLUSTER, make, capfd)


@pytest.mark.parametrize("plan", [SHORT, SHORT_CLUSTER])
def test_a_seed_always_rolls_the_same_and_every_course_is_taken(plan: Plan) -> None:
    again = plan.dice("people")

    assert conversations(plan) == conversations(plan)
    assert storm(plan) == storm(plan)
    assert again.random() != random.Random(plan.seed).random()
    assert {conversation.course for conversation in conversations(plan)} == set(Course)
    assert Blow.KILL in {blow for _, blow in storm(plan)}
