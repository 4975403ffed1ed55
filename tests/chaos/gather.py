"""Collects what is left of a run: the stand-in's messages and log, the database, the processes."""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import psycopg

from bot.local_slack.options import BOT_ID
from bot.local_slack.server import LocalSlack
from tests.chaos.evidence import Evidence, Posted, Row, Said, Stored
from tests.chaos.people import Notebook, threads

BUG = re.compile(r"Traceback|never retrieved|never awaited")


def read_sqlite(path: Path) -> Evidence:
    """What the database in this file holds."""
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as database:
        return _stored(lambda query: database.execute(query).fetchall())


def read_postgres(url: str) -> Evidence:
    """What the database at this address holds."""
    with psycopg.connect(url) as database:
        return _stored(lambda query: database.execute(query.encode()).fetchall())


def _stored(rows: Callable[[str], list[tuple[Any, ...]]]) -> Evidence:
    journal = rows("SELECT thread, seq, body FROM journal ORDER BY thread, seq")
    inbox = rows("SELECT thread, kind, ts, received_at, taken_seq FROM inbox ORDER BY id")
    busy = rows("SELECT thread FROM threads WHERE busy")
    unsure = rows("SELECT key FROM deliveries WHERE state IN ('trying', 'open')")
    return Evidence(
        journal=tuple(_row(thread, int(seq), json.loads(body)) for thread, seq, body in journal),
        inbox=tuple(Stored(t, k, ts, float(at), _position(seq)) for t, k, ts, at, seq in inbox),
        busy=tuple(row[0] for row in busy),
        unsure=tuple(row[0] for row in unsure),
    )


def _row(thread: str, seq: int, body: dict[str, object]) -> Row:
    return Row(thread, seq, str(body.get("kind")), body)


def _position(value: object) -> int | None:
    return None if value is None else int(str(value))


def evidence_of(
    slack: LocalSlack, notebook: Notebook, home: Path, stored: Evidence, orphans: Sequence[str]
) -> Evidence:
    """`stored`, with all that Slack, the files and the log know."""
    heard = [record for record in slack.courier.records if record.ok]
    accepted = {False: {record.about for record in heard}}
    accepted[True] = {record.about for record in heard if record.subtype == "message_changed"}
    return replace(
        stored,
        said=tuple(
            replace(one, accepted=(one.channel, one.ts) in accepted[one.by_edit])
            for one in notebook.said
        ),
        posted=tuple(_posted(slack, notebook)),
        starts=tuple(_starts(home)),
        orphans=tuple(orphans),
        signs=tuple(_signs(slack, notebook.said)),
        eyes=tuple(_eyes(slack, notebook.said)),
        bugs=tuple(bug for log in sorted(home.glob("treadle*.log")) for bug in bugs(log)),
    )


def _posted(slack: LocalSlack, notebook: Notebook) -> Iterator[Posted]:
    for channel, root in threads(notebook):
        for message in slack.thread(channel, root):
            if message.get("bot_id") != BOT_ID:
                continue
            payload = (message.get("metadata") or {}).get("event_payload", {})
            covers = tuple(str(ts) for ts in payload.get("covers", ()))
            key, text = str(payload.get("key", "")), slack.visible_text(message)
            yield Posted(channel, root, str(message["ts"]), key, covers, text)


def _starts(home: Path) -> Iterator[str]:
    for file in (home / "starts.txt", *sorted((home / "workspace").glob("*/starts.txt"))):
        if file.exists():
            yield from file.read_text().split()


def _signs(slack: LocalSlack, said: Sequence[Said]) -> Iterator[str]:
    """Threads that look as if somebody worked on them; one that is deleted looks like nothing."""
    for channel, root in sorted({(one.channel, one.root) for one in said}):
        thread = slack.thread(channel, root)
        session = slack.world.sessions.session(channel, root)
        if thread and session and session.status == "processing":
            yield f"{channel}:{root} (session)"
        if thread and slack.status(channel, root):
            yield f"{channel}:{root} (status)"


def _eyes(slack: LocalSlack, said: Sequence[Said]) -> Iterator[str]:
    """Threads with a reaction of ours on a message."""
    for channel, root in sorted({(one.channel, one.root) for one in said}):
        rows = [row for m in slack.thread(channel, root) for row in m.get("reactions", ())]
        if any(row["name"] == "eyes" for row in rows):
            yield f"{channel}:{root}"


def bugs(log: Path) -> Iterator[str]:
    """Where the log shows a bug: the line before, and the last line of its traceback."""
    lines = log.read_text("utf-8", "replace").splitlines()
    for number, line in enumerate(lines):
        if BUG.search(line):
            after = lines[number + 1 :]
            last = next((text for text in after if text and not text.startswith(" ")), "")
            yield f"{lines[max(0, number - 1)]} {line} {last}"


def marked_processes(mark: str) -> dict[int, str]:
    """The processes of this host whose arguments hold `mark`, by id."""
    found = {}
    for directory in Path("/proc").glob("[0-9]*"):
        try:
            line = (directory / "cmdline").read_bytes()
        except OSError:
            continue
        if mark.encode() in line:
            found[int(directory.name)] = line.replace(b"\0", b" ").decode("utf-8", "replace")
    return found
