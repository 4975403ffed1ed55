"""What is probably not meant in a list of rules: for `treadle policy check` and `/treadle allow`.

A pattern is taken apart into the pieces that match one character each; whether such a piece
matches a character is asked of RE2 itself. What cannot be reached counts as reachable: a warning
too many is better than one too few.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from bot import words
from bot.patterns import Match, Pattern
from bot.policy import Rule, Verdict

SHELL, COMMAND = "run_command", "command"
ESCAPES = (";", "&", "|", "$", "`", "\n")
"""With these a command that begins harmlessly runs another one."""
NAMES = {"\n": "a line break", "`": "a backtick"}

_PIECE = re.compile(
    r"""\\Q(?P<quoted>.*?)(?:\\E|$)
    | (?P<head>\(\?(?:P?<\w+>|(?P<flags>[a-zA-Z-]*)[:)]))
    | (?P<count>\{\d+(?:,\d*)?\})
    | (?P<atom>
        \\x\{[0-9A-Fa-f]+\} | \\x[0-9A-Fa-f]{2} | \\[pP](?:\{\^?\w+\}|\w) | \\[0-7]{1,3} | \\.
        | \[\^?\]?(?:\[:\^?\w+:\]|\\[pP]\{\^?\w+\}|\\x\{[0-9A-Fa-f]+\}|\\.|[^\]\\])*\]
        | .
      )""",
    re.X | re.S,
)
_STRUCTURE = frozenset("()|*+?^$")
_EMPTY = frozenset({r"\b", r"\B", r"\A", r"\z"})


def lets_through(pattern: Pattern) -> tuple[str, ...]:
    """Those of ESCAPES that a text which the pattern matches may hold."""
    flags, pieces = "", []
    for found in _PIECE.finditer(pattern.text):
        if found["quoted"] is not None:
            pieces += [re.escape(character) for character in found["quoted"]]
        elif found["head"]:
            flags += "".join(flag for flag in found["flags"] or "" if flag in "is")
        elif found["atom"] and not (found["atom"] in _STRUCTURE or found["atom"] in _EMPTY):
            pieces.append(found["atom"])
    head = f"(?{''.join(sorted(set(flags)))})" if flags else ""
    return tuple(c for c in ESCAPES if any(_matches(f"{head}{piece}", c) for piece in pieces))


def _matches(piece: str, character: str) -> bool:
    try:
        return Pattern(COMMAND, piece).check({COMMAND: character}) is Match.YES
    except ValueError:
        return True  # a piece that was cut wrongly: better one warning too many


def concerns(rules: Sequence[Rule]) -> Iterator[str]:
    """A sentence for each thing that is probably not meant."""
    for number, rule in enumerate(rules):
        yield from rule_concerns(rule)
        shadow = next((earlier for earlier in rules[:number] if _covers(earlier, rule)), None)
        if shadow is not None:
            yield words.rule_shadowed(rule.place, shadow.place)


def rule_concerns(rule: Rule) -> Iterator[str]:
    """What is probably not meant in one rule."""
    if rule.decision is not Verdict.ALLOW or rule.tool not in (SHELL, "*"):
        return
    patterns = [pattern for pattern in rule.match if pattern.argument == COMMAND]
    if not patterns:
        return
    # Every pattern of a rule must match, so only what all of them let through gets through.
    through = [c for c in ESCAPES if all(c in lets_through(pattern) for pattern in patterns)]
    if through:
        shown = [NAMES.get(character, f"`{character}`") for character in through]
        text = " and ".join(pattern.text for pattern in patterns)
        yield words.pattern_lets_through(rule.place, text.replace("`", "'"), shown)


def _covers(earlier: Rule, rule: Rule) -> bool:
    """Whether the earlier rule speaks wherever this one would."""
    same = (earlier.channel, earlier.role, earlier.user) == (rule.channel, rule.role, rule.user)
    return same and not earlier.match and earlier.tool in ("*", rule.tool)
