"""A call as people are shown it before a yes: the command, a diff, or the arguments. Pure."""

from __future__ import annotations

import difflib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import groupby, takewhile
from typing import Protocol

from bot import words
from bot.agent.consent import Preview
from bot.agent.exact import EMPTY_LINES, empty_lines
from bot.agent.ports import Json

LONGEST = 100_000
"""Characters that people are shown of one call; nobody is asked about a longer one."""
LINES_COMPARED = 1_000
"""A change of more lines than these is shown as all of the old and all of the new: comparing may
take the product of both."""
REMOVED_SHOWN = 20_000
"""Characters of removed lines that are shown; they stand in the file still."""
CONTEXT = 3
COMMANDS = {"run_command": "command"}
"""Tools that are shown by one argument as it is."""


class File(Protocol):
    """A file as it is now; `text` is None where there is none that can be read."""

    @property
    def text(self) -> str | None: ...
    @property
    def digest(self) -> str: ...
    @property
    def note(self) -> str: ...


class Change(Protocol):
    """What a call would do to a file; `after` is None if it would fail now, `problem` says why."""

    @property
    def path(self) -> str: ...
    @property
    def before(self) -> File: ...
    @property
    def after(self) -> str | None: ...
    @property
    def problem(self) -> str: ...


def preview(
    tool: str,
    arguments: Mapping[str, Json],
    change: Change | None,
    redact: Callable[[str], str] = str,
) -> Preview:
    """The call as it will run: `arguments` are the checked ones. Both texts are without secrets.

    Secrets are taken out before lines are compared: the marks of a diff would break up one that
    spans several lines.
    """
    if change is None:
        return _call(tool, arguments, redact)
    path, before, digest = change.path, change.before, change.before.digest
    if change.after is None:
        head = words.change_fails(path, redact(change.problem))
        return Preview(_call(tool, arguments, redact).text, head, path, digest)
    head = words.change_of(path, is_new=before.text is None, note=before.note)
    old, new = redact(before.text or ""), redact(change.after)
    if old == new:
        hidden = (before.text or "") != change.after
        same = words.change_unseen(hidden=hidden, is_new=before.text is None)
        return Preview(same, head, path, digest)
    return Preview("\n".join(_gaps_counted(diff(old, new))), head, path, digest)


def _call(tool: str, arguments: Mapping[str, Json], redact: Callable[[str], str]) -> Preview:
    name = COMMANDS.get(tool, "")
    if name in arguments:
        rest = {key: value for key, value in arguments.items() if key != name}
        head = ", ".join(f"{key}: {_json(value, None)}" for key, value in rest.items())
        return Preview(redact(str(arguments[name])), redact(head))
    return Preview(redact(_json(arguments, 2)) if arguments else "")


def _json(value: Json, indent: int | None) -> str:
    return json.dumps(value, ensure_ascii=False, indent=indent)


def diff(old: str, new: str) -> Iterator[str]:
    """The lines of a unified diff without a file's name; "-" was there, "+" will be.

    Only what differs is compared, so that a small change of a long file costs little.
    """
    before, after = _lines(old), _lines(new)
    head = _same(before, after)
    tail = _same(before[head:][::-1], after[head:][::-1])
    start = max(0, head - CONTEXT)
    old_part = before[start : len(before) - max(0, tail - CONTEXT)]
    new_part = after[start : len(after) - max(0, tail - CONTEXT)]
    if max(len(old_part), len(new_part)) > LINES_COMPARED:
        found = [f"@@ -{start + 1},{len(old_part)} +{start + 1},{len(new_part)} @@"]
        found += [f"-{line}" for line in old_part] + [f"+{line}" for line in new_part]
    else:
        found = list(_hunks(old_part, new_part, start))
    yield from _removed_cut(found)


def _same(one: Sequence[str], other: Sequence[str]) -> int:
    """How many lines both begin with."""
    pairs = zip(one, other, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _gaps_counted(lines: Iterable[str]) -> Iterator[str]:
    """The lines of a diff, long runs of empty ones counted as `bot.agent.exact` counts them."""
    for (mark, full), run in groupby(lines, key=lambda line: (line[:1], bool(line[1:].strip()))):
        found = list(run)
        long = not full and len(found) >= EMPTY_LINES
        yield from [f"{mark}{empty_lines(len(found))}"] if long else found


def _hunks(old: Sequence[str], new: Sequence[str], start: int) -> Iterator[str]:
    matcher = difflib.SequenceMatcher(None, old, new)
    for group in matcher.get_grouped_opcodes(CONTEXT):
        first, last = group[0], group[-1]
        yield (
            f"@@ -{start + first[1] + 1},{last[2] - first[1]} "
            f"+{start + first[3] + 1},{last[4] - first[3]} @@"
        )
        for tag, i1, i2, j1, j2 in group:
            if tag == "equal":
                yield from (f" {line}" for line in old[i1:i2])
                continue
            yield from (f"-{line}" for line in old[i1:i2])
            yield from (f"+{line}" for line in new[j1:j2])


def _removed_cut(lines: Sequence[str]) -> Iterator[str]:
    """All lines but those that are removed beyond a limit, which are counted."""
    room, left_out = REMOVED_SHOWN, 0
    for line in lines:
        if line.startswith("-"):
            room -= len(line)
            if room < 0:
                left_out += 1
                continue
        yield line
    if left_out:
        yield words.removed_left_out(left_out)


def _lines(text: str) -> list[str]:
    """The lines without their ends; a last line without an end says so."""
    lines = text.split("\n")
    last = lines.pop()
    return [*lines, f"{last}\n\\ {words.no_line_end()}"] if last else lines
