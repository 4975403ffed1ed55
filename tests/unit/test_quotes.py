"""Messages that are only quoted follow their authors: changed, they read anew; deleted, they go."""

from __future__ import annotations

import json

import pytest

from bot.agent import context
from bot.agent.asking import ask
from bot.agent.dialects.detect import DIALECTS
from bot.agent.entries import (
    Answered,
    Entry,
    ModelReply,
    Overheard,
    Quote,
    Requoted,
    Summary,
    User,
)
from bot.agent.prompt import Facts
from tests.doubles.turn import ListJournal, ScriptedModel

BOB = Quote("U2", "Bob", "Friday suits me", "1700000001.0")
CY = Quote("U3", "Cy", "the code is 4711", "1700000002.0")
ASKED = User("which day?", "U1", "Ann", "1700000003.0")
HEARD = Overheard((BOB, CY))


def said(name: str, entries: list[Entry]) -> str:
    return json.dumps(DIALECTS[name].messages("system", context.visible(entries)))


@pytest.mark.parametrize("name", DIALECTS)
def test_a_quote_reads_as_it_was_last_written(name: str) -> None:
    changes = [Requoted(BOB.at, "Monday"), Requoted(BOB.at, "Tuesday")]

    text = said(name, [HEARD, ASKED, *changes])

    assert "> Tuesday" in text
    assert "> the code is 4711" in text
    assert "Friday" not in text
    assert "Monday" not in text


@pytest.mark.parametrize("name", DIALECTS)
def test_a_quote_that_was_deleted_is_not_sent_and_leaves_nothing(name: str) -> None:
    gone = [Requoted(BOB.at, None), Requoted(CY.at, None)]

    assert said(name, [HEARD, ASKED, *gone]) == said(name, [ASKED])
    assert "> Friday suits me" in said(name, [HEARD, ASKED, gone[1]])
    assert "4711" not in said(name, [HEARD, ASKED, gone[1]])


def test_without_changes_a_journal_is_shown_as_it_is() -> None:
    entries: list[Entry] = [HEARD, ASKED]

    assert context.visible(entries) is entries


async def test_what_was_deleted_is_in_no_summary_that_is_made_later() -> None:
    asides: list[Entry] = [
        Overheard((Quote("U2", "Bob", f"aside {n} " + "x" * 300, f"17000001{n:02}.0"),))
        for n in range(60)
    ]
    answer = ModelReply("m", answer="Friday.")
    past: list[Entry] = [ASKED, answer, Answered((ASKED.at,))]
    asked_again = User("and now?", "U1", "Ann", "1700009999.0")
    gone = Requoted("1700000101.0", None)
    journal = ListJournal([*past, *asides, gone, asked_again])
    scripted = ScriptedModel(lambda _: ModelReply("m", answer="Noted."))

    await ask(journal, scripted, Facts("a test"), (), 8_000)

    assert any(isinstance(entry, Summary) for entry in journal.entries)
    texts = "".join(str(entries) for entries in scripted.sent)
    assert "aside 2 " in texts
    assert "aside 1 " not in texts
