"""Streaming messages: what was appended, and when Slack closes them."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from bot.local_slack.host import Host
from bot.local_slack.shapes import Json, Refusal

Key = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Stream:
    """One open stream and the parts that its message shows so far.

    ``carries`` is what the stream began with: it takes ``text`` or ``chunks`` for all its life.
    """

    channel: str
    ts: str
    thread_ts: str
    started: float
    mode: str = "timeline"
    carries: str = ""
    text: str = ""
    plan_title: str = ""
    tasks: Mapping[str, Json] = field(default_factory=dict)
    blocks: tuple[Json, ...] = ()

    def grown(self, text: str, chunks: list[Json]) -> "Stream":
        """The stream with this appended, or ``streaming_mode_mismatch``."""
        given = "chunks" if chunks else "text" if text else ""
        if given and self.carries and given != self.carries:
            raise Refusal("streaming_mode_mismatch")
        tasks, blocks, title = dict(self.tasks), list(self.blocks), self.plan_title
        for chunk in chunks:
            kind = chunk["type"]
            if kind == "markdown_text":
                text += chunk["text"]
            elif kind == "plan_update":
                title = chunk["title"]
            elif kind == "blocks":
                blocks += chunk["blocks"]
            else:
                tasks[chunk["id"]] = _task(tasks.get(chunk["id"], {}), chunk)
        return replace(
            self,
            carries=self.carries or given,
            text=self.text + text,
            plan_title=title,
            tasks=tasks,
            blocks=tuple(blocks),
        )

    def shown(self) -> list[Json]:
        """The blocks of the message as it stands."""
        tasks = list(self.tasks.values())
        blocks: list[Json] = []
        if self.mode == "plan" and (tasks or self.plan_title):
            blocks.append({"type": "plan", "title": self.plan_title or "Plan", "tasks": tasks})
        else:
            blocks += tasks
        if self.text:
            blocks.append({"type": "markdown", "text": self.text})
        return [*blocks, *self.blocks]


def _task(before: Json, chunk: Json) -> Json:
    """A task card after an update: details and output are appended, the rest replaced."""
    card = {**before, "type": "task_card", "task_id": chunk["id"], "title": chunk["title"]}
    card["status"] = chunk["status"]
    for key in ("details", "output"):
        if chunk.get(key):
            elements = list(before.get(key, {}).get("elements", ()))
            line = {"type": "text", "text": str(chunk[key])}
            elements.append({"type": "rich_text_section", "elements": [line]})
            card[key] = {"type": "rich_text", "elements": elements}
    if chunk.get("sources"):
        card["sources"] = list(before.get("sources", ())) + list(chunk["sources"])
    return card


class Streams:
    """The open streams. Slack closes each one a while after its start."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._open: dict[Key, Stream] = {}
        self._stopped_by_person: set[Key] = set()

    def put(self, stream: Stream) -> None:
        """Open a stream, or keep what it has grown to."""
        self._open[stream.channel, stream.ts] = stream

    def is_open(self, channel: str, ts: str) -> bool:
        """Whether the page should still show this message as growing."""
        stream = self._open.get((channel, ts))
        return stream is not None and not self._expired(stream)

    def get(self, channel: str, ts: str) -> Stream:
        """The open stream, or ``stopped_by_user`` / ``message_not_in_streaming_state``."""
        stream = self._open.get((channel, ts))
        if (channel, ts) in self._stopped_by_person:
            raise Refusal("stopped_by_user")
        if stream is None:
            raise Refusal("message_not_in_streaming_state")
        if self._expired(stream):
            del self._open[channel, ts]
            raise Refusal("message_not_in_streaming_state")
        return stream

    def close(self, channel: str, ts: str) -> None:
        """End the stream: the app stopped it."""
        self._open.pop((channel, ts), None)

    def stop_by_person(self, channel: str, ts: str) -> None:
        """End the stream: a person pressed Slack's stop button."""
        self.close(channel, ts)
        self._stopped_by_person.add((channel, ts))

    def of_thread(self, channel: str, thread_ts: str) -> list[str]:
        """The ``ts`` of the open streams in a thread."""
        return [
            stream.ts
            for stream in self._open.values()
            if (stream.channel, stream.thread_ts) == (channel, thread_ts)
            and not self._expired(stream)
        ]

    def _expired(self, stream: Stream) -> bool:
        age = self._host.clock.now() - stream.started
        return age >= self._host.options.stream_seconds
