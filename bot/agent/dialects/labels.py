"""Replies whose parts begin with a label at the start of a line: `Thought:`, `Action:`, `Answer:`.

A label may be in other case, with a full-width colon, or with Markdown around it. One inside a
code fence, a quotation or the middle of a line is no label.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

from bot.agent.dialects.base import EMPTY, NO_END, Parsed
from bot.agent.dialects.marks import FENCE, outside_fences

_DRESS = r"[*_#]{0,6}[ ]?"
_AFTER = r"(?:[ ]?\d{1,2})?[*_]{0,3}[ ]?[:：][*_]{0,3}[ \t]*"
LABEL = re.compile(
    rf"^(?:{FENCE}|[ ]{{0,3}}{_DRESS}(?:(?P<label>thought|action|observation|action_response|"
    rf"final answer|answer|question){_AFTER}|(?P<pause>pause)[*_.]{{0,4}}[ \t]*$))",
    re.M | re.I,
)
PAUSE = re.compile(rf"^[ ]{{0,3}}{_DRESS}PAUSE[*_.]{{0,4}}[ \t]*$", re.M | re.I)
_LOOKED_AT = 3
_LAST_PAUSE = re.compile(rf"\n[ ]{{0,3}}{_DRESS}PAUSE[*_.]{{0,4}}\s*\Z", re.I)


@dataclass(frozen=True, slots=True)
class Labelled:
    """A reply up to its first action or answer: what is thought, and where that one begins.

    `kind` is "action", "answer" or "" where there is neither; `labels` are all that were passed.
    """

    thought: str
    kind: str
    start: int
    labels: frozenset[str]


def split(text: str) -> Labelled:
    """Find the first action or answer outside fences."""
    seen: set[str] = set()
    thought_start, thought_end = 0, -1
    for found in outside_fences(LABEL, text):
        label = (found["label"] or "pause").lower()
        if label in ("action", "answer", "final answer"):
            end = found.start() if thought_end < 0 else thought_end
            kind = "action" if label == "action" else "answer"
            thought = text[thought_start:end].strip()
            return Labelled(thought, kind, found.end(), frozenset(seen))
        if label == "thought" and not seen and not text[: found.start()].strip():
            thought_start = found.end()
        elif label != "thought" and thought_end < 0:
            thought_end = found.start()  # what follows is invented
        seen.add(label)
    thought = text[thought_start : len(text) if thought_end < 0 else thought_end].strip()
    return Labelled(thought, "", len(text), frozenset(seen))


def answer(text: str, start: int) -> str:
    """The answer that begins at a position."""
    return _LAST_PAUSE.sub("", text[start:]).strip()


def without_end(found: Labelled, *, bare_answer: bool) -> Parsed:
    """A reply with neither action nor answer. `bare_answer`: one without labels is the answer."""
    if not found.thought:
        invented = "it holds an observation, and only tools write those."
        return Parsed(problem=invented if found.labels else EMPTY)
    if bare_answer and not found.labels:
        return Parsed(answer=found.thought)
    return Parsed(found.thought, problem=NO_END)


def later_actions(text: str, start: int) -> Sequence[int]:
    """Where the next few actions begin, outside fences."""
    found = (
        mark.end()
        for mark in outside_fences(LABEL, text, start)
        if (mark["label"] or "").lower() == "action"
    )
    return list(islice(found, _LOOKED_AT))
