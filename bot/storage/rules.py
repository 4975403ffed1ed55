"""The rules and settings that admins made in Slack. Plain statements: any SQL database takes them.

Each change counts up a revision in the same transaction, by which other processes see it.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import quote

from sqlalchemy import Connection, Engine, create_engine, delete, insert, inspect, select, update
from sqlalchemy.exc import DBAPIError
from sqlalchemy.pool import NullPool

from bot import words
from bot.audit.records import Json, rule_changed
from bot.errors import StorageError
from bot.patterns import Pattern
from bot.policy import Rule, Verdict
from bot.storage.audit import Audit
from bot.storage.tables import counters, live_settings, rules
from bot.storage.writer import Writer

REVISION, NUMBERS = "revision", "rule"
"""The counters: of changes, and of the numbers that rules are called by, never given twice."""


@dataclass(frozen=True, slots=True)
class Author:
    """Who makes a change: a user id, and the name that people read."""

    id: str
    name: str


@dataclass(frozen=True, slots=True)
class SlackRule:
    """A rule made in Slack, under the number that people call it by."""

    number: int
    rule: Rule
    by: Author


@dataclass(frozen=True, slots=True)
class Choice:
    """The value of a setting in a channel ("*": everywhere), and who chose it when."""

    scope: str
    name: str
    value: str
    by: Author
    at: float


@dataclass(frozen=True, slots=True)
class Made:
    """All that was made in Slack, at one revision."""

    revision: int = 0
    rules: tuple[SlackRule, ...] = ()
    choices: tuple[Choice, ...] = ()


class Rules:
    """Reads and writes what was made in Slack, each change with its record in the audit trail.

    `now` is in seconds since the epoch.
    """

    def __init__(
        self,
        writer: Writer,
        now: Callable[[], float] = time.time,
        audit: Audit | None = None,
    ) -> None:
        self._writer, self._now, self._audit = writer, now, audit

    async def revision(self) -> int:
        """Grows with every change, whichever process makes it."""
        return await self._writer.run(lambda connection: _value(connection, REVISION))

    async def read(self) -> Made:
        """Everything. Raises StorageError for a rule that this release cannot read."""
        return await self._writer.run(_read)

    async def add(self, rule: Rule, by: Author) -> SlackRule:
        """Keep a rule under a new number. One about the very same takes the place of another.

        The rule's `place` is made of the number, the author and the day.
        """
        key, body, at = _key(rule), rule_text(rule), self._now()
        row = {"key": key, "body": body, "made_by": by.id, "name": by.name, "at": at}

        def work(connection: Connection) -> SlackRule:
            number = _count(connection, NUMBERS)
            connection.execute(delete(rules).where(rules.c.key == key))
            connection.execute(insert(rules).values(number=number, **row))
            self._changed(connection, by, "added", f"rule {number}", json.loads(body))
            return _rule(number, body, by, at)

        return await self._writer.run(work)

    async def remove(self, number: int, by: Author) -> bool:
        """Take a rule back; False if there is none with this number."""

        def work(connection: Connection) -> bool:
            gone = connection.execute(delete(rules).where(rules.c.number == number)).rowcount
            if gone:
                self._changed(connection, by, "removed", f"rule {number}", None)
            return bool(gone)

        return await self._writer.run(work)

    async def choose(self, scope: str, name: str, value: str | None, by: Author) -> None:
        """Set a setting in a channel or everywhere ("*"); None takes the choice back."""
        table = live_settings.c
        old = delete(live_settings).where((table.scope == scope) & (table.name == name))
        row = {"scope": scope, "name": name, "value": value, "made_by": by.id}
        row |= {"author": by.name}
        at = self._now()

        def work(connection: Connection) -> None:
            connection.execute(old)
            if value is not None:
                connection.execute(insert(live_settings).values(at=at, **row))
            self._changed(connection, by, "set", f"{name} in {scope}", value)

        await self._writer.run(work)

    def _changed(
        self, connection: Connection, by: Author, action: str, subject: str, value: Json
    ) -> None:
        _count(connection, REVISION)
        if self._audit is not None:
            self._audit.add(connection, rule_changed(by.id, action, subject, value))


def look_up(path: Path) -> Made:
    """What is made in the SQLite file at `path`, read beside whoever owns it; nothing is changed.

    Nothing if there is no such file yet. Raises StorageError.
    """
    if not path.exists():
        return Made()
    engine = create_engine(
        f"sqlite:///file:{quote(str(path))}?mode=ro&uri=true", poolclass=NullPool
    )
    try:
        with engine.connect() as connection:
            known = inspect(connection).has_table(rules.name)
            return _read(connection) if known else Made()
    except DBAPIError as error:
        raise StorageError(words.database_unusable(path, str(error.orig))) from error
    finally:
        engine.dispose()


def read_made(engine: Engine) -> Made:
    """What is made in a database whose tables are those of this release. Raises StorageError."""
    with engine.connect() as connection:
        return _read(connection)


def day_of(at: float) -> str:
    """The day of a time, for people."""
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d")


def _read(connection: Connection) -> Made:
    revision = _value(connection, REVISION)
    found = connection.execute(select(rules).order_by(rules.c.number))
    made = tuple(_rule(r.number, r.body, Author(r.made_by, r.name), r.at) for r in found)
    chosen = connection.execute(select(live_settings))
    choices = tuple(
        Choice(r.scope, r.name, r.value, Author(r.made_by, r.author), r.at) for r in chosen
    )
    return Made(revision, made, choices)


def _rule(number: int, body: str, by: Author, at: float) -> SlackRule:
    place = words.rule_place(number, by.name, day_of(at))
    try:
        return SlackRule(number, _rule_of(json.loads(body), place), by)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise StorageError(words.rule_unreadable(number)) from error


def _rule_of(body: Mapping[str, object], place: str) -> Rule:
    match = body["match"]
    if not isinstance(match, dict):
        raise TypeError("match is no table")
    return Rule(
        str(body["tool"]),
        Verdict(str(body["decision"])),
        _names(body["channel"]),
        _names(body["role"]),
        _names(body["user"]),
        tuple(Pattern(argument, text) for argument, text in match.items()),
        place,
    )


def _names(value: object) -> tuple[str, ...] | None:
    if value is None:
        return None
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise TypeError("a selector is no list of texts")
    return tuple(value)


def _about(rule: Rule) -> dict[str, object]:
    return {
        "tool": rule.tool,
        "channel": rule.channel,
        "role": rule.role,
        "user": rule.user,
        "match": {pattern.argument: pattern.text for pattern in rule.match},
    }


def rule_text(rule: Rule) -> str:
    """The rule as it is stored, without where it stands."""
    return json.dumps({**_about(rule), "decision": rule.decision.value}, ensure_ascii=False)


def _key(rule: Rule) -> str:
    """The same for rules about the very same, whatever they decide."""
    about = _about(rule)
    for name in ("channel", "role", "user"):
        chosen = about[name]
        about[name] = sorted(chosen) if isinstance(chosen, tuple) else chosen
    return json.dumps(about, sort_keys=True)


def _value(connection: Connection, name: str) -> int:
    return connection.scalar(select(counters.c.value).where(counters.c.name == name)) or 0


def _count(connection: Connection, name: str) -> int:
    """The counter's next value; its row stays locked until the transaction ends."""
    row = counters.c.name == name
    if not connection.execute(
        update(counters).where(row).values(value=counters.c.value + 1)
    ).rowcount:
        connection.execute(insert(counters).values(name=name, value=1))
    return _value(connection, name)
