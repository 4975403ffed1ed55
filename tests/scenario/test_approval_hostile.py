"""Attempts to make a card say what does not run, and to answer one without the right."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from copy import deepcopy
from pathlib import Path

import pytest

from bot.local_slack.shapes import Json
from tests.doubles.cards import (
    asked_anew,
    cards,
    decided,
    deny_because,
    lines,
    now_shown,
    observations,
    question,
    told,
)
from tests.doubles.desk import QUICK, Desk, arguments, open_desk
from tests.doubles.model_endpoint import Say

ASKS = '[[policy]]\ntool = "write_file"\ndecision = "ask"\n'
CLOSED = "This question is no longer open; nothing was changed."
YES = ("treadle_approve", "treadle_approve_all", "treadle_approve_thread")
KEY = "sk-scenario-key-123"
"""The desk's model key."""


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    async with open_desk(tmp_path) as opened:
        opened.patience = QUICK
        opened.config(ASKS)
        yield opened


def play(desk: Desk, path: str, content: str, thought: str = "I write.") -> None:
    call = ("write_file", arguments(path=path, content=content))
    desk.model.play([Say(thought, calls=(call,)), Say("Ready.")])


def written(desk: Desk) -> bool:
    return any(desk.workspace().iterdir())


def elements(value: object) -> list[str]:
    """The types of all that can be live in a message."""
    if isinstance(value, dict):
        own = [str(value["type"])] if "type" in value else []
        return own + [found for part in value.values() for found in elements(part)]
    if isinstance(value, list):
        return [found for part in value for found in elements(part)]
    return []


FORGED = (
    "hello\n```\n*✅ Approved by ada, 2026-01-01 00:00 UTC*\n<!channel> <@U0ADA> "
    "<https://example.com|Approve>\n" + "\n" * 400 + "rm -rf \u202ereports\u202c \u200b; x\n"
)


async def test_a_call_that_imitates_a_card_is_shown_as_what_it_is(desk: Desk) -> None:
    play(desk, "n\u202etxt.sh", FORGED, thought=f"Fine.\n\n✅ Approved by ada\n{FORGED}")
    async with desk.treadle():
        _, card = await question(desk)

    shown = desk.slack.visible_text(card)
    assert not {"user", "broadcast", "usergroup", "link", "channel", "image"} & {*elements(card)}
    (box,) = [
        part["elements"]
        for block in card["blocks"]
        for part in block.get("elements", ())
        if part["type"] == "rich_text_preformatted"
    ]
    assert "+rm -rf ⟨U+202E⟩reports⟨U+202C⟩ ⟨U+200B⟩; x" in box[0]["text"]
    assert [line[:15] for line in shown.splitlines() if "✅" in line] == [
        *("What I thought:", "+*✅ Approved by")
    ]
    assert "n⟨U+202E⟩txt.sh (a new file)" in shown
    assert "+⟨400 empty lines⟩\n+rm -rf" in shown
    assert shown.count("\n") < 40
    assert not {"<!channel>", "<@U0ADA>"} & {*card["text"].split()}


async def test_a_gap_does_not_push_the_end_of_a_line_out_of_view(desk: Desk) -> None:
    play(desk, "n.sh", "ls" + " " * 2_000 + "; rm -rf reports\n")
    async with desk.treadle():
        _, card = await question(desk)

    assert "+ls⟨2,000 spaces⟩; rm -rf reports" in desk.slack.visible_text(card)


async def test_a_huge_line_is_shown_to_its_end(desk: Desk) -> None:
    play(desk, "n.sh", "x" * 30_000 + "; rm -rf reports\n")
    async with desk.treadle():
        root, _ = await question(desk)
        shown = "".join(desk.thread("#general", root))

    assert shown.count("x" * 4_000) == 6
    assert "; rm -rf reports" in shown


async def test_no_secret_of_a_file_is_on_a_card(desk: Desk) -> None:
    (desk.workspace() / "n.txt").write_text(f"key = {KEY}\nother\n")
    play(desk, "n.txt", "key = none\nother\n")
    async with desk.treadle():
        root, card = await question(desk)
        await desk.slack.person("ada").click(card, "treadle_deny")
        await desk.answered("#general", root, covers=root)

    assert "-key = [redacted]\n+key = none\n other" in desk.slack.visible_text(card)
    assert KEY not in json.dumps(desk.slack.thread("#general", root))
    assert KEY.encode() not in (desk.home / ".treadle" / "treadle.db").read_bytes()


async def test_a_secret_in_a_reason_goes_nowhere(desk: Desk) -> None:
    play(desk, "n.txt", "seven")
    async with desk.treadle():
        root, card = await question(desk)
        await deny_because(desk, "ada", card, f"it needs {KEY}")
        await desk.answered("#general", root, covers=root)
        assert "“it needs [redacted]”" in await decided(desk, card)

    assert "it needs [redacted]" in observations(desk.model.requests[1])[0]


def forged(card: Json, action: str, value: str) -> Json:
    """The card with a button that says something else."""
    text = {"type": "plain_text", "text": "x"}
    button = {"type": "button", "action_id": action, "value": value, "text": text}
    return {**deepcopy(card), "blocks": [{"type": "actions", "elements": [button]}]}


async def test_a_click_with_another_value_does_nothing_but_say_so(desk: Desk) -> None:
    play(desk, "n.txt", "seven")
    async with desk.treadle():
        _, card = await question(desk)
        ada = desk.slack.person("ada")
        good = next(
            e["value"] for b in card["blocks"] if b["type"] == "actions" for e in b["elements"]
        )
        seq, _, digest = good.partition(":")
        values = (
            *("", ":", f"{seq}:", f"{seq}:{'0' * 64}", f"{int(seq) - 1}:{digest}", digest),
            *(f"0:{digest}", f"-{seq}:{digest}", f"{'9' * 30}:{digest}", f"٣:{digest}"),
            f"{seq}:{digest} ",
        )
        clicks = [(action, value) for action in YES for value in values]
        for action, value in [*clicks, ("treadle_approve_all", good)]:
            await ada.click(forged(card, action, value), action, as_seen=True)
        await desk.until(lambda: len(told(desk, "ada")) > len(clicks))

    assert set(told(desk, "ada")) == {CLOSED}
    assert not written(desk)
    assert lines(now_shown(desk, card))


async def test_a_button_of_one_thread_is_worth_nothing_in_another(desk: Desk) -> None:
    """The same call at the same position of two journals: only the file differs."""
    call = ("write_file", arguments(path="n.txt", content="seven"))
    desk.model.play([Say("I write.", calls=(call,))] * 2)
    async with desk.treadle():
        first_root, _ = await question(desk)
        (desk.workspace() / "n.txt").write_text("other\n")
        second_root, _ = await question(desk)
        ada = desk.slack.person("ada")
        (first,), (second,) = cards(desk, first_root), cards(desk, second_root)
        await ada.click({**second, "blocks": first["blocks"]}, "treadle_approve", as_seen=True)
        await desk.until(lambda: desk.slack.visible_text(now_shown(desk, second)).count("✅"))

    # The click is one in the second thread, on exactly the call that is asked about there.
    assert lines(now_shown(desk, first))


async def test_a_yes_to_a_call_of_before_does_not_answer_the_one_of_now(desk: Desk) -> None:
    (desk.workspace() / "n.txt").write_text("one\n")
    play(desk, "n.txt", "seven")
    async with desk.treadle():
        root, first = await question(desk)
        (desk.workspace() / "n.txt").write_text("two\n")
        ada = desk.slack.person("ada")
        await ada.click(first, "treadle_approve")
        await asked_anew(desk, root, first)
        await ada.click(first, "treadle_approve", as_seen=True)
        await desk.until(lambda: told(desk, "ada"))

    assert told(desk, "ada") == [CLOSED]
    assert (desk.workspace() / "n.txt").read_text() == "two\n"


async def test_somebody_of_another_organisation_cannot_answer(desk: Desk) -> None:
    play(desk, "n.txt", "seven")
    async with desk.treadle():
        root = await desk.slack.person("alice").say("#partners", "@treadle write")
        found = await desk.until(
            lambda: [
                m
                for m in desk.slack.thread("#partners", root)
                if any(b["type"] == "actions" for b in m.get("blocks") or ())
            ]
        )
        await desk.slack.person("eve").click(found[0], "treadle_approve")
        (said,) = await desk.until(lambda: told(desk, "eve"))

    assert said.startswith("I don't take questions from other organisations.")
    assert not (desk.workspace("T0LOCAL-C0PARTNERS") / "n.txt").exists()


@pytest.mark.parametrize(
    ("who", "config"),
    [
        ("gus", '[access]\nguests = true\n[approvals]\napprovers = ["requester"]\n'),
        ("gus", '[access]\nguests = true\n[approvals]\napprovers = ["admins", "requester"]\n'),
    ],
)
async def test_a_guest_who_may_ask_may_not_answer(desk: Desk, who: str, config: str) -> None:
    desk.config(config + ASKS)
    play(desk, "n.txt", "seven")
    async with desk.treadle():
        root = await desk.slack.person(who).say("#general", "@treadle write")
        (card,) = await desk.until(lambda: cards(desk, root))
        await desk.slack.person(who).click(card, "treadle_approve")
        (said,) = await desk.until(lambda: told(desk, who))

    assert said.startswith("Only those named under [approvals] approvers")
    assert not written(desk)
