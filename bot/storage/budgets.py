"""Budgets: what is set aside for calls that are being made, and what is left for today.

Reserving is one transaction, so that two calls never take the same rest.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from sqlalchemy import ColumnElement, Connection, delete, func, insert, select, true

from bot import words
from bot.agent.budgets import ANSWER, Cap, Scope, State, Unit, Wanted
from bot.agent.charges import Charge
from bot.agent.entries import Usage
from bot.audit.records import rule_changed
from bot.errors import Fenced
from bot.storage.audit import Audit
from bot.storage.statements import hold
from bot.storage.tables import budget_told, raises, reservations, threads, usage
from bot.storage.usage import Ledger, is_begun, spent
from bot.storage.writer import Writer

RESERVED_SECONDS = 900.0
"""What was set aside longer ago counts no more: the process that made the call is gone."""
_LOCK = "budgets"
"""Held while something is set aside, since several processes may write."""
_ASIDE = {
    Unit.MONEY: reservations.c.cost,
    Unit.TOKENS: reservations.c.tokens,
    Unit.TURNS: reservations.c.turns,
}


class Budgets:
    """Caps and their use. `now` is in seconds since the epoch."""

    def __init__(
        self,
        writer: Writer,
        now: Callable[[], float] = time.time,
        audit: Audit | None = None,
        ledger: Ledger | None = None,
        owner: str | None = None,
    ) -> None:
        """With an `owner`, only for calls in its own threads is anything set aside."""
        self._writer, self._now, self._audit, self._owner = writer, now, audit, owner
        self._ledger = ledger or Ledger(writer, now=now)

    async def reserve(
        self, wanted: Wanted, caps: Sequence[Cap], token: str
    ) -> tuple[State | None, Sequence[State]]:
        """Set aside what a call may use, unless a cap has not so much left. Durable on return.

        `token` is this call's alone. Returns the cap that is reached, if one is: then nothing is
        set aside. Beside it the caps that are nearly used up and of which nobody was told today.
        What is set aside for the thread still was for a call that a process made before it was
        killed or frozen: it counts as used. Raises Fenced if the thread is another process's.
        """

        def work(connection: Connection) -> tuple[State | None, Sequence[State]]:
            self._unless_lost(connection, wanted.thread)
            hold(connection, _LOCK)
            _free(connection, token)  # no answer came, and this is run again
            self._settle_left(connection, wanted)
            begun = is_begun(connection, wanted.thread, wanted.turn_from)
            call = replace(wanted, turns=0) if begun else wanted
            states = [self._state(connection, cap, call) for cap in caps]
            for state in states:
                if state.used + call.of(state.cap.unit) > state.limit:
                    return state, ()
            connection.execute(insert(reservations), self._row(call, token))
            return None, [s for s in states if s.is_near and _tell_once(connection, s, call)]

        return await self._writer.run(work)

    async def lose(self, thread: str, charge: Charge, token: str = "") -> None:
        """No reply came of a call that was answered, or may have been: it counts as used.

        Not if what was set aside for it with `token` is there no more: then whoever has the thread
        now has counted it.
        """

        def work(connection: Connection) -> None:
            if not token or _free(connection, token):
                self._ledger.lose(connection, thread, charge)

        await self._writer.run(work)

    async def release(self, token: str) -> None:
        """The call was not answered: what was set aside for it is free again."""

        def work(connection: Connection) -> None:
            _free(connection, token)

        await self._writer.run(work)

    async def states(self, wanted: Wanted, caps: Sequence[Cap]) -> Sequence[State]:
        """How much of each cap is used, for whoever looks."""

        def work(connection: Connection) -> Sequence[State]:
            return [self._state(connection, cap, wanted) for cap in caps]

        return await self._writer.run(work)

    async def add(self, cap: Cap, subject: str, by: str) -> None:
        """An admin adds `cap.amount` to a cap of a user, a `team:channel` or all, for today."""
        row = {
            "at": self._now(),
            "scope": cap.scope,
            "subject": subject,
            "unit": cap.unit,
            "amount": cap.amount,
            "by": by,
        }

        def work(connection: Connection) -> None:
            connection.execute(insert(raises), row)
            if self._audit is not None:
                changed = rule_changed(by, "added", about(cap, subject), cap.amount)
                self._audit.add(connection, changed)

        await self._writer.run(work)

    def _unless_lost(self, connection: Connection, thread: str) -> None:
        if self._owner is None:
            return
        hold(connection, thread)
        owner = select(threads.c.owner).where(threads.c.thread == thread)
        if connection.scalar(owner) != self._owner:
            raise Fenced(words.fenced(thread))

    def _settle_left(self, connection: Connection, wanted: Wanted) -> None:
        query = select(reservations).where(reservations.c.thread == wanted.thread)
        left = connection.execute(query).first()
        if left is None:
            return
        used = Usage(max(0, left.tokens - ANSWER), ANSWER)
        begins, since = bool(left.turns), wanted.turn_from
        charge = Charge(wanted.seq - 1, left.author, wanted.model, used, begins, since)
        self._ledger.lose(connection, wanted.thread, charge)
        connection.execute(delete(reservations).where(reservations.c.thread == wanted.thread))

    def _state(self, connection: Connection, cap: Cap, wanted: Wanted) -> State:
        if cap.scope is Scope.TURN:
            turn = (usage.c.thread == wanted.thread) & (usage.c.seq >= wanted.turn_from)
            return State(cap, cap.amount, spent(connection, turn).of(cap.unit))
        of_usage: ColumnElement[bool] = true()
        of_aside: ColumnElement[bool] = true()
        if cap.scope is Scope.USER:
            of_usage = usage.c.author == wanted.author
            of_aside = reservations.c.author == wanted.author
        elif cap.scope is Scope.CHANNEL:
            of_usage = usage.c.channel == wanted.channel
            of_aside = reservations.c.channel == wanted.channel
        used = spent(connection, of_usage, usage.c.at >= wanted.day).of(cap.unit)
        live = reservations.c.at >= self._now() - RESERVED_SECONDS
        aside = select(func.coalesce(func.sum(_ASIDE[cap.unit]), 0)).where(of_aside, live)
        limit = cap.amount + _added(connection, cap, wanted)
        return State(cap, limit, used + float(connection.scalar(aside) or 0))

    def _row(self, wanted: Wanted, token: str) -> dict[str, object]:
        return {
            "thread": wanted.thread,
            "token": token,
            "at": self._now(),
            "author": wanted.author,
            "channel": wanted.channel,
            "cost": wanted.money,
            "tokens": wanted.tokens,
            "turns": wanted.turns,
        }


def about(cap: Cap, subject: str) -> str:
    """A cap of somebody's, as the audit trail names it."""
    return f"budget of {cap.unit.value} for {cap.scope.value} {subject}".strip()


def _free(connection: Connection, token: str) -> bool:
    """Whether there was something set aside with this token."""
    ours = delete(reservations).where(reservations.c.token == token)
    return connection.execute(ours).rowcount > 0


def _added(connection: Connection, cap: Cap, wanted: Wanted) -> float:
    """What admins have added today."""
    query = select(func.coalesce(func.sum(raises.c.amount), 0.0)).where(
        raises.c.at >= wanted.day,
        raises.c.scope == cap.scope,
        raises.c.unit == cap.unit,
        raises.c.subject == wanted.subject(cap.scope),
    )
    return float(connection.scalar(query) or 0)


def _tell_once(connection: Connection, state: State, wanted: Wanted) -> bool:
    """Whether nobody was told today that this cap is nearly used up; from now on somebody was."""
    cap = state.cap
    key = {
        "day": wanted.day,
        "scope": cap.scope,
        "subject": wanted.subject(cap.scope),
        "unit": cap.unit,
    }
    told = budget_told.c
    same = [told[name] == value for name, value in key.items()]
    if connection.execute(select(told.day).where(*same)).first() is not None:
        return False
    connection.execute(insert(budget_told), key)
    return True
