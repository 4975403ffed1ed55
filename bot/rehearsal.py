"""The rehearsal model: a small deterministic stand-in, so that a first try needs no account.

It is a model behind the same port as a real one and drives the whole loop, but it understands only
a few forms of words. Every answer says that it is a rehearsal.
"""

from __future__ import annotations

import asyncio
import json
import re
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from bot.agent.entries import (
    Edited,
    Entry,
    ModelReply,
    Observation,
    ToolCall,
    Usage,
    User,
    open_turn,
)
from bot.agent.ports import ToolSpec
from bot.agent.prompt import Facts
from bot.agent.shown import Show

NAME = "rehearsal"
LABEL = "_Rehearsal model: set OPENAI_API_KEY for a real one._"
EXAMPLES = {
    "calculate": "`what is 17 * 23?`",
    "list_dir": "`list`",
    "read_file": "`read notes.txt`",
    "write_file": "`write notes.txt: some text`",
    "run_command": "`run ls -l`",
}


@dataclass(frozen=True, slots=True)
class Action:
    """What a phrase asks for: the tool, its arguments, and the thought that goes with it."""

    tool: str
    arguments: dict[str, str]
    thought: str


def _calculate(match: re.Match[str]) -> Action:
    expression = match["expression"].strip().rstrip("?= .").replace("×", "*").replace("÷", "/")
    return Action(
        "calculate",
        {"expression": expression},
        f"I calculate {expression} instead of guessing.",
    )


def _list(match: re.Match[str]) -> Action:
    path = (match["path"] or ".").strip(" ?`") or "."
    where = "the workspace" if path == "." else path
    return Action("list_dir", {"path": path}, f"I look at what is in {where}.")


def _read(match: re.Match[str]) -> Action:
    path = match["path"].strip(" ?`")
    return Action("read_file", {"path": path}, f"I read {path} to see what it says.")


def _write(match: re.Match[str]) -> Action:
    path = match["path"].strip(" `")
    content = match["content"].strip().strip("`") + "\n"
    return Action("write_file", {"path": path, "content": content}, f"I will write {path}.")


def _run(match: re.Match[str]) -> Action:
    command = match["command"].strip().strip("`")
    return Action("run_command", {"command": command}, "I run the command and look at its output.")


_FORMS: Sequence[tuple[re.Pattern[str], Callable[[re.Match[str]], Action]]] = (
    (re.compile(r"write\s+(?P<path>[^\s:]+)\s*:\s*(?P<content>.+)", re.I | re.S), _write),
    (re.compile(r"run\s+(?P<command>.+)", re.I | re.S), _run),
    (re.compile(r"(?:read|show|cat|open)\s+(?P<path>\S+)", re.I), _read),
    (
        re.compile(
            r"(?:please\s+)?list(?:\s+(?:all|the|my|files|file|directory|workspace))*"
            r"(?:\s+in)?(?:\s+(?P<path>[\w./-]+))?\s*[?.]?$",
            re.I,
        ),
        _list,
    ),
    (
        re.compile(
            r"(?:(?:what(?:'s| is)|calculate|compute|how much is)\s+)?"
            r"(?P<expression>[\d(.\-+√][\d\s.()+\-*/%^,×÷]*[\d)])\s*[=?.]*$",
            re.I,
        ),
        _calculate,
    ),
)


class RehearsalModel:
    """`bot.agent.ports.Model` without a model; `pause` (seconds) is how long it seems to think."""

    def __init__(self, pause: float = 0.0) -> None:
        self._pause = pause

    @property
    def name(self) -> str:
        return NAME

    def watched(self, show: Show) -> RehearsalModel:
        """Its replies come all at once: there is nothing to watch."""
        return self

    async def warm(self) -> None:
        """Nothing is needed."""

    async def close(self) -> None:
        """Nothing is held."""

    async def reply(
        self, facts: Facts, entries: Sequence[Entry], specs: Sequence[ToolSpec]
    ) -> ModelReply:
        await asyncio.sleep(self._pause)
        turn = open_turn(entries)
        question, since = _question(turn)
        seen = [entry for entry in turn[since:] if isinstance(entry, Observation)]
        offered = {spec.name for spec in specs}
        asked = _actions(question)
        if asked is None:
            return _answer(_small_talk(question, entries, offered))
        if len(seen) < len(asked) and not any(entry.is_error for entry in seen):
            return _call(asked[len(seen)], offered)
        return _answer(_report(asked, seen))


def _as_they_read(entries: Sequence[Entry]) -> dict[str, str]:
    """The messages of people by their `ts`, after their edits; without what was deleted."""
    texts: dict[str, str] = {}
    for entry in entries:
        if isinstance(entry, User):
            texts[entry.at] = entry.text
        elif isinstance(entry, Edited) and entry.at in texts:
            if entry.text is None:
                del texts[entry.at]
            else:
                texts[entry.at] = entry.text
    return texts


def _question(turn: Sequence[Entry]) -> tuple[str, int]:
    """The last message of a turn, and where in the turn it was said as it now reads."""
    texts = _as_they_read(turn)
    if not texts:
        return "", 0
    at = list(texts)[-1]
    said = [n for n, e in enumerate(turn) if isinstance(e, User | Edited) and e.at == at]
    return texts[at], said[-1]


def _actions(question: str) -> list[Action] | None:
    """The actions that a message asks for, in order; None if any part is not understood."""
    parts = re.split(r"\s*(?:,\s*|\.\s+|\s)(?:and\s+)?then\s+", question.strip(), flags=re.I)
    actions = []
    for part in parts:
        action = next((make(m) for form, make in _FORMS if (m := form.fullmatch(part))), None)
        if action is None:
            return None
        actions.append(action)
    return actions or None


def _can(offered: set[str]) -> str:
    forms = [example for tool, example in EXAMPLES.items() if tool in offered]
    return f"I can rehearse {', '.join(forms)}, and several of them joined with `then`."


def _small_talk(question: str, entries: Sequence[Entry], offered: set[str]) -> str:
    earlier = list(_as_they_read(entries).values())[:-1]
    if earlier and re.search(r"\b(earlier|before|first|remember|said|asked)\b", question, re.I):
        return f"In this thread you first wrote: “{earlier[0]}”"
    return f"I am only a rehearsal, so I can't answer that. {_can(offered)}"


def _call(action: Action, offered: set[str]) -> ModelReply:
    if action.tool not in offered:
        return _answer(
            f"I would use `{action.tool}` for this, but it is not available here. {_can(offered)}"
        )
    call = ToolCall(
        f"call_{uuid.uuid4().hex[:12]}",
        action.tool,
        json.dumps(action.arguments, ensure_ascii=False),
    )
    return ModelReply(NAME, thought=action.thought, calls=(call,), usage=Usage(0, 0))


def _report(asked: Sequence[Action], seen: Sequence[Observation]) -> str:
    last, action = seen[-1], asked[len(seen) - 1]
    if last.is_error:
        return f"That did not work: {last.text}"
    match action.tool:
        case "calculate":
            return f"{action.arguments['expression']} = **{last.text.strip()}**"
        case "write_file":
            return f"I wrote `{action.arguments['path']}`."
        case "list_dir":
            return f"Here is what I found:\n\n{_box(last.text)}"
        case "read_file":
            return f"`{action.arguments['path']}` says:\n\n{_box(last.text)}"
        case _:
            how_it_ended, _, printed = last.text.partition("\n")
            return f"{how_it_ended}\n\n{_box(printed)}"


def _box(text: str) -> str:
    """Markdown's box for text that stays as it is, fences in it included."""
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{fence}\n{text.rstrip()}\n{fence}"


def _answer(text: str) -> ModelReply:
    return ModelReply(NAME, answer=f"{text}\n\n{LABEL}")
