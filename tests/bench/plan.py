"""What one run does, and what one bot did in one round of it."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Plan:
    """The settings of a run. Times are in seconds; `singles` and `starts` are per round and
    bot."""

    rounds: int = 3
    threads: int = 100
    singles: int = 5
    starts: int = 2
    model_seconds: float = 0.2
    model_chunks: int = 10
    patience: float = 60.0


QUICK = Plan(rounds=1, threads=20, singles=3, starts=1)


@dataclass(frozen=True, slots=True)
class Load:
    """One load: per turn the seconds above the model's own time, CPU seconds and Slack calls."""

    turns: int
    overheads: tuple[float, ...]
    cpu: float
    calls: float

    @property
    def median(self) -> float:
        return statistics.median(self.overheads)

    @property
    def last(self) -> float:
        return max(self.overheads)


@dataclass(frozen=True, slots=True)
class Round:
    """One bot from its start to its end; `first_start` is in an empty home. Memory is in MB."""

    first_start: float
    starts: tuple[float, ...]
    answer_alone: Load
    answer_many: Load
    step_alone: Load
    step_many: Load
    memory: float


@dataclass(slots=True)
class Bot:
    """A bot under measurement and its rounds so far."""

    name: str
    command: Sequence[str]
    rounds: list[Round] = field(default_factory=list)

    def median(self, value: Callable[[Round], float]) -> float:
        return statistics.median(value(one) for one in self.rounds)
