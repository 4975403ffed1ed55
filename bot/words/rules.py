"""Rules: where they stand, what they say, why something was refused."""

from __future__ import annotations

from datetime import UTC, datetime


def rule_place(number: int, name: str, day: str) -> str:
    return f"Rule {number} (set in Slack by {name} on {day})"


def switch_place(name: str, day: str) -> str:
    return f"The switch set in Slack by {name} on {day}"


def within(place: str) -> str:
    """Where a rule stands, in the middle of a sentence: it may hold brackets of its own."""
    inner = place.startswith(("Rule ", "The "))
    return place[0].lower() + place[1:] if inner else place


def rule_unreadable(number: int) -> str:
    return (
        f"Rule {number}, which was made in Slack, cannot be read by this release. Run the release "
        "that made it, or remove it from the table rules of the database."
    )


def only_admins() -> str:
    return (
        "Only admins can change this; nothing was changed. Ask a workspace admin, or somebody "
        "named under [access] admins."
    )


def why_what(tool: str, gist: str) -> str:
    call = f"{tool} ({gist})" if gist else tool
    return f"I did not make this call: {call}."


def why_rule(place: str, said: str) -> str:
    return f"{place} decided it: {said}." if said else f"{place} decided it."


def why_reason(reason: str) -> str:
    return f"No rule decided it: {reason}"


def why_answer(name: str) -> str:
    return f"{name} was asked and said no." if name else "A person had to say yes; nobody did."


def why_other(name: str) -> str:
    return (
        f"The rule is about {name}, who wrote since my last answer too: of everybody heard the "
        "strictest decision holds. In a thread of your own only your rights count."
    )


def way_ask_again() -> str:
    return "What you can do: ask me again, or talk to an admin first."


def way_rule_gone() -> str:
    return "What you can do: ask again; this rule does not stand any more."


def way_out(tool: str, place: str, elsewhere: list[str], *, change: str) -> str:
    there = f"ask me in {' or '.join(elsewhere)}, or " if elsewhere else ""
    if change:
        return f"What you can do: {there}ask an admin, who can type `{change}`."
    return f"What you can do: {there}ask the operator, who can change {place}."


def nothing_refused() -> str:
    return "Nothing was refused to you: I have no call of yours on record that I did not make."


def nothing_refused_here() -> str:
    return (
        "Nothing was refused to you in this thread. `/treadle why` tells of your last refusal "
        "anywhere."
    )


def rule_shadowed(place: str, earlier: str) -> str:
    return (
        f"{place} never speaks: {earlier} is about the same and stands before it. Put the one "
        "with a pattern first, or take one out."
    )


def pattern_lets_through(place: str, pattern: str, shown: list[str]) -> str:
    where = f"{place}: the" if place else "Careful: the"
    return (
        f"{where} pattern `{pattern}` also matches commands with {', '.join(shown)}, so that a "
        "second command can follow the one you mean. List what is allowed instead of `.`, for "
        "example `git log( [\\w./-]+)*`"
    )


def rule_line(place: str, said: str) -> str:
    return f"{place}: {said}"


def no_rules() -> str:
    return "There is no rule: everybody who may talk to me may use every tool that is on."


def rules_head(loosen: bool) -> str:
    if loosen:
        return "Rules made in Slack come before the file's; of all levels the strictest holds:"
    return "All of these are asked, and the strictest holds; Slack can only tighten the file:"


def only_admins_see() -> str:
    return "Only admins can see every rule. `/treadle tools` shows what you may use here."


def why_head(where: str, when: str) -> str:
    return f"Your last refusal, in {where}, {when}:"


def moment(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M UTC")


def explain_head(user: str, role: str, channel: str, tool: str) -> str:
    return f"{user} ({role}) calls {tool} in {channel}:"


def explain_not_enabled(tool: str) -> str:
    return f"{tool} is not among [tools] enabled, so it does not exist here."


def explain_decision(verdict: str, reason: str) -> str:
    return f"{verdict.upper()}: {reason}"


def rule_about(place: str, said: str, fits: str) -> str:
    note = {"yes": "matches", "no": "does not match these arguments", "perhaps": "may match"}
    return f"  {place}: {said} ({note[fits]})"


def explain_arguments(why: str) -> str:
    return (
        f"These arguments cannot be: {why.rstrip('.')}. Give them as name=value, for example "
        "command='git log', or as one JSON object."
    )


def policy_is_fine(file: str, rules: int) -> str:
    return f"{file}: {rules} rules, and nothing in them looks wrong."
