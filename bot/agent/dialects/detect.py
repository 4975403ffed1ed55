"""Reads a reply by a dialect, and notices an action that was written in another known form.

Models that have no function calling, or a server that does not understand their template, print
the call as text. A reply whose whole text is one complete action is run as that action and never
shown as an answer.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from bot.agent.dialects.bare_json import BareJson, render
from bot.agent.dialects.base import NO_END, Dialect, Parsed
from bot.agent.dialects.json_actions import JsonActions
from bot.agent.dialects.labels import LABEL, PAUSE, split
from bot.agent.dialects.literals import Unreadable, read_json
from bot.agent.dialects.marks import unfenced
from bot.agent.dialects.native import Native
from bot.agent.dialects.requests import enveloped, find_spec, is_only_call
from bot.agent.dialects.text import Text
from bot.agent.dialects.xml import Xml
from bot.agent.entries import Entry, ModelReply, ToolCall, open_turn
from bot.agent.ports import ToolSpec

DIALECTS: Mapping[str, Dialect] = {
    dialect.name: dialect for dialect in (Native(), Xml(), Text(), JsonActions(), BareJson())
}
"""Every dialect by the name that `[model] dialect` has for it."""

_TAGGED = re.compile(r"\s*<\s?(?:tool_call|function_call)\s?>\s*", re.I)
_TAG_END = re.compile(r"\s*(?:</\s?(?:tool_call|function_call)\s?>\s*)?\Z", re.I)
_XML = re.compile(
    r"\s*(?:<[ ]?thought[ ]?>(?>.*?</[ ]?thought[ ]?>)\s*)?<[ ]?action[ ]?>", re.I | re.S
)
_BEGUN = re.compile(
    r"\s*(?:<[ ]?(?:thought|action|tool_call|function_call)\b|"
    r"[*_#]{0,6}(?:thought|action)[*_]{0,3}[:：]|"
    r"(?:`{3}[^\n`]*\n\s*)?\{\s*[\"'](?:tool_|function_|arguments\b))",
    re.I,
)
_XML_ANSWER = re.compile(r"\s*<[ ]?(?:thought|final_answer)[ ]?>", re.I)
_THOUGHT_LABEL = re.compile(r"\s*[*_#]{0,6}[ ]?thought[*_]{0,3}[ ]?[:：]", re.I)
_ENDING = re.compile(rf"\s*(?:{PAUSE.pattern})?\s*\Z", re.M | re.I)
_PAUSED = re.compile(r"\n[ ]{0,3}[*_#]{0,6}[ ]?PAUSE[*_.]{0,4}\s*\Z", re.I)


class Read(NamedTuple):
    """A reply as read, and the name of the dialect that it was written in."""

    parsed: Parsed
    dialect: str


def read(
    dialect: Dialect,
    text: str,
    specs: Sequence[ToolSpec],
    entries: Sequence[Entry],
    *,
    cut_off: bool,
) -> Read:
    """Read a reply by `dialect`, given the conversation before it. Never raises.

    A line may end as on Windows: for the markers, and for what a tool gets, it ends as any other.
    """
    text = text.replace("\r\n", "\n")
    parsed = dialect.parse(text, specs, cut_off=cut_off)
    meant = None if parsed.calls or cut_off or not specs else whole_action(text, specs)
    if meant is not None:
        return meant
    if dialect.name == "native" and (ended := _whole_answer(text)) is not None:
        return ended
    if parsed.problem == NO_END and _was_asked_to_go_on(entries):
        return Read(Parsed(answer=parsed.thought, kept=parsed.kept), dialect.name)
    return Read(parsed, dialect.name)


def _whole_answer(text: str) -> Read | None:
    """A reply that is a thought and an answer with another dialect's marks around them."""
    for name, marked in (("xml", _XML_ANSWER), ("text", _THOUGHT_LABEL)):
        if marked.match(text):
            parsed = DIALECTS[name].parse(text, (), cut_off=False)
            if parsed.answer is not None:
                return Read(parsed, name)
    return None


def looks_like_action(text: str) -> bool:
    """Whether a reply that was cut off had begun an action in one of the known forms."""
    return bool(_BEGUN.match(text))


def _was_asked_to_go_on(entries: Sequence[Entry]) -> bool:
    replies = [entry for entry in open_turn(entries) if isinstance(entry, ModelReply)]
    return bool(replies) and replies[-1].problem == NO_END


def whole_action(text: str, specs: Sequence[ToolSpec]) -> Read | None:
    """The one complete action that a text is, in whichever form; None if it is anything else."""
    for form in (_xml, _labelled, _tool_call, _object):
        found = form(text.strip(), specs)
        if found is not None:
            return found
    return None


def _xml(text: str, specs: Sequence[ToolSpec]) -> Read | None:
    whole = unfenced(text)
    if not _XML.match(whole):
        return None
    parsed = DIALECTS["xml"].parse(whole, specs, cut_off=False)
    return Read(parsed, "xml") if parsed.calls and not whole[len(parsed.kept) :].strip() else None


def _labelled(text: str, specs: Sequence[ToolSpec]) -> Read | None:
    """`Action:` alone is an ordinary word: the tool must exist, or PAUSE must stand at the end."""
    whole = unfenced(text).strip()
    found = LABEL.match(whole)
    if found is None or (found["label"] or "").lower() not in ("thought", "action"):
        return None
    paused = _PAUSED.search(whole) is not None
    for name in ("json", "text"):
        parsed = DIALECTS[name].parse(whole, specs, cut_off=False)
        if not parsed.calls or not _ENDING.match(whole, len(parsed.kept)):
            continue
        # Plain input without PAUSE ends with its line: what follows may be said of it.
        if name == "text" and not paused and "\n" in whole[split(whole).start :].strip():
            continue
        if paused or _is_known(parsed.calls[0], specs):
            return Read(parsed, name)
    return None


def _tool_call(text: str, specs: Sequence[ToolSpec]) -> Read | None:
    whole = unfenced(text)
    opened = _TAGGED.match(whole)
    if opened is None:
        return None
    try:
        value, end = read_json(whole, opened.end())
        call = enveloped(value, specs)
    except Unreadable:
        return None
    return _found(call) if call is not None and _TAG_END.match(whole, end) else None


def _object(text: str, specs: Sequence[ToolSpec]) -> Read | None:
    """An object that names a tool there is, bare or in a fence."""
    inside = unfenced(text).strip()
    if not inside.startswith("{"):
        return None
    try:
        value, end = read_json(inside, 0)
        call = enveloped(value, specs)
    except Unreadable:
        return None
    if call is None or inside[end:].strip() or not is_only_call(value):
        return None
    named = isinstance(value, Mapping) and "tool_name" in value and "tool_args" in value
    return _found(call) if named or _is_known(call, specs) else None


def _found(call: ToolCall) -> Read:
    """Nearest to bare-json, and sent back in its form."""
    return Read(Parsed(calls=(call,), kept=render(call)), "bare-json")


def _is_known(call: ToolCall, specs: Sequence[ToolSpec]) -> bool:
    return find_spec(specs, call.name) is not None
