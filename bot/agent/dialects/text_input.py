"""Reads what follows `Action:` in the text dialect: a tool's name and its input."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from bot.agent.dialects.labels import PAUSE
from bot.agent.dialects.literals import Unreadable, read_json, skip_space
from bot.agent.dialects.marks import unfenced
from bot.agent.dialects.requests import call, enveloped, find_spec, only_parameter, parameters
from bot.agent.entries import ToolCall
from bot.agent.ports import Json, ToolSpec

_NAME = re.compile(
    r"\s{0,8}[`*\"']{0,3}(?P<name>[A-Za-z_][\w.-]*)[`*\"']{0,3}[ \t]{0,3}(?P<colon>[:：]?)"
)
_END = re.compile(
    rf"{PAUSE.pattern}|^[ ]{{0,3}}[*_#]{{0,6}}[ ]?"
    r"(?:observation|action_response|answer|final answer)[*_]{0,3}[ ]?[:：]",
    re.M | re.I,
)
_LABELLED_INPUT = re.compile(
    r"\s{0,4}[*_]{0,3}Action[ _]Input[*_]{0,3}[ ]?[:：][*_]{0,3}[ \t]*", re.I
)
_ANOTHER = re.compile(
    r"^[ ]{0,3}[*_#]{0,6}[ ]?"
    r"(?:thought[*_]{0,3}[:：]|action[*_]{0,3}[:：]\s{0,4}(?P<name>[\w.-]+))",
    re.M | re.I,
)
MARKERS = ("pause", "observation", "answer", "thought", "action")
"""Words that begin a line of their own, so that they cannot name a tool."""
_HEREDOC = re.compile(
    r"(?<!<)<<-?[ \t]{0,4}(?:([\"'])(?P<quoted>[^\"'\n]{1,64})\1|\\?(?P<word>[A-Za-z_][\w.-]*))"
)
_SUM = re.compile(r"[\d\s+*/%().-]+")
_LOOKED_BACK = 2000
_QUOTE = re.compile(r"\\.|[\"']")
_OBJECT = re.compile(r"\{\s*[\"'\u201c]?\w[\w -]*[\"'\u201d]?\s*[:：]")
_AFTER_OBJECT = re.compile(r"(?:\s*`{3,}[ \t]*$)?\s*", re.M)


class Action(NamedTuple):
    """A call, and where its text ends."""

    call: ToolCall
    end: int


def read_input(text: str, position: int, specs: Sequence[ToolSpec]) -> Action:
    """The action whose text begins after its label. Raises Unreadable."""
    start = skip_space(text, position)
    if text.startswith("{", start):
        value, end = read_json(text, start)
        if (found := enveloped(value, specs)) is not None:
            return Action(found, end)
        raise Unreadable("the action does not begin with a tool's name")
    name = _NAME.match(text, position)
    if name is None or name["name"].lower() in MARKERS:
        raise Unreadable("the action does not begin with a tool's name")
    start = name.end()
    if not name["colon"]:
        labelled = _LABELLED_INPUT.match(text, start)
        if labelled is None and text[start : _line_end(text, start)].strip():
            raise Unreadable(f"a colon is missing after {name['name'][:64]}")
        start = labelled.end() if labelled else start
    return _with_input(name["name"], text, start, find_spec(specs, name["name"]), specs)


def _with_input(
    name: str, text: str, start: int, spec: ToolSpec | None, specs: Sequence[ToolSpec]
) -> Action:
    if (found := _json_input(text, start)) is not None:
        value, end = found
        return Action(call(name, value), _past_pause(text, end))
    ending = _END.search(text, start)
    end = ending.start() if ending else len(text)
    given = unfenced(text[start:end].strip()).strip()
    last = _past_pause(text, end)
    if not given and (spec is None or not parameters(spec) or only_parameter(spec) is None):
        return Action(call(name, {}), last)
    parameter = only_parameter(spec)
    if parameter is None or _OBJECT.match(given):
        raise Unreadable(f"the input of {name} must be one JSON object")
    _check_plain(name, given, specs)
    return Action(call(name, {parameter: given} if given else {}), last)


def _json_input(text: str, start: int) -> tuple[Mapping[str, Json], int] | None:
    """A JSON object that is the whole input, bare or in a fence, and where it ends.

    It is read by its own brackets, so that its strings may hold any label.
    """
    opened = _FENCED.match(text, start)
    position = opened.end() if opened else skip_space(text, start)
    if not text.startswith("{", position):
        return None
    try:
        value, end = read_json(text, position)
    except Unreadable:
        return None
    after = _AFTER_OBJECT.match(text, end)
    end = after.end() if after else end
    if not isinstance(value, Mapping) or not (end >= len(text) or _AT_END.match(text, end)):
        return None
    return value, end


_FENCED = re.compile(r"\s{0,8}`{3,}[^\n`]*\n\s{0,8}")
_AT_END = re.compile(
    r"[ ]{0,3}[*_#`]{0,6}[ ]?(?:pause\b|(?:observation|action_response|answer|final answer|thought|"
    r"action|question)[*_]{0,3}[ ]?[:：])",
    re.I,
)


def _past_pause(text: str, end: int) -> int:
    pause = PAUSE.match(text, skip_space(text, end))
    return pause.end() if pause else end


def _check_plain(name: str, given: str, specs: Sequence[ToolSpec]) -> None:
    """Plain input must not hold a second action or only the beginning of a here-document."""
    for another in _ANOTHER.finditer(given):
        if another["name"] is None or find_spec(specs, another["name"]) is not None:
            raise Unreadable(
                f"it is not clear where the input of {name} ends; put PAUSE on a line after it, "
                "or write the input as a JSON object"
            )
    last = _lines(given)
    for opened in _HEREDOC.finditer(given):
        word = opened["quoted"] or opened["word"]
        if last.get(word, -1) < opened.end() and (word.isupper() or not _is_shift(given, opened)):
            raise Unreadable(
                f"the here-document of {name} is cut before its end {word[:64]}; write the input "
                "as a JSON object"
            )


def _lines(text: str) -> Mapping[str, int]:
    """Where each line begins for the last time, by what it says."""
    found: dict[str, int] = {}
    position = 0
    for line in text.split("\n"):
        found[line.lstrip("\t").rstrip(" \t\r")] = position
        position += len(line) + 1
    return found


def _is_shift(text: str, operator: re.Match[str]) -> bool:
    """Whether `<<` stands in an arithmetic expression or in quotes that its line opened."""
    begins = text.rfind("\n", 0, operator.start()) + 1
    before = text[max(begins, operator.start() - _LOOKED_BACK) : operator.start()]
    open_quote = ""
    for quote in _QUOTE.findall(before):
        if not open_quote and quote in ("'", '"'):
            open_quote = quote
        elif quote == open_quote:
            open_quote = ""
    return bool(_SUM.fullmatch(before) or open_quote) or before.rfind("((") > before.rfind("))")


def _line_end(text: str, start: int) -> int:
    end = text.find("\n", start)
    return len(text) if end < 0 else end
