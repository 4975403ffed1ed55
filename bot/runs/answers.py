"""Answers to the questions that a turn asks people: judged like messages, each counts once."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from bot import words
from bot.agent.approvals import pending
from bot.agent.entries import (
    Answer,
    ApprovalAnswered,
    ApprovalAsked,
    Entry,
    Refused,
    open_turn,
)
from bot.agent.ports import Clock
from bot.policy import Person
from bot.runs.brains import heard
from bot.runs.door import Door
from bot.storage.inbox import Item, Kind

MayApprove: TypeAlias = Callable[[Person, Collection[str]], bool]
"""Whether a person may answer a question of a turn in which these people asked."""


@dataclass(frozen=True, slots=True)
class Answers:
    """Judges clicks and expiries."""

    door: Door
    may_approve: MayApprove
    clock: Clock

    async def entries(self, journal: Sequence[Entry], item: Item) -> list[Entry]:
        """The answer, if it is one to the question that is open; else whoever clicked is told."""
        asked = _meant(journal, item)
        if item.kind is Kind.EXPIRY:
            return [] if asked is None else [ApprovalAnswered(asked.call_id, Answer.EXPIRED)]
        whisper = self.door.people.whisper
        if asked is None or asked.digest != item.about:
            whisper(item, words.question_closed())
            return []
        if self.clock.now() >= asked.expires_at:
            whisper(item, words.nobody_answered())
            return []
        person = await self.door.admitted(item)
        if isinstance(person, Refused):
            whisper(item, person.text or words.not_yours_to_answer())
            return []
        askers = {someone.id for someone in heard(journal)}
        if not self.may_approve(person, askers):
            whisper(item, words.not_yours_to_answer())
            return []
        name = await self.door.people.name(item.author, item.team)
        answer = Answer(item.text)
        said = words.approved(name) if answer is Answer.ALLOWED else words.denied(name)
        whisper(item, said, replace=True)
        return [ApprovalAnswered(asked.call_id, answer, person.id, name)]


def _meant(journal: Sequence[Entry], item: Item) -> ApprovalAsked | None:
    """The open question, if it is the one that the item is about."""
    asked, seq = pending(open_turn(journal)), int(item.change)
    return asked if seq < len(journal) and journal[seq] is asked else None
