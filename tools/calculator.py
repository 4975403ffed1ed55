"""calculate: arithmetic on a closed list of operations, in bounded time and space.

simpleeval evaluates; before it, the text and its syntax tree are held against an allow-list, and
every operation is bounded (`tools.arithmetic`), so that no input takes long.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable

from simpleeval import EvalWithCompoundTypes, InvalidExpression  # type: ignore[import-untyped]

from tools.arithmetic import FUNCTIONS, NAMES, OPERATORS, number, wrong
from tools.base import BadArguments, tool

LENGTH = 4_000
"""Characters of an expression."""
DEPTH = 200
"""Nodes from the top of the syntax tree to its deepest leaf; simpleeval recurses."""
BRACKETS = 50
_SIGNIFICANT = 15
"""Decimal digits that a float always keeps (`sys.float_info.dig`)."""
_EXACT = 2**53
"""Up to here a float holds every whole number."""

_TYPOGRAPHY = str.maketrans({"×": "*", "·": "*", "÷": "/", "−": "-", "（": "(", "）": ")"})
_FORM = 'Give one arithmetic expression, such as "(2023 - 1950) * 2".'


@tool()
def calculate(expression: str) -> str:
    """Work out an arithmetic expression.

    Knows + - * / // % **, comparisons, brackets, lists, and the names min max abs round sum sqrt
    sin cos tan log exp floor ceil pi e (angles in radians, log is natural or log(x, base)).

    Args:
        expression: for example (37 + 20) * 2 or round(sqrt(2), 3)
    """
    try:
        return _text(_evaluate(_parse(expression)))
    except InvalidExpression as error:
        raise _unreadable(str(error)) from error
    except ZeroDivisionError as error:
        raise wrong("it divides by zero.") from error
    except OverflowError as error:
        raise wrong("a result is too large (floating point ends at 1.8e308).") from error
    except (ValueError, TypeError) as error:
        raise wrong(f"an operation does not fit its numbers ({error}).") from error


def _unreadable(reason: str) -> BadArguments:
    return wrong(f"{reason} {_FORM}")


def _parse(expression: str) -> ast.expr:
    text = expression.strip().translate(_TYPOGRAPHY)
    if not text:
        raise _unreadable("the expression is empty.")
    if _nesting(text[:LENGTH]) > BRACKETS:
        raise _unreadable(f"brackets are nested deeper than {BRACKETS}; split the expression.")
    if len(text) > LENGTH:
        raise _unreadable(f"the expression is longer than {LENGTH:,} characters; split it.")
    try:
        tree = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
        raise _unreadable(f"the expression cannot be read ({_reason(error)}).") from error
    if isinstance(tree, ast.Tuple):
        raise _unreadable("a comma separates two expressions; write 1234.5, not 1,234.5.")
    _check(tree)
    return tree


def _nesting(text: str) -> int:
    depth = deepest = 0
    for bracket in re.findall(r"[\[({})\]]", text):
        depth += 1 if bracket in "([{" else -1
        deepest = max(deepest, depth)
    return deepest


def _reason(error: Exception) -> str:
    if isinstance(error, SyntaxError):
        return f"{error.msg}, at character {error.offset}" if error.offset else error.msg
    return str(error) if isinstance(error, ValueError) else "it is nested too deeply"


def _check(tree: ast.expr) -> None:
    """Refuse a tree that is too deep or holds anything but arithmetic. Does not recurse."""
    level: list[ast.AST] = [tree]
    for _ in range(DEPTH):
        for node in level:
            if complaint := _complaint(node):
                raise _unreadable(complaint)
        level = [child for node in level for child in ast.iter_child_nodes(node)]
        if not level:
            return
    raise _unreadable(
        f"it is nested deeper than {DEPTH}; split it, or add up many numbers with sum([...])."
    )


def _complaint(node: ast.AST) -> str:
    match node:
        case ast.Constant(value=value) if not isinstance(value, int | float):
            return f"{repr(value)[:40]} is no number; only numbers can be used."
        case ast.Attribute(attr=name):
            return f"names with a dot (.{name[:40]}) are not allowed."
        case ast.BitXor():
            return "^ is not allowed; a power is written with **."
        case ast.Call(func=ast.Name(id=name), keywords=[]):
            return "" if name in FUNCTIONS else _no_name("function", name, FUNCTIONS)
        case ast.Call():
            return "a function is called by its plain name with plain values, as in min(1, 2)."
        case ast.Name(id=name) if name not in NAMES and name not in FUNCTIONS:
            return _no_name("name", name, NAMES)
    if isinstance(node, _ALLOWED):
        return ""
    return f"{type(node).__name__} is not arithmetic and is not allowed."


def _no_name(what: str, name: str, known: Iterable[str]) -> str:
    return f"there is no {what} {name[:40]}; there are {', '.join(known)}."


_ALLOWED = (
    *(ast.Constant, ast.Name, ast.Load, ast.Call, ast.List, ast.Tuple, ast.IfExp),
    *(ast.BinOp, ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow),
    *(ast.UnaryOp, ast.USub, ast.UAdd, ast.Not, ast.BoolOp, ast.And, ast.Or),
    *(ast.Compare, ast.Eq, ast.NotEq, ast.Lt, ast.LtE, ast.Gt, ast.GtE),
)


def _evaluate(tree: ast.expr) -> object:
    evaluator = EvalWithCompoundTypes(
        operators=dict(OPERATORS), functions=dict(FUNCTIONS), names=dict(NAMES)
    )
    return evaluator.eval("the expression", previously_parsed=tree)


def _text(result: object) -> str:
    if isinstance(result, bool):
        return str(result)
    if isinstance(result, list | tuple):
        return "[" + ", ".join(_text(item) for item in result) + "]"
    value = number(result)
    if isinstance(value, int):
        return str(value)
    if value.is_integer() and abs(value) < _EXACT:
        return str(int(value))
    return format(value, f".{_SIGNIFICANT}g")
