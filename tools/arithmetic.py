"""The operations of calculate, each on real numbers and bounded: no result takes long to make.

Whole numbers have at most BITS bits and floats must be finite; anything else raises BadArguments,
OverflowError, ZeroDivisionError, ValueError or TypeError.
"""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Mapping
from typing import TypeAlias

from tools.errors import BadArguments

Number: TypeAlias = int | float

BITS = 14_000
"""Of an integer; its text stays below the 4,300 digits that Python converts by default."""
NAMES: Mapping[str, float] = {"pi": math.pi, "e": math.e}


def wrong(reason: str) -> BadArguments:
    """The failure of a calculation, for the model."""
    return BadArguments(f"calculate: {reason}")


def _operators() -> dict[type[ast.AST], Callable[..., object]]:
    bounded: dict[type[ast.AST], Callable[..., object]] = {
        ast.Add: operator.add,
        ast.Sub: operator.sub,
        ast.Mult: _multiply,
        ast.Div: operator.truediv,
        ast.FloorDiv: operator.floordiv,
        ast.Mod: operator.mod,
        ast.Pow: _power,
        ast.USub: operator.neg,
        ast.UAdd: operator.pos,
    }
    compared: dict[type[ast.AST], Callable[..., object]] = {
        ast.Eq: operator.eq,
        ast.NotEq: operator.ne,
        ast.Lt: operator.lt,
        ast.LtE: operator.le,
        ast.Gt: operator.gt,
        ast.GtE: operator.ge,
        ast.Not: operator.not_,
    }
    return {kind: _on_numbers(function) for kind, function in bounded.items()} | compared


def _functions() -> dict[str, Callable[..., object]]:
    plain: dict[str, Callable[..., object]] = {
        "abs": abs,
        "round": _round,
        "sqrt": math.sqrt,
        "sin": math.sin,
        "cos": math.cos,
        "tan": math.tan,
        "log": math.log,
        "exp": math.exp,
        "floor": math.floor,
        "ceil": math.ceil,
    }
    listed: dict[str, Callable[..., object]] = {
        "min": _over_list(min),
        "max": _over_list(max),
        "sum": _over_list(sum),
    }
    return {name: _on_numbers(function) for name, function in plain.items()} | listed


def _on_numbers(function: Callable[..., object]) -> Callable[..., Number]:
    """`function`, taking only numbers and giving only a finite one of bounded length."""

    def bounded(*values: object) -> Number:
        for value in values:
            number(value)
        return number(function(*values))

    return bounded


def _over_list(function: Callable[[list[Number]], Number]) -> Callable[..., Number]:
    """`function`, taking its numbers one by one or as one list."""

    def bounded(*values: object) -> Number:
        first = values[0] if len(values) == 1 else None
        numbers = first if isinstance(first, list | tuple) else values
        return number(function([number(one) for one in numbers]))

    return bounded


def number(value: object) -> Number:
    """`value`, if it is a real, finite number of bounded length; raises as the module says."""
    if isinstance(value, int):
        if value.bit_length() > BITS:
            raise wrong("a whole number gets longer than 4,000 digits.")
        return value
    if isinstance(value, float):
        if math.isnan(value):
            raise wrong("a result is not a number.")
        if math.isinf(value):
            raise OverflowError
        return value
    if isinstance(value, complex):
        raise wrong("a result is not a real number (such as the root of a negative one).")
    raise wrong(
        "a list or a function stands where a number is needed; min, max and sum take lists."
    )


def _multiply(left: Number, right: Number) -> Number:
    if isinstance(left, int) and isinstance(right, int):
        _room_for(left.bit_length() + right.bit_length() - 1)
    return left * right


def _power(base: Number, exponent: Number) -> object:
    if isinstance(base, int) and isinstance(exponent, int) and exponent > 0 and abs(base) > 1:
        _room_for((abs(base).bit_length() - 1) * exponent)
    return base**exponent


def _room_for(bits: int) -> None:
    if bits > BITS:
        raise wrong("a whole number gets longer than 4,000 digits.")


def _round(value: Number, digits: Number = 0) -> Number:
    if not isinstance(digits, int) or abs(digits) > 400:
        raise wrong("round takes a whole number of digits between -400 and 400.")
    return round(value, digits) if digits else round(value)


OPERATORS: Mapping[type[ast.AST], Callable[..., object]] = _operators()
FUNCTIONS: Mapping[str, Callable[..., object]] = _functions()
