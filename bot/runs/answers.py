"""Answers to the questions that a turn asks people: judged like messages, each counts once."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from bot import words
from bot.agent.approvals import Card, Line, card_at
from bot.agent.consent import Answer, ApprovalAnswered, ApprovalAsked, Choice
from bot.agent.entries import Entry, Refused
from bot.agent.ports import Clock
from bot.policy import Person
from bot.runs.brains import heard
from bot.runs.door import Door
from bot.storage.items import Item, Kind

LONGEST_REASON = 1000
"""Characters of a reason that the model is shown."""

MayApprove: TypeAlias = Callable[[Person, Collection[str]], bool]
"""Whether a person may answer a question of a turn in which these people asked."""


@dataclass(frozen=True, slots=True)
class Answers:
    """Judges clicks and expiries."""

    door: Door
    may_approve: MayApprove
    clock: Clock

    async def entries(self, journal: Sequence[Entry], item: Item) -> list[Entry]:
        """The answers, if the item is about questions that are open; else its author is told."""
        card = _card(journal, item)
        if item.kind is Kind.EXPIRY:
            return self._expired(card)
        choice = next((choice for choice in Choice if choice == item.text), None)
        if card is None or choice is None or not (lines := _meant(card, item, choice)):
            return self._told(item, words.question_closed())
        if self.clock.now() >= lines[0].asked.expires_at:
            return self._told(item, words.nobody_answered())
        if choice is Choice.THREAD and lines[0].asked.offer is None:
            return self._told(item, words.no_such_grant())
        person = await self.door.admitted(item, acts=True)
        if isinstance(person, Refused):
            return self._told(item, person.text or words.not_yours_to_answer())
        if not self.may_approve(person, {someone.id for someone in heard(journal)}):
            return self._told(item, words.not_yours_to_answer())
        name = await self.door.people.name(item.author, item.team)
        reason = item.reason[:LONGEST_REASON] if choice.answer is Answer.DENIED else ""
        now = self.clock.now()
        return [
            ApprovalAnswered(
                line.asked.call_id,
                choice.answer,
                person.id,
                name,
                reason,
                now,
                line.asked.offer if choice is Choice.THREAD else None,
            )
            for line in lines
        ]

    def _expired(self, card: Card | None) -> list[Entry]:
        now, lines = self.clock.now(), () if card is None else card.open
        return [ApprovalAnswered(line.asked.call_id, Answer.EXPIRED, at=now) for line in lines]

    def _told(self, item: Item, text: str) -> list[Entry]:
        self.door.people.whisper(item, text)
        return []


def _card(journal: Sequence[Entry], item: Item) -> Card | None:
    """The card that the item names, if there is one and something on it is still open."""
    seq = int(item.change)
    if seq >= len(journal) or not isinstance(journal[seq], ApprovalAsked):
        return None
    card = card_at(journal, seq)
    return card if card.open else None


def _meant(card: Card, item: Item, choice: Choice) -> Sequence[Line]:
    """The open lines that an answer is about: those it was given to exactly as they are."""
    seq = int(item.change)
    if choice in (Choice.ALL, Choice.NONE):
        return card.open if (seq, item.about) == (card.seq, card.digest) else ()
    (line,) = (line for line in card.lines if line.seq == seq)
    if line not in card.open or line.asked.digest != item.about:
        return ()
    if choice is Choice.THREAD and line.asked.offer is not None:
        # The others that it covers too: asking about them would be asking twice.
        return [other for other in card.open if other.asked.offer == line.asked.offer]
    return (line,)
