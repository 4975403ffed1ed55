"""The card: the whole call before the yes, one for all calls of a reply, and what came of it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bot.local_slack.faults import Effect, FaultRule
from bot.slack.patience import Patience
from tests.doubles.cards import (
    asked_anew,
    cards,
    decided,
    deny_because,
    has_buttons,
    lines,
    now_shown,
    observations,
    question,
    told,
)
from tests.doubles.desk import QUICK, Desk, arguments, open_desk
from tests.doubles.model_endpoint import Say

ASKS = "".join(
    f'[[policy]]\ntool = "{tool}"\ndecision = "ask"\n' for tool in ("write_file", "edit_file")
)
END = Say("Ready.")


def write(path: str, content: str) -> tuple[str, str]:
    return ("write_file", arguments(path=path, content=content))


def edit(path: str, old: str, new: str) -> tuple[str, str]:
    return ("edit_file", arguments(path=path, old=old, new=new))


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    async with open_desk(tmp_path) as opened:
        opened.patience = QUICK
        opened.config(ASKS)
        yield opened


def play(desk: Desk, *calls: tuple[str, str]) -> None:
    desk.model.play([Say("I write.", calls=calls), END])


async def test_an_edit_is_shown_as_what_would_change(desk: Desk) -> None:
    text = "".join(f"line {n}\n" for n in range(1, 41))
    (desk.workspace() / "long.txt").write_text(text)
    play(desk, edit("long.txt", "line 20\n", "line twenty\n"))
    async with desk.treadle():
        _, card = await question(desk)

    shown = desk.slack.visible_text(card)
    assert "\nlong.txt\n@@ -17,7 +17,7 @@\n line 17\n" in shown
    assert "\n-line 20\n+line twenty\n line 21\n" in shown
    assert "line 30" not in shown


async def test_a_long_call_stands_whole_above_the_card(desk: Desk) -> None:
    text = "".join(f"{n} {'x' * 40}\n" for n in range(400))
    play(desk, write("long.txt", text))
    async with desk.treadle():
        root, card = await question(desk)
        messages = [m for m in desk.slack.thread("#general", root) if m.get("bot_id")]
        above = [desk.slack.visible_text(m) for m in messages if m["ts"] < card["ts"]]
        await desk.slack.person("ada").click(card, "treadle_approve")
        await desk.answered("#general", root, covers=root)

    shown = "\n".join(above).splitlines()
    assert all(f"+{line}" in shown for line in text.splitlines())
    assert "Write, in full: 1 of 4 long.txt (a new file)" in shown
    assert "The whole call is in the 4 messages above." in desk.slack.visible_text(card)
    assert messages[-1]["ts"] == card["ts"]
    assert [has_buttons(message) for message in messages] == [False] * (len(messages) - 1) + [True]
    assert (desk.workspace() / "long.txt").read_text() == text


async def test_what_is_too_long_to_be_shown_is_not_asked_about(desk: Desk) -> None:
    play(desk, write("huge.txt", "x" * 100_001))
    async with desk.treadle():
        root = await desk.slack.person("alice").say("#general", "@treadle write much")
        await desk.answered("#general", root, covers=root)

    (observation,) = observations(desk.model.requests[1])
    assert "this call is too long to be shown to one (100," in observation
    assert not (desk.workspace() / "huge.txt").exists()
    assert not cards(desk, root)


async def test_a_call_that_cannot_run_is_not_asked_about(desk: Desk) -> None:
    play(desk, ("write_file", '{"path": "n.txt"}'))
    async with desk.treadle():
        root = await desk.slack.person("alice").say("#general", "@treadle write")
        await desk.answered("#general", root, covers=root)

    (observation,) = observations(desk.model.requests[1])
    assert "content" in observation
    assert not cards(desk, root)


async def test_a_reason_typed_into_the_window_reaches_the_model_and_the_card(desk: Desk) -> None:
    play(desk, write("n.txt", "seven"))
    async with desk.treadle():
        root, card = await question(desk)
        await deny_because(desk, "ada", card, "Use reports/n.txt instead.")
        await desk.answered("#general", root, covers=root)
        after = await decided(desk, card)

    (observation,) = observations(desk.model.requests[1])
    assert "The reason given: “Use reports/n.txt instead.”" in observation
    assert "⛔ Denied by ada, " in after
    assert "“Use reports/n.txt instead.”" in after
    assert not (desk.workspace() / "n.txt").exists()


async def test_a_window_of_somebody_else_changes_nothing(desk: Desk) -> None:
    play(desk, write("n.txt", "seven"))
    async with desk.treadle():
        root, card = await question(desk)
        await deny_because(desk, "bob", card, "no")
        await desk.until(lambda: told(desk, "bob"))
        await desk.slack.person("ada").click(card, "treadle_approve")
        await desk.answered("#general", root, covers=root)

    assert told(desk, "bob")[0].startswith("Only those named under [approvals] approvers")
    assert (desk.workspace() / "n.txt").exists()


async def test_ten_calls_are_one_card_and_one_click_answers_them_all(desk: Desk) -> None:
    play(desk, *(write(f"{n}.txt", str(n)) for n in range(10)))
    async with desk.treadle():
        root, card = await question(desk)
        assert not list(desk.workspace().iterdir())
        await desk.slack.person("ada").click(card, "treadle_approve_all")
        await desk.answered("#general", root, covers=root)
        after = await decided(desk, card)

    assert len(lines(card)) == 10
    assert desk.slack.visible_text(card).startswith("May I make these 10 calls?")
    assert after.count("✅ Approved by ada") == 10
    assert len(list(desk.workspace().iterdir())) == 10


async def test_each_line_is_decided_for_itself_and_nothing_runs_before_all_are(desk: Desk) -> None:
    play(desk, *(write(f"{n}.txt", str(n)) for n in range(3)))
    async with desk.treadle():
        root, card = await question(desk)
        ada, (first, _, third) = desk.slack.person("ada"), lines(card)
        await ada.click(card, "treadle_approve", block_id=third)
        await desk.until(lambda: third not in lines(now_shown(desk, card)))
    async with desk.treadle():
        assert not list(desk.workspace().iterdir())
        await ada.click(card, "treadle_deny", block_id=first)
        await ada.click(card, "treadle_approve", block_id=third, as_seen=True)
        await desk.until(lambda: told(desk, "ada"))
        await ada.click(card, "treadle_approve_all")
        await desk.answered("#general", root, covers=root)
        after = await decided(desk, card)

    assert [path.name for path in sorted(desk.workspace().iterdir())] == ["1.txt", "2.txt"]
    assert after.count("✅ Approved by ada") == 2
    assert after.index("⛔ Denied by ada") < after.index("✅ Approved by ada")
    assert told(desk, "ada") == ["This question is no longer open; nothing was changed."]
    assert [text[:8] for text in observations(desk.model.requests[1])] == [
        *("ada said", "Created ", "Created ")
    ]


async def test_more_than_ten_calls_are_asked_about_card_by_card(desk: Desk) -> None:
    play(desk, *(write(f"{n}.txt", str(n)) for n in range(12)))
    async with desk.treadle():
        root, first = await question(desk)
        await desk.slack.person("ada").click(first, "treadle_deny_all")
        second = await asked_anew(desk, root, first)
        await desk.slack.person("ada").click(second, "treadle_approve_all")
        await desk.answered("#general", root, covers=root)

    assert [len(lines(card)) for card in (first, second)] == [10, 2]
    names = [path.name for path in sorted(desk.workspace().iterdir())]
    assert names == ["10.txt", "11.txt"]


async def test_a_file_that_changed_since_it_was_shown_is_asked_about_again(desk: Desk) -> None:
    file = desk.workspace() / "n.txt"
    file.write_text("one\n")
    play(desk, write("n.txt", "seven\n"))
    async with desk.treadle():
        root, first = await question(desk)
        file.write_text("two\n")
        await desk.slack.person("ada").click(first, "treadle_approve")
        second = await asked_anew(desk, root, first)
        assert file.read_text() == "two\n"
        await desk.slack.person("ada").click(second, "treadle_approve")
        await desk.answered("#general", root, covers=root)

    assert "-one" in desk.slack.visible_text(first)
    again = desk.slack.visible_text(second)
    assert "what it would change is no longer what was shown, so I ask again." in again
    assert "-two" in again
    assert file.read_text() == "seven\n"


async def test_a_file_that_appears_where_there_was_none_is_asked_about_again(desk: Desk) -> None:
    play(desk, write("n.txt", "seven\n"))
    async with desk.treadle():
        root, first = await question(desk)
        (desk.workspace() / "n.txt").write_text("somebody's work\n")
        await desk.slack.person("ada").click(first, "treadle_approve")
        second = await asked_anew(desk, root, first)
        await desk.slack.person("ada").click(second, "treadle_deny")
        await desk.answered("#general", root, covers=root)

    assert (desk.workspace() / "n.txt").read_text() == "somebody's work\n"


async def test_a_no_stands_although_the_file_changed(desk: Desk) -> None:
    (desk.workspace() / "n.txt").write_text("one\n")
    play(desk, write("n.txt", "seven\n"))
    async with desk.treadle():
        root, card = await question(desk)
        (desk.workspace() / "n.txt").write_text("two\n")
        await desk.slack.person("ada").click(card, "treadle_deny")
        await desk.answered("#general", root, covers=root)

    assert len(desk.model.requests) == 2


async def test_two_edits_of_one_file_are_shown_one_after_the_other(desk: Desk) -> None:
    (desk.workspace() / "n.txt").write_text("one\ntwo\n")
    play(desk, edit("n.txt", "one", "1"), edit("n.txt", "two", "2"))
    async with desk.treadle():
        root, first = await question(desk)
        await desk.slack.person("ada").click(first, "treadle_approve")
        second = await asked_anew(desk, root, first)
        await desk.slack.person("ada").click(second, "treadle_approve")
        await desk.answered("#general", root, covers=root)

    assert "-one\n+1\n two" in desk.slack.visible_text(first)
    assert " 1\n-two\n+2" in desk.slack.visible_text(second)
    assert "I ask again" not in desk.slack.visible_text(second)
    assert (desk.workspace() / "n.txt").read_text() == "1\n2\n"


async def test_lines_that_nobody_answers_expire_and_the_others_are_done(desk: Desk) -> None:
    desk.config("[approvals]\nexpires_s = 2\n" + ASKS)
    desk.patience = Patience(sweep=0.1)
    play(desk, *(write(f"{n}.txt", str(n)) for n in range(3)))
    async with desk.treadle():
        root, card = await question(desk)
        await desk.slack.person("ada").click(card, "treadle_approve", block_id=lines(card)[1])
        await desk.answered("#general", root, covers=root)
        after = await decided(desk, card)

    assert [path.name for path in desk.workspace().iterdir()] == ["1.txt"]
    assert after.count("⌛ Nobody answered in time") == 2


async def test_a_card_that_slack_would_not_change_counts_no_more_all_the_same(desk: Desk) -> None:
    play(desk, write("n.txt", "seven"))
    async with desk.treadle():
        root, card = await question(desk)
        desk.slack.fail(FaultRule(Effect.ERROR, "chat.update", error="cant_update_message"))
        await desk.slack.person("ada").click(card, "treadle_deny")
        await desk.answered("#general", root, covers=root)
        await desk.slack.person("ada").click(card, "treadle_approve")
        (said,) = await desk.until(lambda: told(desk, "ada"))

    assert said == "This question is no longer open; nothing was changed."
    assert not (desk.workspace() / "n.txt").exists()


async def test_a_card_that_a_process_left_behind_is_brought_up_to_date_by_the_next(
    desk: Desk,
) -> None:
    call = write("n.txt", "seven")
    desk.model.play([Say("I write.", calls=(call,)), Say("Never.", delay=60.0), END])
    async with desk.treadle():
        root, card = await question(desk)
        desk.slack.fail(FaultRule(Effect.SLOW_BEFORE, "chat.update", seconds=60.0))
        await desk.slack.person("ada").click(card, "treadle_approve")
        await desk.model.asked(2)
    assert has_buttons(now_shown(desk, card))
    desk.slack.fail()
    async with desk.treadle():
        await desk.answered("#general", root, covers=root)
        assert "✅ Approved by ada, " in await decided(desk, card)
