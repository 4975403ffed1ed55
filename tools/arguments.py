"""From the raw text of a call's arguments to checked values, by the tool's JSON Schema.

Forgiving where only one reading is possible (a number written as text, an object written as
text, nothing at all for no arguments); otherwise one BadArguments that names every argument that
does not fit, what came, and what is right.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any

from tools.errors import BadArguments
from tools.schema import Json

_WHOLE = re.compile(r"[+-]?[0-9]{1,18}")
_SHOWN = 60

_KINDS: Mapping[str, str] = {
    "string": "a text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "array": "a list",
    "object": "an object",
    "null": "null",
}


class _Unfit(Exception):
    """A value does not fit its place; the text says what would."""


def check_arguments(tool: str, schema: Mapping[str, Json], raw: str) -> dict[str, Json]:
    """Every parameter of `schema` with its value, defaults filled in. Raises BadArguments."""
    properties: Mapping[str, Any] = schema["properties"]  # type: ignore[assignment]
    required: list[str] = schema["required"]  # type: ignore[assignment]
    given = _only_argument(_read(tool, raw, properties), properties)
    problems = [f"There is no argument {name}." for name in sorted(given) if name not in properties]
    checked: dict[str, Json] = {}
    for name, shape in properties.items():
        if name in given and not (given[name] is None and "default" in shape):
            try:
                checked[name] = _fit(given[name], shape)
            except _Unfit as error:
                problems.append(f"{name} must be {error}, got {_brief(given[name])}.")
        elif name in required:
            problems.append(f"{name} is missing.")
        else:
            checked[name] = shape["default"]
    if problems:
        raise BadArguments(f"{tool}: {' '.join(problems)} Right: {example(schema)}")
    return checked


def example(schema: Mapping[str, Json]) -> str:
    """A call's arguments as they should look, such as `{"path": "<text>", "start_line": 1}`."""
    properties: Mapping[str, Any] = schema["properties"]  # type: ignore[assignment]
    values = {
        name: shape["default"] if "default" in shape else _sample(shape)
        for name, shape in properties.items()
    }
    return json.dumps(values, ensure_ascii=False)


def _sample(shape: Mapping[str, Any]) -> Json:
    if "enum" in shape:
        first: Json = shape["enum"][0]
        return first
    samples: dict[str, Json] = {"integer": 1, "number": 1.5, "boolean": True, "array": []}
    return {} if shape.get("type") == "object" else samples.get(shape.get("type", ""), "text")


def _read(tool: str, raw: str, properties: Mapping[str, Any]) -> dict[str, Json]:
    text = raw.strip()
    if text in ("", "null"):
        return {}
    value = _decode(tool, text, properties)
    if isinstance(value, str):  # the object, encoded once too often
        value = _decode(tool, value, properties) if value.strip() else {}
    if not isinstance(value, dict):
        raise BadArguments(
            f"{tool}: the arguments must be one JSON object, got {_brief(value)}. "
            f"Right: {_form(properties)}"
        )
    return value


def _decode(tool: str, text: str, properties: Mapping[str, Any]) -> Json:
    try:
        value: Json = json.loads(
            text, parse_constant=_no_constant, parse_float=_finite, strict=False
        )
    except (ValueError, RecursionError) as error:
        raise BadArguments(
            f"{tool}: the arguments are not valid JSON ({error}). Right: {_form(properties)}"
        ) from error
    return value


def _form(properties: Mapping[str, Any]) -> str:
    return example({"properties": dict(properties)})


def _no_constant(name: str) -> Json:
    raise ValueError(f"{name} is not JSON")


def _finite(text: str) -> float:
    number = float(text)
    if math.isinf(number):
        raise ValueError(f"{text} is too large a number")
    return number


def _only_argument(given: dict[str, Json], properties: Mapping[str, Any]) -> dict[str, Json]:
    """Where one parameter meets one argument, its name does not matter."""
    if len(given) == 1 and len(properties) == 1:
        return dict(zip(properties, given.values(), strict=True))
    return given


def _fit(value: Json, shape: Mapping[str, Any]) -> Json:
    if "anyOf" in shape:
        if value is None:
            return None
        return _fit(value, shape["anyOf"][0])
    kind = shape["type"]
    fitted = _convert(value, kind)
    if fitted is None:
        raise _Unfit(_right(shape))
    if "enum" in shape:
        return _member(fitted, shape)
    if isinstance(fitted, list) and "items" in shape:
        return [_fit_inner(item, shape["items"], shape) for item in fitted]
    if isinstance(fitted, dict) and isinstance(shape.get("additionalProperties"), dict):
        values = shape["additionalProperties"]
        return {key: _fit_inner(item, values, shape) for key, item in fitted.items()}
    return fitted


def _fit_inner(value: Json, shape: Mapping[str, Any], outer: Mapping[str, Any]) -> Json:
    try:
        return _fit(value, shape)
    except _Unfit as error:
        raise _Unfit(f"{_KINDS[outer['type']]} in which every value is {error}") from error


def _right(shape: Mapping[str, Any]) -> str:
    if "enum" in shape:
        return "one of " + ", ".join(json.dumps(one, ensure_ascii=False) for one in shape["enum"])
    return _KINDS[shape["type"]]


def _member(value: Json, shape: Mapping[str, Any]) -> Json:
    if value in shape["enum"]:
        return value
    alike = [one for one in shape["enum"] if str(one).casefold() == str(value).casefold()]
    if len(alike) != 1:
        raise _Unfit(_right(shape))
    found: Json = alike[0]
    return found


def _convert(value: Json, kind: str) -> Json:
    """`value` as a `kind` of JSON Schema; None where it is none."""
    match kind:
        case "string":
            return _text(value)
        case "integer":
            return _whole(value)
        case "number":
            return _number(value)
        case "boolean":
            return _truth(value)
        case "array":
            return _container(value, list)
        case _:
            return _container(value, dict)


def _text(value: Json) -> str | None:
    if isinstance(value, str):
        try:
            value.encode("utf-8")
        except UnicodeEncodeError as error:
            raise _Unfit("a text of whole characters") from error
        return value
    if isinstance(value, int | float) and not isinstance(value, bool):
        return json.dumps(value)
    return None


def _whole(value: Json) -> int | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return int(value)
    if isinstance(value, str) and _WHOLE.fullmatch(value.strip()):
        return int(value)
    return value if isinstance(value, int) else None


def _number(value: Json) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def _truth(value: Json) -> bool | None:
    if isinstance(value, str):
        return {"true": True, "false": False}.get(value.strip().lower())
    return value if isinstance(value, bool) else None


def _container(value: Json, kind: type[list[Json]] | type[dict[str, Json]]) -> Json:
    if isinstance(value, str):
        try:
            value = json.loads(value, parse_constant=_no_constant, parse_float=_finite)
        except (ValueError, RecursionError):
            return None
    if not isinstance(value, kind):
        return None
    try:
        json.dumps(value, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError as error:
        raise _Unfit(
            f"{_KINDS['array' if kind is list else 'object']} of whole characters"
        ) from error
    return value


def _brief(value: Json) -> str:
    text = json.dumps(value, ensure_ascii=True)
    return text if len(text) <= _SHOWN else text[: _SHOWN - 1] + "…"
