"""A database of any earlier release, of either kind, is brought up to date with what is in it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, inspect, text

from bot.agent.entries import Answered, User
from bot.agent.records import dump
from bot.storage.claims import Claim, Claims
from bot.storage.database import Database, open_database
from bot.storage.deliveries import Deliveries, State
from bot.storage.inbox import Inbox
from bot.storage.items import Addressing, Item, Kind
from bot.storage.journal import Journals
from bot.storage.migrations.run import alembic_config
from bot.storage.postgres import open_postgres
from bot.storage.schema import HEAD
from bot.storage.statements import is_server
from bot.storage.tables import metadata
from bot.storage.writer import Writer

ITEM = Item(Kind.MESSAGE, "T1", "C1", "1.0", "2.0", "U1", "waits", Addressing.DIRECT)
THREAD, AT_REST = ITEM.thread, "T1:C1:9.0"
ASKED = User("first", "U1", "Alice", "1.0")


@pytest.fixture(params=["sqlite", "postgresql"])
def opens(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], Database]:
    """Opens a database of its own, as no other test's tables are to be taken back."""
    if request.param == "sqlite":
        return lambda: open_database(tmp_path / "treadle.db")
    url: str = request.getfixturevalue("empty_postgres")
    return lambda: open_postgres(url)


def older() -> list[str]:
    """Every revision before the newest, oldest first."""
    script = ScriptDirectory.from_config(alembic_config())
    found = [step.revision for step in script.walk_revisions()]
    assert found[0] == HEAD
    return found[:0:-1]


def test_a_new_database_has_exactly_the_tables_that_the_migrations_make(
    opens: Callable[[], Database],
) -> None:
    database = opens()
    with database.engine.begin() as connection:
        made = _described(connection)
        _remake(connection, "head")
        migrated = _described(connection)
    database.close()

    assert made == migrated
    assert set(made) == {*metadata.tables, "alembic_version"}


@pytest.mark.parametrize("revision", older())
async def test_what_an_earlier_release_left_is_gone_on_with(
    opens: Callable[[], Database], revision: str
) -> None:
    empty = opens()
    with empty.engine.begin() as connection:
        _go_back(connection, revision)
    empty.close()

    database = opens()
    with database.engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        found = compare_metadata(context, metadata)
    steps = [step for one in found for step in (one if isinstance(one, list) else [one])]
    differences = [step for step in steps if "comment" not in step[0]]  # those are for readers
    writer = Writer(database.engine)
    shared = is_server(database.engine.dialect)
    journals = Journals(writer, "me", shared=shared)
    if shared:
        claims = Claims(writer, "me", 20.0)
        await claims.beat(works=True)
        assert await claims.claim(THREAD) is Claim.OURS
    stored = await journals.read(THREAD)
    waiting = await Inbox(writer).waiting(THREAD)
    await journals.append(THREAD, 1, [Answered(("1.0",))], waiting, stored.entries)
    (delivery,) = await Deliveries(writer).of(THREAD)
    settled = [await Deliveries(writer).settled(thread) for thread in (THREAD, AT_REST)]
    assert await journals.finish(THREAD, 2)
    await writer.close()
    database.close()

    assert differences == []
    assert stored.entries == (ASKED,)
    assert stored.root_addressed
    assert settled == [0, 1]
    assert [one.item.text for one in waiting] == ["waits"]
    assert (delivery.pieces, delivery.state) == (("f0.0",), State.TRYING)


def _go_back(connection: Connection, revision: str) -> None:
    """The tables of that revision, with a turn that is going on, in the place of the newest."""
    _remake(connection, revision)
    rows: dict[str, dict[str, object]] = {
        "threads": {"thread": THREAD, "root_addressed": True, "busy": True, "engaged_at": 1.0},
        "inbox": {
            "thread": THREAD,
            "kind": "message",
            "key": ITEM.key,
            "ts": ITEM.ts,
            "body": json.dumps(asdict(ITEM)),
            "received_at": 1.0,
        },
        "journal": {"thread": THREAD, "seq": 0, "body": dump(ASKED), "token": "one-0", "at": 1.0},
        "deliveries": {
            "key": f"{THREAD}#f0.0",
            "thread": THREAD,
            "pieces": '["f0.0"]',
            "state": "trying",
            "tried_at": 1.0,
        },
    }
    resting: dict[str, dict[str, object]] = {
        "threads": {"busy": False},
        "journal": {"token": "one-1"},
    }
    for table, row in rows.items():
        insert = f"INSERT INTO {table} ({', '.join(row)}) VALUES (:{', :'.join(row)})"
        connection.execute(text(insert), row)
        if table in resting:
            connection.execute(text(insert), {**row, "thread": AT_REST, **resting[table]})
    if revision >= "0014":  # which writes down itself what stands in a thread at rest
        connection.execute(text("UPDATE threads SET settled = 1 WHERE NOT busy"))


def _remake(connection: Connection, revision: str) -> None:
    """The tables as the migrations up to this one make them, in the place of the newest."""
    metadata.drop_all(connection)
    connection.execute(text("DROP TABLE alembic_version"))
    config = alembic_config()
    config.attributes["connection"] = connection
    command.upgrade(config, revision)


def _described(connection: Connection) -> dict[str, object]:
    """Each table: its columns in any order, its keys and its indexes."""
    found = inspect(connection)
    tables: dict[str, object] = {}
    for name in found.get_table_names():
        columns = {
            column["name"]: (repr(column["type"]), column["nullable"], column["default"])
            for column in found.get_columns(name)
        }
        unique = sorted(str(one) for one in found.get_unique_constraints(name))
        indexes = sorted(str(one) for one in found.get_indexes(name))
        tables[name] = (columns, str(found.get_pk_constraint(name)), unique, indexes)
    return tables
