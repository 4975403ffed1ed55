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
from typing import TYPE_CHECKING, Any, cast

from bot import words
from bot.agent.dialects import native
from bot.agent.entries import Entry, ModelReply, ToolCall, Usage
from bot.agent.ports import ToolSpec
from bot.errors import ContextTooLong, ModelError, ModelRefused, ModelUnavailable

if TYPE_CHECKING:
    import openai
    from openai.types import CompletionUsage
    from openai.types.chat import ChatCompletionChunk
    from openai.types.chat.chat_completion_chunk import ChoiceDelta

log = logging.getLogger(__name__)

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

    @property
    def name(self) -> str:
        return self._endpoint.model

    async def warm(self) -> None:
        """Import the client library beside other waiting: it takes half a second."""
        await asyncio.to_thread(self._connect)

    async def close(self) -> None:
        if self._client is not None:
            await self._client.close()

    async def reply(
        self, system: str, entries: Sequence[Entry], specs: Sequence[ToolSpec]
    ) -> ModelReply:
        client = self._connect()
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

    def _connect(self) -> openai.AsyncOpenAI:
        if self._client is None:
            import openai

            end = self._endpoint
            self._client = openai.AsyncOpenAI(
                api_key=end.api_key or "none",
                base_url=end.base_url,
                max_retries=end.retries,
                timeout=openai.Timeout(end.read_timeout, connect=end.connect_timeout),
            )
        return self._client

    async def _stream(self, client: openai.AsyncOpenAI, request: Mapping[str, Any]) -> _Collected:
        import openai

        collected = _Collected()
        stream = await client.chat.completions.create(**request)
        try:
            async with stream:
                async for chunk in stream:
                    collected.add(chunk)
        except openai.APIConnectionError as error:
            log.info("the stream of %s broke off: %s", self.name, error)
            collected.finish = ""  # cut: whatever came is not a reply
        return collected


def _request(
    model: str, system: str, entries: Sequence[Entry], specs: Sequence[ToolSpec]
) -> dict[str, Any]:
    request: dict[str, Any] = {
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

    def add(self, chunk: ChatCompletionChunk) -> None:
        if chunk.usage is not None:
            self.usage = _usage(chunk.usage)
        for choice in chunk.choices[:1]:
            self.finish = choice.finish_reason or self.finish
            if choice.delta is not None:
                self._delta(choice.delta)

    def _delta(self, delta: ChoiceDelta) -> None:
        if delta.content:
            self.text.append(delta.content)
        if delta.refusal:
            self.text.append(delta.refusal)
        for name in REASONING_FIELDS:
            if value := (delta.model_extra or {}).get(name):
                self.reasoning.append(str(value))
                self.reasoning_field = name
                break
        for part in delta.tool_calls or ():
            call = self.calls.setdefault(part.index, _Call())
            call.id = part.id or call.id
            if part.function is not None:
                call.name += part.function.name or ""
                call.arguments += part.function.arguments or ""

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


def _usage(usage: CompletionUsage) -> Usage:
    prompt, completion = usage.prompt_tokens_details, usage.completion_tokens_details
    return Usage(
        input_tokens=usage.prompt_tokens or 0,
        output_tokens=usage.completion_tokens or 0,
        cached_tokens=(prompt.cached_tokens or 0) if prompt else 0,
        reasoning_tokens=(completion.reasoning_tokens or 0) if completion else 0,
    )


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
