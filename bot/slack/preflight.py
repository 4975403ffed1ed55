"""Checks before the start: does the token work, which scopes were granted, is the clock right."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime

import aiohttp
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from bot import words
from bot.errors import ConfigError
from bot.slack.patience import FIRST_WAIT
from bot.slack.scopes import BOT_SCOPES

CLOCK_SECONDS = 60.0
"""Signed requests are refused from five minutes on; a minute is already worth a word."""
TRIES = 5


@dataclass(frozen=True, slots=True)
class Identity:
    """Who the app is in which workspace, and what is not as it should be."""

    team_id: str
    team: str
    user_id: str
    bot_id: str
    user: str
    missing_scopes: tuple[str, ...] = ()
    clock_off: float = 0.0
    url: str = ""
    """The workspace's address, ending in a slash."""

    @property
    def warnings(self) -> tuple[str, ...]:
        found = []
        if self.missing_scopes:
            found.append(words.scopes_missing(self.missing_scopes))
        if abs(self.clock_off) > CLOCK_SECONDS:
            found.append(words.clock_off(self.clock_off))
        return tuple(found)


async def identify(client: AsyncWebClient, wait: float = FIRST_WAIT) -> Identity:
    """Ask Slack who we are. Raises ConfigError when the token is refused or Slack is out of reach.

    `wait` seconds lie between the first two of five tries, then twice as many each time.

    Bolt would acknowledge events without running any listener if this failed later.
    """
    for left in reversed(range(TRIES)):
        try:
            response = await client.auth_test()
            break
        except SlackApiError as error:
            status = error.response.status_code
            if (status == 429 or status >= 500) and left:
                await asyncio.sleep(wait)
            else:
                code = str(error.response.get("error", status))
                raise ConfigError(words.token_refused(code)) from error
        except (TimeoutError, aiohttp.ClientError, OSError) as error:
            if not left:
                raise ConfigError(words.slack_unreachable()) from error
            await asyncio.sleep(wait)
        wait *= 2
    data = response.data
    assert isinstance(data, dict)
    return _identity(data, {k.lower(): str(v) for k, v in response.headers.items()})


def _identity(data: Mapping[str, object], headers: Mapping[str, str]) -> Identity:
    if not data.get("bot_id"):
        raise ConfigError(words.not_a_bot_token())
    granted = {scope.strip() for scope in headers.get("x-oauth-scopes", "").split(",")}
    known = "x-oauth-scopes" in headers
    return Identity(
        team_id=str(data.get("team_id", "")),
        team=str(data.get("team", "")),
        user_id=str(data.get("user_id", "")),
        bot_id=str(data.get("bot_id", "")),
        user=str(data.get("user", "")),
        missing_scopes=tuple(s for s in BOT_SCOPES if s not in granted) if known else (),
        url=str(data.get("url", "")),
        clock_off=_clock_off(headers.get("date", "")),
    )


def _clock_off(date: str) -> float:
    try:
        return time.time() - parsedate_to_datetime(date).timestamp()
    except (TypeError, ValueError):
        return 0.0
