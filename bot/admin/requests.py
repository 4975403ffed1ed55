"""What people ask for with `/treadle`, as values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from bot.admin.live import Setting
from bot.agent.budgets import Cap
from bot.policy import Rule


@dataclass(frozen=True, slots=True)
class Help:
    """What the command can do."""


@dataclass(frozen=True, slots=True)
class ShowTools:
    """What the person may use here."""


@dataclass(frozen=True, slots=True)
class MakeRule:
    """A rule to be kept."""

    rule: Rule


@dataclass(frozen=True, slots=True)
class ShowRules:
    """Every rule in force."""


@dataclass(frozen=True, slots=True)
class Forget:
    """Take a rule that was made in Slack back."""

    number: int


@dataclass(frozen=True, slots=True)
class Choose:
    """A setting for a channel; without a value it goes back to the file's."""

    setting: Setting
    channel: str
    value: str | None


@dataclass(frozen=True, slots=True)
class Switch:
    """A tool on or off, everywhere."""

    tool: str
    on: bool


@dataclass(frozen=True, slots=True)
class Why:
    """The last refusal, explained."""


@dataclass(frozen=True, slots=True)
class Stop:
    """The person's running turns here, or the one with this number; without either they are told.

    `everything` is for admins: anybody's turns, everywhere.
    """

    number: int | None = None
    everything: bool = False


@dataclass(frozen=True, slots=True)
class ShowUsage:
    """What was used."""


@dataclass(frozen=True, slots=True)
class ShowBudgets:
    """What everybody together has used, and how full the caps are."""


@dataclass(frozen=True, slots=True)
class AddBudget:
    """More of a cap for today; `subject` is a user or channel id, "" for everybody."""

    cap: Cap
    subject: str


@dataclass(frozen=True, slots=True)
class ShowStatus:
    """How things are: model, sandbox, turns, database."""


@dataclass(frozen=True, slots=True)
class Misread:
    """It cannot be understood; `text` says the right form."""

    text: str


Request: TypeAlias = (
    Help | ShowTools | MakeRule | ShowRules | Forget | Choose | Switch | Why | Stop | ShowUsage
    | ShowBudgets | AddBudget | ShowStatus | Misread
)  # fmt: skip
