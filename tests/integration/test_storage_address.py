"""Opening PostgreSQL: the tables are made once, and nothing ever says the password."""

from __future__ import annotations

import logging
import subprocess
import sys
import traceback
from datetime import UTC, datetime
from pathlib import Path

import psycopg
import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

from bot.agent.budgets import By
from bot.agent.entries import Answered
from bot.config import Need, load_settings
from bot.errors import StorageError
from bot.runs_report import show_run
from bot.storage.audit import Audit
from bot.storage.inbox import Inbox
from bot.storage.items import Addressing, Item, Kind
from bot.storage.journal import Journals
from bot.storage.postgres import open_postgres, open_server_reader
from bot.storage.schema import HEAD, Addition
from bot.storage.tables import metadata
from bot.storage.wakes import queue_schema
from bot.storage.writer import Writer
from bot.trail import Wanted, export_trail
from bot.usage_report import usage_report
from tests.doubles.postgres import PostgresServer

ROOT = Path(__file__).parents[2]
CANARY = "can%2Fary-4f1d"
"""A password as it is written in an address; `can/ary-4f1d` is what it means."""

OPENER = """
import sys
from bot.storage.postgres import open_postgres
from bot.storage.wakes import queue_schema
print("ready", flush=True)
sys.stdin.readline()
open_postgres(sys.argv[1], [queue_schema()]).close()
print("open", flush=True)
"""


def complaint(url: str) -> str:
    """The one or two sentences with which opening fails."""
    with pytest.raises(StorageError) as caught:
        open_postgres(url)
    said = str(caught.value)
    assert "\n" not in said
    assert said.endswith(".")
    return said


def test_processes_that_start_at_once_make_the_tables_once(empty_postgres: str) -> None:
    command = [sys.executable, "-c", OPENER, empty_postgres]
    processes = [
        subprocess.Popen(
            command, cwd=ROOT, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        for _ in range(3)
    ]
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    said = [process.communicate(timeout=50)[0] for process in processes]

    assert said == ["open\n"] * 3
    with psycopg.connect(empty_postgres) as connection:
        assert connection.execute("SELECT * FROM alembic_version").fetchall() == [(HEAD,)]
        assert connection.execute("SELECT count(*) FROM procrastinate_jobs").fetchone() == (0,)


def test_whoever_comes_while_the_tables_are_made_waits(empty_postgres: str) -> None:
    """Two transactions would not see each other's tables, and one would fail on them."""
    made: list[str] = []

    def meanwhile() -> str:
        with psycopg.connect(empty_postgres) as other:
            other.execute("SET lock_timeout = '100ms'")
            with pytest.raises(psycopg.errors.LockNotAvailable):
                other.execute(
                    "SELECT pg_advisory_xact_lock(classid::bigint << 32 | objid::bigint) "
                    "FROM pg_locks WHERE locktype = 'advisory' AND granted"
                )
        made.append("it was held")
        return "CREATE TABLE other (a text); INSERT INTO other VALUES ('100%')"

    for _ in range(2):
        open_postgres(empty_postgres, [Addition("other", meanwhile)]).close()

    assert made == ["it was held"], "and the second time there was nothing to make"
    with psycopg.connect(empty_postgres) as connection:
        assert connection.execute("SELECT a FROM other").fetchall() == [("100%",)]


def test_the_migrations_make_exactly_the_tables_of_the_code(empty_postgres: str) -> None:
    database = open_postgres(empty_postgres)
    with database.engine.connect() as connection:
        connection.dialect.supports_comments = False  # ours are for who reads the code
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        differences = compare_metadata(context, metadata)
    database.close()

    assert differences == []


def test_a_database_of_a_newer_release_is_left_alone(empty_postgres: str) -> None:
    open_postgres(empty_postgres).close()
    with psycopg.connect(empty_postgres) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")

    assert "newer release of Treadle (schema 9999" in complaint(empty_postgres)


def test_a_database_that_may_only_be_read_is_refused(
    empty_postgres: str, postgres_server: PostgresServer
) -> None:
    open_postgres(empty_postgres).close()
    name = empty_postgres.rpartition("/")[2]
    postgres_server.administer(f"ALTER DATABASE {name} SET default_transaction_read_only = on")

    assert "read-only transaction" in complaint(empty_postgres)


def test_a_database_that_cannot_hold_every_letter_is_refused(
    postgres_server: PostgresServer,
) -> None:
    url = postgres_server.create("ENCODING 'SQL_ASCII'")

    assert "its encoding is SQL_ASCII, not UTF8" in complaint(url)
    postgres_server.drop(url)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("", ""), "password authentication failed"),
        (("/db", "/no_such_db"), "password authentication failed"),
        (("127.0.0.1:", "127.0.0.1:1"), "cannot be used"),
        (("treadle:", "nobody:"), "password authentication failed"),
        (("?", "?no_such_option=1&"), "something that PostgreSQL does not know"),
        (("%2F", "%zz"), "something that PostgreSQL does not know"),
        (("connect_timeout=3", "connect_timeout=soon"), "cannot be used"),
        (("connect_timeout=3", "sslmode=require"), "server does not support SSL"),
        (("connect_timeout=3", "options=-cno_such%3D1"), "cannot be used"),
    ],
    ids=lambda value: value[1] if isinstance(value, tuple) else "",
)
def test_whatever_is_wrong_with_an_address_its_password_is_not_said(
    postgres: str,
    postgres_server: PostgresServer,
    change: tuple[str, str],
    said: str,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    caplog.set_level(logging.DEBUG)
    name = postgres.rpartition("/")[2]
    address = f"{postgres_server.url(name, CANARY)}?connect_timeout=3".replace(*change)

    with pytest.raises(StorageError) as caught:
        open_postgres(address)

    assert said in str(caught.value)
    out, err = capfd.readouterr()
    seen = "".join(traceback.format_exception(caught.value)) + caplog.text + out + err
    for piece in ("ary-4f1d", "%2Fary", "can%"):
        assert piece not in seen


def test_an_open_database_does_not_say_its_password_either(
    postgres: str, postgres_server: PostgresServer
) -> None:
    database = open_postgres(postgres)

    for shown in (repr(database), str(database.engine.url), repr(database.engine)):
        assert postgres_server.password not in shown
    database.close()


def test_the_scheme_may_name_the_driver(postgres: str) -> None:
    open_postgres(postgres.replace("postgresql:", "postgresql+psycopg:")).close()


def test_without_its_packages_one_sentence_says_what_to_install() -> None:
    script = (
        "import sys; sys.modules['psycopg'] = None\n"
        "from bot.errors import StorageError\n"
        "from bot.storage.postgres import open_postgres\n"
        "try:\n    open_postgres('postgresql://me:canary-4f1d@127.0.0.1/db')\n"
        "except StorageError as error:\n    print(error)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, timeout=50
    )

    assert "pip install 'treadle[cluster]'" in done.stdout
    assert "canary" not in done.stdout + done.stderr


def test_the_tables_of_the_queue_are_whole(postgres: str) -> None:
    """The relation that says so is made last."""
    assert queue_schema().sql().rstrip().count("\n") > 100
    with psycopg.connect(postgres) as connection:
        found = connection.execute("SELECT to_regclass(%s)", [queue_schema().relation]).fetchone()
    assert found is not None
    assert found[0] is not None


def test_who_reads_beside_the_others_sees_one_moment_and_writes_nothing(postgres: str) -> None:
    database, reader = open_postgres(postgres), open_server_reader(postgres)
    count = text("SELECT count(*) FROM agreed")
    row = text("INSERT INTO agreed VALUES ('a', 'b')")

    with reader.connect() as reading:
        before = reading.scalar(count)
        with database.engine.begin() as writing:
            writing.execute(row)
        assert reading.scalar(count) == before == 0
    with reader.connect() as reading:
        assert reading.scalar(count) == 1
        with pytest.raises(DBAPIError, match="read-only transaction"):
            reading.execute(row)
    database.close()


def test_who_only_reads_makes_no_tables(empty_postgres: str) -> None:
    with pytest.raises(StorageError, match=r"another schema \(none\)"):
        open_server_reader(empty_postgres)

    with psycopg.connect(empty_postgres) as connection:
        assert connection.execute("SELECT to_regclass('threads')").fetchone() == (None,)


async def test_the_reading_commands_read_the_server_too(postgres: str, tmp_path: Path) -> None:
    database = open_postgres(postgres)
    writer = Writer(database.engine)
    audit = Audit(writer, "chain")
    await audit.start({})
    item = Item(Kind.MESSAGE, "T1", "C1", "1.0", "1.0", "U1", addressing=Addressing.MENTION)
    await Inbox(writer).store(item)
    await Journals(writer, audit=audit).append(item.thread, 0, [Answered(())])
    await writer.close()
    database.close()
    settings = load_settings({"TREADLE_DATABASE_URL": postgres}, tmp_path, need=Need.NOTHING)
    rows: list[str] = []

    export_trail({"TREADLE_DATABASE_URL": postgres}, tmp_path, rows.append, Wanted())

    assert "process_started" in rows[0]
    assert any("Answered" in line for line in show_run(settings, item.thread))
    report = usage_report(settings, 1, By.DAY, datetime.now(UTC))
    assert report.total.calls == 0
