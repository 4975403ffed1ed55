"""`treadle usage`: what the model used, by day, person, channel or model."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TextIO
from zoneinfo import ZoneInfo

from bot import words
from bot.agent.budgets import By, Spent
from bot.config import Settings
from bot.state import open_reading
from bot.storage.usage import between, grouped, spent

HEADINGS = ("turns", "calls", "tokens", "cost", "calls without a price")


_COLUMNS = {By.USER: "author", By.CHANNEL: "channel", By.MODEL: "model"}


@dataclass(frozen=True, slots=True)
class Report:
    """The rows of the last days, oldest or first in the alphabet first, and all together."""

    by: By
    rows: Sequence[tuple[str, Spent]]
    total: Spent
    currency: str

    def cells(self) -> Iterator[tuple[str, ...]]:
        """The rows as text, without the total."""
        return (_cells(name, row) for name, row in self.rows)

    def write_csv(self, file: TextIO) -> None:
        """Comma-separated, with a heading; the total is left to whoever reads it."""
        writer = csv.writer(file)
        writer.writerow((self.by.value, *HEADINGS[:3], f"cost_{self.currency}", "unpriced_calls"))
        for name, row in self.rows:
            money = f"{row.money:.6f}"
            writer.writerow((name, row.turns, row.calls, row.tokens, money, row.unpriced))

    def table(self) -> str:
        """For a terminal."""
        from rich.console import Console
        from rich.table import Table

        table = Table(self.by.value, show_footer=True)
        table.columns[0].footer = "all"
        for heading, cell in zip(HEADINGS, _cells("", self.total)[1:], strict=True):
            named = f"cost, {self.currency}" if heading == "cost" else heading
            table.add_column(named, cell, justify="right")
        for cells in self.cells():
            table.add_row(*cells)
        console = Console(color_system=None)
        with console.capture() as captured:
            console.print(table)
        return captured.get().rstrip()


def usage_report(settings: Settings, days: int, by: By, now: datetime) -> Report:
    """What was used today and in the days before, `days` in all.

    Raises StorageError where there is no database or it cannot be read.
    """
    today = now.astimezone(ZoneInfo(settings.budget.day)).replace(
        hour=0, minute=0, second=0, microsecond=0
    )
    first, end = today - timedelta(days=days - 1), today + timedelta(days=1)
    within = between(first.timestamp(), end.timestamp())
    with open_reading(settings).connect() as connection:
        if by is By.DAY:
            rows = [(name, spent(connection, between(*span))) for name, span in _days(first, days)]
        else:
            rows = list(grouped(connection, _COLUMNS[by], within).items())
        return Report(by, rows, spent(connection, within), settings.budget.currency)


def _days(first: datetime, days: int) -> Iterator[tuple[str, tuple[float, float]]]:
    """Each day with when it began and ended, in epoch seconds."""
    for number in range(days):
        day, after = (first + timedelta(days=n) for n in (number, number + 1))
        yield day.strftime("%Y-%m-%d"), (day.timestamp(), after.timestamp())


def _cells(name: str, row: Spent) -> tuple[str, ...]:
    counts = (f"{row.turns:,}", f"{row.calls:,}", f"{row.tokens:,}")
    return (name, *counts, words.money(row.money), f"{row.unpriced:,}")
