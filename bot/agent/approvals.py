"""What a journal says about a person's yes to a call. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from bot.agent.entries import ApprovalAnswered, ApprovalAsked, Entry, Observation, ToolStarted


def pending(turn: Sequence[Entry]) -> ApprovalAsked | None:
    """The question of this turn that nobody has answered yet."""
    for entry in reversed(turn):
        if isinstance(entry, ApprovalAnswered | ToolStarted | Observation):
            return None
        if isinstance(entry, ApprovalAsked):
            return entry
    return None


def given(
    after: Sequence[Entry], call_id: str, digest: str
) -> ApprovalAsked | ApprovalAnswered | None:
    """What came of asking about exactly this call: nothing yet, a question, or its answer.

    `after` are the entries since the reply that holds the call. A question about another form of
    the call counts for nothing.
    """
    about = [
        entry
        for entry in after
        if isinstance(entry, ApprovalAsked | ApprovalAnswered) and entry.call_id == call_id
    ]
    asked = [entry for entry in about if isinstance(entry, ApprovalAsked)]
    if not asked or asked[-1].digest != digest:
        return None
    return about[-1]
