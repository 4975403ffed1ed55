"""“Approve for this thread”: it covers what the card says, and nothing else."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.doubles.cards import (
    actions,
    asked_anew,
    cards,
    decided,
    has_buttons,
    lines,
    now_shown,
    observations,
    question,
    told,
)
from tests.doubles.desk import QUICK, Desk, arguments, open_desk
from tests.doubles.model_endpoint import Say

REPORTS = '[[policy]]\ntool = "write_file"\ndecision = "ask"\nmatch = { path = "reports/.*" }\n'
THREAD = "treadle_approve_thread"


def write(path: str, content: str = "x") -> Say:
    return Say("I write.", calls=(("write_file", arguments(path=path, content=content)),))


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    async with open_desk(tmp_path) as opened:
        opened.patience = QUICK
        opened.config(REPORTS)
        yield opened


def exists(desk: Desk, path: str) -> bool:
    return (desk.workspace() / path).exists()


async def granted(desk: Desk) -> str:
    """A thread of alice's in which ada has approved reports/ for the thread."""
    root, card = await question(desk)
    await desk.slack.person("ada").click(card, THREAD)
    await desk.answered("#general", root, covers=root)
    return root


async def goes_on(desk: Desk, root: str, who: str = "alice") -> str:
    return await desk.slack.person(who).reply("#general", root, "@treadle go on")


async def test_it_says_what_it_covers_and_what_it_covers_is_not_asked_again(desk: Desk) -> None:
    desk.model.play([write("reports/1"), Say("One."), write("reports/2"), Say("Two.")])
    async with desk.treadle():
        root, card = await question(desk)
        await desk.slack.person("ada").click(card, THREAD)
        await desk.answered("#general", root, covers=root)
        assert "✅ Approved for this thread by ada, " in await decided(desk, card)
    async with desk.treadle():  # it is in the journal: a restart forgets nothing
        ts = await goes_on(desk, root)
        await desk.answered("#general", root, covers=ts)

    shown = desk.slack.visible_text(card)
    assert "“Approve for this thread” covers, until " in shown
    assert (
        "every further Write in this thread where path matches reports/.* that "
        "treadle.toml line 1 asks about because alice wants it, in the workspace "
        "T0LOCAL-C0GENERAL. It covers nothing else and nobody else."
    ) in shown
    assert exists(desk, "reports/2")
    assert not cards(desk, root)


async def test_another_person_in_the_thread_is_not_covered(desk: Desk) -> None:
    desk.model.play([write("reports/1"), Say("One."), write("reports/2"), Say("Two.")])
    async with desk.treadle():
        root = await granted(desk)
        ts = await goes_on(desk, root, "bob")
        (card,) = await desk.until(lambda: cards(desk, root))
        assert not exists(desk, "reports/2")
        await desk.slack.person("ada").click(card, "treadle_deny")
        await desk.answered("#general", root, covers=ts)

    assert "Asked for by bob." in desk.slack.visible_text(card)


async def test_a_message_meanwhile_makes_it_a_call_of_both(desk: Desk) -> None:
    """Who has no grant is asked about, also where the other one has; each may get their own."""
    desk.model.play([write("reports/1"), write("reports/2"), write("reports/3"), Say("Three.")])
    async with desk.treadle():
        root, card = await question(desk)
        ts = await goes_on(desk, root, "bob")
        await desk.until(lambda: len(desk.thread("#general", root)) >= 4)
        await desk.slack.person("ada").click(card, THREAD)
        second = await asked_anew(desk, root, card)
        assert exists(desk, "reports/1")
        assert not exists(desk, "reports/2")
        await desk.slack.person("ada").click(second, THREAD)
        await desk.answered("#general", root, covers=ts)

    shown = desk.slack.visible_text(second)
    assert "Asked for by alice and bob." in shown
    assert "because bob wants it" in shown
    assert exists(desk, "reports/3")


async def test_a_call_of_two_people_without_grants_cannot_be_approved_for_the_thread(
    desk: Desk,
) -> None:
    desk.model.play([Say("I look.", delay=1.0, calls=(("list_dir", "{}"),)), write("reports/1")])
    async with desk.treadle():
        root = await desk.slack.person("alice").say("#general", "@treadle write")
        await desk.model.asked()
        await goes_on(desk, root, "bob")
        (card,) = await desk.until(lambda: cards(desk, root))

    assert "Asked for by alice and bob." in desk.slack.visible_text(card)
    assert actions(card) == ["treadle_approve", "treadle_deny", "treadle_deny_why"]


async def test_another_rule_that_asks_too_is_not_covered(desk: Desk) -> None:
    desk.config(
        REPORTS + '[[policy]]\ntool = "write_file"\ndecision = "ask"\nchannel = "C0GENERAL"\n'
        'match = { path = ".*secret.*" }\n'
    )
    desk.model.play([write("reports/1"), write("reports/secret"), Say("Done.")])
    async with desk.treadle():
        root, card = await question(desk)
        await desk.slack.person("ada").click(card, THREAD)
        second = await asked_anew(desk, root, card)
        await desk.slack.person("ada").click(second, "treadle_deny")
        await desk.answered("#general", root, covers=root)

    assert not exists(desk, "reports/secret")
    assert "treadle.toml line 5" in desk.slack.visible_text(second)


async def test_a_rule_that_forbids_is_stronger_than_a_grant(desk: Desk) -> None:
    desk.model.play([write("reports/1"), Say("One."), write("reports/2"), Say("Two.")])
    async with desk.treadle():
        root = await granted(desk)
    desk.config(REPORTS + '[[policy]]\ntool = "write_file"\ndecision = "deny"\nuser = "U0ALICE"\n')
    async with desk.treadle():
        ts = await goes_on(desk, root)
        await desk.answered("#general", root, covers=ts)

    assert not exists(desk, "reports/2")
    assert "not allowed" in observations(desk.model.requests[3])[-1]


async def test_a_rule_that_was_changed_since_asks_again(desk: Desk) -> None:
    desk.model.play([write("reports/1"), Say("One."), write("reports/2"), Say("Two.")])
    async with desk.treadle():
        root = await granted(desk)
    desk.config(REPORTS.replace("reports/.*", "reports/[0-9]"))
    async with desk.treadle():
        await goes_on(desk, root)
        await desk.until(lambda: cards(desk, root))

    assert not exists(desk, "reports/2")


async def test_it_is_worth_nothing_in_another_thread(desk: Desk) -> None:
    desk.model.play([write("reports/1"), Say("One."), write("reports/2"), Say("Two.")])
    async with desk.treadle():
        await granted(desk)
        await question(desk)

    assert not exists(desk, "reports/2")


async def test_it_ends_when_the_card_said(desk: Desk) -> None:
    desk.config("[approvals]\nexpires_s = 3\n" + REPORTS)
    desk.model.play([write("reports/1"), Say("One."), write("reports/2"), Say("Two.")])
    async with desk.treadle():
        root, card = await question(desk)
        await desk.slack.person("ada").click(card, THREAD)
        await desk.answered("#general", root, covers=root)
        await asyncio.sleep(max(0.0, float(card["ts"]) + 3.1 - time.time()))
        await goes_on(desk, root)
        await desk.until(lambda: cards(desk, root))

    assert not exists(desk, "reports/2")


async def test_a_rule_without_a_pattern_offers_it_only_for_what_changes_nothing(
    desk: Desk,
) -> None:
    desk.config('[[policy]]\ntool = "*"\ndecision = "ask"\n')
    both = (
        ("write_file", arguments(path="n.txt", content="x")),
        ("list_dir", "{}"),
        ("list_dir", arguments(path="reports")),
    )
    desk.model.play([Say("Both.", calls=both), Say("Ready.")])
    async with desk.treadle():
        root, card = await question(desk)
        writes, lists, _ = lines(card)
        ada = desk.slack.person("ada")
        forged = [
            {**block, "elements": [{**e, "action_id": THREAD} for e in block["elements"][:1]]}
            for block in card["blocks"]
            if block.get("block_id") == writes
        ]
        await ada.click({**card, "blocks": forged}, THREAD, as_seen=True)
        await desk.until(lambda: told(desk, "ada"))
        await ada.click(card, THREAD, block_id=lists)
        await desk.until(lambda: lines(now_shown(desk, card)) == [writes])
        await ada.click(card, "treadle_deny", block_id=writes)
        await desk.answered("#general", root, covers=root)

    assert [THREAD in actions(card, line) for line in range(3)] == [False, True, True]
    assert told(desk, "ada") == [
        "This call cannot be approved for the whole thread; nothing was changed."
    ]
    assert not exists(desk, "n.txt")
    assert not has_buttons(now_shown(desk, card))
