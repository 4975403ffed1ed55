"""The trail's rows: with the write they belong to or not at all, over failures, kills and years."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sqlite3
import stat
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest
from sqlalchemy import Connection, insert

from bot.agent.entries import Resumed
from bot.audit.chain import Head, Sealer
from bot.audit.claims import Claim, claims_of, cuts_of
from bot.audit.records import Kind, Record, rule_changed
from bot.audit.verify import Evidence, Report, verify
from bot.errors import Fenced, StorageError
from bot.storage.audit import Audit, Snapshot, Trail
from bot.storage.audit_heads import HeadFiles
from bot.storage.audit_retention import prune
from bot.storage.audit_upkeep import Upkeep
from bot.storage.database import open_database, open_reader
from bot.storage.journal import Journals
from bot.storage.tables import overheard
from bot.storage.writer import Writer

ROOT = Path(__file__).parents[2]
KEY = "a-key-of-the-tests-own"
SEALER = Sealer(KEY.encode())
DAY = 24 * 3600.0
THREAD = "T1:C1:1.0"


@dataclass
class Days:
    """A clock that a test sets: seconds since the epoch."""

    now: float = 1000 * DAY


@dataclass
class House:
    """A database with its writer, and chains of processes that live one after another in it."""

    path: Path
    writer: Writer
    clock: Days

    def audit(self, chain: str) -> Audit:
        return Audit(self.writer, chain, SEALER, now=lambda: self.clock.now)

    async def life(self, chain: str, records: int, *, stop: bool = True) -> Audit:
        audit = self.audit(chain)
        await audit.start({})
        for number in range(records):
            await audit.record(Record(Kind.DECIDED, THREAD, {"n": number}))
        if stop:
            await audit.stop()
        return audit

    def prove(self, *heads: Head) -> Report:
        def look(trail: Snapshot) -> Report:
            rows = list(trail.of_kinds(Kind.PROCESS_STARTED, Kind.CHECKPOINT))
            claims = [Claim(head) for head in heads] + [c for r in rows for c in claims_of(r)]
            evidence = Evidence(claims, [cut for row in rows for cut in cuts_of(row)])
            return verify(trail.chains(), trail.rows, [SEALER], evidence)

        return Trail(open_reader(self.path)).read(look)

    def remove_first(self) -> int:
        """As somebody would do it who can write to the database; returns the row's number."""
        with closing(sqlite3.connect(self.path)) as database:
            (first,) = database.execute("SELECT min(seq) FROM audit").fetchone()
            database.execute("DELETE FROM audit WHERE seq = ?", (first,))
            database.commit()
        return int(first)

    def kinds(self, chain: str) -> list[str]:
        return Trail(open_reader(self.path)).read(
            lambda trail: [row.kind for row in trail.rows(chain)]
        )


@pytest.fixture
async def house(tmp_path: Path) -> AsyncIterator[House]:
    path = tmp_path / "home" / "treadle.db"
    database = open_database(path)
    writer = Writer(database.engine)
    yield House(path, writer, Days())
    await writer.close()
    database.close()


async def test_records_are_written_with_the_work_or_not_at_all(house: House) -> None:
    """A batch in which one work fails is rolled back and run again: no row twice, none lost."""
    audit = await house.life("one", 0, stop=False)

    def good(connection: Connection) -> None:
        audit.add(connection, rule_changed("U1", "added", "rule 1", "deny"))

    def bad(connection: Connection) -> None:
        audit.add(connection, rule_changed("U2", "added", "rule 2", "deny"))
        row = {"channel": "c", "thread_ts": "1", "ts": "1", "at": 0.0}
        connection.execute(insert(overheard), [row, row])

    works = [good, bad, good, bad, good]
    done = await asyncio.gather(*(house.writer.run(w) for w in works), return_exceptions=True)

    assert [isinstance(one, StorageError) for one in done] == [False, True, False, True, False]
    assert house.kinds("one") == ["process_started", *["rule_changed"] * 3]
    assert house.prove().faults == ()


async def test_what_the_fence_keeps_out_leaves_no_record(house: House) -> None:
    audit = await house.life("one", 0, stop=False)
    journals = Journals(house.writer, "one", audit=audit)
    await journals.append(THREAD, 0, [Resumed("one")])
    with pytest.raises(Fenced):
        await Journals(house.writer, "two", audit=audit).append(THREAD, 0, [Resumed("two")])
    assert house.kinds("one") == ["process_started", "turn_resumed"]


async def test_several_chains_grow_at_a_time(house: House) -> None:
    await asyncio.gather(*(house.life(name, 40) for name in ("one", "two", "three")))
    report = house.prove()
    assert [chain.rows for chain in report.chains] == [42] * 3
    assert report.faults == ()


async def test_a_chain_that_was_removed_whole_is_missed(house: House) -> None:
    await house.life("one", 3)
    await house.life("two", 3)
    with closing(sqlite3.connect(house.path)) as database:
        database.execute("DELETE FROM audit WHERE chain = 'one'")
        database.commit()
    (fault,) = house.prove().faults
    assert (fault.chain, fault.first, fault.last) == ("one", 0, 4)


async def test_old_rows_go_and_what_is_left_can_be_proved(house: House) -> None:
    """Three lives, a process that lives through all of them, and a retention of ten days."""
    long = await house.life("long", 2, stop=False)
    for name in ("one", "two", "three"):
        await house.life(name, 3)
        await long.record(Record(Kind.DECIDED))
        house.clock.now += 6 * DAY
    one = Head("one", 4, "0" * 64)
    gone = await prune(house.writer, long, round((house.clock.now - 10 * DAY) * 1e6))

    assert gone == ["one", "two"]
    assert house.kinds("long") == ["decided", "checkpoint"]
    assert house.kinds("three")[0] == "process_started"
    assert house.prove(one).faults == ()

    for _ in range(30):  # checkpoints grow old and go too; what they said is said anew
        house.clock.now += 3 * DAY
        await long.record(Record(Kind.DECIDED))
        await prune(house.writer, long, round((house.clock.now - 10 * DAY) * 1e6))
        assert house.prove().faults == ()
    assert len(house.kinds("long")) < 15
    assert [chain.name for chain in house.prove().chains] == ["long"]


async def test_rows_that_go_without_a_checkpoint_are_missed(house: House) -> None:
    long = await house.life("long", 5, stop=False)
    house.clock.now += 20 * DAY
    await long.record(*[Record(Kind.DECIDED)] * 2)
    await prune(house.writer, long, round((house.clock.now - 10 * DAY) * 1e6))
    assert house.prove().faults == ()
    first = house.remove_first()
    assert [(f.first, f.last) for f in house.prove().faults] == [(first, first)]
    house.remove_first()  # and nothing proves any more what the checkpoint says, which is next
    assert [(f.first, f.last) for f in house.prove().faults] == [(0, first + 1)]


async def test_a_chain_without_a_stop_keeps_its_last_row(house: House) -> None:
    """Its process may live and go on from there."""
    quiet = await house.life("quiet", 3, stop=False)
    house.clock.now += 20 * DAY
    other = await house.life("other", 0, stop=False)
    gone = await prune(house.writer, other, round((house.clock.now - 10 * DAY) * 1e6))
    await quiet.record(Record(Kind.DECIDED))

    assert gone == []
    assert house.kinds("quiet") == ["decided", "decided"]
    assert house.prove().faults == ()


async def test_heads_are_kept_beside_the_database_for_their_owner_only(
    house: House, tmp_path: Path
) -> None:
    files = HeadFiles(tmp_path / "audit")
    upkeep = Upkeep(house.writer, house.audit("one"), files, every=0.01)
    async with upkeep.running({"pid": 1}):
        (first,) = files.read()
        await upkeep.audit.record(Record(Kind.DECIDED))
        async with asyncio.timeout(15):
            while files.read()[0].seq == first.seq:
                await asyncio.sleep(0.01)
    (head,) = files.read()

    assert (first.seq, head.seq) == (0, 2)
    assert house.prove(head).faults == ()
    modes = [
        stat.S_IMODE(p.stat().st_mode) for p in (files.directory, files.directory / "one.head")
    ]
    assert modes == [0o700, 0o600]


async def test_a_head_that_cannot_be_kept_stops_the_start_and_says_so(
    house: House, tmp_path: Path
) -> None:
    (tmp_path / "audit").write_text("a file in the way")
    upkeep = Upkeep(house.writer, house.audit("one"), HeadFiles(tmp_path / "audit"))
    with pytest.raises(StorageError, match="newest seal could not be kept in"):
        async with upkeep.running({}):
            pass


@pytest.mark.parametrize("text", ["", "nonsense", f"two:1:{'ab' * 32}", "one:1:" + "g" * 64])
def test_a_damaged_head_is_told_and_not_passed_over(tmp_path: Path, text: str) -> None:
    (tmp_path / "one.head").write_text(text)
    with pytest.raises(StorageError, match="cannot be used"):
        HeadFiles(tmp_path).read()


def test_a_head_does_not_follow_a_link_that_lies_in_its_place(tmp_path: Path) -> None:
    target = tmp_path / "target"
    target.write_text("untouched")
    files = HeadFiles(tmp_path / "audit")
    files.directory.mkdir()
    (files.directory / "one.head").symlink_to(target)
    files.write(Head("one", 1, "ab" * 32))
    assert target.read_text() == "untouched"
    assert files.read() == [Head("one", 1, "ab" * 32)]


ACTOR = """
import asyncio, sys
from pathlib import Path
from bot.agent.entries import Decided, ModelReply, Observation, ToolCall, ToolStarted, User
from bot.audit.chain import Sealer
from bot.policy import Verdict
from bot.storage.audit import Audit
from bot.storage.database import open_database
from bot.storage.journal import Journals
from bot.storage.writer import Writer

async def one(journals, number):
    thread, entries = f"T:{number}:1", []
    async def append(*new):
        entries.extend(await journals.append(thread, len(entries), new, before=entries))
    await append(User("hi", f"U{number}", "Ann", "1"))
    for step in range(10_000):
        call = ToolCall(f"c{step}", "write_file", f'{{"step": {step}}}')
        await append(ModelReply("m", calls=(call,)))
        await append(Decided(call.id, Verdict.ALLOW), ToolStarted(call.id))
        print(f"{number} {step}", flush=True)  # from here on the tool would run
        await append(Observation(call.id, "done"))

async def main():
    writer = Writer(open_database(Path(sys.argv[1])).engine)
    audit = Audit(writer, "victim", Sealer(sys.argv[2].encode()))
    await audit.start({})
    await asyncio.gather(*(one(Journals(writer, audit=audit), number) for number in range(6)))

asyncio.run(main())
"""


def test_no_tool_runs_unrecorded_whenever_the_process_is_killed(tmp_path: Path) -> None:
    path = tmp_path / "home" / "treadle.db"
    with subprocess.Popen(
        [sys.executable, "-c", ACTOR, path, KEY], cwd=ROOT, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        told = [process.stdout.readline() for _ in range(150)]
        process.send_signal(signal.SIGKILL)
        told += [line for line in process.stdout.read().splitlines(True) if line[-1] == "\n"]

    with closing(sqlite3.connect(path)) as database:
        query = "SELECT thread, body FROM audit WHERE kind = 'tool_started'"
        rows = [(thread, json.loads(body)) for thread, body in database.execute(query)]
        count = "SELECT count(*) FROM journal WHERE body LIKE '%\"ToolStarted\"%'"
        (journaled,) = database.execute(count).fetchone()
    recorded = {f"{thread.split(':')[1]} {body['call'][1:]}" for thread, body in rows}
    assert {line.strip() for line in told} <= recorded
    assert len(rows) == journaled
    for thread, body in rows:
        assert body["for"] == [f"U{thread.split(':')[1]}"]
    done = command(path.parent, "verify")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "open or broken off" in done.stdout


def command(home: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """`treadle audit …` as a person runs it."""
    return subprocess.run(
        [sys.executable, "-m", "bot", "audit", *arguments],
        cwd=home.parent,
        env={
            **os.environ,
            "TREADLE_HOME": str(home),
            "TREADLE_AUDIT_KEY": KEY,
            "PYTHONPATH": str(ROOT),
        },
        capture_output=True,
        text=True,
        timeout=50,
    )


async def test_the_commands_exit_with_0_1_or_2(house: House) -> None:
    await house.life("one", 3)
    house.clock.now += DAY
    await house.life("two", 2)
    home = house.path.parent

    whole = command(home, "verify")
    assert (whole.returncode, whole.stderr) == (0, "")
    assert "9 rows in 2 chains" in whole.stdout
    day = command(home, "export", "--since", "1972-09-28")
    lines = [json.loads(line) for line in day.stdout.splitlines()]
    assert [line["chain"] for line in lines] == ["two"] * 4
    assert lines[0]["at"] == "1972-09-28T00:00:00.000000+00:00"
    none = command(home, "export", "--thread", "T:C:9", "--until", "1972-09-28T01:00Z")
    assert (none.returncode, none.stdout) == (0, "")

    with closing(sqlite3.connect(house.path)) as database:
        database.execute("DELETE FROM audit WHERE chain = 'one' AND seq = 1")
        database.commit()
    broken = command(home, "verify")
    assert broken.returncode == 1
    assert "FAULT: chain one, row 1: missing, though there are rows behind." in broken.stdout

    for wrong in (
        ("export", "--since", "yesterday"),
        ("verify", "--head", "nonsense"),
        ("verify", "--old-key", "NO_SUCH_KEY"),
    ):
        told = command(home, *wrong)
        assert (told.returncode, told.stdout) == (2, "")
        assert told.stderr.strip().endswith(".")
        assert "Traceback" not in told.stderr
    elsewhere = command(home.parent / "none", "verify")
    assert elsewhere.returncode == 2
    assert "There is no database at" in elsewhere.stderr
