"""The bare-json dialect: a reply that is `{"tool_name": …, "tool_args": {…}}` is a call."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from bot.agent.dialects.base import CUT_OFF, EMPTY, Message, Parsed, StreamReader
from bot.agent.dialects.literals import Unreadable, dumps, read_json
from bot.agent.dialects.plain_reader import PlainReader
from bot.agent.dialects.requests import arguments_of, enveloped, find_spec
from bot.agent.dialects.tool_docs import described, example_arguments, host_note
from bot.agent.dialects.written import written
from bot.agent.entries import Entry, ModelReply, ToolCall
from bot.agent.ports import Json, ToolSpec
from bot.agent.prompt import Facts, system_prompt

_RULES = """\
To use a tool, reply with one JSON object and nothing else, not a word before or after it:

{"tool_name": "name of the tool", "tool_args": {"parameter": "value"}}

Its result is then sent to you; consider it and decide what to do next. Call one tool at a time.
When you are done, reply in plain words: every reply that is not such an object is your answer."""

REQUEST = "Consider this result and decide on the next action: another tool, or your answer."

_NOT_WHOLE = "a call must be the whole reply, one object with no word before or after it"
_OPEN = re.compile(r"\s*(?:(?P<bar>`{3,}|~{3,})[^\n`{]*\n?\s*)?(?=\{)")
_INNER = re.compile(
    r"^[ ]{0,3}(?:`{3,}[^\n`{]*\n?\s{0,8})?(?=\{\s{0,8}[\"'\u201c]tool_(?:name|args))", re.M
)
_CLOSE = re.compile(r"\s*(?:`{3,}|~{3,})?")


class BareJson:
    """`bot.agent.dialects.base.Dialect` in bare JSON objects."""

    name = "bare-json"
    stop: tuple[str, ...] = ()
    sends_tools = False

    def system(self, facts: Facts, specs: Sequence[ToolSpec]) -> str:
        tools = "\n".join(_documented(spec) for spec in specs) or "There are none in this place."
        parts = [system_prompt(facts), host_note(facts), _RULES, f"Tools:\n{tools}"]
        return "\n\n".join(part for part in parts if part)

    def messages(self, system: str, entries: Sequence[Entry]) -> list[Message]:
        return written(self, system, entries, render, ended, "{}", request=REQUEST)

    def parse(self, text: str, specs: Sequence[ToolSpec], *, cut_off: bool) -> Parsed:
        if not text.strip():
            return Parsed(problem=EMPTY, kept=text)
        try:
            if cut_off and _OPEN.match(text):
                return Parsed(problem=CUT_OFF, kept=text)
            call = read_object(text, specs)
            if call is not None:
                return Parsed(calls=(call,), kept=text.strip())
            _refuse_embedded(text, specs)
        except Unreadable as error:
            return Parsed(problem=CUT_OFF if cut_off else f"{error}.", kept=text)
        return Parsed(answer=text.strip(), kept=text)

    def correction(self, problem: str) -> str:
        return (
            f"Your last reply could not be read: {problem} To call a tool, reply with nothing but\n"
            '{"tool_name": "name of the tool", "tool_args": {"parameter": "value"}}\n'
            "To answer, reply in plain words."
        )

    def reader(self) -> StreamReader:
        return PlainReader()


def read_object(text: str, specs: Sequence[ToolSpec]) -> ToolCall | None:
    """The call that a whole reply is, bare or in one fence; None: it is an answer.

    Raises Unreadable if it begins like a call and is none.
    """
    opened = _OPEN.match(text)
    if opened is None:
        return None
    try:
        value, end = read_json(text, opened.end())
    except Unreadable:
        if _INNER.match(text, opened.end()):
            raise
        return None
    if not _is_call(value):
        return None
    call = enveloped(value, specs)
    if call is None:
        raise Unreadable("tool_name must be the name of a tool")
    close = _CLOSE.match(text, end)
    if text[close.end() if close else end :].strip():
        if find_spec(specs, call.name) is None:
            return None
        raise Unreadable(_NOT_WHOLE)
    return call


def _is_call(value: Json) -> bool:
    return isinstance(value, Mapping) and "tool_name" in value


def _refuse_embedded(text: str, specs: Sequence[ToolSpec]) -> None:
    """A call of a real tool with words around it was probably meant to be run."""
    found = _INNER.search(text)
    if found is None:
        return
    value, _ = read_json(text, found.end())
    name = value.get("tool_name") if isinstance(value, Mapping) else None
    if isinstance(name, str) and find_spec(specs, name) is not None:
        raise Unreadable(_NOT_WHOLE)


def render(call: ToolCall, thought: str = "") -> str:
    """A call as this dialect writes it; it has no place for a thought."""
    arguments = arguments_of(call)
    given = call.arguments if arguments is None else arguments
    value: Json = {"tool_name": call.name, "tool_args": given}
    return dumps(value)


def ended(reply: ModelReply) -> str:
    """A reply without calls as this dialect writes it."""
    return reply.answer if reply.answer is not None else reply.raw or reply.thought


def _documented(spec: ToolSpec) -> str:
    example: Json = {"tool_name": spec.name, "tool_args": example_arguments(spec)}
    return f"{described(spec)}\n    Example: {dumps(example)}"
