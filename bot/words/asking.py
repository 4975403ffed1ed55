"""Asking a person before a call is made."""

from __future__ import annotations

from collections.abc import Sequence

from bot.words.rules import within


def approval_question(tool: str) -> str:
    return f"May I use {tool}?"


def approval_questions(count: int) -> str:
    return f"May I make these {count} calls?"


def asked_by(names: Sequence[str]) -> str:
    return f"Asked for by {names_joined(names)}."


def names_joined(names: Sequence[str]) -> str:
    return " and ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))


def asked_because(reason: str) -> str:
    return f"Why I ask: {reason}"


def asked_thinking(thought: str) -> str:
    return f"What I thought: {thought}"


def asked_again() -> str:
    return (
        "This had been approved, but what it would change is no longer what was shown, so I ask "
        "again."
    )


def shown_above(messages: int) -> str:
    where = f"{messages} messages" if messages > 1 else "message"
    return f"The whole call is in the {where} above."


def page_title(tool: str, page: int, pages: int) -> str:
    return f"{tool}, in full: {page} of {pages}"


def change_of(path: str, *, is_new: bool, note: str) -> str:
    """A file that would be changed; `note` says why what stands there cannot be shown."""
    if note:
        return f"{path} (replaces what is there: {note})"
    return f"{path} (a new file)" if is_new else path


def change_fails(path: str, problem: str) -> str:
    return f"{path} (as things are, this call would fail: {problem})"


def change_unseen(*, hidden: bool, is_new: bool) -> str:
    """Where a diff has no line to show."""
    if hidden:
        return "(What differs holds a secret, so it cannot be shown.)"
    return "(It will be empty.)" if is_new else "(Nothing would change.)"


def removed_left_out(lines: int) -> str:
    return f"[{lines:,} more removed lines are not shown; they stand in the file until then]"


def no_line_end() -> str:
    return "No newline at the end of the file"


def too_long_to_ask(tool: str, characters: int, limit: int) -> str:
    return (
        f"A person has to say yes to {tool} here, and this call is too long to be shown to one "
        f"({characters:,} characters; at most {limit:,}). It was not run. Make several smaller "
        "calls."
    )


def approval_until(who: str, when: str) -> str:
    return f"{who} can answer until {when}; then I go on without it."


def answerers(*, admins: bool, requester: bool, named: int) -> str:
    """Who may answer, for the card."""
    found = ["An admin"] if admins else []
    found += ["whoever asked (if nobody else did)"] if requester else []
    found += [f"one of {named} named people" if named > 1 else "one named person"] if named else []
    text = " or ".join(found) or "Nobody"
    return text[0].upper() + text[1:]


APPROVE, DENY = "Approve", "Deny"
APPROVE_ALL, DENY_ALL = "Approve all", "Deny all"
DENY_WHY = "Deny with a reason…"
APPROVE_THREAD = "Approve for this thread"


def grant_covers(
    tool: str, rule: str, patterns: Sequence[str], requester: str, workspace: str, until: str
) -> str:
    """What a yes for the whole thread covers; every limit of it is named."""
    where = f" where {names_joined(patterns)}" if patterns else ""
    return (
        f"“{APPROVE_THREAD}” covers, until {until}, every further {tool} in this thread{where} "
        f"that {within(rule) if rule else 'this rule'} asks about because {requester} wants it, in "
        f"the workspace {workspace}. It covers nothing else and nobody else."
    )


def granted(reason: str) -> str:
    return f"{reason} That was approved for this thread."


def pattern_matches(argument: str, pattern: str) -> str:
    return f"{argument} matches {pattern}"


def decided_yes(name: str, when: str, *, thread: bool) -> str:
    scope = " for this thread" if thread else ""
    return f"✅ Approved{scope} by {name}{when}"


def decided_no(name: str, when: str, reason: str) -> str:
    return f"⛔ Denied by {name}{when}" + (f": “{reason}”" if reason else "")


def decided_nobody() -> str:
    return "⌛ Nobody answered in time, so this call was not made."


def decided_otherwise() -> str:
    return "⏹ Not decided: the turn ended before."


def at_time(when: str) -> str:
    return f", {when}" if when else ""


def question_closed() -> str:
    return "This question is no longer open; nothing was changed."


def nobody_answered() -> str:
    return "Nobody answered in time, so this call was not made."


def not_yours_to_answer() -> str:
    return "Only those named under [approvals] approvers can answer this; nothing was changed."


def no_such_grant() -> str:
    return "This call cannot be approved for the whole thread; nothing was changed."


def no_window() -> str:
    return "Slack opened no window for a reason. Try again, or use Deny; nothing was changed."


REASON_TITLE = "Deny this call"
REASON_LABEL = "Why not? The model reads this."
REASON_CANCEL = "Back"


def message_waits() -> str:
    return "I read this as soon as somebody has answered"


THE_QUESTION = "the question above"
