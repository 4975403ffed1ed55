"""Asking a person before a call is made."""

from __future__ import annotations


def approval_question(tool: str, reason: str) -> str:
    return f"May I use {tool}? {reason}"


def approval_until(when: str) -> str:
    return f"An admin can answer until {when}; then I go on without it."


APPROVE, DENY = "Approve", "Deny"


def approved(name: str) -> str:
    return f"{name} approved this call."


def denied(name: str) -> str:
    return f"{name} said no to this call."


def nobody_answered() -> str:
    return "Nobody answered in time, so this call was not made."


def question_closed() -> str:
    return "This question is no longer open; nothing was changed."


def not_yours_to_answer() -> str:
    return "Only those named under [approvals] approvers can answer this; nothing was changed."


def message_waits() -> str:
    return "I read this as soon as somebody has answered"


THE_QUESTION = "the question above"
