"""Rules and refusals in plain words: which rule, where it was made, what can be done. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from bot import words
from bot.agent.entries import Answer, ApprovalAnswered, Decided, Entry, ModelReply, ToolCall
from bot.policy import Rule, Verdict
from bot.rulebook import RuleBook


@dataclass(frozen=True, slots=True)
class Naming:
    """How a place shows channels and people, by their ids, and what is to be typed as it is."""

    channel: Callable[[str], str] = str
    person: Callable[[str], str] = str
    code: Callable[[str], str] = str


@dataclass(frozen=True, slots=True)
class Refusal:
    """A call with its decision, and the answer where somebody was asked about it."""

    call: ToolCall
    decided: Decided
    answer: ApprovalAnswered | None = None


def refusal_at(entries: Sequence[Entry], seq: int) -> Refusal | None:
    """The refusal whose decision stands at this position; None if none does any more."""
    decided = entries[seq] if seq < len(entries) else None
    if not isinstance(decided, Decided):
        return None
    for entry in reversed(entries[:seq]):
        if isinstance(entry, ModelReply):
            calls = [call for call in entry.calls if call.id == decided.call_id]
            answer = _answer(entries[seq:], decided.call_id)
            return Refusal(calls[0], decided, answer) if calls else None
    return None


def last_refusal(entries: Sequence[Entry], user: str) -> Refusal | None:
    """The last refusal in a thread that this person's messages led to."""
    for seq in range(len(entries) - 1, -1, -1):
        entry = entries[seq]
        if isinstance(entry, Decided) and user in entry.heard:
            found = refusal_at(entries, seq)
            if found is not None and _stands(found):
                return found
    return None


def _answer(entries: Sequence[Entry], call_id: str) -> ApprovalAnswered | None:
    for entry in entries:
        if isinstance(entry, ModelReply):
            return None
        if isinstance(entry, ApprovalAnswered) and entry.call_id == call_id:
            return entry
    return None


def answered_at(entries: Sequence[Entry], seq: int) -> Refusal | None:
    """The call and the decision that the answer at this position is about."""
    answer = entries[seq] if seq < len(entries) else None
    if not isinstance(answer, ApprovalAnswered):
        return None
    for position in range(seq - 1, -1, -1):
        entry = entries[position]
        if isinstance(entry, Decided) and entry.call_id == answer.call_id:
            found = refusal_at(entries, position)
            return None if found is None else replace(found, answer=answer)
    return None


def _stands(found: Refusal) -> bool:
    if found.decided.verdict is Verdict.DENY:
        return True
    return found.answer is not None and found.answer.answer is not Answer.ALLOWED


def why(
    refusal: Refusal, tool: str, gist: str, user: str, book: RuleBook, naming: Naming
) -> Sequence[str]:
    """The refusal in sentences for `user`: what, which rule, what to do.

    `tool` is the tool's own name and `gist` the call's key argument.
    """
    decided = refusal.decided
    lines = [words.why_what(tool, gist)]
    rule = book.find(decided.rule) if decided.rule else None
    if decided.rule:
        lines.append(words.why_rule(decided.rule, in_words(rule, naming) if rule else ""))
    else:
        lines.append(words.why_reason(decided.reason))
    if refusal.answer is not None:
        lines.append(words.why_answer(refusal.answer.name))
    if decided.about and decided.about != user:
        lines.append(words.why_other(naming.person(decided.about)))
    lines.append(_way_out(refusal, rule, tool, book, naming))
    return lines


def _way_out(refusal: Refusal, rule: Rule | None, tool: str, book: RuleBook, naming: Naming) -> str:
    if refusal.answer is not None:
        return words.way_ask_again()
    if not refusal.decided.rule:
        return words.way_ask_again()
    if rule is None:
        return words.way_rule_gone()
    elsewhere = [naming.channel(item[1:]) for item in rule.channel or () if item.startswith("!")]
    return words.way_out(tool, rule.place, elsewhere, change=_change(rule, tool, book))


def _change(rule: Rule, tool: str, book: RuleBook) -> str:
    """What an admin types, or "" where only the file can be changed."""
    if rule in book.off:
        return f"/treadle switch {tool} on"
    if rule in book.slack:
        return f"/treadle forget {rule.place.split()[1]}"
    return ""


def in_words(rule: Rule, naming: Naming) -> str:
    """The rule as it would be typed behind `/treadle`."""
    parts = [rule.decision.value, "everything" if rule.tool == "*" else naming.code(rule.tool)]
    parts += _clause(rule.channel, "in", "outside", naming.channel)
    parts += _clause(rule.role, "for", "except", lambda role: f"{role}s")
    parts += _clause(rule.user, "for", "except", naming.person)
    conditions = [f"{p.argument} matches {naming.code(p.text)}" for p in rule.match]
    if conditions:
        parts.append(f"when {' and '.join(conditions)}")
    return " ".join(parts)


def _clause(
    items: Sequence[str] | None, inside: str, outside: str, name: Callable[[str], str]
) -> list[str]:
    if items is None:
        return []
    if not items:
        return [f"{inside} nobody"] if inside == "for" else [f"{inside} no channel"]
    word = outside if items[0].startswith("!") else inside
    return [word, *(name(item.removeprefix("!")) for item in items)]
