"""Turn pydantic's findings into sentences for the person who wrote the settings."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias, get_args

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

from bot.config.values import Problem, suggestion

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

Location: TypeAlias = tuple[str | int, ...]

# Shown as "<place> <sentence>."; the words in braces are pydantic's own context.
_SENTENCES = {
    "missing": "is missing",
    "literal_error": "must be one of {expected}",
    "int_type": "must be a whole number",
    "float_type": "must be a number",
    "finite_number": "must be a number that is not infinite",
    "bool_type": "must be true or false",
    "string_type": "must be text in quotes",
    "tuple_type": "must be a list in brackets",
    "model_type": "must be a table",
    "mapping_type": "must be a table",
    "greater_than": "must be more than {gt}",
    "greater_than_equal": "must be at least {ge}",
    "less_than_equal": "must be at most {le}",
    "string_too_short": "must not be empty",
    "value_error": "{error}",
}


def problems_of(
    error: ValidationError,
    model: type[BaseModel],
    place: Callable[[Location], str],
    variables: frozenset[str] = frozenset(),
) -> Iterator[Problem]:
    """One problem for each finding. Pydantic's copy of a value is not shown: it may be a secret.

    `place` words a location; `variables` are names that belong into the environment instead.
    """
    for detail in error.errors(include_url=False, include_input=False):
        where = detail["loc"]
        field, section = _field(model, where)
        if detail["type"] == "extra_forbidden":
            yield Problem(place(where), _unknown(str(where[-1]), section, variables))
        else:
            yield Problem(place(where), _sentence(detail), example(field) if field else "")


def dotted(location: Location) -> str:
    """A place in treadle.toml: policy[2].tool; lists are counted from 1."""
    text = ""
    for part in location:
        if isinstance(part, int):
            text += f"[{part + 1}]"
        elif part != "[key]":
            text += f".{part}" if text else part
    return text


def example(field: tuple[str, FieldInfo]) -> str:
    """A right value of a field, as it is written in a file."""
    name, info = field
    value = info.examples[0] if info.examples else info.get_default(call_default_factory=True)
    if info.alias:
        return f"{info.alias}={value}"
    return "" if isinstance(value, BaseModel) else f"{name} = {toml(value)}"


def toml(value: object) -> str:
    """A value as TOML writes it on one line."""
    if isinstance(value, Mapping):
        pairs = (f"{json.dumps(key)} = {toml(item)}" for key, item in value.items())
        return "{ " + ", ".join(pairs) + " }"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return "[" + ", ".join(toml(item) for item in value) + "]"
    return json.dumps(value, ensure_ascii=False)


def section_of(info: FieldInfo) -> type[BaseModel] | None:
    """The model of the tables that a field holds, if it holds any."""
    return _model_in(info.annotation)


def _sentence(detail: ErrorDetails) -> str:
    form = _SENTENCES.get(detail["type"])
    if form is None:
        return f"is not right: {detail['msg'][:1].lower()}{detail['msg'][1:]}"
    return form.format_map(detail.get("ctx", {}))


def _unknown(key: str, section: type[BaseModel] | None, variables: frozenset[str]) -> str:
    if key.upper() in variables:
        return f"is not a setting of this file; set {key.upper()} in the environment or in .env"
    known = list(section.model_fields) if section else []
    return f"is not a setting{suggestion(key, known)}; known here: {', '.join(known)}"


def _field(
    model: type[BaseModel], location: Location
) -> tuple[tuple[str, FieldInfo] | None, type[BaseModel] | None]:
    """The last field that a location goes through, and the section that it ends in."""
    found: tuple[str, FieldInfo] | None = None
    section: type[BaseModel] | None = model
    for part in location:
        fields = section.model_fields if section else {}
        by_alias = {info.alias: name for name, info in fields.items() if info.alias}
        name = by_alias.get(str(part), str(part))
        if isinstance(part, str) and name in fields:
            found = (name, fields[name])
            section = _model_in(fields[name].annotation)
    return found, section


def _model_in(annotation: object) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    models = (_model_in(part) for part in get_args(annotation))
    return next((model for model in models if model), None)
