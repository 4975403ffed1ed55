"""What people were lately asked and answered, for admins."""

from __future__ import annotations

from bot import words
from bot.admin.explain import Naming, answered_at
from bot.admin.house import House
from bot.agent.entries import Answer

SHOWN = 5
"""Answers, the newest first."""


async def recent_lines(house: House, naming: Naming) -> list[str]:
    """One line for each answer: when, where, the call, for whom, what was said and by whom."""
    lines = []
    for noted in await house.refusals.answered(SHOWN):
        found = answered_at(noted.entries, noted.seq)
        if found is None or found.answer is None:
            continue
        tool, gist = house.names.get(found.call.name, found.call.name), house.describe(found.call)
        lines.append(
            words.answer_line(
                noted.at,
                naming.channel(noted.thread.split(":", 2)[1]),
                f"{naming.code(tool)} ({gist})" if gist else naming.code(tool),
                ", ".join(map(naming.person, found.decided.heard)),
                found.answer.name,
                allowed=found.answer.answer is Answer.ALLOWED,
            )
        )
    return lines
