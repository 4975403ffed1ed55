"""Budgets: caps on what the model may use, and how much of them is used. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

ANSWER = 1_000
"""Tokens of an answer, estimated before it is made."""
NEAR = 0.8
"""From this part of a day's cap on people are told, once a day."""


class Scope(StrEnum):
    """Whose use a cap counts."""

    TURN = "turn"
    USER = "user"
    CHANNEL = "channel"
    ALL = "all"


class Unit(StrEnum):
    """What a cap counts."""

    MONEY = "money"
    TOKENS = "tokens"
    TURNS = "turns"


@dataclass(frozen=True, slots=True)
class Cap:
    """The most that may be used: in a turn, or in a day."""

    scope: Scope
    unit: Unit
    amount: float


@dataclass(frozen=True, slots=True)
class Spent:
    """What was used; `unpriced` calls have no price and are not in the money."""

    money: float = 0.0
    tokens: int = 0
    turns: int = 0
    calls: int = 0
    unpriced: int = 0

    def of(self, unit: Unit) -> float:
        """The part that a cap in this unit counts."""
        return {Unit.MONEY: self.money, Unit.TOKENS: self.tokens, Unit.TURNS: self.turns}[unit]


@dataclass(frozen=True, slots=True)
class Wanted:
    """A call that is about to be made: whose, and what it may use.

    `turn_from` is the journal position where the turn begins, `day` when the day began.
    """

    thread: str
    author: str
    turn_from: int
    day: float
    money: float
    tokens: int
    turns: int
    model: str = ""
    seq: int = 0
    """The journal position where the reply will stand, or more was written by then."""

    @property
    def channel(self) -> str:
        return self.thread.rsplit(":", 1)[0]

    def of(self, unit: Unit) -> float:
        """The part that a cap in this unit counts."""
        return {Unit.MONEY: self.money, Unit.TOKENS: self.tokens, Unit.TURNS: self.turns}[unit]

    def subject(self, scope: Scope) -> str:
        """Whose use a scope counts; "" for everybody's."""
        return {Scope.USER: self.author, Scope.CHANNEL: self.channel}.get(scope, "")


@dataclass(frozen=True, slots=True)
class State:
    """A cap, what it is today with what admins added, and how much of it was used before."""

    cap: Cap
    limit: float
    used: float

    @property
    def is_near(self) -> bool:
        """Whether so much was used that people should know."""
        return self.cap.scope is not Scope.TURN and self.used >= NEAR * self.limit


class By(StrEnum):
    """What a row of a report is about."""

    DAY = "day"
    USER = "user"
    CHANNEL = "channel"
    MODEL = "model"
