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
_REFUSING = frozenset({400, 404, 422, 501})
_ANY = (
    r"(?:tools|functions|tool[ _-]?(?:choice|use|usage|calls?|calling)|"
    r"function[ _-]?(?:use|usage|calls?|calling))"
)
"""Tools as such, not one of them."""
_NOT = r"(?:not|n't|n\u2019t) (?:(?:currently|yet) )?"
_NO_TOOLS = re.compile(
    # "does not support tools", "No endpoints found that support tool use"
    rf"(?:{_NOT}(?:support|allow|accept|implement|have)|no endpoints found that (?:can )?support|"
    rf"no support for|unsupported:?) (?:the (?:use of )?|any |using |native )?[`'\"]?{_ANY}\b"
    r"(?!\w|[.\[]\w|[`'\"]? (?:of type|named|whose)\b)|"
    # "tool calling is not supported", "tools: Extra inputs are not permitted"
    rf"(?<![\w.-])(?<!parallel )[`'\"]?{_ANY}[`'\"]?(?:(?: param(?:eter)?s?)? (?:is|are) "
    rf"(?:unsupported|{_NOT}(?:supported|available|enabled|implemented|allowed|permitted))\b"
    r"(?! in (?:an? )?(?:message|\w+ message))|: extra (?:inputs|fields))|"
    # "Unsupported parameter: 'tools'", "Unrecognized request argument supplied: tools"
    r"(?:unsupported|unrecogni[sz]ed|unknown|unexpected) (?:request )?"
    r"(?:param(?:eter)?|arg(?:ument)?|field|key|property|keyword)s?(?: supplied)?[:\s`'\"\\]{1,5}"
    r"(?:tools|functions)(?![\w.\[])|"
    # FastAPI's form of the same
    r"\"loc\": \[(?:\"body\", )?\"tools\"\][^{}]{0,200}\b(?:extra|not permitted)|"
    r"\b(?:extra|not permitted)[^{}]{0,200}\"loc\": \[(?:\"body\", )?\"tools\"\]",
    re.I,
)
_WITHOUT_FLAG = re.compile(
    r"tool[^.]{0,40} requires? -{1,2}(?:enable-auto-tool-choice|tool-call-parser|jinja)\b", re.I
)
"""A server that was started without tools: vLLM says so with 400, llama.cpp with 500."""
_NO = re.compile(
    r"not\W+(?:\w+\W+){0,3}?(?:support|allow|permit|enabled|available|implement|recogni|possible)|"
    r"n't\W+support|unsupported|unrecogni|unknown|unexpected|extra|cannot",
    re.I,
)
_BAD_VALUE = re.compile(
    r"\btoo (?:large|big|small|high|low|long|short|many|few)\b|\b(?:above|below|between|out of|"
    r"exceed\w*|at (?:most|least)|(?:greater|less|larger|smaller|higher|lower|more|fewer) than|"
    r"m(?:ax|in)imum|(?:must|should|cannot|can't) be|expected an?)\b|[<>]=",
    re.I,
)
"""The parameter is known and its value is wrong, which somebody has to see and change."""


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

    if not isinstance(error, openai.APIStatusError) or error.status_code not in {*_REFUSING, 500}:
        return None
    said = f"{error.message} {json.dumps(error.body, default=str)}"
    if error.status_code in (400, 422) and (name := _refused(error.param, said, request)):
        return REFUSES + name, "yes"
    if chosen == "auto" and "tools" in request and _refuses_tools(error.status_code, said):
        return DIALECT, WITHOUT_TOOLS
    return None


def _refused(param: object, said: str, request: Mapping[str, Any]) -> str | None:
    """The parameter that an error refuses as such, of those that can be left out."""
    if not _NO.search(said) or _BAD_VALUE.search(said):
        return None
    names = [name for name in request if name not in _ESSENTIAL]
    if any("reasoning" in key for message in request["messages"] for key in message):
        names += REASONING_FIELDS
    if param in names:
        return str(param)
    return next((n for n in names if re.search(rf"(?<![\w.]){n}(?!\w)", said)), None)


def _refuses_tools(status: int, said: str) -> bool:
    """Whether an error plainly says that there are no tools: what it teaches holds for days."""
    if _WITHOUT_FLAG.search(said):
        return True
    return status in _REFUSING and _NO_TOOLS.search(said) is not None
