"""What came from outside, as it is stored."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from enum import StrEnum


class Kind(StrEnum):
    """What an inbox item is."""

    MESSAGE = "message"
    EDIT = "edit"
    DELETION = "deletion"
    STOP = "stop"
    """Whatever asks to stop: the word, a reaction, a button. Only the word has a text."""
    CLICK = "click"
    """An answer to a question: `text` is the choice, `change` the question's journal position,
    `about` the digest of what was asked and `reason` what was written beside a no."""
    EXPIRY = "expiry"
    """Nobody answered the question at the journal position `change` in time."""


ENDING = frozenset({Kind.DELETION, Kind.STOP})
"""What may end a turn in the middle of a step."""


class Addressing(StrEnum):
    """What the listener alone can tell about whom a message is for."""

    MENTION = "mention"
    DIRECT = "direct"
    OPEN = "open"
    """No mention: the thread's history decides."""
    ELSEWHERE = "elsewhere"
    """It begins by mentioning another person."""


@dataclass(frozen=True, slots=True)
class Item:
    """One thing from outside. `ts` is the message's and sorts it; `author` is a user or bot id."""

    kind: Kind
    team: str
    channel: str
    root_ts: str
    ts: str
    author: str
    text: str = ""
    addressing: Addressing = Addressing.OPEN
    is_bot: bool = False
    author_team: str = ""
    files: tuple[str, ...] = ()
    event_id: str | None = None
    change: str = ""
    """For an edit: the `ts` of the change, so that each edit is an item of its own."""
    about: str = ""
    """For a reaction: the `ts` of the message that it is on. For a click: see Kind."""
    reply_url: str = ""
    """For a click: where Slack takes what only the person who clicked is to read."""
    reason: str = ""
    """For a click: what whoever says no wants the model to read."""

    @property
    def thread(self) -> str:
        return f"{self.team}:{self.channel}:{self.root_ts}"

    @property
    def key(self) -> str:
        return f"{self.team}:{self.channel}:{self.ts}:{self.kind}:{self.change}"

    @property
    def is_root(self) -> bool:
        return self.ts == self.root_ts

    @property
    def engages(self) -> bool:
        """Whether it makes its thread the bot's: somebody certainly said it to the bot."""
        direct = self.addressing in (Addressing.MENTION, Addressing.DIRECT)
        return direct and self.kind is not Kind.DELETION


@dataclass(frozen=True, slots=True)
class StoredItem:
    """An item waiting to be taken; `version` counts how often it was completed."""

    id: int
    item: Item
    received_at: float
    version: int = 0


def dump(item: Item) -> str:
    text = json.dumps(asdict(item), ensure_ascii=False)
    return text.encode("utf-8", "replace").decode()  # a lone surrogate becomes a question mark


def load(body: str) -> Item:
    fields = json.loads(body)
    fields["kind"] = Kind(fields["kind"])
    fields["addressing"] = Addressing(fields["addressing"])
    fields["files"] = tuple(fields["files"])
    return Item(**fields)
