"""Judges a run by what is left of it. Pure; it shares no code with the bot, only the formats.

Each promise is one function from the evidence to the violations it finds. The formats are the
posts' metadata (`key`, `covers`), the journal's entries and the inbox's rows.
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from tests.chaos.evidence import Evidence, Posted, Row, Said

MARK = re.compile(r"\b(?:plan|done|answer):[\w.-]+")
"""Words that the scripted model and its tools say once and never again."""
ENDINGS = ("Answered", "Stopped", "Failed")
MESSAGES = ("message", "stop")


@dataclass(frozen=True, slots=True)
class Violation:
    """A promise that was not kept, where, and what was found."""

    promise: str
    where: str
    found: str

    def __str__(self) -> str:
        return f"{self.promise}: {self.where}: {self.found}"


Finding = tuple[str, str]


def check(evidence: Evidence) -> tuple[Violation, ...]:
    """Every violation, promise by promise."""
    return tuple(
        Violation(promise.__name__, where, found)
        for promise in PROMISES
        for where, found in promise(evidence)
    )


def answered_once(evidence: Evidence) -> Iterator[Finding]:
    """Exactly one post covers each accepted message for the bot; none covers anything else."""
    covering: Counter[tuple[str, str, str]] = Counter(
        (post.channel, post.root, ts) for post in evidence.posted for ts in post.covers
    )
    engaged = _engaged(evidence) | _accepted_roots(evidence)
    for message in evidence.said:
        count = covering.pop((message.channel, message.root, message.ts), 0)
        due = _is_due(message, engaged)
        if count > message.for_bot or count < due:
            what = "for the bot" if message.for_bot else "not for the bot"
            yield _place(message), f"a message {what} is covered by {count} posts"
    for (channel, root, ts), count in covering.items():
        yield f"{channel}:{root}:{ts}", f"{count} posts cover a message that nobody wrote"


def told_as_written(evidence: Evidence) -> Iterator[Finding]:
    """A thread's endings stand in Slack as in the journal, in the same order.

    Where a question was deleted and nothing stood below it, its thread is gone.
    """
    gone = {root for _, root in _gone(evidence)}
    written: defaultdict[str, list[list[str]]] = defaultdict(list)
    for thread, rows in _threads(evidence.journal):
        listed = [_texts(row.body.get("covers")) for row in _endings(rows)]
        kept = [covers for covers in listed if not gone.issuperset(covers)]
        if kept:
            written[thread.partition(":")[2]] = kept
    posts: defaultdict[str, list[Posted]] = defaultdict(list)
    for post in evidence.posted:
        posts[f"{post.channel}:{post.root}"].append(post)
    for thread in sorted({*written, *posts}):
        told = [list(p.covers) for p in sorted(posts[thread], key=lambda p: float(p.ts))]
        ours = [covers for covers in told if covers in written[thread]]
        if ours != written[thread]:
            yield thread, f"the journal ends {written[thread]}, Slack shows {told}"


def in_order(evidence: Evidence) -> Iterator[Finding]:
    """A message is not taken before an older one of its thread that had been stored by then."""
    rows: defaultdict[str, list[tuple[float, float, int, str]]] = defaultdict(list)
    for item in evidence.inbox:
        if item.kind in MESSAGES and item.taken is not None:
            row = (float(item.ts), item.received_at, item.taken, item.ts)
            rows[item.thread].append(row)
    for thread, items in rows.items():
        for ts, received, taken, name in items:
            for older_ts, older_received, older_taken, older in items:
                if older_ts < ts and older_received < received and older_taken > taken:
                    yield thread, f"{name} was taken before {older}"


def covered_once_in_the_journal(evidence: Evidence) -> Iterator[Finding]:
    """Each message that was taken is covered by exactly one ending, and positions have no gap."""
    for thread, rows in _threads(evidence.journal):
        if [row.seq for row in rows] != list(range(len(rows))):
            yield thread, f"the journal has the positions {[row.seq for row in rows]}"
        asked = Counter(str(row.body.get("at")) for row in rows if row.kind == "User")
        ended = Counter(ts for row in _endings(rows) for ts in _texts(row.body.get("covers")))
        for ts, count in asked.items():
            if count != 1 or ended[ts] != 1:
                yield thread, f"{ts} was taken {count} times and ended {ended[ts]} times"


def started_once(evidence: Evidence) -> Iterator[Finding]:
    """No call is started twice, and none that was not written down before."""
    journaled: set[str] = set()
    for thread, rows in _threads(evidence.journal):
        arguments: Mapping[str, str] = {}
        seen: set[tuple[str, str]] = set()
        for row in rows:
            if row.kind == "ModelReply":
                arguments, seen = _calls(row), set()
            elif row.kind in ("ToolStarted", "Observation"):
                call = str(row.body.get("call_id"))
                if (row.kind, call) in seen:
                    yield thread, f"a second {row.kind} of {call} at {row.seq}"
                seen.add((row.kind, call))
                if row.kind == "ToolStarted":
                    journaled.add(arguments.get(call, ""))
    everything = "\n".join(journaled)
    for token, count in Counter(evidence.starts).items():
        if count > 1:
            yield token, f"was started {count} times"
        if token not in everything:
            yield token, "was started without an entry in the journal"


def said_once(evidence: Evidence) -> Iterator[Finding]:
    """No post stands twice in a thread, by its delivery key or by what it says.

    A question to a person quotes the thought that a step shows as well.
    """
    keys = Counter((post.channel, post.root, post.key) for post in evidence.posted)
    questions = _questions(evidence)
    marks = Counter(
        (post.channel, post.root, mark)
        for post in evidence.posted
        for mark in set(MARK.findall(post.text))
        if not (mark.startswith("plan:") and _piece(post) in questions)
    )
    for (channel, root, what), count in (*keys.items(), *marks.items()):
        if count > 1:
            yield f"{channel}:{root}", f"{what} stands there {count} times"


def steps_shown(evidence: Evidence) -> Iterator[Finding]:
    """Each observation of an answered turn stands in its thread, unless that was stopped.

    Or unless the thread is gone.
    """
    gone = {f"{channel}:{root}" for channel, root in _gone(evidence)}
    shown: defaultdict[str, set[str]] = defaultdict(set)
    for post in evidence.posted:
        shown[f"{post.channel}:{post.root}"] |= set(MARK.findall(post.text))
    for thread, rows in _threads(evidence.journal):
        if thread.partition(":")[2] in gone:
            continue
        marks: list[str] = []
        endings = [row for row in rows if row.kind in ENDINGS]
        broken_off = {a.seq for a, b in pairwise(endings) if "parts" in b.body}
        for row in rows:
            if row.kind == "Observation":
                marks += MARK.findall(str(row.body.get("text")))[:1]
            elif row.kind in ENDINGS:
                missing = set(marks) - shown[thread.partition(":")[2]]
                if row.kind == "Answered" and missing and row.seq not in broken_off:
                    yield thread, f"not shown: {sorted(missing)}"
                marks = []


def nothing_forgotten(evidence: Evidence) -> Iterator[Finding]:
    """What was acknowledged is stored, what is stored is taken, and nothing waits for anybody."""
    stored = {(row.thread.partition(":")[2], row.ts) for row in evidence.inbox}
    engaged = _engaged(evidence)
    for message in evidence.said:
        thread = f"{message.channel}:{message.root}"
        if _is_due(message, engaged) and (thread, message.ts) not in stored:
            yield _place(message), "was acknowledged and is not stored"
    for item in evidence.inbox:
        if item.taken is None and item.thread.partition(":")[2] in engaged:
            yield item.thread, f"the {item.kind} {item.ts} waits"
    for thread in evidence.busy:
        yield thread, "is unfinished"
    for key in evidence.unsure:
        yield key, "nobody knows whether this stands in Slack"


def nothing_left_over(evidence: Evidence) -> Iterator[Finding]:
    """No process outlives its Treadle, and no sign of life outlives the work."""
    yield from ((orphan, "is an orphan") for orphan in evidence.orphans)
    yield from ((thread, "still looks busy") for thread in evidence.signs)
    yield from ((thread, "has a reaction left") for thread in evidence.eyes)


def nothing_broke(evidence: Evidence) -> Iterator[Finding]:
    """No process ends unless it is made to, SIGTERM ends in order, and the log has no bug."""
    yield from ((death, "was not asked for") for death in evidence.deaths)
    yield from ((bug, "is a bug in the log") for bug in evidence.bugs)


PROMISES: Sequence[Callable[[Evidence], Iterator[Finding]]] = (
    answered_once,
    told_as_written,
    in_order,
    covered_once_in_the_journal,
    started_once,
    said_once,
    steps_shown,
    nothing_forgotten,
    nothing_left_over,
    nothing_broke,
)


def _place(message: Said) -> str:
    return f"{message.channel}:{message.root}:{message.ts}"


def _is_due(message: Said, engaged: set[str]) -> bool:
    """Whether somebody must answer: it was accepted, in a thread that is the bot's."""
    wanted = message.for_bot and message.accepted and not message.deleted
    return wanted and f"{message.channel}:{message.root}" in engaged


def _engaged(evidence: Evidence) -> set[str]:
    """The threads that were stored as the bot's; a stop alone may wait for a message to come."""
    return {row.thread.partition(":")[2] for row in evidence.inbox if row.kind != "stop"}


def _accepted_roots(evidence: Evidence) -> set[str]:
    """The threads whose first message was accepted, stored or not."""
    roots = [m for m in evidence.said if m.ts == m.root and m.accepted and m.for_bot]
    return {f"{m.channel}:{m.root}" for m in roots}


def _gone(evidence: Evidence) -> set[tuple[str, str]]:
    """Channel and root of the threads whose root was deleted while nothing stood below it."""
    alive = {(post.channel, post.root) for post in evidence.posted}
    deleted = {(m.channel, m.root) for m in evidence.said if m.deleted and m.ts == m.root}
    return deleted - alive


def _threads(journal: Sequence[Row]) -> Iterator[tuple[str, list[Row]]]:
    rows: defaultdict[str, list[Row]] = defaultdict(list)
    for row in journal:
        rows[row.thread].append(row)
    for thread, found in rows.items():
        yield thread, sorted(found, key=lambda row: row.seq)


def _piece(post: Posted) -> tuple[str, str]:
    """The thread, without its team, and the entry that the post shows first: "f7"."""
    return f"{post.channel}:{post.root}", post.key.rpartition("#")[2].partition(".")[0]


def _questions(evidence: Evidence) -> set[tuple[str, str]]:
    """The same of each question to a person."""
    asked = (row for row in evidence.journal if row.kind == "ApprovalAsked")
    return {(row.thread.partition(":")[2], f"f{row.seq}") for row in asked}


def _endings(rows: Sequence[Row]) -> list[Row]:
    """The endings that are to stand in the thread: not an answer whose delivery was stopped."""
    endings = [row for row in rows if row.kind in ENDINGS]
    later = [*endings, None][1:]
    return [row for row, after in zip(endings, later, strict=True) if not _stops(after)]


def _stops(ending: Row | None) -> bool:
    """Whether this ended the delivery of an answer before its last message."""
    if ending is None:
        return False
    posted, parts = (int(str(ending.body.get(name, 0))) for name in ("posted", "parts"))
    return posted < parts


def _calls(reply: Row) -> dict[str, str]:
    """The arguments of a model's calls, by call id."""
    calls = reply.body.get("calls")
    return {str(call["id"]): json.dumps(call) for call in calls} if isinstance(calls, list) else {}


def _texts(value: object) -> list[str]:
    return [str(item) for item in value] if isinstance(value, list) else []
