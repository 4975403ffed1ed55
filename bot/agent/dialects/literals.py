"""Reads values as models write them: JSON first, then what is nearly JSON or a Python literal.

Nearly JSON: trailing commas, single, triple or curly quotes, bare keys, True/False/None, line
breaks inside strings. Everything goes by compiled patterns and `raw_decode`, so that time grows
with length only; nothing is ever evaluated.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import cast

from bot.agent.ports import Json

DEPTH = 64
"""How deep values may be nested."""
_TOO_DEEP = "a value is nested too deeply"

_JSON = json.JSONDecoder(strict=False)
_SPACE = re.compile(r"\s*")
_NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?(?![\w.])")
_WORD = re.compile(r"(?:true|false|null|none|True|False|Null|None)(?!\w)")
_WORDS = {"true": True, "false": False, "null": None, "none": None}
_KEY = re.compile(r"[A-Za-z_]\w*")
_STRING = re.compile(
    r"""(?P<prefix>[rRuU]?)(?:
      \"{3}(?P<d3>[^"\\]*+(?:(?:\\.|"(?!""))[^"\\]*+)*+)\"{3}
    | '{3}(?P<s3>[^'\\]*+(?:(?:\\.|'(?!''))[^'\\]*+)*+)'{3}
    | \"(?P<d>[^"\\]*+(?:\\.[^"\\]*+)*+)\"
    | '(?P<s>[^'\\]*+(?:\\.[^'\\]*+)*+)'
    | [\u201c\u201d\u201e](?P<cd>[^\u201c\u201d\\]*+(?:\\.[^\u201c\u201d\\]*+)*+)[\u201c\u201d]
    | [\u2018\u2019](?P<cs>[^\u2018\u2019\\]*+(?:\\.[^\u2018\u2019\\]*+)*+)[\u2018\u2019]
    )""",
    re.X | re.S,
)
_ESCAPE = re.compile(r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U(000[0-9a-fA-F]{5})|(.))", re.S)
_PLAIN = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "\n": ""}
_SURROGATE = re.compile("[\ud800-\udfff]")


class Unreadable(ValueError):
    """There is no value at the place; the text says what is wrong, for the model."""


def dumps(value: Json) -> str:
    """JSON on one line; characters stay as they are where they can be stored."""
    text = json.dumps(value, ensure_ascii=False)
    return json.dumps(value) if _SURROGATE.search(text) else text


def skip_space(text: str, position: int) -> int:
    """The position of the next character that is not white space."""
    found = _SPACE.match(text, position)
    return found.end() if found else position


def read_json(text: str, position: int) -> tuple[Json, int]:
    """The value at a position, JSON or nearly, and where it ends. Raises Unreadable."""
    start = skip_space(text, position)
    try:
        value, end = cast("tuple[Json, int]", _JSON.raw_decode(text, start))
    except (ValueError, RecursionError):
        return read_literal(text, start)
    opened = text.count("[", start, end) + text.count("{", start, end)
    if opened > DEPTH and _is_deep(value):
        raise Unreadable(_TOO_DEEP)
    return value, end


def _is_deep(value: Json) -> bool:
    """Whether a value is nested deeper than DEPTH; goes level by level, without recursion."""
    level = [value]
    for _ in range(DEPTH + 1):
        level = [inner for outer in level for inner in _inside(outer)]
    return bool(level)


def _inside(value: Json) -> Iterable[Json]:
    if isinstance(value, Mapping):
        return value.values()
    return value if isinstance(value, list) else ()


def read_literal(text: str, position: int, depth: int = 0) -> tuple[Json, int]:
    """The literal at a position, read the forgiving way, and where it ends. Raises Unreadable."""
    start = skip_space(text, position)
    if depth > DEPTH:
        raise Unreadable(_TOO_DEEP)
    opening = text[start : start + 1]
    if opening == "{":
        return _object(text, start + 1, depth)
    if opening and opening in "[(":
        return _list(text, start + 1, "]" if opening == "[" else ")", depth)
    if found := _STRING.match(text, start):
        return _strings(text, found)
    if found := _NUMBER.match(text, start):
        return _number(found), found.end()
    if found := _WORD.match(text, start):
        return _WORDS[found[0].lower()], found.end()
    raise Unreadable(f"no value can be read at {_near(text, start)}")


def _object(text: str, position: int, depth: int) -> tuple[Json, int]:
    found: dict[str, Json] = {}
    while True:
        position = skip_space(text, position)
        if text.startswith("}", position):
            return found, position + 1
        key, position = _key(text, position)
        position = skip_space(text, position)
        if not text.startswith((":", "："), position):
            raise Unreadable(f"a colon is missing at {_near(text, position)}")
        found[key], position = read_literal(text, position + 1, depth + 1)
        position = _separator(text, position, "}")


def _key(text: str, position: int) -> tuple[str, int]:
    if string := _STRING.match(text, position):
        return _decoded(string), string.end()
    if word := _KEY.match(text, position):
        return word[0], word.end()
    if number := _NUMBER.match(text, position):
        return number[0], number.end()
    raise Unreadable(f"a key is missing at {_near(text, position)}")


def _list(text: str, position: int, closing: str, depth: int) -> tuple[Json, int]:
    found: list[Json] = []
    while True:
        position = skip_space(text, position)
        if text.startswith(closing, position):
            return found, position + 1
        value, position = read_literal(text, position, depth + 1)
        found.append(value)
        position = _separator(text, position, closing)


def _separator(text: str, position: int, closing: str) -> int:
    """Past the comma after a value, or at the closing bracket."""
    position = skip_space(text, position)
    if text.startswith((",", "，"), position):
        return position + 1
    if text.startswith(closing, position):
        return position
    raise Unreadable(f"a comma or {closing} is missing at {_near(text, position)}")


def _strings(text: str, found: re.Match[str]) -> tuple[str, int]:
    """A string and those that follow it directly: Python joins them."""
    parts = [_decoded(found)]
    end = found.end()
    while following := _STRING.match(text, skip_space(text, end)):
        parts.append(_decoded(following))
        end = following.end()
    return "".join(parts), end


def _decoded(found: re.Match[str]) -> str:
    body = found[str(found.lastgroup)]
    if "\\" not in body or found["prefix"] in ("r", "R"):
        return body
    plain = _ESCAPE.sub(_unescape, body)
    if _SURROGATE.search(plain):  # halves of a pair, each escaped by itself
        plain = plain.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
    return plain


def _unescape(found: re.Match[str]) -> str:
    digits = found[1] or found[2] or found[3]
    if digits:
        return chr(int(digits, 16))
    char = found[4]
    if char in "\\'\"\u201c\u201d\u2018\u2019":
        return char
    return _PLAIN.get(char, f"\\{char}")


def _number(found: re.Match[str]) -> int | float:
    try:
        return int(found[0])
    except ValueError:
        return float(found[0])


def _near(text: str, position: int) -> str:
    rest = text[position : position + 20]
    return repr(rest) if rest else "the end"
