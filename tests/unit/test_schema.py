"""A typed function with a docstring becomes a JSON Schema, or is refused with the reason."""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Annotated, Any, Literal, Optional

import pytest

from tools.errors import ToolDefinitionError
from tools.schema import Canonical, signature


class Unit(enum.Enum):
    METRE = "m"
    FOOT = "ft"


def everything(
    text: str,
    count: int,
    share: float,
    sure: bool,
    names: list[str],
    table: dict[str, int],
    way: Literal["up", "down"],
    unit: Unit,
    maybe: int | None,
    old_style: Optional[str] = None,  # noqa: UP045 - people write it
    anything: dict[str, Any] = {},  # noqa: B006 - only its schema is read
    deep: list[list[int]] = [],  # noqa: B006
    level: Literal[1, 2] = 1,
    shouted: Annotated[str, Canonical(str.upper)] = "x",
    fallback: Unit = Unit.FOOT,
) -> str:
    """Take one of each.

    And explain it in a second paragraph.

    Args:
        text: what to say,
            over two lines
        count: how often

    Returns:
        nothing that the model is told
    """
    return text


def test_each_type_has_its_json_schema() -> None:
    read = signature(everything)

    assert read.parameters == {
        "type": "object",
        "properties": {
            "text": {"type": "string", "description": "what to say, over two lines"},
            "count": {"type": "integer", "description": "how often"},
            "share": {"type": "number"},
            "sure": {"type": "boolean"},
            "names": {"type": "array", "items": {"type": "string"}},
            "table": {"type": "object", "additionalProperties": {"type": "integer"}},
            "way": {"type": "string", "enum": ["up", "down"]},
            "unit": {"type": "string", "enum": ["m", "ft"]},
            "maybe": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
            "old_style": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None},
            "anything": {"type": "object", "additionalProperties": True, "default": {}},
            "deep": {
                "type": "array",
                "items": {"type": "array", "items": {"type": "integer"}},
                "default": [],
            },
            "level": {"type": "integer", "enum": [1, 2], "default": 1},
            "shouted": {"type": "string", "default": "x"},
            "fallback": {"type": "string", "enum": ["m", "ft"], "default": "ft"},
        },
        "required": [
            *("text", "count", "share", "sure", "names"),
            *("table", "way", "unit", "maybe"),
        ],
        "additionalProperties": False,
    }


def test_the_description_is_the_docstring_without_its_sections() -> None:
    assert signature(everything).description == (
        "Take one of each.\n\nAnd explain it in a second paragraph."
    )


def test_enums_and_spellings_are_kept_for_the_call() -> None:
    read = signature(everything)

    assert read.enums == {"unit": Unit, "fallback": Unit}
    assert read.canonical == {"shouted": str.upper}


def no_docstring(text: str) -> str:
    return text


def no_type(text) -> str:  # type: ignore[no-untyped-def]
    """Say."""
    return str(text)


def unknown_type(text: Nowhere) -> str:  # type: ignore[name-defined]  # noqa: F821
    """Say."""
    return ""


def impossible_type(text: set[str]) -> str:
    """Say."""
    return ""


def two_types(text: str | int) -> str:
    """Say."""
    return ""


def numbered_table(table: dict[int, str]) -> str:
    """Say."""
    return ""


def mixed_choice(way: Literal["up", 1]) -> str:
    """Say."""
    return ""


def any_number(*texts: str) -> str:
    """Say."""
    return ""


def nameless(text: str, /) -> str:
    """Say."""
    return ""


def wrong_docstring(text: str) -> str:
    """Say.

    Args:
        words: is not called so
    """
    return text


def strange_default(text: str = object()) -> str:  # type: ignore[assignment]
    """Say."""
    return text


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (no_docstring, "no_docstring has no docstring"),
        (no_type, "no_type: parameter text has no type; write for example `text: str`"),
        (unknown_type, "unknown_type: a type cannot be read (name 'Nowhere' is not defined)"),
        (impossible_type, "impossible_type: parameter text has the type set[str]"),
        (two_types, "two_types: parameter text has the type str | int"),
        (numbered_table, "numbered_table: parameter table has the type dict[int, str]"),
        (mixed_choice, "mixed_choice: parameter way offers values of several kinds"),
        (any_number, "any_number: parameter texts takes any number of values"),
        (nameless, "nameless: parameter text has no usable name"),
        (wrong_docstring, "the docstring describes words, which is no parameter"),
        (strange_default, "strange_default: parameter text has the default <object"),
    ],
)
def test_a_function_that_no_model_could_call_is_refused(
    function: Callable[..., object], words: str
) -> None:
    with pytest.raises(ToolDefinitionError) as caught:
        signature(function)

    assert words in str(caught.value)
