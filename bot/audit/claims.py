"""What rows say of other rows: heads that a chain began beside, rows that were removed. Pure.

A chain's first row names the newest row of the chains there were. So a chain that is removed
whole, or cut at its end after its process has stopped, is missed by the next one.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from bot.audit.chain import Head, Row
from bot.audit.records import Json, Kind, Record

SAYING = (Kind.PROCESS_STARTED, Kind.CHECKPOINT)
"""The kinds of row that say something of other rows."""


@dataclass(frozen=True, slots=True)
class Cut:
    """The rows up to `head` were removed by retention at `at` (microseconds since the epoch)."""

    head: Head
    at: int


@dataclass(frozen=True, slots=True)
class Claim:
    """There is a row with this seal, says `source`: a chain, or "" for a head kept elsewhere."""

    head: Head
    source: str = ""


def process_started(about: Mapping[str, Json], others: Sequence[Head]) -> Record:
    """The first record of a chain; `about` says which process it is and by which rules it acts."""
    return Record(Kind.PROCESS_STARTED, body={**about, "others": [str(head) for head in others]})


def checkpoint(cuts: Iterable[Cut]) -> Record:
    """What retention has removed; the removed rows' last seals are what the rest begins with."""
    found: list[Json] = [{"head": str(cut.head), "at": cut.at} for cut in cuts]
    return Record(Kind.CHECKPOINT, body={"cuts": found})


def claims_of(row: Row) -> list[Claim]:
    """The heads that a first row names; none for any other row."""
    if row.kind != Kind.PROCESS_STARTED:
        return []
    return [Claim(head, row.chain) for head in map(_head, _list(row, "others")) if head is not None]


def cuts_of(row: Row) -> list[Cut]:
    """What a checkpoint says; nothing for any other row."""
    found = []
    for item in _list(row, "cuts") if row.kind == Kind.CHECKPOINT else []:
        if isinstance(item, dict) and isinstance(item.get("at"), int):
            head = _head(item.get("head"))
            found += [Cut(head, item["at"])] if head is not None else []
    return found


def _list(row: Row, name: str) -> list[object]:
    """A list of a row's body; of one that was spoilt, and will be found so, an empty one."""
    try:
        body = json.loads(row.body)
    except (ValueError, RecursionError):
        return []
    found = body.get(name) if isinstance(body, dict) else None
    return found if isinstance(found, list) else []


def _head(text: object) -> Head | None:
    try:
        return Head.read(text) if isinstance(text, str) else None
    except ValueError:
        return None
