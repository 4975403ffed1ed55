"""Things that go wrong on purpose: frozen rules, matched by method or event."""

import random
from collections.abc import Iterable
from dataclasses import dataclass, fields
from enum import StrEnum
from fnmatch import fnmatchcase

from bot.local_slack.shapes import Json, PersonError


class Effect(StrEnum):
    """What a rule does to the call, the event or the socket that it matches."""

    RATE_LIMIT = "rate_limit"  # 429 with Retry-After: seconds; nothing is carried out
    SERVER_ERROR = "server_error"  # HTTP `status` without JSON; nothing is carried out
    ERROR = "error"  # {"ok": false, "error": error}; nothing is carried out
    LOSE_ANSWER = "lose_answer"  # carried out, then the connection is cut
    SLOW_BEFORE = "slow_before"  # wait `seconds`, then carry out and answer
    SLOW_AFTER = "slow_after"  # carry out, wait `seconds`, then answer
    REPEAT = "repeat"  # `copies` further deliveries with the same event id
    REPEAT_NEW_ID = "repeat_new_id"  # `copies` further deliveries, each with an id of its own
    DELAY = "delay"  # the event arrives `seconds` late
    HOLD = "hold"  # the event waits until it is released
    REFUSE_SOCKET = "refuse_socket"  # the WebSocket handshake answers `status`
    MUTE_SOCKET = "mute_socket"  # the socket opens and then is half-open: no pong, no events
    CUT_SOCKET = "cut_socket"  # the socket opens, says hello, and is cut after `seconds`


CALL_EFFECTS = frozenset({Effect.RATE_LIMIT, Effect.SERVER_ERROR, Effect.ERROR,
    Effect.LOSE_ANSWER, Effect.SLOW_BEFORE, Effect.SLOW_AFTER})  # fmt: skip
EVENT_EFFECTS = frozenset({Effect.REPEAT, Effect.REPEAT_NEW_ID, Effect.DELAY, Effect.HOLD})
SOCKET_EFFECTS = frozenset({Effect.REFUSE_SOCKET, Effect.MUTE_SOCKET, Effect.CUT_SOCKET})


@dataclass(frozen=True, slots=True)
class FaultRule:
    """One rule. ``target`` is a Web API method or an event type; ``*`` matches any.

    ``skip`` matching cases pass untouched, then the rule fires with ``probability`` at most
    ``count`` times (None: without end). ``retry_marks`` puts retry numbers on repeated events.
    """

    effect: Effect
    target: str = "*"
    channel: str = ""
    skip: int = 0
    count: int | None = None
    probability: float = 1.0
    seconds: float = 1.0
    status: int = 500
    error: str = "internal_error"
    copies: int = 1
    retry_marks: bool = False

    @classmethod
    def from_json(cls, data: Json) -> "FaultRule":
        """A rule from the control API; ``PersonError`` names an unknown key or effect."""
        known = {field.name for field in fields(cls)}
        if unknown := sorted(set(data) - known):
            raise PersonError(f"A fault rule has no field {unknown[0]!r}; it has {sorted(known)}.")
        try:
            return cls(**{**data, "effect": Effect(data.get("effect", ""))})
        except ValueError:
            effects = ", ".join(Effect)
            raise PersonError(f"A fault rule needs an effect; use one of: {effects}.") from None


class Faults:
    """The rules in force, how often each has fired, and the dice (seeded, so runs repeat)."""

    def __init__(self, seed: int) -> None:
        self._dice = random.Random(seed)  # noqa: S311 - repeatable on purpose
        self._rules: list[FaultRule] = []
        self._seen: list[int] = []
        self._fired: list[int] = []

    def replace(self, rules: Iterable[FaultRule]) -> None:
        """Put these rules in the place of all earlier ones; counts start again."""
        self._rules = list(rules)
        self._seen = [0] * len(self._rules)
        self._fired = [0] * len(self._rules)

    def fired(self) -> int:
        """How many times the present rules have fired together."""
        return sum(self._fired)

    def matching(self, among: frozenset[Effect], target: str, channel: str) -> list[FaultRule]:
        """The rules that fire now, in their order; each firing is counted."""
        if not self._rules:
            return []
        return [
            rule
            for at, rule in enumerate(self._rules)
            if rule.effect in among
            and fnmatchcase(target, rule.target)
            and rule.channel in ("", channel)
            and self._fires(at, rule)
        ]

    def _fires(self, at: int, rule: FaultRule) -> bool:
        self._seen[at] += 1
        if self._seen[at] <= rule.skip:
            return False
        if rule.count is not None and self._fired[at] >= rule.count:
            return False
        if rule.probability < 1.0 and self._dice.random() >= rule.probability:
            return False
        self._fired[at] += 1
        return True
