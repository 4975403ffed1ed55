"""Carries out what was asked for with `/treadle` and says what came of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bot import words
from bot.admin import explain
from bot.admin.attempts import Attempt, attempted
from bot.admin.check import rule_concerns
from bot.admin.explain import Naming
from bot.admin.grammar import Vocabulary, read_command
from bot.admin.house import Asker, House, People, Running
from bot.admin.live import Setting
from bot.admin.requests import (
    AddBudget,
    Choose,
    Forget,
    Help,
    MakeRule,
    Misread,
    Request,
    ShowBudgets,
    ShowRules,
    ShowStatus,
    ShowTools,
    ShowUsage,
    Stop,
    Switch,
    Why,
)
from bot.admin.rights import effect, rights
from bot.agent.budgets import Cap, Scope
from bot.errors import LookupFailed, NotPermitted, TreadleError
from bot.policy import Place

SETTING_NAMES = {Setting.VERBOSITY: "verbosity", Setting.REPLIES: "replies"}


@dataclass(frozen=True, slots=True)
class Commands:
    """`naming` writes channels and people as the place of the answer shows them."""

    house: House
    people: People
    naming: Naming

    async def asker(self, user: str, place: Place, *, acts: bool = False) -> Asker:
        """Whoever it is; `acts` as for a look-up. Raises LookupFailed."""
        person = await self.people.lookup(user, place.team, acts=acts)
        return Asker(person, await self.people.name(user, place.team), place)

    async def answer(self, user: str, place: Place, text: str) -> str:
        """The answer to a command; "" where nothing is to be said."""
        request = read_command(text, Vocabulary(self.house.names, place.channel))
        try:
            asker = await self.asker(user, place)
        except LookupFailed as error:
            await self._refused(user, attempted(request), str(error))
            return str(error)
        refusal = self.house.refusal(asker.person, place)
        if refusal is None:
            return await self.carry_out(asker, request)
        why = words.access_why(refusal)
        await self._refused(user, attempted(request), why)
        # Who may not speak here may know why, unless the operator wants silence.
        return "" if self.house.silent else why

    async def carry_out(self, asker: Asker, request: Request) -> str:
        """What came of a request, or the sentence that says why nothing did."""
        try:
            return await self._answer(asker, request)
        except TreadleError as error:
            return str(error)

    async def change(self, user: str, place: Place, request: Request) -> str:
        """What came of a request that changes something, or why nothing did."""
        try:
            admin = await self.permitted(user, place, attempted(request))
            return await self._change(admin, request)
        except TreadleError as error:
            return str(error)

    async def permitted(self, user: str, place: Place, attempt: Attempt | None) -> Asker:
        """Whoever wants to change something, if it is an admin.

        Raises NotPermitted and LookupFailed; the audit trail then says so.
        """
        try:
            asker = await self.asker(user, place, acts=True)
            asker.as_admin.must_be_one()
        except (LookupFailed, NotPermitted) as error:
            await self._refused(user, attempt, str(error))
            raise
        return asker

    async def _refused(self, user: str, attempt: Attempt | None, why: str) -> None:
        if attempt is not None:
            await self.house.attempts.refused(user, attempt, why)

    async def _answer(self, asker: Asker, request: Request) -> str:
        match request:
            case Help():
                return words.command_help()
            case Misread(text):
                return text
            case ShowTools():
                return "\n".join(rights(self.house, asker))
            case ShowRules():
                return "\n".join(self._rules(asker))
            case Why():
                return await self._why(asker)
            case Stop():
                return await self._stop(asker, request)
            case ShowUsage():
                place = asker.place
                found = await self.house.budgets.lines(place.team, asker.person.id, place.channel)
                return "\n".join(found)
            case ShowBudgets():
                asker.as_admin.must_be_one()
                return "\n".join(await self.house.budgets.all_lines())
            case ShowStatus():
                return "\n".join(await self.house.status(whole=asker.is_admin))
            case _:
                return await self.change(asker.person.id, asker.place, request)

    async def _change(self, asker: Asker, request: Request) -> str:
        live, admin = self.house.live, asker.as_admin
        match request:
            case MakeRule(rule):
                kept = await live.add(admin, rule)
                number, said = kept.number, explain.in_words(rule, self.naming)
                overruled = effect(live.book, kept.rule.place, self.naming)
                notes = [*rule_concerns(rule), *overruled]
                return "\n".join([words.rule_kept(number, said), *notes])
            case Forget(number):
                old = await live.forget(admin, number)
                if old is None:
                    return words.no_such_rule(number)
                return words.rule_forgotten(number, explain.in_words(old.rule, self.naming))
            case Choose(setting, channel, value):
                await live.choose(admin, channel, setting, value)
                now = live.value(setting, channel)
                return words.chosen(SETTING_NAMES[setting], now, self.naming.channel(channel))
            case AddBudget(cap, subject):
                team = asker.place.team
                if not await self.house.budgets.add(admin, cap, subject, team):
                    return words.no_such_cap(cap.scope.value, cap.unit.value)
                return words.budget_added(cap.amount, cap.unit.value, self._whose(cap, subject))
            case Switch(tool, on):
                await live.switch(admin, tool, on=on)
                return words.switched(tool, on)
        raise AssertionError(f"nobody carries out {request}")

    def _whose(self, cap: Cap, subject: str) -> str:
        show = self.naming.person if cap.scope is Scope.USER else self.naming.channel
        return show(subject) if subject else words.EVERYBODY

    def _rules(self, asker: Asker) -> Sequence[str]:
        """Every rule, in the order in which it is asked. For admins: rules name people."""
        if not asker.is_admin:
            return [words.only_admins_see()]
        book = self.house.live.book
        lines = [
            words.rule_line(rule.place, explain.in_words(rule, self.naming))
            for rule in book.everything()
        ]
        return [words.rules_head(book.slack_may_loosen), *lines] if lines else [words.no_rules()]

    async def _why(self, asker: Asker) -> str:
        team, user = asker.place.team, asker.person.id
        stored = await self.house.refusals.last(team, user)
        found = stored and explain.refusal_at(stored.entries, stored.seq)
        if not (stored and found):
            return words.nothing_refused()
        tool = self.house.names.get(found.call.name, found.call.name)
        where = self.naming.channel(stored.thread.split(":", 2)[1])
        head = words.why_head(where, words.moment(stored.at))
        gist = self.house.describe(found.call)
        book = self.house.live.book
        return "\n".join([head, *explain.why(found, tool, gist, user, book, self.naming)])

    async def _stop(self, asker: Asker, request: Stop) -> str:
        turns = await stoppable(self.house, asker, everywhere=request.everything)
        if request.number is not None:
            if not 1 <= request.number <= len(turns):
                return words.no_such_turn(request.number, len(turns))
            turns = [turns[request.number - 1]]
        elif len(turns) > 1 and not request.everything:
            return "\n".join([words.several_turns(), *self._turn_lines(turns)])
        if not turns:
            return words.nothing_to_stop_here()
        for turn in turns:
            await self.house.turns.stop(turn, asker.person)
        return words.stopping(len(turns))

    def _turn_lines(self, turns: Sequence[Running]) -> Sequence[str]:
        return [
            f"{number}. {turn_line(turn, self.naming)}"
            for number, turn in enumerate(turns, start=1)
        ]


async def stoppable(house: House, asker: Asker, *, everywhere: bool) -> Sequence[Running]:
    """The turns that the person may stop: their own ones here; for an admin anybody's."""
    running = await house.turns.running()
    if everywhere:
        return running if asker.is_admin else []
    here = [turn for turn in running if turn.channel == asker.place.channel]
    if asker.is_admin:
        return here
    return [turn for turn in here if asker.person.id in turn.askers]


def turn_line(turn: Running, naming: Naming) -> str:
    """One turn, for people: who, where, since when."""
    people = ", ".join(naming.person(user) for user in turn.askers)
    return words.turn_line(
        people, naming.channel(turn.channel), words.moment(turn.since), turn.waits
    )
