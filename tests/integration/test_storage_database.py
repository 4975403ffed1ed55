"""The database: who may open it, in which state it is, and what is said when it cannot be used."""

from __future__ import annotations

import itertools
import json
import os
import signal
import sqlite3
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import asdict
from pathlib import Path

import pytest
from alembic import command
from alembic.script import ScriptDirectory
from sqlalchemy import NullPool, create_engine, event, text

from bot.agent.entries import Answered
from bot.errors import DatabaseBusy, StorageError
from bot.storage.database import open_database
from bot.storage.inbox import Inbox
from bot.storage.items import Addressing, Item, Kind
from bot.storage.journal import Journals
from bot.storage.migrations.run import alembic_config
from bot.storage.schema import HEAD, bring_up_to_date
from bot.storage.tables import metadata
from bot.storage.writer import Writer

ROOT = Path(__file__).parents[2]
NOBODY = 65534
ITEM = Item(Kind.MESSAGE, "T1", "C1", "100.1", "100.1", "U1", addressing=Addressing.MENTION)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "home" / "treadle.db"


def complaint(path: Path) -> str:
    """The one sentence or two with which opening fails."""
    with pytest.raises(StorageError) as caught:
        open_database(path)
    said = str(caught.value)
    assert "\n" not in said
    assert said.endswith(".")
    return said


def test_the_newest_revision_is_the_one_that_the_code_names() -> None:
    assert ScriptDirectory.from_config(alembic_config()).get_current_head() == HEAD


def test_a_first_start_that_breaks_off_anywhere_leaves_nothing_half_made(path: Path) -> None:
    """Whatever statement it is: the next start finds no table, or all of them."""
    path.parent.mkdir()
    left: list[set[str]] = []
    finished = False
    for statements in range(1, 100):
        engine = create_engine(f"sqlite:///{path}", poolclass=NullPool)
        seen = itertools.count(1)

        @event.listens_for(engine, "before_cursor_execute")
        def break_off(*_: object, seen: Iterator[int] = seen, last: int = statements) -> None:
            if next(seen) == last:
                raise KeyboardInterrupt

        try:
            bring_up_to_date(engine)
            finished = True
            break
        except KeyboardInterrupt:
            left.append(tables_of(path))

    assert finished
    whole = tables_of(path)
    made = [tables == whole for tables in left]
    assert made == sorted(made)
    assert [tables for tables in left if tables != whole] == [set()] * made.count(False)
    assert made.count(False) > len(metadata.tables)
    open_database(path).close()


def tables_of(path: Path) -> set[str]:
    """The names of the tables and indexes in this file."""
    with closing(sqlite3.connect(path)) as database:
        return {row[0] for row in database.execute("SELECT name FROM sqlite_master")}


async def test_what_waits_in_a_database_of_an_older_revision_is_still_taken(path: Path) -> None:
    path.parent.mkdir()
    engine = create_engine(f"sqlite:///{path}")
    config = alembic_config()
    body = json.dumps({**asdict(ITEM), "text": "from before"})
    row = {"thread": ITEM.thread, "kind": "message", "key": ITEM.key, "ts": ITEM.ts, "body": body}
    with engine.begin() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, "0002")
        names = ", ".join(row)
        values = ", ".join(f":{name}" for name in row)
        connection.execute(
            text(f"INSERT INTO inbox (received_at, {names}) VALUES (1.0, {values})"), row
        )
    engine.dispose()

    database = open_database(path)
    writer = Writer(database.engine)
    inbox = Inbox(writer)
    (stored,) = await inbox.waiting(ITEM.thread)
    await Journals(writer).append(ITEM.thread, 0, [Answered(())], [stored])
    left = await inbox.waiting(ITEM.thread)
    await writer.close()
    database.close()

    assert stored.item.text == "from before"
    assert left == []


def test_a_database_that_is_up_to_date_is_opened_without_what_only_others_need(path: Path) -> None:
    open_database(path).close()
    script = (
        "import sys; from pathlib import Path; from bot.storage.database import open_database; "
        "open_database(Path(sys.argv[1])).close(); dear = ('alembic', 'psycopg', 'procrastinate'); "
        "print([name for name in dear if name in sys.modules])"
    )

    done = subprocess.run(
        [sys.executable, "-c", script, path], cwd=ROOT, capture_output=True, text=True, timeout=50
    )

    assert done.stdout == "[]\n", done.stderr


def test_only_the_owner_can_read_the_home_and_the_database(path: Path) -> None:
    before = os.umask(0o022)
    try:
        database = open_database(path)
    finally:
        os.umask(before)
    with database.engine.begin() as connection:
        connection.execute(text("INSERT INTO overheard VALUES ('c', '1', '2', 0)"))
        modes = {p.name: stat.S_IMODE(p.stat().st_mode) for p in path.parent.glob("treadle.db*")}
    database.close()

    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert modes.pop("treadle.db.lock", 0) & 0o022 == 0
    assert sorted(modes) == ["treadle.db", "treadle.db-shm", "treadle.db-wal"]
    assert set(modes.values()) == {0o600}


async def test_what_is_committed_survives_a_power_cut(path: Path) -> None:
    """A write-ahead log that is synced at every commit (sqlite.org/pragma.html: FULL is 2)."""
    database = open_database(path)
    writer = Writer(database.engine)

    async def pragma(name: str) -> object:
        return await writer.run(lambda c: c.exec_driver_sql(f"PRAGMA {name}").scalar())

    assert await pragma("synchronous") == 2
    assert await pragma("journal_mode") == "wal"
    await writer.close()
    database.close()


OWNER = """
import sys
from pathlib import Path
from bot.storage.database import open_database

database = open_database(Path(sys.argv[1]))
print("open", flush=True)
sys.stdin.read()
"""


@contextmanager
def owner(path: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process that holds the database."""
    with subprocess.Popen(
        [sys.executable, "-c", OWNER, path],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "open\n"
        try:
            yield process
        finally:
            process.kill()


def test_a_second_process_is_refused_and_told_who_has_it_until_that_one_is_gone(
    path: Path,
) -> None:
    with owner(path) as process:
        with pytest.raises(DatabaseBusy) as caught:
            open_database(path)
        assert f"process {process.pid} on " in str(caught.value)
        assert "TREADLE_HOME" in str(caught.value)

        process.send_signal(signal.SIGKILL)
        process.wait()

        open_database(path).close()


def test_the_holder_that_is_named_is_the_present_one(path: Path) -> None:
    """Whoever is refused must not wipe or replace what the owner wrote about itself."""
    database = open_database(path)
    for _ in range(2):
        with pytest.raises(DatabaseBusy, match=rf"process {os.getpid()} on "):
            open_database(path)
    database.close()


def test_a_database_of_a_newer_release_is_left_alone(path: Path) -> None:
    open_database(path).close()
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
    connection.close()

    said = complaint(path)

    assert "newer release of Treadle (schema 9999" in said
    with sqlite3.connect(path) as connection:
        assert connection.execute("SELECT * FROM alembic_version").fetchall() == [("9999",)]
    connection.close()


@pytest.mark.parametrize(
    "spoil",
    [
        lambda path: path.write_bytes(b"no database " * 500),
        lambda path: path.write_bytes(path.read_bytes()[:4096] + os.urandom(40_000)),
    ],
    ids=["another file", "torn"],
)
def test_a_damaged_file_is_one_sentence(path: Path, spoil: object) -> None:
    open_database(path).close()
    assert callable(spoil)
    spoil(path)

    assert "cannot be used (" in complaint(path)
    assert "Restore it from a backup" in complaint(path)


@pytest.mark.parametrize("home", ["/proc/treadle", "/dev/null/treadle"])
def test_a_home_that_cannot_be_made_is_one_sentence(home: str) -> None:
    said = complaint(Path(home) / "treadle.db")

    assert f"cannot write to its home {home}" in said
    assert "TREADLE_HOME" in said


@contextmanager
def unprivileged() -> Iterator[Path]:
    """A directory, and no rights beyond it: permissions do not bind root."""
    with tempfile.TemporaryDirectory() as place:
        if os.geteuid() != 0:
            yield Path(place)
            return
        os.chown(place, NOBODY, NOBODY)
        os.seteuid(NOBODY)
        try:
            yield Path(place)
        finally:
            os.seteuid(0)


def test_a_file_that_may_not_be_written_is_one_sentence() -> None:
    with unprivileged() as place:
        path = place / "treadle.db"
        open_database(path).close()
        path.chmod(0o400)

        assert "cannot be used (" in complaint(path)


def test_a_home_that_may_not_be_written_is_one_sentence() -> None:
    with unprivileged() as place:
        place.chmod(0o500)
        said = complaint(place / "treadle.db")
        place.chmod(0o700)

    assert "cannot write to its home" in said
    assert "Permission denied" in said
