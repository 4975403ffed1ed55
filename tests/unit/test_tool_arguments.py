"""Arguments: forgiving where one reading is possible, otherwise a sentence that can be acted on."""

from __future__ import annotations

import json
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools.arguments import check_arguments
from tools.errors import BadArguments
from tools.schema import Json, signature


def book(
    name: str,
    seats: int = 2,
    price: float = 9.5,
    window: bool = False,
    rows: list[int] = [],  # noqa: B006 - only its schema is read
    labels: dict[str, str] = {},  # noqa: B006
    meal: Literal["fish", "none"] = "none",
    note: str | None = None,
) -> None:
    """Book seats."""


def single(query: str) -> None:
    """Look up."""


def nothing() -> None:
    """Take no arguments."""


BOOK = signature(book).parameters
SINGLE = signature(single).parameters
NOTHING = signature(nothing).parameters
DEFAULTS: dict[str, Json] = {
    "seats": 2,
    "price": 9.5,
    "window": False,
    "rows": [],
    "labels": {},
    "meal": "none",
    "note": None,
}


@pytest.mark.parametrize(
    ("raw", "given"),
    [
        ('{"name": "a"}', {}),
        (' \n{"name": "a"} ', {}),
        ('"{\\"name\\": \\"a\\"}"', {}),
        ('{"name": "a", "seats": "5"}', {"seats": 5}),
        ('{"name": "a", "seats": " -5 "}', {"seats": -5}),
        ('{"name": "a", "seats": 1.0}', {"seats": 1}),
        ('{"name": "a", "seats": null}', {}),
        ('{"name": "a", "price": 3}', {"price": 3.0}),
        ('{"name": "a", "price": "3.25"}', {"price": 3.25}),
        ('{"name": "a", "window": "True"}', {"window": True}),
        ('{"name": "a", "window": "false"}', {"window": False}),
        ('{"name": "a", "rows": "[1, 2]"}', {"rows": [1, 2]}),
        ('{"name": "a", "rows": ["1", 2.0]}', {"rows": [1, 2]}),
        ('{"name": "a", "labels": "{\\"x\\": \\"y\\"}"}', {"labels": {"x": "y"}}),
        ('{"name": "a", "labels": {"x": 1}}', {"labels": {"x": "1"}}),
        ('{"name": "a", "meal": "FISH"}', {"meal": "fish"}),
        ('{"name": "a", "note": null}', {"note": None}),
        ('{"name": "a", "note": "n"}', {"note": "n"}),
        ('{"name": "line\nbreak"}', {"name": "line\nbreak"}),
        ('{"name": 57}', {"name": "57"}),
        ('{"name": 0.5}', {"name": "0.5"}),
        ('{"name": "5"}', {"name": "5"}),
        ('{"name": "null"}', {"name": "null"}),
        ('{"name": ""}', {"name": ""}),
    ],
)
def test_a_value_with_one_possible_reading_is_taken(raw: str, given: dict[str, Json]) -> None:
    assert check_arguments("book", BOOK, raw) == {"name": "a", **DEFAULTS, **given}


def test_a_whole_number_stays_whole_and_a_fraction_stays_a_fraction() -> None:
    checked = check_arguments("book", BOOK, '{"name": "a", "seats": 4.0, "price": 4}')

    assert (type(checked["seats"]), type(checked["price"])) == (int, float)


@pytest.mark.parametrize("raw", ["", "  ", "null", '""', "{}"])
def test_nothing_at_all_means_no_arguments(raw: str) -> None:
    assert check_arguments("nothing", NOTHING, raw) == {}


def test_the_only_argument_of_a_tool_with_one_parameter_may_have_any_name() -> None:
    assert check_arguments("single", SINGLE, '{"q": "Narendra Modi"}') == {"query": "Narendra Modi"}


@pytest.mark.parametrize(
    ("raw", "words"),
    [
        ("{}", "book: name is missing."),
        ('{"name": null}', "name must be a text, got null."),
        ('{"name": true}', "name must be a text, got true."),
        ('{"name": {"x": 1}}', 'name must be a text, got {"x": 1}.'),
        ('{"name": "\\ud800"}', "name must be a text of whole characters"),
        ('{"name": "a", "seats": "many"}', 'seats must be a whole number, got "many".'),
        ('{"name": "a", "seats": true}', "seats must be a whole number, got true."),
        ('{"name": "a", "seats": 1.5}', "seats must be a whole number, got 1.5."),
        ('{"name": "a", "seats": "1e3"}', "seats must be a whole number"),
        ('{"name": "a", "seats": []}', "seats must be a whole number, got []."),
        ('{"name": "a", "price": "inf"}', 'price must be a number, got "inf".'),
        ('{"name": "a", "price": "x"}', "price must be a number"),
        ('{"name": "a", "price": 1e999}', "1e999 is too large a number"),
        ('{"name": "a", "window": 1}', "window must be true or false, got 1."),
        ('{"name": "a", "window": "yes"}', "window must be true or false"),
        ('{"name": "a", "rows": 3}', "rows must be a list, got 3."),
        ('{"name": "a", "rows": ["x"]}', "rows must be a list in which every value is a whole"),
        ('{"name": "a", "rows": "[1"}', "rows must be a list"),
        ('{"name": "a", "labels": []}', "labels must be an object"),
        ('{"name": "a", "labels": {"x": []}}', "labels must be an object in which every value"),
        ('{"name": "a", "labels": {"\\udc00": "x"}}', "labels must be an object of whole char"),
        ('{"name": "a", "meal": "beef"}', 'meal must be one of "fish", "none", got "beef".'),
        ('{"name": "a", "note": []}', "note must be a text, got []."),
        ('{"nam": "a"}', "There is no argument nam. name is missing."),
        ('{"name": "a", "x": 1, "y": 2}', "There is no argument x. There is no argument y."),
        ('{"seats": "x", "price": "y"}', "name is missing. seats must be a whole number"),
        ('["a"]', 'must be one JSON object, got ["a"].'),
        ("5", "must be one JSON object, got 5."),
        ('{"name": "a"', "not valid JSON"),
        ("{'name': 'a'}", "not valid JSON"),
        ('{"name": NaN}', "NaN is not JSON"),
        ('{"seats": ' + "9" * 5000 + "}", "not valid JSON"),
        ("[" * 100_000, "not valid JSON"),
        ('"plain text"', "not valid JSON"),
    ],
)
def test_anything_else_names_the_argument_what_came_and_what_is_right(raw: str, words: str) -> None:
    with pytest.raises(BadArguments) as caught:
        check_arguments("book", BOOK, raw)

    assert words in str(caught.value)
    assert str(caught.value).startswith("book: ")
    assert 'Right: {"name": "text", "seats": 2, "price": 9.5,' in str(caught.value)


def test_a_long_value_is_shortened_in_the_refusal() -> None:
    with pytest.raises(BadArguments) as caught:
        check_arguments("book", BOOK, json.dumps({"name": "a", "seats": "x" * 10_000}))

    assert len(str(caught.value)) < 400


@given(st.text())
def test_any_text_is_read_or_refused(raw: str) -> None:
    try:
        checked = check_arguments("book", BOOK, raw)
    except BadArguments:
        return
    assert set(checked) == {"name", *DEFAULTS}


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)


@given(st.dictionaries(st.sampled_from(["name", *DEFAULTS]), VALUES))
def test_what_is_accepted_is_accepted_again_unchanged(given_: dict[str, object]) -> None:
    """One reading only: the policy, the approval and the tool cannot differ about a call."""
    try:
        checked = check_arguments("book", BOOK, json.dumps(given_))
    except BadArguments:
        return
    assert check_arguments("book", BOOK, json.dumps(checked)) == checked
