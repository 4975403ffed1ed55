"""A reply as its chunks arrive, whatever liberties the endpoint takes with the format.

Formats: the OpenAI API reference (streaming chunks); reasoning fields as DeepSeek, Qwen and vLLM
send them (`reasoning_content`, `reasoning`); arguments as an object, empty or null, calls without
an id or an index, names repeated in each chunk, as several servers send them.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from bot import words
from bot.agent.dialects.literals import dumps
from bot.agent.dialects.native import THINK
from bot.agent.dialects.thinking import thinking_apart
from bot.agent.entries import ToolCall, Usage
from bot.errors import ModelRefused, ModelUnavailable
from bot.model.requests import REASONING_FIELDS

_Object: TypeAlias = Mapping[str, Any]

_ENDED = frozenset({"stop", "tool_calls", "function_call"}) | {
    *("eos_token", "stop_sequence"),
    *("end_turn", "tool_use"),
}
_CUT_OFF = frozenset({"length", "max_tokens", "model_context_window_exceeded", "model_length"})
_FILTERED = frozenset({"content_filter", "sensitive"})
"""What an endpoint says of a reply's end: OpenAI's words, and those of Zhipu, Mistral, text-
generation-inference (eos_token: huggingface/text-generation-inference#2344) and of gateways that
pass on Anthropic's (end_turn: BerriAI/litellm#12481)."""


@dataclass(frozen=True, slots=True)
class Said:
    """What a chunk added for people to see."""

    reasoning: str = ""
    text: str = ""


@dataclass(slots=True)
class _Call:
    id: str = ""
    name: str = ""
    arguments: str = ""


@dataclass(frozen=True, slots=True)
class Whole:
    """A reply that arrived completely, or up to its length limit (`cut_off`)."""

    text: str
    calls: tuple[ToolCall, ...]
    reasoning: str
    reasoning_field: str
    usage: Usage
    cut_off: bool


@dataclass(slots=True)
class Collected:
    """Takes chunks in, parsed from JSON, and gives the whole reply.

    `finish` is how the endpoint says that the reply ended, empty if the stream was cut; `broken`
    is what could not be read of it.
    """

    finish: str = ""
    broken: Exception | None = None
    chunks: int = 0
    _text: list[str] = field(default_factory=list)
    _reasoning: list[str] = field(default_factory=list)
    _reasoning_field: str = ""
    _calls: list[_Call] = field(default_factory=list)
    _by_index: dict[int, _Call] = field(default_factory=dict)
    _usage: Usage = field(default_factory=Usage)

    def add(self, chunk: object) -> Said:
        """Take in one chunk; what it added for people to see."""
        self.chunks += 1
        body = _object(chunk)
        if usage := _object(body.get("usage")):
            self._usage = _read_usage(usage)
        for choice in _objects(body.get("choices"))[:1]:
            self.finish = _string(choice.get("finish_reason")).lower() or self.finish
            return self._delta(_object(choice.get("delta")))
        return Said()

    def _delta(self, delta: _Object) -> Said:
        text = _content(delta.get("content")) + _string(delta.get("refusal"))
        self._text.append(text)
        reasoning = ""
        for name in REASONING_FIELDS:
            if value := delta.get(name):
                reasoning, self._reasoning_field = str(value), name
                self._reasoning.append(reasoning)
                break
        for part in _objects(delta.get("tool_calls")):
            self._call_part(part)
        return Said(reasoning, text)

    def _call_part(self, part: _Object) -> None:
        call = self._call_of(part)
        call.id = _string(part.get("id")) or call.id
        function = _object(part.get("function"))
        name, arguments = _string(function.get("name")), function.get("arguments")
        if name != call.name:
            call.name += name
        if isinstance(arguments, dict):
            call.arguments = dumps(arguments)
        else:
            call.arguments += _string(arguments)

    def _call_of(self, part: _Object) -> _Call:
        """The call that a part belongs to: by its index, its id, or because it brings a name."""
        index, call_id = part.get("index"), _string(part.get("id"))
        found = self._by_index.get(index) if isinstance(index, int) else self._unindexed(part)
        if found is None or (call_id and found.id and call_id != found.id):
            found = _Call()
            self._calls.append(found)
        if isinstance(index, int):
            self._by_index[index] = found
        return found

    def _unindexed(self, part: _Object) -> _Call | None:
        if call_id := _string(part.get("id")):
            return next((call for call in self._calls if call.id == call_id), None)
        begins = _string(_object(part.get("function")).get("name"))
        return None if begins or not self._calls else self._calls[-1]

    @property
    def text(self) -> str:
        """All that has come to be read."""
        return "".join([*self._reasoning, *self._text])

    @property
    def usage(self) -> Usage:
        """What the endpoint has counted so far."""
        return self._usage

    @property
    def complete(self) -> bool:
        """Whether the endpoint said that this is all there is.

        Any other end ("network_error", "insufficient_system_resource", "error") may have come in
        the middle of an action.
        """
        return self.finish in _ENDED | _CUT_OFF | _FILTERED

    def whole(self) -> Whole:
        """The reply of a stream that was not cut. Raises ModelError if it is none to act on."""
        if not self.complete:
            raise ModelUnavailable(words.model_cut_stream())
        if self.finish in _FILTERED:
            raise ModelRefused(words.model_filtered())
        apart = thinking_apart(_joined("".join(self._text)))
        reasoning = _joined("".join(self._reasoning)) or apart.reasoning
        cut_off = self.finish in _CUT_OFF
        calls = self._tool_calls()
        if cut_off and (calls or not apart.text):
            raise ModelRefused(words.model_cut_off())
        if not (calls or apart.text or reasoning):
            raise ModelUnavailable(words.model_empty())
        came_in = self._reasoning_field or (THINK if apart.reasoning else "")
        return Whole(apart.text, calls, reasoning, came_in, self._usage, cut_off)

    def _tool_calls(self) -> tuple[ToolCall, ...]:
        seen: set[str] = set()
        calls = []
        for call in self._calls:
            if not call.name.strip() and not call.arguments.strip():
                continue
            if not call.id or call.id in seen:
                call.id = new_call_id()
            seen.add(call.id)
            nothing = call.arguments.strip() in ("", "null", '""')
            arguments = "{}" if nothing else _joined(call.arguments)
            calls.append(ToolCall(_joined(call.id), _joined(call.name).strip(), arguments))
        return tuple(calls)


def new_call_id() -> str:
    """An id for a call that came without one."""
    return f"call_{uuid.uuid4().hex[:16]}"


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


def _content(value: object) -> str:
    """A chunk's text; some endpoints send it as a list of typed parts."""
    if isinstance(value, list):
        return "".join(_string(part.get("text")) for part in _objects(value))
    return _string(value)


def _object(value: object) -> _Object:
    return value if isinstance(value, dict) else {}


def _objects(value: object) -> list[_Object]:
    return [_object(one) for one in value] if isinstance(value, list) else []


def _string(value: object) -> str:
    return value if isinstance(value, str) else ""


def _count(value: object) -> int:
    return max(0, value) if type(value) is int else 0  # true is no count


def _joined(text: str) -> str:
    """The text with surrogate halves joined, or replaced where the other half never came."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
