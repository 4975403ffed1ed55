"""What the audit trail writes down: one record for each thing that somebody may have to answer for.

A body holds ids, digests and short redacted texts. Whole texts stand in the journal.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TypeAlias

Json: TypeAlias = bool | int | float | str | Sequence["Json"] | Mapping[str, "Json"] | None


class Kind(StrEnum):
    """What a record is about."""

    PROCESS_STARTED = "process_started"
    """The first row of every chain."""
    PROCESS_STOPPED = "process_stopped"
    MESSAGE_ACCEPTED = "message_accepted"
    MESSAGE_CHANGED = "message_changed"
    MESSAGE_REFUSED = "message_refused"
    MESSAGE_OVERHEARD = "message_overheard"
    """Taken along as data, since it was not for the bot."""
    IGNORED = "ignored"
    """A message, click or stop that had no effect: a bot's, a late one, one by the wrong person."""
    DECIDED = "decided"
    APPROVAL_ASKED = "approval_asked"
    APPROVAL_ANSWERED = "approval_answered"
    APPROVAL_EXPIRED = "approval_expired"
    TOOL_STARTED = "tool_started"
    TOOL_ENDED = "tool_ended"
    TURN_RESUMED = "turn_resumed"
    TURN_ENDED = "turn_ended"
    RULE_CHANGED = "rule_changed"
    """A rule, setting or budget was changed by a person while the process ran."""
    CHANGE_REFUSED = "change_refused"
    """Somebody who may not tried to change one of these."""
    CHECKPOINT = "checkpoint"
    """Old rows were removed: up to where, and the seal that the rest begins with."""


@dataclass(frozen=True, slots=True)
class Record:
    """One thing that happened. `thread` is empty for what belongs to none."""

    kind: Kind
    thread: str = ""
    body: Mapping[str, Json] = field(default_factory=dict)

    def text(self) -> str:
        """The body as it is sealed: JSON, keys sorted, no spaces, letters as they are."""
        text = json.dumps(self.body, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        return text.encode("utf-8", "replace").decode()  # half characters cannot be stored


def rule_changed(who: str, action: str, subject: str, value: Json, thread: str = "") -> Record:
    """A person (`who`: an id) changed a rule, a setting or a budget.

    `action` is a word ("added", "removed", "set"), `subject` names what it is done to ("rule 7",
    "verbosity in C0OPS"), `value` is what holds from now on.
    """
    body = {"who": who, "action": action, "subject": subject, "value": value}
    return Record(Kind.RULE_CHANGED, thread, body)


def change_refused(
    who: str, action: str, subject: str, value: Json, why: str, attempt: int
) -> Record:
    """A person tried to change something and may not: "add", "remove", "set", "open".

    `attempt` counts theirs of the day; not each has a record.
    """
    tried = {"who": who, "action": action, "subject": subject, "value": value}
    return Record(Kind.CHANGE_REFUSED, body={**tried, "why": why, "attempt": attempt})
