"""`/treadle`: its forms, and what it answers."""

from __future__ import annotations

from bot.words.rules import moment, within

FORMS = """\
*Everybody*
`/treadle tools`: what you may use here
`/treadle why`: what your last refusal was about and what you can do (in a thread: `@me !why`)
`/treadle stop`: your running work in this channel (in a thread: `@me !stop`)
`/treadle usage`, `/treadle status`
*Admins*
`/treadle deny run_command outside #ops`
`/treadle ask write_file for members`
`/treadle allow run_command in #dev for @bob when command matches git (status|log)`
`/treadle rules`: every rule, `/treadle forget 3`: take rule 3 back
`/treadle switch wikipedia off`: for everybody, everywhere (`on` brings it back)
`/treadle verbosity quiet in #general` (`steps`, `quiet`, `full`, `default`)
`/treadle replies mention in #general` (`always`, `mention`, `default`)
`/treadle stop all`: everybody's running work
`/treadle budget`: what everybody has used today
`/treadle budget add 5 money for @bob`: more for today (`money`, `tokens`, `turns`)"""


def command_help() -> str:
    return (
        "Mention me in a channel and I work in that thread: I show what I think, which tools I "
        "use and what they return, then I answer. Reply in the thread to go on. In a direct "
        f"message no mention is needed.\n{FORMS}"
    )


def command_unknown(word: str, near: str) -> str:
    meant = f"Did you mean `/treadle {near}`? " if near else ""
    return f"`/treadle` does not know “{word}”. {meant}`/treadle help` shows everything it knows."


def form_rule(decision: str) -> str:
    return (
        f"I could not read this rule. The form is `/treadle {decision} TOOL`, then if you like "
        "`in #channel` or `outside #channel`, `for @person` (or `for guests`, `members`, `admins`, "
        "`everyone but @person`), and `when ARGUMENT matches PATTERN` at the end. For example: "
        f"`/treadle {decision} run_command in #ops for @bob when command matches git .*`"
    )


def form_when(decision: str) -> str:
    return (
        "A condition has the form `when ARGUMENT matches PATTERN` and stands at the end. For "
        f"example: `/treadle {decision} run_command when command matches git (status|log)`"
    )


def pattern_wrong(pattern: str, why: str) -> str:
    return (
        f"The pattern `{pattern}` {why}. It is a regular expression that must match the whole "
        "argument. For example: `git (status|log).*`"
    )


def form_forget() -> str:
    return "Say which rule: `/treadle forget 3`. `/treadle rules` shows the numbers."


def form_switch() -> str:
    return "The form is `/treadle switch TOOL off` or `/treadle switch TOOL on`."


def form_stop() -> str:
    return (
        "The form is `/treadle stop` for your own work here, `/treadle stop 2` for one line of "
        "its list, or `/treadle stop all` (admins) for everybody's."
    )


def form_simple(name: str) -> str:
    return f"`/treadle {name}` takes nothing behind it."


def form_choice(word: str, values: tuple[str, ...]) -> str:
    return (
        f"The form is `/treadle {word} VALUE`, if you like with `in #channel`; without it this "
        f"channel is meant. VALUE is one of {', '.join(values)}, or default (as in the file)."
    )


def tool_unknown(name: str, near: str, tools: list[str]) -> str:
    meant = f" Did you mean `{near}`?" if near else ""
    return f"There is no tool “{name}”.{meant} The tools are: {', '.join(tools)}."


def channel_not_picked(text: str) -> str:
    return (
        f"I could not tell which channel “{text}” is. Type # and pick the channel from Slack's "
        "list (or say `here`), as in `/treadle deny run_command in #general`."
    )


def person_not_picked(text: str) -> str:
    return (
        f"I could not tell who “{text}” is. Type @ and pick the person from Slack's list, or name "
        "a role (`guests`, `members`, `admins`), as in `/treadle deny run_command for @bob`."
    )


def no_groups() -> str:
    return (
        "Rules are about people and roles, not about Slack's user groups. Name each person, as in "
        "`/treadle deny run_command for @bob @carol`, or a role: `for guests`."
    )


def roles_or_people(decision: str) -> str:
    return (
        "One rule names either roles or people. Make two, for example "
        f"`/treadle {decision} run_command for guests` and `/treadle {decision} run_command "
        "for @bob`."
    )


def rule_kept(number: int, said: str) -> str:
    return f"Done: rule {number} says {said}. `/treadle forget {number}` takes it back."


def rule_without_effect(verdict: str, tool: str, place: str, said: str) -> str:
    holds = "needs a person's yes" if verdict == "ask" else "is denied"
    return (
        f"Note: {tool} still {holds} there: {within(place)} says {said}. It is stricter, and the "
        "strictest rule holds."
    )


def rule_forgotten(number: int, said: str) -> str:
    return f"Done: rule {number} ({said}) no longer holds."


def no_such_rule(number: int) -> str:
    return f"There is no rule {number} that was made in Slack. `/treadle rules` shows them all."


def chosen(setting: str, value: str, channel: str) -> str:
    return f"Done: {setting} is {value} in {channel} now."


def switched(tool: str, on: bool) -> str:
    if on:
        return f"Done: {tool} is on again; the rules say who may use it where."
    return f"Done: {tool} is off for everybody, everywhere. `/treadle switch {tool} on` undoes it."


VERDICTS = {"allow": "allowed", "ask": "allowed after a person's yes", "deny": "denied"}


def tools_head() -> str:
    return "What you may use here:"


def tool_line(tool: str, what: str, verdict: str, place: str) -> str:
    note = f", as {within(place)} says" if place else ""
    return f"• `{tool}`: {VERDICTS[verdict]}{note}. {what}"


def tool_some(tool: str, what: str, place: str) -> str:
    note = f", as {within(place)} says" if place else ""
    return f"• `{tool}`: it depends on what it is called with{note}. {what}"


def no_tools() -> str:
    return "There is no tool that you may use here."


def no_such_turn(number: int, count: int) -> str:
    there = "There is one" if count == 1 else f"There are {count or 'none'}"
    return f"There is no number {number}. {there}; `/treadle stop` shows what runs."


def several_turns() -> str:
    return "More than one is running. Say which, for example `/treadle stop 1`:"


def nothing_to_stop_here() -> str:
    return "Nothing of yours is running in this channel, so there is nothing to stop."


def stopping(count: int) -> str:
    what = "the running work" if count == 1 else f"{count} pieces of running work"
    return f"Stopping {what}; the thread says what was done and what was not."


def turn_line(people: str, channel: str, since: str, waits: bool) -> str:
    state = "waits for a person's yes" if waits else "works"
    return f"for {people} in {channel} since {since}: {state}"


def form_budget() -> str:
    return (
        "The form is `/treadle budget` to see the caps, or `/treadle budget add 5 money` (or "
        "`tokens`, `turns`) with `for @person`, `in #channel` or nothing for everybody: so much "
        "more may be used today."
    )


EVERYBODY = "everybody together"


def no_such_cap(scope: str, unit: str) -> str:
    whose = {"user": "one person", "channel": "one channel"}.get(scope, EVERYBODY)
    return (
        f"There is no cap of {unit} for {whose} a day, so there is nothing to raise. The operator "
        "sets caps under [budget]."
    )


def budget_added(amount: float, unit: str, whose: str) -> str:
    return f"Done: {amount:,g} {unit} more for {whose}, today only."


def command_broke() -> str:
    return "Something broke on my side, and nothing was changed. The operator finds it in the log."


def status_model(name: str, *, replied: float | None, failed: float | None, problem: str) -> str:
    if failed is not None and failed > (replied or 0):
        why = f": {problem}" if problem else ""
        return f"Model: {name}; its last call failed at {moment(failed)}{why}"
    if replied is None:
        return f"Model: {name}; not asked since I started"
    return f"Model: {name}; last replied at {moment(replied)}"


def status_sandbox(mode: str, *, missed: bool, why: str) -> str:
    if mode:
        return f"Sandbox: {mode}; its self-test passed when I started"
    if missed:
        return f"Sandbox: none, so run_command is off. {why}".strip()
    return "Sandbox: switched off by the operator, and run_command with it"


def status_turns(running: int, waiting: int) -> str:
    return f"Turns: {running} running, {waiting} waiting for a person's yes"


def status_database(where: str, revision: str) -> str:
    return f"Database: {where}, schema {revision}"
