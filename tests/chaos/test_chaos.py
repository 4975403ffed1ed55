"""A short storm, a few kills: what is left is judged by the checker."""

from __future__ import annotations

import random

import pytest

from tests.chaos.deployment import Embedded
from tests.chaos.plan import SHORT, Blow, Course, conversations, storm
from tests.chaos.report import report
from tests.chaos.run import run
from tests.doubles.shell import open_place


@pytest.mark.needs("bwrap")
@pytest.mark.timeout(240)
async def test_nothing_is_lost_and_nothing_happens_twice(capfd: pytest.CaptureFixture[str]) -> None:
    with open_place() as home:
        outcome = await run(SHORT, home, Embedded)
    with capfd.disabled():
        print(f"\n{report(outcome)}")

    assert outcome.violations == ()
    kinds = {row.kind for row in outcome.evidence.journal}
    assert outcome.blows["kill"] >= 2
    assert {"Resumed", "Answered", "Stopped", "ApprovalAnswered", "ToolStarted"} <= kinds
    assert len(outcome.evidence.starts) > 20


def test_a_seed_always_rolls_the_same_and_every_course_is_taken() -> None:
    again = SHORT.dice("people")

    assert conversations(SHORT) == conversations(SHORT)
    assert storm(SHORT) == storm(SHORT)
    assert again.random() != random.Random(SHORT.seed).random()
    assert {conversation.course for conversation in conversations(SHORT)} == set(Course)
    assert Blow.KILL in {blow for _, blow in storm(SHORT)}
