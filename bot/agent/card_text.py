"""What people read before they say yes or no, line by line: Slack and the terminal say the same.

Nothing in a call is hidden (`exact`); what other people and the model wrote beside it is kept to
one line each, so that it cannot look like a part of the card. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from bot import words
from bot.agent.approvals import Card, Line
from bot.agent.consent import Answer
from bot.agent.exact import exact, exact_line
from bot.inert import inert

THOUGHT, NAME, REASON = 400, 80, 300
HEAD = 300
"""Characters of a call's head that stand in one line; a longer one stands above the call."""


def question(card: Card) -> str:
    """The question itself."""
    if len(card.lines) > 1:
        return words.approval_questions(len(card.lines))
    return words.approval_question(words.tool_name(card.lines[0].call.name))


def circumstances(card: Card) -> Sequence[str]:
    """Who asks for it, which rule asks a person, and what the model thought."""
    lines = [words.asked_by([_one(name, NAME) for name in card.askers.values()])]
    reasons = dict.fromkeys(_one(line.decided.reason, REASON) for line in card.lines)
    lines += [words.asked_because(reason) for reason in reasons]
    if card.thought:
        lines.append(words.asked_thinking(_one(card.thought, THOUGHT)))
    return lines


def title(card: Card, line: Line) -> str:
    """The tool, numbered where there are several calls."""
    tool = words.tool_name(line.call.name)
    return f"{card.lines.index(line) + 1}. {tool}" if len(card.lines) > 1 else tool


def head(line: Line) -> str:
    """What the call is about, in one line."""
    return _cut(exact_line(line.asked.head), HEAD)


def whole(line: Line) -> str:
    """All of the call; journals of older releases hold only its arguments."""
    asked, above = line.asked, exact_line(line.asked.head)
    text = exact(asked.shown if asked.shown or above else line.call.arguments)
    return text if len(above) <= HEAD else f"{above}\n\n{text}"


def until(card: Card, answerers: str) -> str:
    """Who may answer, and how long."""
    return words.approval_until(answerers, _time(card.lines[0].asked.expires_at))


def coverage(card: Card) -> Sequence[str]:
    """What a yes for the whole thread would cover, for each of the offers that are open."""
    offers = {line.asked.offer: line for line in card.open}
    return [covers(card, line) for offer, line in offers.items() if offer is not None]


def covers(card: Card, line: Line) -> str:
    """What a yes for the whole thread to this call would cover."""
    offer = line.asked.offer
    assert offer is not None
    return words.grant_covers(
        words.tool_name(offer.tool),
        _one(line.decided.rule, REASON),
        [exact_line(pattern) for pattern in offer.patterns],
        _one(card.askers.get(offer.requester, offer.requester), NAME),
        offer.workspace,
        _time(offer.until),
    )


def outcome(line: Line) -> str:
    """What came of a question, when, and who said so."""
    answer = line.answer
    if answer is None:
        return words.decided_otherwise()
    if answer.answer is Answer.EXPIRED:
        return words.decided_nobody()
    name, when = _one(answer.name, NAME), words.at_time(_time(answer.at) if answer.at else "")
    if answer.answer is Answer.DENIED:
        return words.decided_no(name, when, _one(answer.reason, REASON))
    return words.decided_yes(name, when, thread=answer.grant is not None)


def lines(card: Card, line: Line) -> Iterator[str]:
    """All that a card says of one call, for a terminal; the first call of a card begins with it."""
    if line is card.lines[0]:
        yield question(card)
        yield from circumstances(card)
    yield f"{title(card, line)} {head(line)}".rstrip()
    if line.asked.again:
        yield words.asked_again()
    yield from (f"  {text}" for text in whole(line).split("\n"))
    if line.asked.offer is not None:
        yield covers(card, line)


def _time(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M UTC")


def _one(text: str, limit: int) -> str:
    return _cut(" ".join(inert(text).split()), limit)


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[: limit - 1]}…"
