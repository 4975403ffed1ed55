"""The journal's entries: one immutable record each, stored as versioned JSON.

The journal is the state: whatever a thread needs to continue stands in its entries.
A kind or version that this release does not know stops the thread with a sentence and
overwrites nothing (`JournalUnreadable`).
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache
from types import UnionType
from typing import Any, TypeAlias, Union, get_args, get_origin, get_type_hints

from bot import words
from bot.errors import JournalUnreadable
from bot.policy import Verdict

VERSION = 1


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool call as the model wrote it; `arguments` is raw text: bad JSON must be answerable."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one model call, as the endpoint counted them."""

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    reasoning_tokens: int = 0


@dataclass(frozen=True, slots=True)
class Quote:
    """A message that was not for the bot, taken along as data; `at` is its Slack `ts`."""

    author: str
    name: str
    text: str
    at: str


@dataclass(frozen=True, slots=True)
class User:
    """A message that the bot is to answer.

    `author` is a user id, `name` what people call them; `at` is the message's Slack `ts` (order and
    coverage go by it).
    """

    text: str
    author: str
    name: str
    at: str
    role: str = "member"


@dataclass(frozen=True, slots=True)
class Overheard:
    """Messages of the thread that were not for the bot, oldest first."""

    quotes: tuple[Quote, ...]


@dataclass(frozen=True, slots=True)
class Edited:
    """A message already taken was changed (`text`) or deleted (`text` is None) afterwards."""

    at: str
    text: str | None


@dataclass(frozen=True, slots=True)
class ModelReply:
    """One reply of the model: what it said, what it wants to call, what it cost.

    `thought` is the text before the calls; `answer` is set when the reply has no calls.
    `reasoning` is what came apart from both, kept because some endpoints want it back verbatim
    in the field it came in. `seconds` is how long the model took.
    """

    model: str
    thought: str = ""
    calls: tuple[ToolCall, ...] = ()
    answer: str | None = None
    reasoning: str = ""
    reasoning_field: str = ""
    usage: Usage = field(default_factory=Usage)
    cut_off: bool = False
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Decided:
    """The policy's decision about one call, with the rule that made it."""

    call_id: str
    verdict: Verdict
    reason: str = ""
    rule: str = ""


@dataclass(frozen=True, slots=True)
class ToolStarted:
    """Written before a tool runs: a started call is never started again."""

    call_id: str


@dataclass(frozen=True, slots=True)
class Observation:
    """What a call returned, as the model sees it; `seconds` is how long it took."""

    call_id: str
    text: str
    is_error: bool = False
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Resumed:
    """A process took the thread up again after another had left it unfinished."""

    owner: str


@dataclass(frozen=True, slots=True)
class Answered:
    """The turn ended with an answer; `covers` lists the `ts` of the messages it answers."""

    covers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Stopped:
    """Somebody stopped the turn."""

    covers: tuple[str, ...]
    by: str


@dataclass(frozen=True, slots=True)
class Failed:
    """The turn ended without an answer; `text` is the sentence for the thread."""

    covers: tuple[str, ...]
    text: str
    error_id: str = ""


@dataclass(frozen=True, slots=True)
class Refused:
    """A message is not answered (who, where, too old); an empty `text` says nothing.

    It does not end a turn: another person's may be going on.
    """

    covers: tuple[str, ...]
    text: str


Ending: TypeAlias = Answered | Stopped | Failed
Entry: TypeAlias = (
    User | Overheard | Edited | ModelReply | Decided | ToolStarted | Observation | Resumed
    | Answered | Stopped | Failed | Refused
)  # fmt: skip
KINDS: Mapping[str, type] = {t.__name__: t for t in get_args(Entry)}


def dump(entry: Entry) -> str:
    """The entry as one JSON object with `kind` and `v`."""
    body = {"kind": type(entry).__name__, "v": VERSION, **_plain(entry)}
    return json.dumps(body, ensure_ascii=False, separators=(",", ":"))


def load(text: str) -> Entry:
    """The entry that `dump` wrote. Raises JournalUnreadable for anything else."""
    try:
        body = json.loads(text)
        kind, version = body.pop("kind", None), body.pop("v", None)
    except (ValueError, TypeError, AttributeError) as error:
        raise JournalUnreadable(words.record_damaged("")) from error
    if not isinstance(kind, str) or kind not in KINDS or version != VERSION:
        raise JournalUnreadable(words.record_unknown(kind, version))
    try:
        entry: Entry = _build(KINDS[kind], body)
    except (TypeError, ValueError, KeyError, AttributeError) as error:
        raise JournalUnreadable(words.record_damaged(kind)) from error
    return entry


def _plain(entry: object) -> dict[str, Any]:
    return dataclasses.asdict(entry)  # type: ignore[call-overload, no-any-return]


_hints = cache(get_type_hints)


def _build(kind: type, body: Mapping[str, Any]) -> Any:
    hints = _hints(kind)
    unknown = set(body) - set(hints)
    if unknown:
        raise ValueError(f"unknown fields {sorted(unknown)}")
    return kind(**{name: _value(hints[name], value) for name, value in body.items()})


def _value(hint: Any, value: Any) -> Any:
    """The value as the field's type says; ValueError or TypeError if it is of another."""
    if type(value) is hint:
        return value
    if hint is float and type(value) is int:
        return float(value)
    origin = get_origin(hint)
    if origin in (Union, UnionType):  # "X | None", the only union in a field
        return value if value is None else _value(get_args(hint)[0], value)
    if origin is tuple and isinstance(value, list):
        return tuple(_value(get_args(hint)[0], item) for item in value)
    if dataclasses.is_dataclass(hint) and isinstance(hint, type):
        return _build(hint, value)
    if isinstance(hint, type) and issubclass(hint, StrEnum):
        return hint(value)
    raise TypeError(f"{value!r} is not a {hint}")


def open_turn(entries: Sequence[Entry]) -> Sequence[Entry]:
    """The entries since the last ending: empty when nothing waits for an answer."""
    for index in range(len(entries) - 1, -1, -1):
        if isinstance(entries[index], Answered | Stopped | Failed):
            return entries[index + 1 :]
    return entries


def covers(turn: Sequence[Entry]) -> tuple[str, ...]:
    """The `ts` of the messages in a turn, which its ending must list."""
    return tuple(entry.at for entry in turn if isinstance(entry, User))
