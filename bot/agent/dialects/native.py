"""The native dialect: function calling as chat completions have it.

Source of the format: the OpenAI chat completions API reference. Reasoning that came apart goes
back with the calls it led to, in the field it came in (DeepSeek, Kimi and MiniMax want it so) and
not with answers, where some endpoints refuse it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence

from bot.agent.dialects.base import EMPTY, Message, Parsed, StreamReader
from bot.agent.dialects.conversation import Asked, Replied, Told, events
from bot.agent.dialects.literals import dumps
from bot.agent.dialects.plain_reader import PlainReader
from bot.agent.entries import Entry, ModelReply
from bot.agent.ports import Json, ToolSpec
from bot.agent.prompt import Facts, system_prompt

THINK = "think"
"""The `reasoning_field` of a thought that came as `<think>…</think>` in the text itself."""


class Native:
    """`bot.agent.dialects.base.Dialect` over the API's own tool calls."""

    name = "native"
    stop: tuple[str, ...] = ()
    sends_tools = True

    def system(self, facts: Facts, specs: Sequence[ToolSpec]) -> str:
        return system_prompt(facts)

    def messages(self, system: str, entries: Sequence[Entry]) -> list[Message]:
        result: list[Message] = [{"role": "system", "content": system}]
        for event in events(entries):
            match event:
                case Asked(text=text) | Told(text=text):
                    result.append({"role": "user", "content": text})
                case Replied():
                    result.append(_assistant(event.reply))
                    result += [
                        {"role": "tool", "tool_call_id": call.id, "content": text}
                        for call, text in event.observed
                    ]
                    if event.reply.problem:
                        correction = self.correction(event.reply.problem)
                        result.append({"role": "user", "content": correction})
        return result

    def parse(self, text: str, specs: Sequence[ToolSpec], *, cut_off: bool) -> Parsed:
        """The text of a reply without calls: it is the answer."""
        answer = text.strip()
        return Parsed(answer=answer) if answer else Parsed(problem=EMPTY)

    def correction(self, problem: str) -> str:
        return f"Your last reply could not be used: {problem}"

    def reader(self) -> StreamReader:
        return PlainReader()


def tools(specs: Sequence[ToolSpec]) -> list[Message]:
    """The tools as chat completions want them; empty if there are none."""
    return [
        {
            "type": "function",
            "function": {
                "name": spec.name,
                "description": spec.description,
                "parameters": dict(spec.parameters),
            },
        }
        for spec in specs
    ]


def _assistant(reply: ModelReply) -> Mapping[str, Json]:
    text = reply.thought if reply.answer is None else reply.answer
    if not text and not reply.calls:
        text = reply.raw
    message: dict[str, Json] = {"role": "assistant", "content": text or None}
    if not reply.calls:
        return message
    if reply.reasoning_field == THINK:
        message["content"] = f"<think>{reply.reasoning}</think>\n{text}"
    elif reply.reasoning_field:
        message[reply.reasoning_field] = reply.reasoning
    message["tool_calls"] = [
        {
            "id": call.id,
            "type": "function",
            "function": {"name": _name(call.name), "arguments": _sendable(call.arguments)},
        }
        for call in reply.calls
    ]
    return message


def _name(name: str) -> str:
    """A name that servers take: they refuse a history that holds any other.

    Source: the OpenAI API reference, function names (letters, digits, _ and -, at most 64).
    """
    return re.sub(r"[^a-zA-Z0-9_-]", "_", name)[:64] or "unnamed"


def _sendable(arguments: str) -> str:
    """Arguments that servers can read again: some fail on a history that holds broken JSON."""
    try:
        whole = isinstance(json.loads(arguments), dict)
    except (ValueError, RecursionError):
        whole = False
    return arguments if whole else dumps({"unreadable": arguments})
