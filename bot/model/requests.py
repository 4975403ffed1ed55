"""A request to the endpoint, and what is left out of it once it was refused.

Source: the OpenAI API reference, "Create chat completion". Refusals differ from server to server;
the words below are those of OpenAI, Azure, vLLM, llama.cpp, Ollama, LiteLLM, Groq, OpenRouter and
DeepSeek.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bot.agent.dialects import native
from bot.agent.dialects.base import Dialect
from bot.agent.dialects.detect import DIALECTS
from bot.agent.entries import Entry, ModelReply, open_turn
from bot.agent.ports import ToolSpec
from bot.agent.prompt import Facts
from bot.model.endpoint import Endpoint
from bot.model.knowledge import DIALECT, REFUSES

if TYPE_CHECKING:
    import openai

OTHER_NAMES = {
    "max_tokens": "max_completion_tokens",
    "max_completion_tokens": "max_tokens",
}
"""Parameters that an endpoint may know by another name only."""
REASONING_FIELDS = ("reasoning_content", "reasoning")
WITHOUT_TOOLS = "xml"
"""The dialect for an endpoint that takes no tools."""

_ESSENTIAL = frozenset({"model", "messages", "stream", "tools"})
_REFUSING = frozenset({400, 404, 422, 500, 501})
_NO_TOOLS = re.compile(
    r"tools?\b|tool[ _-]?(?:choice|use|call)|function[ _-]?call|functions?\b", re.I
)
_NO = re.compile(
    r"not\W+(?:\w+\W+){0,3}?(?:support|allow|permit|enabled|available|implement|recogni|possible)|"
    r"n't\W+support|unsupported|unrecogni|unknown|unexpected|extra|requires?\b|cannot|"
    r"no endpoints found",
    re.I,
)


@dataclass(frozen=True, slots=True)
class Asking:
    """One request in the making."""

    endpoint: Endpoint
    facts: Facts
    entries: Sequence[Entry]
    specs: Sequence[ToolSpec]

    def dialect(self, known: Mapping[str, str]) -> Dialect:
        """The dialect to ask in; without tools there is nothing to call."""
        name = self.endpoint.dialect
        if name == "auto":
            name = known.get(DIALECT, "native")
        return DIALECTS.get(name if self.specs else "native", DIALECTS["native"])

    def request(self, known: Mapping[str, str]) -> dict[str, Any]:
        """The request's parameters, without those that are known to be refused."""
        dialect = self.dialect(known)
        system = dialect.system(self.facts, self.specs)
        request: dict[str, Any] = {
            "model": self.endpoint.model,
            "messages": dialect.messages(system, self.entries),
            "stream": True,
            "stream_options": {"include_usage": True},
            **self.endpoint.options,
        }
        if self.specs and dialect.sends_tools:
            request["tools"] = native.tools(self.specs)
        if dialect.stop and not self._was_unreadable():
            request["stop"] = list(dialect.stop)
        return _without(request, known)

    def _was_unreadable(self) -> bool:
        """A stop sequence may be what cut the last reply."""
        replies = [e for e in open_turn(self.entries) if isinstance(e, ModelReply)]
        return bool(replies) and bool(replies[-1].problem)


def _without(request: dict[str, Any], known: Mapping[str, str]) -> dict[str, Any]:
    refused = {fact.removeprefix(REFUSES) for fact in known if fact.startswith(REFUSES)}
    for name in sorted(refused & request.keys()):
        value = request.pop(name)
        other = OTHER_NAMES.get(name)
        if other is not None and other not in refused:
            request[other] = value
    if fields := refused.intersection(REASONING_FIELDS):
        request["messages"] = [
            {key: value for key, value in message.items() if key not in fields}
            for message in request["messages"]
        ]
    return request


def lesson(
    error: openai.APIError, request: Mapping[str, Any], chosen: str
) -> tuple[str, str] | None:
    """The fact that an error teaches, so that the call can be made again without what was refused.

    `chosen` is the dialect of the settings: only "auto" may be left for another.
    """
    import openai

    if not isinstance(error, openai.APIStatusError) or error.status_code not in _REFUSING:
        return None
    said = f"{error.message} {json.dumps(error.body, default=str)}"
    if error.status_code in (400, 422) and (name := _refused(error.param, said, request)):
        return REFUSES + name, "yes"
    if chosen == "auto" and "tools" in request and _refuses_tools(error, said):
        return DIALECT, WITHOUT_TOOLS
    return None


def _refused(param: object, said: str, request: Mapping[str, Any]) -> str | None:
    """The parameter that an error names, of those that can be left out."""
    names = [name for name in request if name not in _ESSENTIAL]
    if any("reasoning" in key for message in request["messages"] for key in message):
        names += REASONING_FIELDS
    if param in names:
        return str(param)
    if not _NO.search(said):
        return None
    return next((n for n in names if re.search(rf"(?<![\w.]){n}(?!\w)", said)), None)


def _refuses_tools(error: openai.APIStatusError, said: str) -> bool:
    return error.param == "tools" or bool(_NO_TOOLS.search(said) and _NO.search(said))
