"""What a run will do, from its seed alone. Pure."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from bot.local_slack.faults import Effect, FaultRule

PEOPLE = ("alice", "bob", "ada")


@dataclass(frozen=True, slots=True)
class Plan:
    """One run. Times are seconds; people write during the storm, then everything calms down."""

    seed: int
    threads: int = 300
    channels: int = 60
    storm: float = 45.0
    kill_every: float = 4.0
    calm: float = 300.0
    """How long, at most, until nothing is left to do. Slack lets about fifty posts in doubt be
    looked up in a minute, and a storm leaves a hundred and more."""

    def dice(self, purpose: str) -> random.Random:
        """Dice of their own for each part, so that one part's rolls do not change another's."""
        return random.Random(f"{self.seed} {purpose}")


SHORT = Plan(seed=0, threads=80, channels=40, storm=10.0, kill_every=3.5, calm=150.0)
SHORT_CLUSTER = Plan(seed=0, threads=50, channels=25, storm=8.0, kill_every=3.0, calm=150.0)
"""A dead worker is noticed after twenty seconds, so that there is less time for the rest."""


class Course(Enum):
    """What happens in a thread."""

    PLAIN = "plain"
    TOOLS = "tools"
    SLOW_TOOL = "slow"
    SHELL = "shell"
    STEER = "steer"
    FOLLOW_UP = "follow-up"
    STOP_WORD = "stop-word"
    STOP_REACTION = "stop-reaction"
    STOP_BUTTON = "stop-button"
    DELETED = "deleted"
    EDITED = "edited"
    APPROVED = "approved"
    DENIED = "denied"
    APPROVAL_STOPPED = "approval-stopped"
    ASIDE = "aside"
    LATE_MENTION = "late-mention"


WEIGHTS = {Course.PLAIN: 3, Course.TOOLS: 4, Course.STEER: 3, Course.FOLLOW_UP: 3}
"""The others have one."""


@dataclass(frozen=True, slots=True)
class Conversation:
    """One thread: who begins it, where and when; `pauses` are between what its author does."""

    number: int
    course: Course
    channel: int
    author: str
    begin: float
    pauses: tuple[float, ...]
    steps: int


def conversations(plan: Plan) -> tuple[Conversation, ...]:
    """All threads of a run, by when they begin; every course is among them."""
    dice = plan.dice("people")
    courses = list(Course)
    weights = [WEIGHTS.get(course, 1) for course in courses]
    drawn = dice.choices(courses, weights, k=max(0, plan.threads - len(courses)))
    mixed = [*courses, *drawn]
    dice.shuffle(mixed)
    found = [
        Conversation(
            number,
            course,
            dice.randrange(plan.channels),
            dice.choice(PEOPLE),
            dice.uniform(0, plan.storm * 0.8),
            tuple(dice.uniform(0, 2.5) for _ in range(3)),
            dice.randint(1, 3),
        )
        for number, course in enumerate(mixed)
    ]
    return tuple(sorted(found, key=lambda conversation: conversation.begin))


class Blow(Enum):
    """What hits the whole of it."""

    KILL = "kill"
    RESTART = "restart"
    CUT = "cut"
    REFRESH = "refresh"
    MUTE = "mute"
    VANISH = "vanish"
    TROUBLE = "trouble"
    WEATHER = "weather"


LESSER = {
    Blow.CUT: 3,
    Blow.REFRESH: 2,
    Blow.MUTE: 1,
    Blow.VANISH: 2,
    Blow.TROUBLE: 3,
    Blow.WEATHER: 4,
}
"""How often which blow comes that kills nothing; a mute socket is deaf for fifteen seconds."""


def storm(plan: Plan) -> Sequence[tuple[float, Blow]]:
    """When what happens, in order. Kills come about every `kill_every` seconds; one is polite."""
    dice = plan.dice("storm")
    blows: list[tuple[float, Blow]] = [(0.0, Blow.WEATHER), (plan.storm, Blow.RESTART)]
    at = 0.0
    while (at := at + dice.uniform(0.4, 1.6) * plan.kill_every) < plan.storm:
        blows.append((at, Blow.RESTART if dice.random() < 0.15 else Blow.KILL))
    at = 0.0
    while (at := at + dice.uniform(1.0, 3.0)) < plan.storm:
        blows.append((at, dice.choices(list(LESSER), list(LESSER.values()))[0]))
    return sorted(blows, key=lambda blow: blow[0])


def weather(dice: random.Random) -> tuple[FaultRule, ...]:
    """How Slack behaves for the next while: each rule may or may not be in force."""
    post, any_method, late = "chat.postMessage", "*", "c*"  # what is late, is looked up
    kinds = (
        FaultRule(Effect.RATE_LIMIT, post, probability=0.1, seconds=1.0),
        FaultRule(Effect.RATE_LIMIT, any_method, probability=0.05, seconds=1.0),
        FaultRule(Effect.SERVER_ERROR, post, probability=0.08, status=503),
        FaultRule(Effect.SERVER_ERROR, any_method, probability=0.05),
        FaultRule(Effect.ERROR, post, probability=0.05, error="internal_error"),
        FaultRule(Effect.LOSE_ANSWER, post, probability=0.1),
        FaultRule(Effect.LOSE_ANSWER, any_method, probability=0.03),
        FaultRule(Effect.SLOW_BEFORE, late, probability=0.05, seconds=dice.uniform(0.2, 5)),
        FaultRule(Effect.SLOW_AFTER, any_method, probability=0.1, seconds=dice.uniform(0.2, 3)),
        FaultRule(Effect.REPEAT, any_method, probability=0.1, retry_marks=True),
        FaultRule(Effect.REPEAT, any_method, probability=0.1),
        FaultRule(Effect.REPEAT_NEW_ID, any_method, probability=0.1, copies=2),
        FaultRule(Effect.DELAY, any_method, probability=0.15, seconds=dice.uniform(0.1, 3)),
        FaultRule(Effect.REFUSE_SOCKET, count=1, probability=0.5, status=503),
        FaultRule(Effect.MUTE_SOCKET, count=1, probability=0.2),
        FaultRule(Effect.CUT_SOCKET, count=2, probability=0.5, seconds=dice.uniform(0, 2)),
    )
    return tuple(rule for rule in kinds if dice.random() < 0.5)
