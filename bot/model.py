"""The model behind a chat-completions endpoint, through the OpenAI client.

Formats: the OpenAI API reference, "Create chat completion" and its streaming chunks; reasoning
fields as DeepSeek, Qwen and vLLM send them (`reasoning_content`, `reasoning`).
"""

from __future__ import annotations

import asyncio
import logging
import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias, cast

from bot import words
from bot.agent.dialects import native
from bot.agent.entries import Entry, ModelReply, ToolCall, Usage
from bot.agent.ports import Json, ToolSpec
from bot.errors import ContextTooLong, ModelError, ModelRefused, ModelUnavailable

if TYPE_CHECKING:
    import openai

log = logging.getLogger(__name__)

_Object: TypeAlias = Mapping[str, object]

REASONING_FIELDS = ("reasoning_content", "reasoning")
CUT_STREAM_TRIES = 3


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where the model is. `api_key` may be empty for a local server; time-outs are in seconds."""

    model: str
    api_key: str = field(repr=False, default="")
    base_url: str | None = None
    connect_timeout: float = 10.0
    read_timeout: float = 180.0
    retries: int = 4


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

    async def _stream(self, client: openai.AsyncOpenAI, request: Mapping[str, Json]) -> _Collected:
        import openai

        collected = _Collected()
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
            collected.finish = ""  # cut: whatever came is not a reply
        return collected


def _open_client(end: Endpoint) -> openai.AsyncOpenAI:
    import openai

    return openai.AsyncOpenAI(
        api_key=end.api_key or "none",
        base_url=end.base_url,
        max_retries=end.retries,
        timeout=openai.Timeout(end.read_timeout, connect=end.connect_timeout),
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


@dataclass(slots=True)
class _Call:
    id: str = ""
    name: str = ""
    arguments: str = ""


@dataclass(slots=True)
class _Collected:
    """A reply as its chunks arrive."""

    text: list[str] = field(default_factory=list)
    reasoning: list[str] = field(default_factory=list)
    reasoning_field: str = ""
    calls: dict[int, _Call] = field(default_factory=dict)
    finish: str = ""
    usage: Usage = field(default_factory=Usage)

    def add(self, chunk: object) -> None:
        body = _object(chunk)
        if usage := _object(body.get("usage")):
            self.usage = _usage(usage)
        for choice in _objects(body.get("choices"))[:1]:
            self.finish = _text(choice.get("finish_reason")) or self.finish
            self._delta(_object(choice.get("delta")))

    def _delta(self, delta: _Object) -> None:
        self.text += [_text(delta.get("content")), _text(delta.get("refusal"))]
        for name in REASONING_FIELDS:
            if value := delta.get(name):
                self.reasoning.append(str(value))
                self.reasoning_field = name
                break
        for part in _objects(delta.get("tool_calls")):
            index = part.get("index")
            # Some endpoints number nothing, and send each call whole.
            place = index if isinstance(index, int) else len(self.calls)
            call = self.calls.setdefault(place, _Call())
            call.id = _text(part.get("id")) or call.id
            function = _object(part.get("function"))
            call.name += _text(function.get("name"))
            call.arguments += _text(function.get("arguments"))

    def reply(self, model: str, seconds: float) -> ModelReply:
        """The whole reply. Raises ModelError if there is none to act on."""
        text = "".join(self.text).strip()
        cut_off = self.finish == "length"
        if not self.finish:
            raise ModelUnavailable(words.model_cut_stream())
        if self.finish == "content_filter":
            raise ModelRefused(words.model_filtered())
        if cut_off and (self.calls or not text):
            raise ModelRefused(words.model_cut_off())
        calls = self._tool_calls()
        if not calls and not text:
            raise ModelUnavailable(words.model_empty())
        return ModelReply(
            model=model,
            thought=text if calls else "",
            calls=calls,
            answer=None if calls else text,
            reasoning="".join(self.reasoning),
            reasoning_field=self.reasoning_field,
            usage=self.usage,
            cut_off=cut_off,
            seconds=seconds,
        )

    def _tool_calls(self) -> tuple[ToolCall, ...]:
        seen: set[str] = set()
        calls = []
        for _, call in sorted(self.calls.items()):
            if not call.id or call.id in seen:
                call.id = f"call_{uuid.uuid4().hex[:16]}"
            seen.add(call.id)
            calls.append(ToolCall(call.id, call.name.strip(), call.arguments))
        return tuple(calls)


def _usage(usage: _Object) -> Usage:
    prompt, completion = (
        _object(usage.get(f"{kind}_tokens_details")) for kind in ("prompt", "completion")
    )
    return Usage(
        input_tokens=_count(usage.get("prompt_tokens")),
        output_tokens=_count(usage.get("completion_tokens")),
        cached_tokens=_count(prompt.get("cached_tokens")),
        reasoning_tokens=_count(completion.get("reasoning_tokens")),
    )


def _object(value: object) -> _Object:
    return value if isinstance(value, dict) else {}


def _objects(value: object) -> list[_Object]:
    return [_object(one) for one in value] if isinstance(value, list) else []


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _count(value: object) -> int:
    return value if isinstance(value, int) else 0


def _translate(error: Exception, endpoint: Endpoint) -> Exception:
    """The openai library's error as ours; anything else is a bug and stays what it is."""
    import openai

    where = endpoint.base_url or "the OpenAI API"
    if isinstance(error, openai.APITimeoutError):
        return ModelUnavailable(words.model_timed_out(where))
    if isinstance(error, openai.APIConnectionError):
        return ModelUnavailable(words.model_unreachable(where))
    if isinstance(error, openai.APIStatusError):
        return _translate_status(error, endpoint, where)
    if isinstance(error, openai.APIError):
        return ModelUnavailable(words.model_broken_reply(where, str(error)))
    if isinstance(error, ValueError):  # a body that is not JSON
        return ModelUnavailable(words.model_broken_reply(where, "its reply is not valid JSON"))
    return error


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
