"""The model behind a chat-completions endpoint, through the OpenAI client.

Format: the OpenAI API reference, "Create chat completion"; the reply's is in `bot.chunks`.
"""

from __future__ import annotations

import asyncio
import json
import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, cast

from bot import words
from bot.agent.dialects import native
from bot.agent.entries import Entry, ModelReply
from bot.agent.ports import Json, ToolSpec
from bot.chunks import Collected
from bot.errors import ContextTooLong, ModelError, ModelRefused, ModelUnavailable

if TYPE_CHECKING:
    import openai

log = logging.getLogger(__name__)

CUT_STREAM_TRIES = 3
RETRIES = 4
"""After the first try, with 0.5 to 8 s between them or what Retry-After says."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where the model is. `api_key` may be empty for a local server; time-outs are in seconds."""

    model: str
    api_key: str = field(repr=False, default="")
    base_url: str | None = None
    connect_timeout: float = 10.0
    read_timeout: float = 180.0
    retries: int = RETRIES


class ChatModel:
    """`bot.agent.ports.Model` on AsyncOpenAI.

    Rate limits, 5xx and lost connections are retried by the client, which honours Retry-After up
    to two minutes; a stream that ends early is asked for again.
    """

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._client: openai.AsyncOpenAI | None = None
        self._opening = asyncio.Lock()

    @property
    def name(self) -> str:
        return self._endpoint.model

    async def warm(self) -> None:
        """Import the client library beside other waiting: it takes half a second."""
        await self._connected()

    async def close(self) -> None:
        if self._client is not None:
            await self._client.close()

    async def reply(
        self, system: str, entries: Sequence[Entry], specs: Sequence[ToolSpec]
    ) -> ModelReply:
        client = await self._connected()
        request = _request(self._endpoint.model, system, entries, specs)
        began = time.monotonic()
        for tries_left in reversed(range(CUT_STREAM_TRIES)):
            try:
                collected = await self._stream(client, request)
            except ModelError:
                raise
            except Exception as error:
                raise _translate(error, self._endpoint) from error
            if collected.finish or not tries_left:
                return collected.reply(self.name, time.monotonic() - began)
        raise AssertionError("unreachable")

    async def _connected(self) -> openai.AsyncOpenAI:
        """The one client; whoever asks while it is being made waits for it."""
        async with self._opening:
            if self._client is None:
                self._client = await asyncio.to_thread(_open_client, self._endpoint)
            return self._client

    async def _stream(self, client: openai.AsyncOpenAI, request: Mapping[str, Json]) -> Collected:
        import openai

        collected = Collected()
        # As plain objects: the library's own for each chunk cost a quarter of a turn's CPU.
        stream = await client.post(
            "/chat/completions",
            body=request,
            cast_to=object,
            stream=True,
            stream_cls=openai.AsyncStream[object],
        )
        try:
            async with stream:
                async for chunk in stream:
                    collected.add(chunk)
        except openai.APIConnectionError as error:
            log.info("the stream of %s broke off: %s", self.name, error)
        if not collected.chunks:
            _check_kind(stream.response.headers.get("content-type", ""), self._endpoint)
        return collected


def _open_client(end: Endpoint) -> openai.AsyncOpenAI:
    import openai

    return openai.AsyncOpenAI(
        api_key=end.api_key or "none",
        base_url=end.base_url,
        max_retries=end.retries,
        timeout=openai.Timeout(end.read_timeout, connect=end.connect_timeout),
        # On aiohttp, which Slack's side uses too: a third of the CPU with 100 calls at once.
        http_client=openai.DefaultAioHttpClient(),
    )


def _request(
    model: str, system: str, entries: Sequence[Entry], specs: Sequence[ToolSpec]
) -> Mapping[str, Json]:
    request: dict[str, Json] = {
        "model": model,
        "messages": native.messages(system, entries),
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    if specs:
        request["tools"] = native.tools(specs)
    return request


def _check_kind(content_type: str, endpoint: Endpoint) -> None:
    """A web page or a whole document reads as a stream without any reply in it."""
    kind = content_type.split(";")[0].strip().lower()
    if kind in ("text/html", "application/json"):
        raise ModelRefused(words.model_no_stream(_where(endpoint), kind))


def _where(endpoint: Endpoint) -> str:
    return endpoint.base_url or "the OpenAI API"


def _translate(error: Exception, endpoint: Endpoint) -> Exception:
    """The openai library's error as ours; anything else is a bug and stays what it is."""
    import openai

    where = _where(endpoint)
    if isinstance(error, openai.APITimeoutError) and _timed_out(error):
        return ModelUnavailable(words.model_timed_out(where))
    if isinstance(error, openai.APIConnectionError):
        return ModelUnavailable(words.model_unreachable(where))
    if isinstance(error, openai.APIStatusError):
        return _translate_status(error, endpoint, where)
    if isinstance(error, openai.OpenAIError):
        return ModelUnavailable(words.model_broken_reply(where, str(error)))
    if isinstance(error, json.JSONDecodeError | UnicodeDecodeError):
        return ModelUnavailable(words.model_broken_reply(where, "its reply is not valid JSON"))
    return error


def _timed_out(error: BaseException | None) -> bool:
    """Whether time ran out: on aiohttp the library calls a refused connection a time-out too."""
    while error is not None and not isinstance(error, TimeoutError):
        error = error.__cause__
    return error is not None


def _translate_status(error: openai.APIStatusError, endpoint: Endpoint, where: str) -> ModelError:
    code = str(error.code or "")
    said = _said(error)
    match error.status_code:
        case 401 | 403:
            return ModelRefused(words.model_key_refused(where))
        case 404:
            return ModelRefused(words.model_unknown(endpoint.model, where))
        case 429 if code == "insufficient_quota":
            return ModelRefused(words.model_quota(where))
        case 429:
            return ModelUnavailable(words.model_busy(where))
        case status if status >= 500:
            return ModelUnavailable(words.model_down(where, status))
        case 400 | 413 | 422 if "context" in code or "context length" in said.lower():
            return ContextTooLong(words.model_context_too_long())
        case status:
            return ModelRefused(words.model_refused(where, status, said))


def _said(error: openai.APIStatusError) -> str:
    body = error.body
    if isinstance(body, Mapping):
        message = cast(Mapping[str, object], body).get("message")
        if isinstance(message, str):
            return message[:300]
    return str(error.message)[:300]
