"""Attempts to change what admins decide that were refused: recorded, without flooding the trail.

Of one person the first `EACH` of a day are recorded one by one, then only the one that makes them
twice as many, four times as many and so on, each with its number. So whoever tries a thousand
times a day leaves less than twenty rows, and it can be seen that there were a thousand.
"""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from bot.admin.live import EVERYWHERE, TOOL
from bot.admin.requests import AddBudget, Choose, Forget, MakeRule, Request, Switch
from bot.audit.records import Json, Record, change_refused
from bot.errors import StorageError
from bot.storage.budgets import about
from bot.storage.rules import rule_text

log = logging.getLogger(__name__)

EACH = 10
DAY_SECONDS = 24 * 3600.0
KNOWN_PEOPLE = 5000
LONGEST_VALUE = 500
"""Characters of a value; whoever may change nothing chooses it."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """What somebody tried, in the words of a `rule_changed` record."""

    action: str
    subject: str
    value: Json = None


@dataclass(slots=True)
class Attempts:
    """Keeps count of each person's. `now` is in seconds, from any beginning."""

    record: Callable[[Record], Awaitable[None]]
    now: Callable[[], float]
    _counts: OrderedDict[str, tuple[float, int]] = field(default_factory=OrderedDict)

    async def refused(self, who: str, attempt: Attempt, why: str) -> None:
        """Record it, or only count it. Where it cannot be written it stays refused all the same."""
        number = self._count(who)
        if not _is_recorded(number):
            return
        tried = (attempt.action, attempt.subject, attempt.value)
        try:
            await self.record(change_refused(who, *tried, why, number))
        except StorageError as error:
            log.error("a refused change is not in the audit trail: %s", error)

    def _count(self, who: str) -> int:
        began, count = self._counts.pop(who, (self.now(), 0))
        if self.now() - began >= DAY_SECONDS:
            began, count = self.now(), 0
        self._counts[who] = began, count + 1
        if len(self._counts) > KNOWN_PEOPLE:
            self._counts.popitem(last=False)
        return count + 1


def _is_recorded(number: int) -> bool:
    times, rest = divmod(number, EACH)
    return number <= EACH or (rest == 0 and times & (times - 1) == 0)


def attempted(request: Request) -> Attempt | None:
    """What a request would change; None if nothing."""
    match request:
        case MakeRule(rule):
            return Attempt("add", "rule", rule_text(rule)[:LONGEST_VALUE])
        case Forget(number):
            return Attempt("remove", f"rule {number}")
        case Choose(setting, channel, value):
            return Attempt("set", f"{setting.value} in {channel}", value)
        case Switch(tool, on):
            return Attempt("set", f"{TOOL}{tool} in {EVERYWHERE}", "on" if on else "off")
        case AddBudget(cap, subject):
            return Attempt("add", about(cap, subject), cap.amount)
    return None
