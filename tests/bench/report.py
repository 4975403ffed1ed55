"""The table of a run: medians over the rounds, and how many times the floor's each one is."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from tests.bench.plan import Bot, Plan, Round

Value = Callable[[Round], float]


@dataclass(frozen=True, slots=True)
class Row:
    """One line: what was measured, under which settings, in which unit."""

    what: str
    settings: str
    unit: str
    value: Value
    scale: float = 1.0


def rows(plan: Plan) -> Sequence[Row]:
    """Every line of the table, in order."""
    alone = f"1 thread, {plan.singles} turns one after another"
    many = f"{plan.threads} threads in {plan.threads} channels at once"
    return (
        Row(
            "start, spawn to connected",
            f"database there, {plan.starts + 1} starts",
            "ms",
            lambda r: statistics.median(r.starts),
            1000,
        ),
        Row("first start", "empty home: makes its database", "ms", lambda r: r.first_start, 1000),
        Row("answer: overhead", alone, "ms", lambda r: r.answer_alone.median, 1000),
        Row("answer: overhead", many, "ms", lambda r: r.answer_many.median, 1000),
        Row("answer: overhead of the last", many, "ms", lambda r: r.answer_many.last, 1000),
        Row("answer: CPU per turn", many, "ms", lambda r: r.answer_many.cpu, 1000),
        Row("answer: Slack calls per turn", alone, "", lambda r: r.answer_alone.calls),
        Row("answer: Slack calls per turn", many, "", lambda r: r.answer_many.calls),
        Row("one step: overhead", alone, "ms", lambda r: r.step_alone.median, 1000),
        Row("one step: overhead", many, "ms", lambda r: r.step_many.median, 1000),
        Row("one step: overhead of the last", many, "ms", lambda r: r.step_many.last, 1000),
        Row("one step: CPU per turn", many, "ms", lambda r: r.step_many.cpu, 1000),
        Row("one step: Slack calls per turn", many, "", lambda r: r.step_many.calls),
        Row("resident memory", "after all of the above", "MB", lambda r: r.memory),
    )


def settings(plan: Plan) -> str:
    """What holds for every row."""
    return (
        f"Medians of {plan.rounds} round{'s' if plan.rounds > 1 else ''}, the bots in turn; the "
        f"model takes {plan.model_seconds * 1000:.0f} ms a call, streamed in {plan.model_chunks} "
        "parts; Treadle with its journal, verbosity steps and pacing; the stand-in with Slack's "
        'rate limits; "overhead" is from the question to its answer without the model\'s time '
        "(twice as much of it where there is a step)."
    )


def arrived(plan: Plan, bots: Sequence[Bot]) -> str:
    """How many questions were answered; a run in which one is lost gets no table."""
    counts = {
        bot.name: sum(
            load.turns
            for one in bot.rounds
            for load in (one.answer_alone, one.answer_many, one.step_alone, one.step_many)
        )
        for bot in bots
    }
    said = ", ".join(f"{name} {count} of {count}" for name, count in counts.items())
    return f"Answered, with every step reply: {said}."


def table(plan: Plan, floor: Bot, treadle: Bot) -> str:
    """The table in Markdown, its columns aligned."""
    head = ("", "settings", floor.name, treadle.name, f"{treadle.name} / {floor.name}")
    body = [_cells(row, floor, treadle) for row in rows(plan)]
    return aligned(head, body, (False, False, True, True, True))


def aligned(head: Sequence[str], body: Sequence[Sequence[str]], right: Sequence[bool]) -> str:
    """A table in Markdown; `right` says which columns are aligned to the right."""
    widths = [max(len(line[i]) for line in (head, *body)) for i in range(len(head))]
    rule = tuple("-" * (w - 1) + (":" if r else "-") for w, r in zip(widths, right, strict=True))
    return "\n".join(_line(line, widths, right) for line in (head, rule, *body))


def _cells(row: Row, floor: Bot, treadle: Bot) -> tuple[str, ...]:
    low, own = (bot.median(row.value) * row.scale for bot in (floor, treadle))
    ratio = f"{own / low:.2f}" if row.unit != "MB" else f"{own / low:.2f} ({own - low:+.1f} MB)"
    return row.what, row.settings, _number(low, row.unit), _number(own, row.unit), ratio


def _number(value: float, unit: str) -> str:
    digits = 0 if value >= 100 else 1 if value >= 10 else 2
    return f"{value:.{digits}f} {unit}".strip()


def _line(cells: Sequence[str], widths: Sequence[int], right: Sequence[bool]) -> str:
    return f"| {' | '.join(_padded(cells, widths, right))} |"


def _padded(cells: Sequence[str], widths: Sequence[int], right: Sequence[bool]) -> Iterator[str]:
    for cell, width, to_right in zip(cells, widths, right, strict=True):
        yield cell.rjust(width) if to_right else cell.ljust(width)
