"""The budget of a turn: each call of the model is reserved before it is made, and settled after.

What a call will use is an estimate: the request as long as it is, and an answer of `ANSWER` tokens.
So a cap can be passed by what calls that are being made at that moment use beyond their estimate.
A call that is broken off by a stop, or whose reply is no use, counts too: as far as the endpoint
counted its tokens, else as it was estimated.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias
from zoneinfo import ZoneInfo

from bot import words
from bot.agent import context
from bot.agent.budgets import ANSWER, Cap, State, Wanted
from bot.agent.charges import Rates, author, lost, used
from bot.agent.entries import Entry, ModelReply, Noted, Usage, open_turn
from bot.agent.ports import Journal, Model, ToolSpec
from bot.agent.prompt import Facts
from bot.errors import BudgetReached, ModelError
from bot.storage.budgets import Budgets

Sentence: TypeAlias = Callable[[str, str, float, float, str], str]


def day_began(now: float, zone: str) -> float:
    """When the day of an epoch second began in a time zone, in epoch seconds."""
    local = datetime.fromtimestamp(now, ZoneInfo(zone))
    return local.replace(hour=0, minute=0, second=0, microsecond=0).timestamp()


@dataclass(frozen=True, slots=True)
class Budget:
    """The caps of this installation. `zone` is where its days begin, `now` gives epoch seconds."""

    budgets: Budgets
    caps: Sequence[Cap]
    rates: Rates
    zone: str
    currency: str
    now: Callable[[], float]

    def metered(self, model: Model, thread: str, journal: Journal) -> Model:
        """The model as this thread may use it."""
        return Metered(self, model, thread, journal)

    async def reserve(
        self, model: str, thread: str, entries: Sequence[Entry], tokens: int, token: str
    ) -> Sequence[str]:
        """Set aside a request of `tokens` and its answer; `token` is this call's alone.

        Returns sentences about caps that are nearly used up. Raises BudgetReached, and Fenced if
        another process has the thread.
        """
        wanted = self.wanted(model, thread, entries, tokens)
        reached, near = await self.budgets.reserve(wanted, self.caps, token)
        if reached is not None:
            raise BudgetReached(_say(words.budget_reached, reached, self.currency))
        return [_say(words.budget_near, state, self.currency) for state in near]

    async def states(self, thread: str, entries: Sequence[Entry]) -> Sequence[State]:
        """How much of each cap is used by this thread's turn, person and channel."""
        return await self.budgets.states(self.wanted("", thread, entries, 0), self.caps)

    def wanted(self, model: str, thread: str, entries: Sequence[Entry], tokens: int) -> Wanted:
        """The call that comes next in a thread."""
        turn = open_turn(entries)
        rate = self.rates.of(model)
        return Wanted(
            thread,
            author(turn),
            len(entries) - len(turn),
            day_began(self.now(), self.zone),
            rate.cost(Usage(tokens, ANSWER)) if rate is not None else 0.0,
            tokens + ANSWER,
            0 if any(True for _ in used(turn)) else 1,
            model,
            len(entries),
        )


def _say(sentence: Sentence, state: State, currency: str) -> str:
    cap = state.cap
    return sentence(cap.scope.value, cap.unit.value, state.limit, state.used, currency)


@dataclass(frozen=True, slots=True)
class Metered:
    """`bot.agent.ports.Model` that is asked only within the budget."""

    budget: Budget
    model: Model
    thread: str
    journal: Journal

    @property
    def name(self) -> str:
        return self.model.name

    async def reply(
        self, facts: Facts, entries: Sequence[Entry], specs: Sequence[ToolSpec]
    ) -> ModelReply:
        tokens = context.overhead(specs) + sum(map(context.weight, entries))
        token = await self._reserve(tokens) if self.budget.caps else ""
        try:
            return await self.model.reply(facts, entries, specs)
        except ModelError as error:
            if error.answered:
                guessed = tokens * error.answered, ANSWER * error.answered
                await self._lose(Usage(*(error.tokens if any(error.tokens) else guessed)), token)
            else:
                await self.budget.budgets.release(token)
            raise
        except BaseException:  # broken off: what the endpoint does of it has to be paid for
            await self._lose(Usage(tokens, ANSWER), token)
            raise

    async def _reserve(self, tokens: int) -> str:
        """Returns the token of what is set aside."""
        token, written = uuid.uuid4().hex, self.journal.entries
        near = await self.budget.reserve(self.name, self.thread, written, tokens, token)
        try:
            for text in near:
                await self.journal.append(Noted(text))
        except BaseException:
            await self.budget.budgets.release(token)
            raise
        return token

    async def _lose(self, usage: Usage, token: str) -> None:
        charge = lost(self.journal.entries, self.name, usage)
        await self.budget.budgets.lose(self.thread, charge, token)
