"""Limits of a turn, read from its journal entries: nothing is counted outside it. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bot import words
from bot.agent.entries import Entry, ModelReply, Observation, User


@dataclass(frozen=True, slots=True)
class Limits:
    """Per turn: model replies, seconds of running time, tokens in and out together."""

    max_steps: int = 25
    max_seconds: float = 900.0
    max_tokens: int = 400_000


def limit_reached(turn: Sequence[Entry], limits: Limits) -> str | None:
    """The sentence for the thread if the turn may not ask the model again, else None.

    A user's message renews the limits, so only what came after the newest one counts.
    """
    newest = max((i for i, e in enumerate(turn) if isinstance(e, User)), default=0)
    since = turn[newest:]
    replies = [e for e in since if isinstance(e, ModelReply)]
    seconds = sum(e.seconds for e in since if isinstance(e, ModelReply | Observation))
    tokens = sum(e.usage.input_tokens + e.usage.output_tokens for e in replies)
    if len(replies) >= limits.max_steps:
        return words.limit_steps(limits.max_steps)
    if seconds >= limits.max_seconds:
        return words.limit_seconds(limits.max_seconds)
    if tokens >= limits.max_tokens:
        return words.limit_tokens(limits.max_tokens)
    return None
