"""A conversation as a text dialect writes it: assistant and user messages only."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from bot.agent.dialects.base import Dialect, Message
from bot.agent.dialects.conversation import Asked, Replied, Told, events
from bot.agent.entries import Entry, ModelReply, ToolCall


def written(
    dialect: Dialect,
    system: str,
    entries: Sequence[Entry],
    render: Callable[[ToolCall, str], str],
    ended: Callable[[ModelReply], str],
    observation: str,
    *,
    question: str = "{}",
    inside: Callable[[str], str] = str,
    request: str = "",
) -> list[Message]:
    """The messages. `observation` and `question` are the forms around such a text.

    A reply that was written in this dialect is sent back as it came; another one is written anew
    from its fields (`render` for a call with its thought, `ended` for what has no call). `inside`
    makes a text safe to be put into a form; `request` is said after each observation.
    """
    result: list[Message] = [{"role": "system", "content": system}]

    def say(role: str, text: str) -> None:
        result.append({"role": role, "content": text})

    for event in events(entries):
        match event:
            case Asked(text=text):
                say("user", question.format(inside(text)))
            case Told(text=text):
                say("user", inside(text))
            case Replied(reply=reply, observed=observed):
                own = reply.raw if reply.dialect == dialect.name else ""
                if not observed:
                    say("assistant", own or ended(reply))
                for number, (call, text) in enumerate(observed):
                    say("assistant", own or render(call, reply.thought if number == 0 else ""))
                    say("user", observation.format(inside(text)))
                    if request:
                        say("user", request)
                if reply.problem:
                    say("user", dialect.correction(reply.problem))
    return result
