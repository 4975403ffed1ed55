"""Reads what stands inside `<action>…</action>`: one call in Python's syntax."""

from __future__ import annotations

import re
from collections.abc import Sequence

from bot.agent.dialects.literals import Unreadable, read_json, read_literal, skip_space
from bot.agent.dialects.requests import NAME, call, enveloped, find_spec, parameters
from bot.agent.entries import ToolCall
from bot.agent.ports import Json, ToolSpec

_OPEN = re.compile(r"\s*(?:(?P<bar>`{3,})[^\n`]*\n)?\s*(?:<[ ]?action[ ]?>\s*)?", re.I)
_CLOSE = re.compile(r"\s*(?:;\s*)?(?:`+\s*)?</[ ]?action[ ]?>(?:\s*</[ ]?action[ ]?>)?", re.I)
_END = re.compile(r"\s*(?:`{3,}\s*)?(?:$|<)")
_KEYWORD = re.compile(r"([A-Za-z_][\w.-]*)\s*=(?!=)")
_TICKS = re.compile(r"`?")


def read_action(text: str, position: int, specs: Sequence[ToolSpec]) -> tuple[ToolCall, int]:
    """The call after an opening tag and where its closing tag ends. Raises Unreadable."""
    opened = _OPEN.match(text, position)
    position = opened.end() if opened else position
    if text.startswith("{", position):
        value, end = read_json(text, position)
        found = enveloped(value, specs)
        if found is None:
            raise Unreadable("the action is no call of a tool")
    else:
        found, end = _python_call(text, position, specs)
    if close := _CLOSE.match(text, end):
        return found, close.end()
    if _END.match(text, end):
        return found, end
    raise Unreadable("an action holds exactly one call and nothing else; close it with </action>")


def _python_call(text: str, position: int, specs: Sequence[ToolSpec]) -> tuple[ToolCall, int]:
    ticks = _TICKS.match(text, position)
    position = ticks.end() if ticks else position
    name = NAME.match(text, position)
    if name is None:
        raise Unreadable("the action does not begin with a tool's name")
    position = skip_space(text, name.end())
    if not text.startswith("(", position):
        if _CLOSE.match(text, position) or _END.match(text, position):
            return call(name[0], {}), position
        raise Unreadable(f"a bracket ( is missing after {name[0][:64]}")
    placed, named, position = _arguments(text, position + 1)
    return call(name[0], _bound(name[0], placed, named, specs)), position


def _arguments(text: str, position: int) -> tuple[list[Json], dict[str, Json], int]:
    placed: list[Json] = []
    named: dict[str, Json] = {}
    while not text.startswith(")", position := skip_space(text, position)):
        keyword = _KEYWORD.match(text, position)
        value, position = read_literal(text, keyword.end() if keyword else position)
        if keyword is not None:
            named[keyword[1]] = value
        elif named:
            raise Unreadable("an argument without a name follows one with a name")
        else:
            placed.append(value)
        position = skip_space(text, position)
        if text.startswith((",", "，"), position):
            position += 1
        elif not text.startswith(")", position):
            rest = text[position : position + 20]
            raise Unreadable(f"a comma or ) is missing at {rest!r}" if rest else _UNCLOSED)
    return placed, named, position + 1


_UNCLOSED = "the call is not closed with )"


def _bound(
    name: str, placed: list[Json], named: dict[str, Json], specs: Sequence[ToolSpec]
) -> dict[str, Json]:
    """Arguments by name; those of a tool that nobody knows are numbered."""
    if not placed:
        return named
    spec = find_spec(specs, name)
    names = (
        parameters(spec)
        if spec is not None
        else [f"argument_{n + 1}" for n, _ in enumerate(placed)]
    )
    first = placed[0] if spec is not None and len(placed) == 1 and not named else None
    if isinstance(first, dict) and first and set(first) <= set(names):
        return first  # the whole object of arguments as one
    if len(placed) > len(names):
        takes = ", ".join(names) or "none"
        raise Unreadable(
            f"{name} was given {len(placed)} arguments and takes {len(names)}: {takes}"
        )
    bound = dict(zip(names, placed, strict=False))
    if twice := sorted(bound.keys() & named.keys()):
        raise Unreadable(f"{name} was given {', '.join(twice)} twice")
    return bound | named
