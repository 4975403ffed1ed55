"""What is counted, and who may use how much, made of the settings."""

from __future__ import annotations

import time
from collections.abc import Sequence

from bot import words
from bot.agent.charges import Rates, total
from bot.agent.entries import Entry
from bot.config import Settings
from bot.runs.budget import Budget
from bot.storage.budgets import Budgets
from bot.storage.writer import Writer


def rates(settings: Settings, *, real: bool) -> Rates:
    """The prices; the rehearsal model, which is not `real`, costs nothing."""
    prices = settings.model.prices if real else {}
    return Rates(settings.model_name, {name: price.rate for name, price in prices.items()})


def make_budget(settings: Settings, writer: Writer, known: Rates) -> Budget:
    """The caps of `[budget]`."""
    section = settings.budget
    budgets = Budgets(writer)
    return Budget(budgets, section.caps, known, section.day, section.currency, time.time)


def footer(settings: Settings, known: Rates, channel: str, turn: Sequence[Entry]) -> str:
    """The line under an answer, where the channel has one."""
    if not settings.for_channel(channel).footer:
        return ""
    return words.footer(*total(turn, known), settings.budget.currency)
