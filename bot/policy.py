"""The tool policy: what is allowed, what needs a human, what is refused. Pure."""

from __future__ import annotations

from enum import StrEnum


class Verdict(StrEnum):
    """What the policy says to a call, from weakest to strictest."""

    ALLOW = "allow"
    ASK = "ask"
    DENY = "deny"
