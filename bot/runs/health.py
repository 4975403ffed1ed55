"""Whether the model answers: what came of the last call, for those who ask how things are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bot.agent.entries import Entry, ModelReply
from bot.agent.ports import Clock, Model, ToolSpec
from bot.agent.prompt import Facts
from bot.agent.shown import Show
from bot.errors import ModelError
from bot.runs.ports import Watchable


@dataclass(slots=True)
class Health:
    """When the model last replied and when it last failed (epoch seconds), and why."""

    replied_at: float | None = None
    failed_at: float | None = None
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Observed:
    """A model whose outcomes are noted in `health`."""

    model: Model
    health: Health
    clock: Clock

    @property
    def name(self) -> str:
        return self.model.name

    async def reply(
        self, facts: Facts, entries: Sequence[Entry], specs: Sequence[ToolSpec]
    ) -> ModelReply:
        try:
            reply = await self.model.reply(facts, entries, specs)
        except ModelError as error:
            self.health.failed_at, self.health.problem = self.clock.now(), str(error)
            raise
        self.health.replied_at = self.clock.now()
        return reply


@dataclass(frozen=True, slots=True)
class ObservedModel(Observed):
    """The same for a model whose replies can be watched."""

    model: Watchable

    def watched(self, show: Show) -> Model:
        return Observed(self.model.watched(show), self.health, self.clock)
