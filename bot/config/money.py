"""Prices and budgets."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, TypeAlias

from pydantic import AfterValidator, Field, WrapSerializer

from bot.agent.budgets import Cap, Scope, Unit
from bot.agent.charges import Rate
from bot.config import values
from bot.config.section import Amount, Count, Section, thawed


class Price(Section):
    """What a million tokens cost, in the currency of [budget]."""

    input: Annotated[float, Field(ge=0, allow_inf_nan=False, examples=[0.25])]
    output: Annotated[float, Field(ge=0, allow_inf_nan=False, examples=[2.0])]
    cached: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None = Field(
        default=None, examples=[0.025]
    )

    @property
    def rate(self) -> Rate:
        """The same as charges take it; cached input costs as any where nothing is said of it."""
        return Rate(self.input, self.output, self.input if self.cached is None else self.cached)


Prices: TypeAlias = Annotated[
    Mapping[str, Price], AfterValidator(MappingProxyType), WrapSerializer(thawed)
]


class BudgetSection(Section):
    """[budget]: caps on money (in the currency of the prices), tokens and turns; None: no cap."""

    per_turn: Amount | None = Field(default=None, examples=[0.5])
    per_user_day: Amount | None = Field(default=None, examples=[5.0])
    per_channel_day: Amount | None = Field(default=None, examples=[20.0])
    per_day: Amount | None = Field(default=None, examples=[100.0])
    tokens_per_user_day: Count | None = Field(default=None, examples=[1_000_000])
    tokens_per_channel_day: Count | None = Field(default=None, examples=[5_000_000])
    tokens_per_day: Count | None = Field(default=None, examples=[20_000_000])
    turns_per_user_day: Count | None = Field(default=None, examples=[50])
    turns_per_channel_day: Count | None = Field(default=None, examples=[200])
    turns_per_day: Count | None = Field(default=None, examples=[1_000])
    day: Annotated[str, AfterValidator(values.time_zone)] = "UTC"
    currency: Annotated[str, AfterValidator(values.currency)] = "USD"

    @property
    def caps(self) -> tuple[Cap, ...]:
        """The caps that are set."""
        scopes = (
            ("per_turn", Scope.TURN),
            ("per_user_day", Scope.USER),
            ("per_channel_day", Scope.CHANNEL),
            ("per_day", Scope.ALL),
        )
        units = (("", Unit.MONEY), ("tokens_", Unit.TOKENS), ("turns_", Unit.TURNS))
        named = [(f"{u}{s}", scope, unit) for u, unit in units for s, scope in scopes]
        amounts = [(getattr(self, name, None), scope, unit) for name, scope, unit in named]
        return tuple(Cap(scope, unit, amount) for amount, scope, unit in amounts if amount)

    @property
    def in_money(self) -> tuple[str, ...]:
        """The names of the caps in money that are set."""
        names = ("per_turn", "per_user_day", "per_channel_day", "per_day")
        return tuple(name for name in names if getattr(self, name) is not None)
