"""What the calls of the model used, for whom, and what that costs. Pure.

A turn is charged to whoever wrote the first of the messages that it answers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate

from bot.agent import context
from bot.agent.entries import (
    Answered,
    Entry,
    Failed,
    ModelReply,
    Stopped,
    Summary,
    Usage,
    User,
    open_turn,
)

MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class Rate:
    """What a million tokens cost; `cached` is for input that the endpoint had in its cache."""

    input: float
    output: float
    cached: float

    def cost(self, usage: Usage) -> float:
        """What one call's tokens cost, in the currency of the rate."""
        cached = min(usage.cached_tokens, usage.input_tokens)
        fresh = usage.input_tokens - cached
        parts = fresh * self.input + cached * self.cached + usage.output_tokens * self.output
        return parts / MILLION


@dataclass(frozen=True, slots=True)
class Rates:
    """The rates by model; an endpoint that calls its model by a longer name is taken for `name`."""

    name: str = ""
    by_model: Mapping[str, Rate] = field(default_factory=dict)

    def of(self, model: str) -> Rate | None:
        """None where no price is known."""
        return self.by_model.get(model) or self.by_model.get(self.name)

    def cost(self, model: str, usage: Usage) -> float | None:
        """None where no price is known."""
        rate = self.of(model)
        return None if rate is None else rate.cost(usage)


@dataclass(frozen=True, slots=True)
class Charge:
    """One call of the model, with the journal position that holds it.

    `begins` says that it is the first of its turn, which begins at the position `since`.
    """

    seq: int
    author: str
    model: str
    usage: Usage
    begins: bool
    since: int = 0


def charges(before: Sequence[Entry], new: Sequence[Entry]) -> list[Charge]:
    """What appending `new` to a journal that holds `before` is to be charged."""
    if not any(_call(entry) for entry in new):
        return []
    turn, since = list(open_turn(before)), len(before)
    since -= len(turn)
    sizes = _sizes(before, new)
    found: list[Charge] = []
    for seq, entry in enumerate(new, len(before)):
        if (call := _call(entry)) is not None:
            model, counted, wasted = call
            begins = not any(_call(earlier) for earlier in turn)
            own = counted if tokens(counted) else _estimate(entry, sizes(seq - len(before)))
            usage = own.plus(wasted)
            found.append(Charge(seq, author(turn), model, usage, begins, since))
        turn.append(entry)
        if isinstance(entry, Answered | Stopped | Failed):
            turn, since = [], seq + 1
    return found


def _sizes(before: Sequence[Entry], new: Sequence[Entry]) -> Callable[[int], int]:
    """The tokens of a request made where so many of the `new` entries are there, about."""
    sizes: list[int] = []

    def size(count: int) -> int:
        if not sizes:  # not sooner: mostly the endpoint counts
            first = context.size(before, context.PROMPT)
            sizes.extend(accumulate(map(context.weight, new), initial=first))
        return sizes[count]

    return size


def lost(entries: Sequence[Entry], model: str, usage: Usage) -> Charge:
    """A call whose reply did not come into the journal, at the position where it would stand."""
    turn = open_turn(entries)
    since = len(entries) - len(turn)
    begins = not any(_call(entry) for entry in turn)
    return Charge(len(entries), author(turn), model, usage, begins, since)


def _estimate(said: Entry, asked: int) -> Usage:
    """For an endpoint that does not count."""
    output = context.tokens(said.text) if isinstance(said, Summary) else context.weight(said)
    return Usage(asked, output)


def author(turn: Sequence[Entry]) -> str:
    """Whom a turn is charged to; "" before anybody has written."""
    return next((entry.author for entry in turn if isinstance(entry, User)), "")


def used(turn: Sequence[Entry]) -> Iterator[tuple[str, Usage]]:
    """The model and the tokens of each of a turn's calls."""
    for entry in turn:
        if (call := _call(entry)) is not None:
            model, counted, wasted = call
            yield model, counted.plus(wasted)


def total(turn: Sequence[Entry], rates: Rates) -> tuple[int, float | None]:
    """The tokens of a turn and what they cost: None if the price of one call is not known."""
    calls = list(used(turn))
    costs = [rates.cost(model, usage) for model, usage in calls]
    known = [cost for cost in costs if cost is not None]
    count = sum(tokens(usage) for _, usage in calls)
    return count, sum(known) if len(known) == len(costs) else None


def tokens(usage: Usage) -> int:
    """Input and output together."""
    return usage.input_tokens + usage.output_tokens


def _call(entry: Entry) -> tuple[str, Usage, Usage] | None:
    """The model, the tokens of the call that an entry holds, and those of others before it that
    broke off."""
    match entry:
        case ModelReply(model=model, usage=usage, wasted=wasted):
            return model, usage, wasted
        case Summary(model=model, usage=usage) if model:
            return model, usage, Usage()
        case _:
            return None
