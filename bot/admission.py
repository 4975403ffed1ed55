"""Who may speak and who may answer questions, made of the settings."""

from __future__ import annotations

from collections.abc import Collection

from bot import words
from bot.config import Settings
from bot.policy import Person, Place, Role, may_speak
from bot.runs.answers import MayApprove
from bot.runs.door import Admit


def admit(settings: Settings) -> Admit:
    """Who may speak, as `[access]` says."""
    access = settings.access

    def judge(person: Person, place: Place) -> str | None:
        refusal = may_speak(access.speakers, person, place)
        if refusal is None:
            return None
        return words.REFUSALS[refusal] if access.refusal == "say" else ""

    return judge


def approvers(settings: Settings) -> MayApprove:
    """Who may answer questions, as `[approvals]` says."""
    named = frozenset(settings.approvals.approvers)

    def judge(person: Person, askers: Collection[str]) -> bool:
        if person.bot:
            return False
        if person.id in named:
            return True
        if person.external or person.role not in (Role.ADMIN, Role.MEMBER):
            return False  # a guest may be let in to ask; to answer takes a name in the settings
        if "admins" in named and person.role == Role.ADMIN:
            return True
        return "requester" in named and set(askers) == {person.id}

    return judge


def answerers(settings: Settings) -> str:
    """The same for people, as the beginning of a sentence."""
    named = frozenset(settings.approvals.approvers)
    return words.answerers(
        admins="admins" in named,
        requester="requester" in named,
        named=len(named - {"admins", "requester"}),
    )
