"""From what a model wrote to a tool call: names, envelopes, arguments as JSON text."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from bot.agent.dialects.literals import Unreadable, dumps, read_json
from bot.agent.entries import ToolCall
from bot.agent.ports import Json, ToolSpec

NAME = re.compile(r"[A-Za-z_][\w.-]*")
_NAMES = ("function_name", "tool_name", "name", "tool", "function", "action")
_ARGUMENTS = (
    "function_parms",
    "function_params",
    "function_parameters",
    "tool_args",
    "tool_arguments",
    "arguments",
    "parameters",
    "args",
    "action_input",
    "input",
)
_BESIDES = ("id", "type", "index", "thought", "reasoning")
"""What a call may hold besides its name and arguments."""


def find_spec(specs: Sequence[ToolSpec], name: str) -> ToolSpec | None:
    """The tool that a name or one of its other names stands for."""
    return next((spec for spec in specs if name == spec.name or name in spec.aliases), None)


def parameters(spec: ToolSpec) -> list[str]:
    """A tool's parameters in order."""
    properties = spec.parameters.get("properties")
    return list(properties) if isinstance(properties, Mapping) else []


def only_parameter(spec: ToolSpec | None) -> str | None:
    """The one parameter that a bare text can mean: the only one, or the only required one.

    A tool that nobody knows has one too, so that its call can be answered.
    """
    if spec is None:
        return "input"
    names = parameters(spec)
    if len(names) == 1:
        return names[0]
    required = spec.parameters.get("required")
    if isinstance(required, Sequence) and len(required) == 1:
        return str(required[0])
    return None


def call(name: str, arguments: Mapping[str, Json]) -> ToolCall:
    """A call without an id."""
    return ToolCall("", name, dumps(dict(arguments)))


def arguments_of(call: ToolCall) -> dict[str, Json] | None:
    """A call's arguments; None if they are no JSON object."""
    try:
        value, end = read_json(call.arguments, 0)
    except Unreadable:
        return {} if not call.arguments.strip() else None
    return dict(value) if isinstance(value, Mapping) and not call.arguments[end:].strip() else None


def enveloped(value: Json, specs: Sequence[ToolSpec]) -> ToolCall | None:
    """The call in an object such as `{"tool_name": …, "tool_args": {…}}`; None if there is none.

    Raises Unreadable for an object that names a tool and has arguments of a wrong kind.
    """
    if not isinstance(value, Mapping):
        return None
    name = next((value[key] for key in _NAMES if key in value), None)
    if isinstance(name, Mapping) and set(value) <= {"type", "id", "function"}:
        return enveloped(name, specs)  # the API's own form, printed as text
    if not isinstance(name, str) or not name.strip():
        return None
    key = next((key for key in _ARGUMENTS if key in value), None)
    given = value[key] if key is not None else {}
    return call(name.strip(), _object(given, find_spec(specs, name.strip())))


def is_only_call(value: Json) -> bool:
    """Whether an object is a call and nothing else: a name, an object of arguments, no other data.

    An object that merely describes a tool has a name too.
    """
    if not isinstance(value, Mapping):
        return False
    inner = value.get("function")
    if isinstance(inner, Mapping):
        return set(value) <= {"type", "id", "index", "function"} and is_only_call(inner)
    names = [key for key in _NAMES if key in value]
    keys = [key for key in _ARGUMENTS if key in value]
    if len(names) != 1 or len(keys) != 1 or not set(value) <= {*names, *keys, *_BESIDES}:
        return False
    given = value[keys[0]]
    return isinstance(_decoded(given) if isinstance(given, str) else given, Mapping)


def _object(given: Json, spec: ToolSpec | None) -> Mapping[str, Json]:
    if given is None or given == "":
        return {}
    if isinstance(given, str):
        decoded = _decoded(given)
        if isinstance(decoded, Mapping):
            return decoded
    if isinstance(given, Mapping):
        return given
    if (name := only_parameter(spec)) is not None:
        return {name: given}
    raise Unreadable("the arguments must be one JSON object")


def _decoded(text: str) -> Json:
    if not text.lstrip().startswith("{"):
        return None
    try:
        value, end = read_json(text, 0)
    except Unreadable:
        return None
    return None if text[end:].strip() else value
