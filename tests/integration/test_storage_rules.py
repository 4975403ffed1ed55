"""Rules and settings made in Slack: kept, live at once here and in other processes."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import suppress
from pathlib import Path

import pytest
from sqlalchemy import delete, func, select, update

from bot.admin.live import Admin, Floor, Live, Setting
from bot.agent.entries import (
    Answer,
    ApprovalAnswered,
    Decided,
    Entry,
    ModelReply,
    ToolCall,
    User,
)
from bot.errors import NotPermitted, StorageError
from bot.patterns import Pattern
from bot.policy import Person, Rule, Verdict
from bot.storage import tables
from bot.storage.audit import Audit
from bot.storage.database import open_database
from bot.storage.journal import Journals
from bot.storage.refusals import Refusals
from bot.storage.rules import Author, Rules
from bot.storage.writer import Writer

ALLOW, ASK, DENY = Verdict
ADA = Author("U0ADA", "Ada")
ADMIN = Admin(Person("U0ADA", "admin"), "Ada")
NOON = 1_764_504_000.0
FLOOR = Floor((), False, lambda setting, channel: "as in the file")
GIT = Rule("run_command", ALLOW, ("C0A",), None, ("U0BOB",), (Pattern("command", "git .*"),))


@pytest.fixture
async def writer(tmp_path: Path) -> AsyncIterator[Writer]:
    database = open_database(tmp_path / "treadle.db")
    opened = Writer(database.engine)
    yield opened
    await opened.close()
    database.close()


def rules_of(writer: Writer) -> Rules:
    return Rules(writer, lambda: NOON)


async def test_a_rule_is_kept_with_its_number_author_and_day(writer: Writer) -> None:
    kept = await rules_of(writer).add(GIT, ADA)
    (read,) = (await rules_of(writer).read()).rules

    assert read == kept
    assert read.rule.place == "Rule 1 (set in Slack by Ada on 2025-11-30)"
    assert (read.number, read.by) == (1, ADA)
    for name in ("tool", "decision", "channel", "role", "user", "match"):
        assert getattr(read.rule, name) == getattr(GIT, name)


async def test_a_rule_about_the_very_same_takes_the_others_place(writer: Writer) -> None:
    rules = rules_of(writer)
    for decision, channels in ((DENY, ("C0A", "C0B")), (ASK, ("C0B", "C0A")), (ASK, ("C0A",))):
        await rules.add(Rule("wikipedia", decision, channels), ADA)

    found = (await rules.read()).rules
    assert [(r.number, r.rule.decision, r.rule.channel) for r in found] == [
        (2, ASK, ("C0B", "C0A")),
        (3, ASK, ("C0A",)),
    ]


async def test_a_number_is_never_given_twice(writer: Writer) -> None:
    """`forget 1` typed from an old list must not hit another rule."""
    rules = rules_of(writer)
    await rules.add(GIT, ADA)
    assert await rules.remove(1, ADA)
    assert not await rules.remove(1, ADA)
    assert (await rules.add(GIT, ADA)).number == 2


async def test_every_change_counts_up_the_revision_and_nothing_else_does(writer: Writer) -> None:
    rules = rules_of(writer)
    seen = [await rules.revision()]
    await rules.add(GIT, ADA)
    seen.append(await rules.revision())
    await rules.choose("C0A", "verbosity", "quiet", ADA)
    seen.append(await rules.revision())
    await rules.remove(1, ADA)
    await rules.remove(99, ADA)
    seen.append(await rules.revision())

    assert seen == [0, 1, 2, 3]
    assert (await rules.read()).revision == 3


async def test_a_setting_is_chosen_changed_and_taken_back(writer: Writer) -> None:
    live = Live(FLOOR, rules_of(writer))
    for value, read in (("quiet", "quiet"), ("full", "full"), (None, "as in the file")):
        await live.choose(ADMIN, "C0A", Setting.VERBOSITY, value)
        assert live.value(Setting.VERBOSITY, "C0A") == read
        assert live.value(Setting.VERBOSITY, "C0B") == "as in the file"
        assert live.value(Setting.REPLIES, "C0A") == "as in the file"


async def test_changes_are_there_after_a_restart(writer: Writer) -> None:
    before = Live(FLOOR, rules_of(writer))
    await before.add(ADMIN, GIT)
    await before.switch(ADMIN, "wikipedia", on=False)
    await before.choose(ADMIN, "C0A", Setting.REPLIES, "mention")

    after = Live(FLOOR, rules_of(writer))
    await after.load()
    assert after.book == before.book
    assert [rule.tool for rule in after.book.off] == ["wikipedia"]
    assert after.value(Setting.REPLIES, "C0A") == "mention"
    assert not after.is_on("wikipedia")


async def test_another_process_takes_changes_up_by_itself(writer: Writer) -> None:
    here, there = Live(FLOOR, rules_of(writer)), Live(FLOOR, rules_of(writer))
    following = asyncio.create_task(there.follow(every=0.01))
    try:
        await here.add(ADMIN, GIT)
        await _until(lambda: len(there.rules) == 1)
        await here.forget(ADMIN, 1)
        await _until(lambda: not there.rules)
    finally:
        following.cancel()
        with suppress(asyncio.CancelledError):
            await following


async def _until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not holds():
            await asyncio.sleep(0.01)


async def test_every_change_stands_in_the_audit_trail_and_what_changes_nothing_does_not(
    writer: Writer,
) -> None:
    audit = Audit(writer, "chain")
    rules = Rules(writer, lambda: NOON, audit)
    await rules.add(GIT, ADA)
    await rules.remove(1, ADA)
    await rules.remove(1, ADA)
    await rules.choose("C0A", "verbosity", "quiet", ADA)
    bodies = await writer.run(lambda c: list(c.scalars(select(tables.audit.c.body))))

    found = [json.loads(body) for body in bodies]
    assert [(b["who"], b["action"], b["subject"]) for b in found] == [
        ("U0ADA", "added", "rule 1"),
        ("U0ADA", "removed", "rule 1"),
        ("U0ADA", "set", "verbosity in C0A"),
    ]
    assert found[0]["value"]["match"] == {"command": "git .*"}
    assert found[2]["value"] == "quiet"


@pytest.mark.parametrize(
    "who",
    [
        Person("U0BOB", "member"),
        Person("U0GUS", "guest"),
        Person("U0X", ""),
        Person("U0EVE", "admin", external=True),
    ],
)
async def test_nobody_but_an_admin_changes_anything(writer: Writer, who: Person) -> None:
    live = Live(FLOOR, rules_of(writer))
    await live.add(ADMIN, GIT)
    stranger = Admin(who, "x")
    attempts = [
        live.add(stranger, Rule("*", ALLOW)),
        live.forget(stranger, 1),
        live.choose(stranger, "C0A", Setting.VERBOSITY, "quiet"),
        live.switch(stranger, "run_command", on=False),
    ]
    for attempt in attempts:
        with pytest.raises(NotPermitted, match="Only admins can change this"):
            await attempt

    made = await live.stored.read()
    assert (made.revision, len(made.rules), made.choices) == (1, 1, ())


@pytest.mark.parametrize(
    "body",
    [
        "",
        "{}",
        "[]",
        '{"tool":"*","decision":"perhaps","channel":null,"role":null,"user":null,"match":{}}',
        '{"tool":"*","decision":"deny","channel":"C0A","role":null,"user":null,"match":{}}',
        '{"tool":"*","decision":"deny","channel":null,"role":null,"user":null,"match":{"a":"("}}',
        '{"tool":"*","decision":"deny","channel":null,"role":null,"user":null,"match":[]}',
    ],
)
async def test_a_rule_that_cannot_be_read_stops_the_start(writer: Writer, body: str) -> None:
    """Leaving it out could allow what it denies."""
    rules = rules_of(writer)
    await rules.add(GIT, ADA)
    await writer.run(lambda c: c.execute(update(tables.rules).values(body=body)))

    with pytest.raises(StorageError, match="Rule 1, which was made in Slack, cannot be read"):
        await Live(FLOOR, rules).load()


async def test_a_change_is_counted_even_where_a_counter_is_missing(writer: Writer) -> None:
    await writer.run(lambda c: c.execute(delete(tables.counters)))
    rules = rules_of(writer)
    assert (await rules.add(GIT, ADA)).number == 1
    assert await rules.revision() == 1


CALL = ModelReply("m", calls=(ToolCall("c1", "write_file", "{}"),))
DENIED = Decided("c1", DENY, "No.", "Rule 1", heard=("U0BOB", "U0ADA"), about="U0BOB")
ASKED = Decided("c1", ASK, "Ask.", "Rule 1", "digest", ("U0BOB",), "U0BOB")


async def test_the_last_refusal_is_found_for_everybody_who_led_to_it(writer: Writer) -> None:
    journals, refusals = Journals(writer), Refusals(writer)
    hello = User("hi", "U0BOB", "Bob", "1.0")
    await journals.append("T:C:1", 0, [hello, CALL, DENIED])
    await journals.append("T:C:2", 0, [hello, CALL, Decided("c1", ALLOW)])

    for user in ("U0BOB", "U0ADA"):
        found = await refusals.last("T", user)
        assert found is not None
        assert (found.thread, found.seq, found.entries[found.seq]) == ("T:C:1", 2, DENIED)
    assert await refusals.last("T", "U0CAROL") is None
    assert await refusals.last("T2", "U0BOB") is None


@pytest.mark.parametrize(
    ("answer", "kept"), [(Answer.DENIED, True), (Answer.EXPIRED, True), (Answer.ALLOWED, False)]
)
async def test_a_persons_no_is_a_refusal_and_a_yes_is_none(
    writer: Writer, answer: Answer, kept: bool
) -> None:
    journals, refusals = Journals(writer), Refusals(writer)
    entries: list[Entry] = [User("hi", "U0BOB", "Bob", "1.0"), CALL, ASKED]
    await journals.append("T:C:1", 0, entries)
    assert await refusals.last("T", "U0BOB") is None
    await journals.append("T:C:1", 3, [ApprovalAnswered("c1", answer)])

    found = await refusals.last("T", "U0BOB")
    assert (found is not None and found.seq == 2) is kept


async def test_each_person_has_one_last_refusal(writer: Writer) -> None:
    journals = Journals(writer)
    for number in range(3):
        await journals.append(f"T:C:{number}", 0, [CALL, DENIED])

    found = await Refusals(writer).last("T", "U0BOB")
    count = await writer.run(lambda c: c.scalar(select(func.count()).select_from(tables.refusals)))
    assert found is not None
    assert found.thread == "T:C:2"
    assert count == 2
