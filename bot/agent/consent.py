"""A person's yes: what is asked, what came of it, and how far a yes reaches."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Answer(StrEnum):
    """What came of asking a person."""

    ALLOWED = "allowed"
    DENIED = "denied"
    EXPIRED = "expired"


class Choice(StrEnum):
    """What a person can choose on a card: for one call, or for all that are still open."""

    YES = "allowed"
    NO = "denied"
    THREAD = "thread"
    ALL = "all"
    NONE = "none"

    @property
    def answer(self) -> Answer:
        """What it comes to for a call."""
        return Answer.DENIED if self in (Choice.NO, Choice.NONE) else Answer.ALLOWED


@dataclass(frozen=True, slots=True)
class Grant:
    """A yes for the whole thread, or the offer of one.

    It covers what exactly this rule asks about (`rule` is its fingerprint, `patterns` what it says
    of arguments, for people), for this tool, this requester and this workspace, until `until`
    (epoch seconds; an offer that has not been made to anybody yet has none).
    """

    tool: str
    rule: str
    patterns: tuple[str, ...]
    requester: str
    workspace: str
    until: float = 0.0


@dataclass(frozen=True, slots=True)
class ApprovalAsked:
    """A person is asked about exactly this call; the turn waits. Times are epoch seconds.

    Questions that stand next to each other in the journal are one card. `head` and `shown` are the
    whole call as people are shown it, `before` is the digest of the file that it changes, as it
    was shown; `again` says that a yes to an earlier question became worthless.
    """

    call_id: str
    digest: str
    asked_at: float
    expires_at: float
    head: str = ""
    shown: str = ""
    before: str = ""
    again: bool = False
    offer: Grant | None = None


@dataclass(frozen=True, slots=True)
class ApprovalAnswered:
    """The answer; `by` and `name` are empty when nobody gave one in time.

    `reason` is what whoever said no wrote for the model; `at` is in epoch seconds; `grant` is there
    if the yes is for the whole thread.
    """

    call_id: str
    answer: Answer
    by: str = ""
    name: str = ""
    reason: str = ""
    at: float = 0.0
    grant: Grant | None = None


@dataclass(frozen=True, slots=True)
class Preview:
    """A call for people: one line (`head`) and the whole of it (`text`).

    `path` names the file that it changes, `before` is the digest of that file as it is shown.
    `unusable` says why it cannot run whatever people say; then there is nothing to ask.
    """

    text: str
    head: str = ""
    path: str = ""
    before: str = ""
    unusable: str = ""
