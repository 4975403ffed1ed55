"""What the model used, and budgets."""

from __future__ import annotations

from collections.abc import Mapping

_WHOSE: Mapping[str, str] = {
    "turn": "one turn",
    "user": "one person a day",
    "channel": "one channel a day",
    "all": "everybody together a day",
}


def amount(value: float, unit: str, currency: str) -> str:
    """An amount of money, tokens or turns."""
    if unit == "money":
        return f"{money(value)} {currency}"
    return f"{value:,.0f} {unit}"


def money(value: float) -> str:
    """With as many digits as tell it from nothing."""
    return f"{value:.2f}" if value >= 1 or value == 0 else f"{value:.4f}"


def budget_reached(scope: str, unit: str, limit: float, used: float, currency: str) -> str:
    whole, so_far = amount(limit, unit, currency), amount(used, unit, currency)
    if scope == "turn":
        return (
            f"I stopped here: one turn may use {whole} and this one has used {so_far}. "
            "Reply to go on with a new turn, or ask for something smaller."
        )
    return (
        f"I stopped here: the budget of {whole} for {_WHOSE[scope]} has no room for the next step "
        f"({so_far} are used or set aside). Ask again tomorrow, or an admin can raise it for today "
        "with /treadle budget."
    )


def budget_near(scope: str, unit: str, limit: float, used: float, currency: str) -> str:
    share = min(100, round(100 * used / limit)) if limit else 100
    return f"{share} % of the budget for {_WHOSE[scope]} ({amount(limit, unit, currency)}) is used."


def footer(tokens: int, cost: float | None, currency: str) -> str:
    """The line under an answer: what its turn used."""
    spent = "" if cost is None else f" · {amount(cost, 'money', currency)}"
    return f"{tokens:,} tokens{spent}"


USED_BY_YOU, USED_HERE, USED_BY_ALL = "You", "This channel", "Everybody together"


def used_today(whose: str, turns: int, tokens: int, cost: float | None, currency: str) -> str:
    spent = "" if cost is None else f", {amount(cost, 'money', currency)}"
    counted = "1 turn" if turns == 1 else f"{turns:,} turns"
    return f"{whose} today: {counted}, {tokens:,} tokens{spent}"


def cap_line(scope: str, unit: str, limit: float, used: float, currency: str) -> str:
    whole, so_far = amount(limit, unit, currency), amount(used, unit, currency)
    return f"Cap for {_WHOSE[scope]}: {so_far} of {whole}"
