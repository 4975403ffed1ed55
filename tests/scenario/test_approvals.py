"""Asking a person: the turn waits for a click, over restarts, and only the right one counts."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bot.local_slack.world import Member
from bot.slack.patience import Patience
from tests.doubles.cards import asked_anew, cards, decided, observations, question, told
from tests.doubles.desk import QUICK, Desk, arguments, open_desk
from tests.doubles.model_endpoint import Say

WRITE = ("write_file", arguments(path="n.txt", content="seven"))
RULE = '[[policy]]\ntool = "write_file"\ndecision = "ask"\n'
STEP, END = Say("I write.", calls=(WRITE,)), Say("Ready.")


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    async with open_desk(tmp_path) as opened:
        opened.patience = QUICK
        opened.config(RULE)
        opened.model.play([STEP, END])
        yield opened


def written(desk: Desk) -> bool:
    return (desk.workspace() / "n.txt").exists()


async def test_the_card_shows_the_call_and_the_turn_goes_on_with_an_admins_yes(desk: Desk) -> None:
    async with desk.treadle():
        root, card = await question(desk)
        shown = desk.slack.visible_text(card)
        assert not written(desk)
        await desk.slack.person("ada").click(card, "treadle_approve")
        await desk.answered("#general", root, covers=root)
        assert written(desk)
        after = await decided(desk, card)

    assert shown.startswith("May I use Write?\nAsked for by alice.\n")
    assert "Why I ask: treadle.toml line 1 asks a person about write_file" in shown
    assert "What I thought: I write." in shown
    assert "n.txt (a new file)\n@@ -1,0 +1,1 @@\n+seven\n" in shown
    assert "An admin can answer until" in shown
    assert "✅ Approved by ada, " in after
    assert "+seven" in after
    assert len(desk.model.requests) == 2


async def test_a_no_is_told_to_the_model_and_nothing_runs(desk: Desk) -> None:
    async with desk.treadle():
        root, card = await question(desk)
        await desk.slack.person("ada").click(card, "treadle_deny")
        await desk.answered("#general", root, covers=root)

    (observation,) = observations(desk.model.requests[1])
    assert observation.startswith("ada said no to this call of write_file.")
    assert not written(desk)


async def test_the_answer_may_come_after_a_restart(desk: Desk) -> None:
    async with desk.treadle():
        root, card = await question(desk)
    async with desk.treadle():
        await desk.slack.person("ada").click(card, "treadle_approve")
        await desk.answered("#general", root, covers=root)

    assert written(desk)
    assert len(cards(desk, root)) == 0
    assert len(desk.model.requests) == 2


async def test_while_it_waits_nothing_runs_and_no_sign_of_life_is_shown(desk: Desk) -> None:
    async with desk.treadle():
        root, _ = await question(desk)
        await desk.until(lambda: not desk.slack.status("#general", root))
        other = await desk.slack.person("bob").say("#general", "@treadle hello")
        await desk.answered("#general", other, covers=other)

    assert not written(desk)


@pytest.mark.parametrize("who", ["alice", "bob", "gus"])
async def test_a_click_by_somebody_else_does_nothing_but_say_so(desk: Desk, who: str) -> None:
    async with desk.treadle():
        root, card = await question(desk)
        await desk.slack.person(who).click(card, "treadle_approve")
        await desk.until(lambda: told(desk, who))
        assert not written(desk)
        await desk.slack.person("ada").click(card, "treadle_deny")
        await desk.answered("#general", root, covers=root)

    assert len(told(desk, who)) == 1
    assert not written(desk)


async def test_of_two_clicks_at_once_one_counts_and_the_other_is_told(desk: Desk) -> None:
    async with desk.treadle():
        root, card = await question(desk)
        ada = desk.slack.person("ada")
        both = ("treadle_deny", "treadle_approve")
        await asyncio.gather(*(ada.click(card, action, as_seen=True) for action in both))
        await desk.answered("#general", root, covers=root)
        (said,) = await desk.until(lambda: told(desk, "ada"))

    assert said == "This question is no longer open; nothing was changed."
    assert not written(desk)


async def test_a_yes_counts_once_for_a_call_that_comes_again(desk: Desk) -> None:
    """The same call in a later step is asked about anew: its card is another one."""
    desk.model.play([STEP, STEP, END])
    async with desk.treadle():
        root, first = await question(desk)
        await desk.slack.person("ada").click(first, "treadle_approve")
        await desk.model.asked(2)
        (desk.workspace() / "n.txt").unlink()
        second = await asked_anew(desk, root, first)
        await desk.slack.person("ada").click(second, "treadle_deny")
        await desk.answered("#general", root, covers=root)

    assert first["ts"] != second["ts"]
    assert not written(desk)


async def test_a_question_that_nobody_answers_expires_and_a_late_click_is_told(desk: Desk) -> None:
    desk.config("[approvals]\nexpires_s = 1\n" + RULE)
    desk.patience = Patience(sweep=0.1)
    async with desk.treadle():
        root, card = await question(desk)
        await desk.answered("#general", root, covers=root)
        await desk.slack.person("ada").click(card, "treadle_approve", as_seen=True)
        (said,) = await desk.until(lambda: told(desk, "ada"))
        assert "⌛ Nobody answered in time" in await decided(desk, card)

    assert said == "This question is no longer open; nothing was changed."
    (observation,) = observations(desk.model.requests[1])
    assert observation.startswith("Nobody said yes to this call of write_file in time.")
    assert not written(desk)


async def test_a_question_expires_although_no_process_was_there(desk: Desk) -> None:
    desk.config("[approvals]\nexpires_s = 1\n" + RULE)
    async with desk.treadle():
        root, _ = await question(desk)
    assert len(desk.model.requests) == 1
    desk.patience = Patience(sweep=0.1)
    async with desk.treadle():
        await desk.answered("#general", root, covers=root)

    assert observations(desk.model.requests[1])[0].startswith("Nobody said yes")
    assert not written(desk)


async def test_a_yes_after_the_time_is_over_does_nothing_but_say_so(desk: Desk) -> None:
    """Even if no sweep has come by yet."""
    desk.config("[approvals]\nexpires_s = 1\n" + RULE)
    async with desk.treadle():
        _, card = await question(desk)
        await asyncio.sleep(float(card["ts"]) + 1.2 - time.time())
        await desk.slack.person("ada").click(card, "treadle_approve")
        (said,) = await desk.until(lambda: told(desk, "ada"))

    assert said == "Nobody answered in time, so this call was not made."
    assert not written(desk)


async def test_a_message_while_it_waits_gets_a_line_and_reaches_the_model_with_the_answer(
    desk: Desk,
) -> None:
    async with desk.treadle():
        root, card = await question(desk)
        ts = await desk.slack.person("bob").reply("#general", root, "@treadle use n.txt please")
        line = (await desk.replies("#general", root, 3))[2]
        await desk.slack.person("ada").click(card, "treadle_approve")
        await desk.answered("#general", root, covers=ts)
        await desk.answered("#general", root, covers=root)

    assert line == "I read this as soon as somebody has answered: the question above"
    links = str([m.get("blocks") for m in desk.slack.thread("#general", root)])
    assert f"/archives/C0GENERAL/p{card['ts'].replace('.', '')}?thread_ts={root}" in links
    roles = [m["role"] for m in desk.model.requests[1]["messages"]]
    assert roles == ["system", "user", "assistant", "tool", "user"]
    assert len(desk.model.requests) == 2
    assert written(desk)


@pytest.mark.wall_clock
async def test_a_stop_ends_the_waiting_and_the_card_counts_no_more(desk: Desk) -> None:
    async with desk.treadle():
        root, card = await question(desk)
        at = time.monotonic()
        await desk.slack.person("bob").react("#general", root, "x")
        notice = await desk.answered("#general", root, covers=root)
        assert time.monotonic() - at < 1.0
        await desk.slack.person("ada").click(card, "treadle_approve", as_seen=True)
        await desk.until(lambda: told(desk, "ada"))
        assert "⏹ Not decided: the turn ended before." in await decided(desk, card)

    assert notice.startswith("Stopped by bob. Not begun: Write.")
    assert not written(desk)


async def test_a_rule_that_forbids_meanwhile_is_stronger_than_the_yes(desk: Desk) -> None:
    async with desk.treadle():
        root, card = await question(desk)
    desk.config(RULE.replace("ask", "deny"))
    async with desk.treadle():
        await desk.slack.person("ada").click(card, "treadle_approve")
        await desk.answered("#general", root, covers=root)

    assert "is not allowed here" in observations(desk.model.requests[1])[0]
    assert not written(desk)


async def test_the_requester_may_answer_where_the_settings_say_so(desk: Desk) -> None:
    desk.config('[approvals]\napprovers = ["requester"]\n' + RULE)
    async with desk.treadle():
        root, card = await question(desk)
        await desk.slack.person("alice").click(card, "treadle_approve")
        await desk.answered("#general", root, covers=root)

    assert written(desk)


async def test_whoever_was_heard_since_the_last_answer_is_a_requester_too(desk: Desk) -> None:
    """A stop answers nothing: what alice asked is still before the model when bob goes on."""
    desk.config('[approvals]\napprovers = ["requester"]\n' + RULE)
    desk.model.play([STEP, STEP, END])
    bob = desk.slack.person("bob")
    async with desk.treadle():
        root, card = await question(desk)
        await desk.slack.person("alice").react("#general", root, "x")
        await desk.answered("#general", root, covers=root)
        await bob.reply("#general", root, "@treadle go on")
        await bob.click(await asked_anew(desk, root, card), "treadle_approve")
        await desk.until(lambda: told(desk, "bob"))

    assert "Only those named" in told(desk, "bob")[0]
    assert not written(desk)


async def test_who_was_an_admin_a_moment_ago_answers_nothing(desk: Desk) -> None:
    """She is remembered as one; when she clicks, Slack is asked again."""
    ada, bob = desk.slack.person("ada"), desk.slack.person("bob")
    async with desk.treadle():
        await desk.command("ada", "status")
        root, card = await question(desk)
        desk.slack.world.members[ada.id] = Member(ada.id, "ada", "Ada", "member")
        await ada.click(card, "treadle_approve")
        await desk.until(lambda: len(told(desk, "ada")) == 2 or None)
        assert not written(desk)
        desk.slack.world.members[bob.id] = Member(bob.id, "bob", "Bob", "admin")
        await bob.click(card, "treadle_approve")
        await desk.answered("#general", root, covers=root)
        assert "✅ Approved by bob, " in await decided(desk, card)

    assert "Only those named under [approvals]" in told(desk, "ada")[1]
