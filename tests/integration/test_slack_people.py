"""Who people are: remembered for ten minutes, asked again then, and nobody on a failed look-up."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from bot.errors import LookupFailed
from bot.local_slack.faults import Effect, FaultRule
from bot.local_slack.options import TEAM_ID
from bot.local_slack.server import LocalSlack
from bot.local_slack.world import Member
from bot.policy import Person
from bot.slack.people import FRESH_SECONDS, SlackPeople
from bot.slack.web import SlackClient, close_client, web_client

NOBODY: frozenset[str] = frozenset()


class Clock:
    """Seconds that pass when the test says so."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def now(self) -> float:
        return self.seconds


@pytest.fixture
async def slack() -> AsyncIterator[LocalSlack]:
    running = await LocalSlack.start()
    yield running
    await running.stop()


@pytest.fixture
async def client(slack: LocalSlack) -> AsyncIterator[SlackClient]:
    opened = web_client(slack.options.bot_token, slack.api_url)
    yield opened
    await close_client(opened)


async def test_an_admin_of_slack_who_is_none_any_more_is_none_after_ten_minutes(
    slack: LocalSlack, client: SlackClient
) -> None:
    clock = Clock()
    people = SlackPeople(client, NOBODY, True, 0.1, clock.now)
    assert await people.lookup("U0ADA", TEAM_ID) == Person("U0ADA", "admin")
    slack.world.members["U0ADA"] = Member("U0ADA", "ada", "Ada", "member")
    clock.seconds = FRESH_SECONDS - 1
    assert (await people.lookup("U0ADA", TEAM_ID)).role == "admin"
    clock.seconds = FRESH_SECONDS
    assert (await people.lookup("U0ADA", TEAM_ID)).role == "member"


async def test_what_was_known_does_not_count_when_it_cannot_be_refreshed(
    slack: LocalSlack, client: SlackClient
) -> None:
    clock = Clock()
    people = SlackPeople(client, frozenset({"U0ADA"}), True, 0.1, clock.now)
    await people.lookup("U0ADA", TEAM_ID)
    clock.seconds = FRESH_SECONDS
    slack.fail(FaultRule(Effect.SERVER_ERROR, "users.info"))
    with pytest.raises(LookupFailed, match="could not find out who U0ADA is"):
        await people.lookup("U0ADA", TEAM_ID)
    slack.fail()
    assert (await people.lookup("U0ADA", TEAM_ID)).role == "admin"


async def test_who_acts_as_an_admin_is_asked_about_anew_and_nobody_else(
    slack: LocalSlack, client: SlackClient
) -> None:
    people = SlackPeople(client, NOBODY, True, 0.1)
    for user in ("U0ADA", "U0BOB"):
        await people.lookup(user, TEAM_ID)
    slack.world.members["U0ADA"] = Member("U0ADA", "ada", "Ada", "member")
    before = len(slack.log.of("users.info"))

    assert (await people.lookup("U0ADA", TEAM_ID)).role == "admin"
    assert len(slack.log.of("users.info")) == before
    assert (await people.lookup("U0ADA", TEAM_ID, acts=True)).role == "member"
    assert (await people.lookup("U0BOB", TEAM_ID, acts=True)).role == "member"
    assert (await people.lookup("U0ADA", TEAM_ID, acts=True)).role == "member"
    assert len(slack.log.of("users.info")) == before + 1


async def test_an_admin_who_cannot_be_asked_about_anew_does_not_act(
    slack: LocalSlack, client: SlackClient
) -> None:
    people = SlackPeople(client, frozenset({"U0ADA"}), True, 0.1)
    await people.lookup("U0ADA", TEAM_ID)
    slack.fail(FaultRule(Effect.SERVER_ERROR, "users.info"))
    with pytest.raises(LookupFailed, match="could not find out who U0ADA is"):
        await people.lookup("U0ADA", TEAM_ID, acts=True)
    assert (await people.lookup("U0ADA", TEAM_ID)).role == "admin"
