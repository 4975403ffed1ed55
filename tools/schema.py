"""From a typed function with a docstring to the JSON Schema that the model is shown.

Understood: str int float bool, list[...], dict[str, ...], Literal, Enum, Optional, and
`Annotated[str, Canonical(f)]` for texts with one true spelling. Descriptions come from a
Google-style docstring; a parameter without a default is required.
"""

from __future__ import annotations

import dataclasses
import enum
import inspect
import types
import typing
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal, TypeAlias, Union

from tools.errors import ToolDefinitionError

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"

_SIMPLE: dict[object, str] = {str: "string", int: "integer", float: "number", bool: "boolean"}


@dataclasses.dataclass(frozen=True, slots=True)
class Canonical:
    """In `Annotated[str, Canonical(f)]`: `f` gives the one spelling of a text or raises ToolError.

    Policy, approval and tool all see that spelling, so a rule cannot be passed by another one.
    """

    spell: Callable[[str], str]


@dataclasses.dataclass(frozen=True, slots=True)
class Signature:
    """What a tool's function says about itself."""

    description: str
    parameters: Mapping[str, Json]
    """A JSON Schema object."""
    canonical: Mapping[str, Callable[[str], str]]
    enums: Mapping[str, type[enum.Enum]]
    """Parameters whose function wants a member of this Enum; the model sends the value."""


@dataclasses.dataclass(frozen=True, slots=True)
class _Parameter:
    name: str
    shape: dict[str, Json]
    required: bool
    spell: Callable[[str], str] | None
    members: type[enum.Enum] | None


def signature(function: Callable[..., object], skip: int = 0) -> Signature:
    """Read a function; the first `skip` parameters are not the model's to give.

    Raises ToolDefinitionError for a missing docstring or type, or one that JSON cannot carry.
    """
    name = getattr(function, "__name__", repr(function))
    description, texts = _docstring(name, function)
    hints = _hints(name, function)
    taken = list(inspect.signature(function).parameters.values())[skip:]
    if unknown := sorted(set(texts) - {parameter.name for parameter in taken}):
        raise ToolDefinitionError(
            f"{name}: the docstring describes {', '.join(unknown)}, which is no parameter."
        )
    read = [_parameter(name, parameter, hints, texts) for parameter in taken]
    properties: Json = {parameter.name: parameter.shape for parameter in read}
    required: Json = [parameter.name for parameter in read if parameter.required]
    return Signature(
        description,
        {
            "type": "object",
            "properties": properties,
            "required": required,
            "additionalProperties": False,
        },
        {parameter.name: parameter.spell for parameter in read if parameter.spell},
        {parameter.name: parameter.members for parameter in read if parameter.members},
    )


def _docstring(name: str, function: Callable[..., object]) -> tuple[str, dict[str, str]]:
    # Imported where used: only building a tool needs it.
    from docstring_parser import DocstringStyle, parse

    parsed = parse(inspect.getdoc(function) or "", style=DocstringStyle.GOOGLE)
    description = "\n\n".join(filter(None, (parsed.short_description, parsed.long_description)))
    if not description:
        raise ToolDefinitionError(f"{name} has no docstring; the model reads it, so write one.")
    texts = {
        parameter.arg_name: " ".join((parameter.description or "").split())
        for parameter in parsed.params
    }
    return description, texts


def _hints(name: str, function: Callable[..., object]) -> dict[str, Any]:
    try:
        return typing.get_type_hints(function, include_extras=True)
    except (NameError, TypeError, SyntaxError) as error:
        raise ToolDefinitionError(
            f"{name}: a type cannot be read ({error}); name it at the top of its module."
        ) from error


def _parameter(
    owner: str, parameter: inspect.Parameter, hints: Mapping[str, Any], texts: Mapping[str, str]
) -> _Parameter:
    name, place = parameter.name, f"{owner}: parameter {parameter.name}"
    if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
        raise ToolDefinitionError(f"{place} takes any number of values; name each one instead.")
    if parameter.kind is parameter.POSITIONAL_ONLY:
        raise ToolDefinitionError(f"{place} has no usable name; remove the slash after it.")
    if name not in hints:
        raise ToolDefinitionError(f"{place} has no type; write for example `{name}: str`.")
    hint, spell = _unwrap(hints[name])
    shape = _shape(hint, place)
    if texts.get(name):
        shape["description"] = texts[name]
    required = parameter.default is parameter.empty
    if not required:
        shape["default"] = _default(parameter.default, place)
    members = hint if isinstance(hint, type) and issubclass(hint, enum.Enum) else None
    return _Parameter(name, shape, required, spell, members)


def _unwrap(hint: Any) -> tuple[Any, Callable[[str], str] | None]:
    if typing.get_origin(hint) is not Annotated:
        return hint, None
    inner, *notes = typing.get_args(hint)
    spells = [note.spell for note in notes if isinstance(note, Canonical)]
    return inner, spells[0] if spells and inner is str else None


def _shape(hint: Any, place: str) -> dict[str, Json]:
    hint, _ = _unwrap(hint)
    if hint in _SIMPLE:
        return {"type": _SIMPLE[hint]}
    origin, inner = typing.get_origin(hint), typing.get_args(hint)
    if origin is Literal:
        return _choice(list(inner), place)
    if isinstance(hint, type) and issubclass(hint, enum.Enum):
        return _choice([member.value for member in hint], place)
    if hint is list or origin is list:
        return {"type": "array", "items": _shape(inner[0], place)} if inner else {"type": "array"}
    if hint is dict or (origin is dict and inner[0] is str):
        values: Json = _shape(inner[1], place) if inner and inner[1] is not Any else True
        return {"type": "object", "additionalProperties": values}
    if origin in (Union, types.UnionType) and len(inner) == 2 and type(None) in inner:
        (present,) = (one for one in inner if one is not type(None))
        return {"anyOf": [_shape(present, place), {"type": "null"}]}
    raise ToolDefinitionError(
        f"{place} has the type {hint!r}, which a model cannot give; "
        "use str, int, float, bool, list, dict, Literal, an Enum, or one of them | None."
    )


def _choice(values: list[Any], place: str) -> dict[str, Json]:
    kinds = {type(value) for value in values}
    if kinds not in ({str}, {int}):
        raise ToolDefinitionError(f"{place} offers values of several kinds; use only str or int.")
    return {"type": _SIMPLE[kinds.pop()], "enum": values}


def _default(value: object, place: str) -> Json:
    if isinstance(value, enum.Enum):
        value = value.value
    if value is None or isinstance(value, str | int | float | bool | list | dict):
        return typing.cast("Json", value)
    raise ToolDefinitionError(f"{place} has the default {value!r}, which JSON cannot carry.")
