"""What is counted, and who may use how much, made of the settings."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from bot import words
from bot.admin.live import Admin
from bot.agent.budgets import Cap, Scope, Spent, Wanted
from bot.agent.charges import Rates, total
from bot.agent.entries import Entry
from bot.config import Settings
from bot.runs.budget import Budget, day_began
from bot.storage.audit import Audit
from bot.storage.budgets import Budgets
from bot.storage.usage import Ledger
from bot.storage.writer import Writer


def rates(settings: Settings, *, real: bool) -> Rates:
    """The prices; the rehearsal model, which is not `real`, costs nothing."""
    prices = settings.model.prices if real else {}
    return Rates(settings.model_name, {name: price.rate for name, price in prices.items()})


def make_budget(
    settings: Settings, writer: Writer, ledger: Ledger, audit: Audit, owner: str | None
) -> Budget:
    """The caps of `[budget]`; `owner` as for `Budgets`."""
    section = settings.budget
    budgets = Budgets(writer, audit=audit, ledger=ledger, owner=owner)
    return Budget(budgets, section.caps, ledger.rates, section.day, section.currency, time.time)


@dataclass(frozen=True, slots=True)
class Allowances:
    """`bot.admin.house.Budgets`."""

    budget: Budget
    ledger: Ledger

    async def lines(self, team: str, user: str, channel: str) -> Sequence[str]:
        day, place = self._day(), f"{team}:{channel}"
        mine = await self.ledger.spent(day, author=user)
        here = await self.ledger.spent(day, channel=place)
        used = [self._used(words.USED_BY_YOU, mine), self._used(words.USED_HERE, here)]
        return [*used, *await self._states(user, place, Scope.USER, Scope.CHANNEL)]

    async def all_lines(self) -> Sequence[str]:
        everybody = self._used(words.USED_BY_ALL, await self.ledger.spent(self._day()))
        return [everybody, *await self._states("", "", Scope.ALL)]

    async def add(self, admin: Admin, cap: Cap, subject: str, team: str) -> bool:
        by = admin.must_be_one()
        if not any((c.scope, c.unit) == (cap.scope, cap.unit) for c in self.budget.caps):
            return False
        whose = f"{team}:{subject}" if cap.scope is Scope.CHANNEL else subject
        await self.budget.budgets.add(cap, whose, by.id)
        return True

    async def _states(self, user: str, place: str, *scopes: Scope) -> Sequence[str]:
        caps = [cap for cap in self.budget.caps if cap.scope in scopes]
        wanted = Wanted(f"{place}:", user, 0, self._day(), 0.0, 0, 0)
        states = await self.budget.budgets.states(wanted, caps)
        return [
            words.cap_line(
                s.cap.scope.value, s.cap.unit.value, s.limit, s.used, self.budget.currency
            )
            for s in states
        ]

    def _used(self, whose: str, spent: Spent) -> str:
        money = None if spent.unpriced else spent.money
        return words.used_today(whose, spent.turns, spent.tokens, money, self.budget.currency)

    def _day(self) -> float:
        return day_began(self.budget.now(), self.budget.zone)


def footer(settings: Settings, known: Rates, channel: str, turn: Sequence[Entry]) -> str:
    """The line under an answer, where the channel has one."""
    if not settings.for_channel(channel).footer:
        return ""
    return words.footer(*total(turn, known), settings.budget.currency)
