"""A turn as a list of tasks, one for each call, for verbosity `card`. Pure.

Format: docs.slack.dev, chunks of chat.startStream: task_update. Nobody says whether its texts are
read as Markdown and whether addresses in them are unfurled, so they hold neither.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from bot import words
from bot.agent.entries import Entry, Failed, ModelReply, Stopped, ToolCall, ToolStarted
from bot.agent.entries import Observation as Seen
from bot.inert import inert
from bot.slack.blocks import Block, Element, Json, bold, clip, context, plain, section
from bot.slack.markdown import RenderedMessage, notification
from bot.slack.pieces import observations
from bot.slack.steps import ARGUMENT_LIMIT, Describe, gist, one_line

TITLE_LIMIT = 150
DETAILS_LIMIT = 200
OUTPUT_LIMIT = 200
"""Slack takes 256 characters of each, and about 12,000 in a message."""
MOST_TASKS = 18
"""In one message; so that all of them fit."""
_LIVE = {"<": "‹", ">": "›", "://": ": //", "](": "] (", "`": "'"}


class Progress(StrEnum):
    """How far a task has come, in Slack's words."""

    PENDING = "pending"
    IN_PROGRESS = "in_progress"
    COMPLETE = "complete"
    ERROR = "error"


ICONS = {
    Progress.PENDING: "▫️",
    Progress.IN_PROGRESS: "⏳",
    Progress.COMPLETE: "✅",
    Progress.ERROR: "⚠️",
}


@dataclass(frozen=True, slots=True)
class Task:
    """One call: what it is, the thought that led to it, and the gist of what it returned."""

    id: str
    title: str
    progress: Progress
    details: str = ""
    output: str = ""

    @property
    def over(self) -> bool:
        return self.progress in (Progress.COMPLETE, Progress.ERROR)


def tasks_of(entries: Sequence[Entry], start: int, describe: Describe) -> list[Task]:
    """The tasks of the turn that begins at position `start`, in order."""
    found: list[Task] = []
    for seq in range(start, len(entries)):
        reply = entries[seq]
        if not isinstance(reply, ModelReply):
            continue
        seen = observations(entries, seq)
        for place, call in enumerate(reply.calls):
            thought = "" if place else one_line(reply.thought or reply.reasoning, DETAILS_LIMIT)
            progress = _progress(entries, seq, call, seen)
            output = gist(seen[call.id][1].text) if call.id in seen else ""
            found.append(
                Task(
                    f"{seq}.{place}",
                    _harmless(_title(call, describe), TITLE_LIMIT),
                    progress,
                    _harmless(thought, DETAILS_LIMIT),
                    _harmless(output, OUTPUT_LIMIT),
                )
            )
    return found


def _progress(
    entries: Sequence[Entry], seq: int, call: ToolCall, seen: Mapping[str, tuple[int, Seen]]
) -> Progress:
    if call.id in seen:
        return Progress.ERROR if seen[call.id][1].is_error else Progress.COMPLETE
    later = entries[seq + 1 :]
    if any(isinstance(entry, Stopped | Failed) for entry in later):
        return Progress.ERROR
    started = any(isinstance(e, ToolStarted) and e.call_id == call.id for e in later)
    return Progress.IN_PROGRESS if started else Progress.PENDING


def _title(call: ToolCall, describe: Describe) -> str:
    argument = one_line(describe(call), ARGUMENT_LIMIT)
    return f"{words.tool_name(call.name)} {argument}".strip()


def _harmless(text: str, limit: int) -> str:
    text = inert(text)  # first: what cannot be seen may part what is live
    for live, dead in _LIVE.items():
        text = text.replace(live, dead)
    return clip(text, limit)


def updates(sent: Mapping[str, Task], wanted: Sequence[Task]) -> list[Mapping[str, Json]]:
    """The chunks that make a stream with these tasks sent show the wanted ones.

    Slack appends `details` and `output` to what is there, so each is sent once.
    """
    chunks: list[Mapping[str, Json]] = []
    for task in wanted:
        before = sent.get(task.id)
        if before == task:
            continue
        chunk = {"type": "task_update", "id": task.id, "title": task.title or " "}
        chunk["status"] = task.progress.value
        if task.details and (before is None or not before.details):
            chunk["details"] = task.details
        if task.output and (before is None or not before.output):
            chunk["output"] = task.output
        chunks.append(chunk)
    return chunks


def tasks_message(tasks: Sequence[Task]) -> RenderedMessage:
    """The tasks as an ordinary message, where Slack has no streams."""
    blocks: list[Block] = []
    for task in tasks:
        line: list[Element] = [plain(f"{ICONS[task.progress]} "), bold(task.title)]
        if task.output:
            line.append(plain(f"\n→ {task.output}"))
        blocks += [section(*line)] if not task.details else [context(task.details), section(*line)]
    text = " · ".join(task.title for task in tasks)
    return RenderedMessage(clip(notification(text), TITLE_LIMIT), tuple(blocks))
