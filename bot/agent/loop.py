"""The loop: ask the model, act, write it down. Resuming after a crash is the same as running."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from bot.agent import guard
from bot.agent.approvals import MOST_ON_A_CARD, Ask, given, pending, questions
from bot.agent.asking import ask
from bot.agent.entries import (
    Answer,
    Answered,
    ApprovalAnswered,
    Decided,
    Entry,
    Failed,
    FilesSeen,
    ModelReply,
    Observation,
    ToolCall,
    ToolStarted,
    User,
    Warned,
    covers,
    open_turn,
)
from bot.agent.ports import Clock, Decide, Journal, Model, Notify, Toolset
from bot.agent.prompt import Facts
from bot.policy import Verdict
from bot.words import declined_observation, interrupted_observation, refused_observation


@dataclass(frozen=True, slots=True)
class AskModel:
    """Nothing is left to run: the model speaks next."""


@dataclass(frozen=True, slots=True)
class RunTool:
    """The policy allows this call and it has not been started."""

    call: ToolCall
    decided: Decided


@dataclass(frozen=True, slots=True)
class Refuse:
    """The policy does not allow this call."""

    call: ToolCall
    decided: Decided


@dataclass(frozen=True, slots=True)
class Interrupted:
    """The call was started and nobody knows how it ended; it is never started again."""

    call: ToolCall


@dataclass(frozen=True, slots=True)
class AskHuman:
    """The policy wants a person's yes to these calls."""

    asks: tuple[Ask, ...]


@dataclass(frozen=True, slots=True)
class Declined:
    """A person said no, or nobody said anything in time."""

    call: ToolCall
    answer: ApprovalAnswered


@dataclass(frozen=True, slots=True)
class Waiting:
    """People were asked: nothing is to be done until every answer has arrived."""


@dataclass(frozen=True, slots=True)
class Finished:
    """Nobody waits for an answer."""


Step: TypeAlias = (
    AskModel | RunTool | Refuse | AskHuman | Declined | Waiting | Interrupted | Finished
)


def next_step(entries: Sequence[Entry], decide: Decide) -> Step:
    """What has to happen next in the thread whose journal this is."""
    turn = open_turn(entries)
    if not any(isinstance(entry, User) for entry in turn):
        return Finished()
    if pending(turn):
        return Waiting()
    last = max((i for i, e in enumerate(turn) if isinstance(e, ModelReply)), default=None)
    if last is None:
        return AskModel()
    reply, after = turn[last], turn[last + 1 :]
    assert isinstance(reply, ModelReply)
    done = {e.call_id for e in after if isinstance(e, Observation)}
    started = {e.call_id for e in after if isinstance(e, ToolStarted)}
    left = [call for call in reply.calls if call.id not in done]
    if not left:
        return AskModel()
    if left[0].id in started:
        return Interrupted(left[0])
    return _decided(left, decide, after)


def _decided(left: Sequence[ToolCall], decide: Decide, after: Sequence[Entry]) -> Step:
    """What becomes of the first of the calls that are left; where it is asked about, the others
    that are to be asked about are asked about with it."""
    call, decided = left[0], decide(left[0])
    if decided.verdict is not Verdict.ASK:
        return (RunTool if decided.verdict is Verdict.ALLOW else Refuse)(call, decided)
    match given(after, decided):
        case ApprovalAnswered(answer=Answer.ALLOWED):
            return RunTool(call, decided)
        case ApprovalAnswered() as answer:
            return Declined(call, answer)
        case None:
            others = ((other, decide(other)) for other in left[1:])
            asks = [ask for ask in others if _to_be_asked(ask[1], after)]
            return AskHuman(((call, decided), *asks[: MOST_ON_A_CARD - 1]))


def _to_be_asked(decided: Decided, after: Sequence[Entry]) -> bool:
    return decided.verdict is Verdict.ASK and given(after, decided) is None


async def run_turn(
    journal: Journal,
    model: Model,
    tools: Toolset,
    decide: Decide,
    facts: Facts,
    limits: guard.Limits,
    clock: Clock,
    notify: Notify,
) -> None:
    """Work until nobody in the thread waits for an answer, or a person has to be asked.

    Each step is durable before the next begins. Raises ModelError when the model gives no reply and
    Fenced when another runner has taken the thread over; tools never raise.
    """
    while not isinstance(step := next_step(journal.entries, decide), Finished | Waiting):
        match step:
            case Interrupted() | Refuse() | Declined():
                await journal.append(*_not_run(step))
            case AskHuman(asks):
                turn, wait = open_turn(journal.entries), limits.approval_seconds
                await journal.append(*await questions(asks, tools, turn, clock.now(), wait))
            case RunTool():
                await _run(step, (), journal, tools, clock, notify)
            case AskModel():
                if not await journal.take_inbox():  # what has come may change the step
                    said = await _next_reply(journal, model, tools, facts, limits)
                    step = next_step([*journal.entries, *said], decide)
                    if isinstance(step, RunTool) and not journal.closing:
                        await _run(step, said, journal, tools, clock, notify)
                    else:
                        await journal.append(*said)
        notify()


async def _run(
    step: RunTool,
    said: Sequence[Entry],
    journal: Journal,
    tools: Toolset,
    clock: Clock,
    notify: Notify,
) -> None:
    """Run the call once its start is durable, with what the model `said` that led to it."""
    await journal.append(*said, step.decided, ToolStarted(step.call.id))
    notify()
    began = clock.now()
    result = await tools.run(step.call.name, step.call.arguments)
    took = clock.now() - began
    await journal.append(Observation(step.call.id, result.text, result.is_error, took))


def _not_run(step: Interrupted | Refuse | Declined) -> Sequence[Entry]:
    """What the model reads in the place of the result of a call that is not run."""
    decided: Sequence[Entry] = ()
    match step:
        case Interrupted(call):
            text = interrupted_observation(call.name)
        case Refuse(call, decision):
            decided, text = (decision,), refused_observation(call.name, decision)
        case Declined(call, answer):
            text = declined_observation(call.name, answer)
    return *decided, Observation(step.call.id, text, is_error=True)


async def _next_reply(
    journal: Journal, model: Model, tools: Toolset, facts: Facts, limits: guard.Limits
) -> Sequence[Entry]:
    """Ask the model, unless the turn has come to a limit: what is to be written of either."""
    turn = open_turn(journal.entries)
    match guard.check(turn, limits):
        case guard.Halt(reason):
            return (Failed(covers(turn), reason),)
        case guard.Warn(text):
            await journal.append(Warned(text))
    settled, first = _settled(facts, journal.entries)
    reply = await ask(journal, model, settled, tools.specs(), limits.context_tokens)
    ending = () if reply.answer is None else (Answered(covers(turn)),)
    return [journal.safe(entry) for entry in (*first, reply, *ending)]


def _settled(facts: Facts, entries: Sequence[Entry]) -> tuple[Facts, Sequence[Entry]]:
    """The facts with the file names that the thread began with (prompt caches).

    Beside them what says so from the first reply on: until there is one, nothing is cached.
    """
    seen = next((entry for entry in entries if isinstance(entry, FilesSeen)), None)
    if seen is None:
        return facts, (FilesSeen(facts.files),)
    return replace(facts, files=seen.names), ()
