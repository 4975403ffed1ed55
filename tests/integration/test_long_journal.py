"""A long thread is taken up from the database as quickly as it goes on."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.agent.asking import ask
from bot.agent.entries import Answered, Entry, ModelReply, Observation, ToolCall, User
from bot.agent.prompt import Facts
from bot.storage.database import Database, open_database
from bot.storage.journal import Journals
from bot.storage.writer import Writer
from tests.doubles.turn import ListJournal, ScriptedModel
from tests.doubles.yardstick import slowness

THREAD = "T:C:1.0"


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    opened = open_database(tmp_path / "treadle.db")
    yield opened
    opened.close()


def turns(entries: int) -> list[Entry]:
    journal: list[Entry] = []
    while len(journal) < entries:
        n = len(journal)
        journal += [
            User(f"question {n} about this and that", "U1", "Alice", f"{n}.0"),
            ModelReply("m", "I look.", (ToolCall(f"c{n}", "read_file", '{"path": "a.txt"}'),)),
            Observation(f"c{n}", "some text of a file, a line or two " * 3),
            ModelReply("m", answer=f"This is the answer number {n}."),
            Answered((f"{n}.0",)),
        ]
    return journal


@pytest.mark.wall_clock
async def test_a_thread_of_ten_thousand_entries_is_read_and_asked_about_in_50_ms(
    database: Database,
) -> None:
    """What the processor spends, in all threads: other work on the host is not ours."""
    model = ScriptedModel(lambda _: ModelReply("m", answer="done"))
    journal = ListJournal([*turns(10_000), User("and now?", "U1", "Alice", "99999.0")])
    await ask(journal, model, Facts("a test"), (), 128_000)  # folds it once
    writer = Writer(database.engine)
    journals = Journals(writer)
    await journals.append(THREAD, 0, journal.entries)
    measured = []
    for _ in range(8):
        began = time.process_time()
        stored = await journals.read(THREAD)
        await ask(ListJournal([*stored.entries]), model, Facts("a test"), (), 128_000)
        measured.append(time.process_time() - began)
    await writer.close()

    assert list(stored.entries) == journal.entries
    assert len(model.sent) == 2 + 8
    assert min(measured) <= 0.05 * slowness()
