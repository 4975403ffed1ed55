"""Entries as versioned JSON, the form in which a journal is stored.

A kind or version that this release does not know stops the thread with a sentence and overwrites
nothing (`JournalUnreadable`).
"""

from __future__ import annotations

import dataclasses
import functools
import json
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from bot import words
from bot.agent.entries import Entry
from bot.errors import JournalUnreadable

VERSION = 1
KINDS: Mapping[str, type] = {t.__name__: t for t in get_args(Entry)}


def dump(entry: Entry) -> str:
    """The entry as one JSON object with `kind`, `v` and the fields that are not at their default.

    So a field's default never changes, and a new field needs one.
    """
    body = {"kind": type(entry).__name__, "v": VERSION, **_fields(entry)}
    return json.dumps(body, ensure_ascii=False, separators=(",", ":"))


def load(text: str) -> Entry:
    """The entry that `dump` wrote. Raises JournalUnreadable for anything else."""
    return load_all([text])[0]


def load_all(texts: Sequence[str]) -> list[Entry]:
    """The entries that `dump` wrote, read at once: a long thread is taken up in milliseconds.

    Raises JournalUnreadable for anything else.
    """
    try:
        bodies = json.loads(f"[{','.join(texts)}]")
    except (ValueError, RecursionError) as error:
        raise JournalUnreadable(words.record_damaged("")) from error
    if len(bodies) != len(texts) or not all(isinstance(body, dict) for body in bodies):
        raise JournalUnreadable(words.record_damaged(""))
    return [_entry(body) for body in bodies]


def _entry(body: dict[str, Any]) -> Entry:
    kind, version = body.pop("kind", None), body.pop("v", None)
    if not isinstance(kind, str) or kind not in KINDS or version != VERSION:
        raise JournalUnreadable(words.record_unknown(kind, version))
    try:
        entry: Entry = _build(KINDS[kind], body)
    except (TypeError, ValueError, KeyError, AttributeError) as error:
        raise JournalUnreadable(words.record_damaged(kind)) from error
    return entry


def _fields(value: Any) -> dict[str, Any]:
    kind: type = type(value)
    given = ((name, getattr(value, name), default) for name, default in _defaults(kind))
    return {name: _plain(found) for name, found, default in given if found != default}


def _plain(value: Any) -> object:
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    return _fields(value) if dataclasses.is_dataclass(value) else value


@functools.cache
def _defaults(kind: type) -> tuple[tuple[str, object], ...]:
    """Each field with its default; MISSING, which equals nothing, where it must be given."""
    return tuple(
        (f.name, f.default if f.default_factory is dataclasses.MISSING else f.default_factory())
        for f in dataclasses.fields(kind)
    )


def _build(kind: type, body: dict[str, Any]) -> Any:
    form = _form(kind)
    for name, value in body.items():
        if name not in form:
            raise ValueError(f"unknown field {name}")
        plain, read = form[name]
        if type(value) is not plain:
            body[name] = read(value)
    return kind(**body)


@functools.cache
def _form(kind: type) -> Mapping[str, tuple[object, Callable[[Any], Any]]]:
    """Each field of an entry: the type whose JSON is the value itself, and what reads any other."""
    hints = get_type_hints(kind)
    return {n: (h if h in (str, int, float, bool) else None, _reader(h)) for n, h in hints.items()}


def _reader(hint: Any) -> Callable[[Any], Any]:
    """Makes a field's value of what its JSON is; raises TypeError for JSON of another type."""
    origin = get_origin(hint)
    if origin in (Union, UnionType):  # "X | None", the only union in a field
        some = _reader(get_args(hint)[0])
        return lambda value: None if value is None else some(value)
    if origin is tuple:
        item = _reader(get_args(hint)[0])
        return lambda values: tuple([item(value) for value in _checked(list, values)])
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        return lambda value: _build(hint, _checked(dict, value))
    if isinstance(hint, type) and issubclass(hint, StrEnum):
        return hint
    if hint is float:
        return lambda value: float(value) if type(value) is int else _checked(float, value)
    return functools.partial(_checked, hint)


def _checked(kind: type, value: Any) -> Any:
    if type(value) is not kind:
        raise TypeError(f"{value!r} is not a {kind.__name__}")
    return value
