"""The error tree: drawn as it is, for three audiences."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from bot import errors
from bot.errors import DeliveryRefused, Fenced, ModelUnavailable, StorageError, TreadleError
from tools.errors import ToolError


def drawn() -> dict[str, str]:
    """Each class of the map in the module's docstring, and the class it hangs on."""
    assert errors.__doc__ is not None
    parents: dict[int, str] = {}
    found = {}
    for line in errors.__doc__.splitlines():
        if match := re.match(r"^    (?P<branch>[│├└─ ]*)(?P<name>[A-Z]\w+) {2,}\S", line):
            depth = len(match["branch"])
            parents[depth] = match["name"]
            above = [d for d in parents if d < depth]
            found[match["name"]] = parents[max(above)] if above else "Exception"
    return found


def tree(kind: type[Exception]) -> Iterator[type[Exception]]:
    yield kind
    for child in kind.__subclasses__():
        yield from tree(child)


def test_the_map_in_the_docstring_is_the_tree() -> None:
    kinds = [value for value in vars(errors).values() if isinstance(value, type)]

    assert {kind.__name__: kind.__base__.__name__ for kind in kinds if kind.__base__} == drawn()
    assert len(kinds) > 10


@pytest.mark.parametrize("kind", sorted(tree(TreadleError), key=str))
def test_every_error_has_words_for_its_reader(kind: type[Exception]) -> None:
    assert kind.__doc__
    assert kind.__doc__.strip().endswith(".")


def test_an_error_for_the_model_is_none_for_people_and_the_other_way_round() -> None:
    assert not issubclass(ToolError, TreadleError)
    assert not issubclass(TreadleError, ToolError)


def test_errors_carry_what_their_reader_needs() -> None:
    assert ModelUnavailable("Wait.", 3.0).retry_after == 3.0
    assert ModelUnavailable("Wait.").retry_after is None
    assert DeliveryRefused("No.", "not_in_channel").code == "not_in_channel"
    assert issubclass(Fenced, StorageError)
    assert str(Fenced("Another runner has it.")) == "Another runner has it."
