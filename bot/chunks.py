"""A model's reply as its chunks arrive, and what they come to.

Formats: the OpenAI API reference, "Create chat completion", streaming; reasoning fields as
DeepSeek, Qwen and vLLM send them (`reasoning_content`, `reasoning`). Endpoints differ in what they
leave out or repeat, so nothing here trusts a type.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from bot import words
from bot.agent.entries import ModelReply, ToolCall, Usage
from bot.errors import ModelRefused, ModelUnavailable

_Object: TypeAlias = Mapping[str, object]

REASONING_FIELDS = ("reasoning_content", "reasoning")


@dataclass(slots=True)
class _Call:
    id: str = ""
    name: str = ""
    arguments: str = ""


@dataclass(slots=True)
class Collected:
    """What has come so far; `finish` is empty until the reply is whole."""

    finish: str = ""
    chunks: int = 0
    _text: list[str] = field(default_factory=list)
    _reasoning: list[str] = field(default_factory=list)
    _reasoning_field: str = ""
    _calls: list[_Call] = field(default_factory=list)
    _by_index: dict[object, _Call] = field(default_factory=dict)
    _usage: Usage = field(default_factory=Usage)

    def add(self, chunk: object) -> None:
        """Take in one chunk, parsed from JSON."""
        self.chunks += 1
        body = _object(chunk)
        if usage := _object(body.get("usage")):
            self._usage = _read_usage(usage)
        for choice in _objects(body.get("choices"))[:1]:
            self.finish = _string(choice.get("finish_reason")) or self.finish
            self._add_delta(_object(choice.get("delta")))

    def _add_delta(self, delta: _Object) -> None:
        self._text += [_string(delta.get("content")), _string(delta.get("refusal"))]
        for name in REASONING_FIELDS:
            if value := delta.get(name):
                self._reasoning.append(str(value))
                self._reasoning_field = name
                break
        for part in _objects(delta.get("tool_calls")):
            call = self._call_of(part)
            function = _object(part.get("function"))
            call.name += _string(function.get("name"))
            call.arguments += _string(function.get("arguments"))

    def _call_of(self, part: _Object) -> _Call:
        """The call that a part belongs to: some endpoints number nothing, or all calls 0."""
        index, call_id = part.get("index"), _string(part.get("id"))
        call = self._by_index.get(index)
        if call is None or index is None or (call_id and call.id and call.id != call_id):
            call = _Call()
            self._calls.append(call)
            self._by_index[index] = call
        call.id = call_id or call.id
        return call

    def reply(self, model: str, seconds: float) -> ModelReply:
        """The whole reply. Raises ModelError if there is none to act on."""
        text = _whole("".join(self._text)).strip()
        cut_off = self.finish == "length"
        if not self.finish:
            raise ModelUnavailable(words.model_cut_stream())
        if self.finish == "content_filter":
            raise ModelRefused(words.model_filtered())
        if cut_off and (self._calls or not text):
            raise ModelRefused(words.model_cut_off())
        calls = self._tool_calls()
        if not calls and not text:
            raise ModelUnavailable(words.model_empty())
        return ModelReply(
            model=model,
            thought=text if calls else "",
            calls=calls,
            answer=None if calls else text,
            reasoning=_whole("".join(self._reasoning)),
            reasoning_field=self._reasoning_field,
            usage=self._usage,
            cut_off=cut_off,
            seconds=seconds,
        )

    def _tool_calls(self) -> tuple[ToolCall, ...]:
        seen: set[str] = set()
        calls = []
        for call in self._calls:
            if not call.id or call.id in seen:
                call.id = f"call_{uuid.uuid4().hex[:16]}"
            seen.add(call.id)
            calls.append(ToolCall(call.id, call.name.strip(), _whole(call.arguments)))
        return tuple(calls)


def _read_usage(usage: _Object) -> Usage:
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


def _string(value: object) -> str:
    return value if isinstance(value, str) else ""


def _count(value: object) -> int:
    return value if isinstance(value, int) else 0


def _whole(text: str) -> str:
    """The text with surrogate halves joined, or replaced where the other half never came."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
