"""One's own posts are found in a thread, however long it is."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from bot.local_slack import messages
from bot.local_slack.options import BOT_ID, BOT_USER_ID, TEAM_ID, Options
from bot.local_slack.server import LocalSlack
from bot.slack.inbound import Self
from bot.slack.people import SlackPeople
from bot.slack.threads import EVENT_TYPE, SlackThreads
from bot.slack.web import SlackClient, call, close_client, web_client

MANY = 2100
"""Replies of people before the bot's own."""


@pytest.fixture
async def slack() -> AsyncIterator[LocalSlack]:
    async with LocalSlack(Options(subscriptions=frozenset())) as running:
        yield running


@pytest.fixture
async def client(slack: LocalSlack) -> AsyncIterator[SlackClient]:
    opened = web_client(slack.options.bot_token, slack.api_url)
    yield opened
    await close_client(opened)


async def test_a_post_is_found_behind_thousands_of_replies(
    slack: LocalSlack, client: SlackClient
) -> None:
    """Nothing of the bot's stood there before, so that it may stand anywhere."""
    channel = slack.channel("#general")
    root = messages.post(slack.world, channel, {"user": "U0ALICE", "text": "Look at this."})
    for number in range(MANY):
        reply = {"user": "U0BOB", "text": f"{number}", "thread_ts": root["ts"]}
        messages.post(slack.world, channel, reply)
    payload = {"key": "mine", "covers": []}
    posted = await call(
        client,
        "chat.postMessage",
        {
            "channel": channel.id,
            "thread_ts": root["ts"],
            "text": "An answer.",
            "metadata": {"event_type": EVENT_TYPE, "event_payload": payload},
        },
    )
    people = SlackPeople(client, frozenset(), True, 0.1)
    threads = SlackThreads(client, people, Self(BOT_USER_ID, BOT_ID))
    thread, since = f"{TEAM_ID}:{channel.id}:{root['ts']}", float(root["ts"]) - 60

    assert await threads.find_own(thread, "mine", since) == posted["ts"]
    assert await threads.find_own(thread, "another", since) is None
