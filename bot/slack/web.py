"""Calls of Slack's Web API, with each way to fail told apart."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import aiohttp
from slack_sdk.errors import SlackApiError, SlackClientError
from slack_sdk.web.async_client import AsyncWebClient
from slack_sdk.web.async_slack_response import AsyncSlackResponse

from bot import words
from bot.agent.ports import Json
from bot.errors import DeliveryError, DeliveryRefused, DeliveryUnknown
from bot.slack.pacing import Pacer
from bot.slack.slots import POST, LocalSlots, post_lane

Answer: TypeAlias = Mapping[str, Json]

log = logging.getLogger(__name__)

CALL_SECONDS = 20
PATIENCE_SECONDS = 10.0
"""How long a call waits for its method's turn."""
FIRST_WAIT = 0.5
KEEP_SECONDS = 5.0
LIMITED = frozenset({"ratelimited", "rate_limited"})
UNCERTAIN = frozenset(
    {"internal_error", "fatal_error", "service_unavailable", "request_timeout", "unknown_error"}
)
"""Codes after which "some aspect of the operation" may have succeeded, as Slack's pages say."""
NOT_SENT = (aiohttp.ClientConnectorError, aiohttp.ClientConnectionResetError)


class RateLimited(DeliveryError):
    """Slack asks to wait `seconds` before this method is called again."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"Slack asks to wait {seconds:.0f} s")
        self.seconds = seconds


class NotSent(DeliveryError):
    """No connection was made: nothing can have happened."""


class SlackClient(AsyncWebClient):
    """The SDK's client with the pacer that all calls of its workspace share.

    It passes the arguments of every call through `redact`, so that no caller can forget to. They
    come as JSON; the library's own convenience methods, which send forms, are not used.
    """

    pacer: Pacer
    redact: Callable[[str], str]

    async def api_call(
        self, api_method: str, *, json: dict[str, object] | None = None, **given: Any
    ) -> AsyncSlackResponse:
        safe = None if json is None else redacted_all(json, self.redact)
        return await super().api_call(api_method, json=safe, **given)


def redacted_all(body: Mapping[str, object], redact: Callable[[str], str]) -> dict[str, object]:
    """A JSON object with every text in it redacted."""
    return {name: _redacted(value, redact) for name, value in body.items()}


def _redacted(value: object, redact: Callable[[str], str]) -> object:
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, Mapping):
        return redacted_all(value, redact)
    if isinstance(value, list | tuple):
        return [_redacted(part, redact) for part in value]
    return value


def web_client(
    token: str,
    api_url: str | None,
    pacer: Pacer | None = None,
    redact: Callable[[str], str] = str,
) -> SlackClient:
    """A client that never repeats a call by itself: a lost answer must be looked up first.

    What it sends passes through `redact`. Its connections are kept for a few seconds only, as one
    that Slack is about to close would make an outcome unknown. Must be called in the event loop;
    close its `session` at the end.
    """
    base = (api_url or AsyncWebClient.BASE_URL).rstrip("/") + "/"
    connector = aiohttp.TCPConnector(keepalive_timeout=KEEP_SECONDS, limit=100)
    timeout = aiohttp.ClientTimeout(total=CALL_SECONDS)
    session = aiohttp.ClientSession(connector=connector, timeout=timeout)
    client = SlackClient(
        token=token, base_url=base, timeout=CALL_SECONDS, session=session, retry_handlers=[]
    )
    client.pacer = pacer or Pacer(LocalSlots(), time.monotonic)
    client.redact = redact
    return client


async def close_client(client: AsyncWebClient) -> None:
    """Close what `web_client` opened."""
    if client.session is not None:
        await client.session.close()


async def call(
    client: SlackClient,
    method: str,
    arguments: Mapping[str, object],
    *,
    patience: float = PATIENCE_SECONDS,
    slots: int = 1,
) -> Answer:
    """Call `method` by POST with JSON and return Slack's answer.

    It takes so many `slots` of the method first and waits for them at most `patience` seconds; 0
    where the caller has taken one already. Raises RateLimited, NotSent, DeliveryRefused (Slack said
    no), DeliveryUnknown (no answer).
    """
    if slots and (wait := await client.pacer.take(method, patience, slots)) > 0:
        raise RateLimited(wait)
    try:
        return await _called(client, method, arguments)
    except RateLimited as error:
        await client.pacer.pause(_lane(method, arguments), error.seconds)
        raise


def _lane(method: str, arguments: Mapping[str, object]) -> str:
    return post_lane(str(arguments.get("channel"))) if method == POST else method


async def _called(client: SlackClient, method: str, arguments: Mapping[str, object]) -> Answer:
    try:
        response = await client.api_call(method, json=dict(arguments))
    except SlackApiError as error:
        raise _refused(method, error) from error
    except NOT_SENT as error:
        raise NotSent(words.slack_unreachable()) from error
    except (TimeoutError, aiohttp.ClientError, SlackClientError, OSError) as error:
        raise DeliveryUnknown(words.slack_no_answer(method)) from error
    except ValueError as error:  # an HTML page where JSON belongs
        raise DeliveryUnknown(words.slack_no_answer(method)) from error
    data = response.data
    return data if isinstance(data, dict) else {}


async def respond(client: SlackClient, url: str, body: Mapping[str, object]) -> None:
    """Answer a click at its response address; what fails is only logged.

    Source: docs.slack.dev, "Handling user interaction": 30 minutes, five times.
    """
    assert client.session is not None
    try:
        async with client.session.post(url, json=redacted_all(body, client.redact)) as response:
            if response.status != 200:
                log.info("a click was not answered (HTTP %d)", response.status)
    except (TimeoutError, aiohttp.ClientError, OSError) as error:
        log.info("a click was not answered: %s", type(error).__name__)


async def read(
    client: SlackClient,
    method: str,
    arguments: Mapping[str, object],
    seconds: float,
    *,
    slots: int = 1,
) -> Answer:
    """Like `call`, for a method that may be repeated without harm: tried again for `seconds`.

    Raises DeliveryRefused at once and the last DeliveryError in the end.
    """
    deadline = time.monotonic() + seconds
    wait = FIRST_WAIT
    while True:
        try:
            left = max(0.0, deadline - time.monotonic())
            return await call(client, method, arguments, patience=left, slots=slots)
        except DeliveryRefused:
            raise
        except DeliveryError as error:
            pause = error.seconds if isinstance(error, RateLimited) else wait
            slots = 1
            if time.monotonic() + pause > deadline:
                raise
        await asyncio.sleep(pause)
        wait *= 2


def _refused(method: str, error: SlackApiError) -> DeliveryError:
    response = error.response
    data = response.data if isinstance(response.data, dict) else {}
    if response.status_code == 429 or data.get("error") in LIMITED:
        return RateLimited(_retry_after(response.headers))
    if response.status_code >= 500:
        return DeliveryUnknown(words.slack_no_answer(method))
    code = str(data.get("error", "unknown_error"))
    if code in UNCERTAIN:
        return DeliveryUnknown(words.slack_no_answer(method))
    return DeliveryRefused(words.slack_refused(method, code, str(data.get("needed", ""))), code)


def _retry_after(headers: Mapping[str, object]) -> float:
    for name, value in headers.items():
        if name.lower() == "retry-after":
            try:
                return max(1.0, float(str(value)))
            except ValueError:
                break
    return 30.0
