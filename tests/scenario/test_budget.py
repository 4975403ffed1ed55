"""Budgets through the front door: the footer, the notice near a cap, the stop at it."""

from __future__ import annotations

import csv
import io
import os
import re
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.doubles.desk import QUICK, Desk, arguments, open_desk
from tests.doubles.model_endpoint import Say

PRICE = '[model.prices."scripted"]\ninput = 100.0\noutput = 100.0\n'
LOOK = ("list_dir", arguments(path="."))


@pytest.fixture
async def desk(tmp_path: Path) -> AsyncIterator[Desk]:
    async with open_desk(tmp_path) as opened:
        opened.patience = QUICK
        yield opened


async def ask(desk: Desk, who: str = "alice", where: str = "#general") -> str:
    root = await desk.slack.person(who).say(where, "@treadle look")
    return await desk.answered(where, root, covers=root)


async def test_the_footer_says_what_the_turn_used(desk: Desk) -> None:
    desk.config(f"[slack]\nfooter = true\n{PRICE}")
    desk.model.play(
        [Say("I look.", calls=(LOOK,), usage=(1000, 50)), Say("Done.", usage=(2000, 5))]
    )
    async with desk.treadle():
        answer = await ask(desk)
    assert answer.splitlines() == ["Done.", "3,055 tokens · 0.3055 USD"]


async def test_a_turn_ends_before_the_call_that_would_cost_more_and_says_so(desk: Desk) -> None:
    desk.config(f"[budget]\nper_turn = 0.5\n{PRICE}")
    desk.model.play([Say("I look.", calls=(LOOK,), usage=(3900, 100))])
    async with desk.treadle():
        notice = await ask(desk)
    assert "one turn may use 0.5000 USD and this one has used 0.4000 USD" in notice
    assert len(desk.model.requests) == 1


async def test_a_person_who_has_used_up_the_day_is_told_and_another_goes_on(desk: Desk) -> None:
    desk.config("[budget]\nturns_per_user_day = 1")
    desk.model.play([Say("One."), Say("Two.")])
    async with desk.treadle():
        assert await ask(desk) == "One."
        refused = await ask(desk)
        assert await ask(desk, "bob") == "Two."
    assert "the budget of 1 turns for one person a day has no room" in refused
    assert "/treadle budget" in refused


async def test_near_a_cap_the_answer_says_so_once_also_after_a_restart(desk: Desk) -> None:
    desk.config("[budget]\ntokens_per_channel_day = 20000")
    desk.model.play([Say("One.", usage=(16_000, 100)), Say("Two."), Say("Three.")])
    async with desk.treadle():
        assert await ask(desk) == "One."
        second = await ask(desk)
    async with desk.treadle():
        third = await ask(desk)
    assert second.splitlines()[0] == "Two."
    assert "% of the budget for one channel a day (20,000 tokens) is used." in second
    assert third == "Three."


async def test_a_call_that_failed_leaves_nothing_set_aside(desk: Desk) -> None:
    desk.config("[budget]\nturns_per_user_day = 1")
    desk.model.play([])
    async with desk.treadle():
        await ask(desk)
        desk.model.play([Say("Here.")])
        assert await ask(desk) == "Here."


async def test_what_a_stopped_call_may_have_used_counts(desk: Desk) -> None:
    desk.config("[budget]\ntokens_per_user_day = 4000")
    desk.model.play(lambda _: Say("Slowly.", delay=30))
    alice = desk.slack.person("alice")
    async with desk.treadle():
        root = await alice.say("#general", "@treadle think")
        await desk.model.asked()
        await alice.reply("#general", root, "stop")
        await desk.answered("#general", root, covers=root)
        notice = await ask(desk)
    assert "the budget of 4,000 tokens for one person a day has no room" in notice
    assert len(desk.model.requests) == 1


async def test_a_turn_that_was_stopped_before_its_first_reply_was_begun(desk: Desk) -> None:
    desk.config("[budget]\nturns_per_user_day = 1")
    desk.model.play(lambda _: Say("Slowly.", delay=30))
    alice = desk.slack.person("alice")
    async with desk.treadle():
        root = await alice.say("#general", "@treadle think")
        await desk.model.asked()
        await alice.reply("#general", root, "stop")
        await desk.answered("#general", root, covers=root)
        notice = await ask(desk)
    assert "the budget of 1 turns for one person a day has no room" in notice


async def test_a_turn_that_a_restart_breaks_off_counts_as_one(desk: Desk) -> None:
    desk.config("[budget]\nturns_per_user_day = 1")
    desk.model.play(lambda _: Say("Slowly.", delay=30))
    async with desk.treadle():
        root = await desk.slack.person("alice").say("#general", "@treadle think")
        await desk.model.asked()
    desk.model.play([Say("One."), Say("Two.")])
    async with desk.treadle():
        assert (await desk.answered("#general", root, covers=root)).startswith("One.")
        assert "has no room" in await ask(desk)


@pytest.mark.parametrize("budget", ["[budget]\ntokens_per_user_day = 9000", ""])
@pytest.mark.parametrize("finish", ["length", "content_filter"])
async def test_a_reply_that_is_no_use_was_used_all_the_same(
    desk: Desk, budget: str, finish: str
) -> None:
    desk.config(budget)
    desk.model.play([Say("I look.", calls=(LOOK,), finish=finish, usage=(4000, 4500)), Say("So.")])
    async with desk.treadle():
        await ask(desk)
        used = await desk.command("alice", "usage")
        again = await ask(desk)
    assert "8,500 tokens" in used
    assert ("has no room" in again) is bool(budget)


@pytest.mark.parametrize(("tries", "least"), [(1, 8005), (2, 12005), (3, 3 * 1500)])
async def test_streams_that_broke_off_have_to_be_paid(desk: Desk, tries: int, least: int) -> None:
    """A reply came in the end, or after three tries none: each call was made."""
    cut = Say("I begin and never end.", cut=True)
    whole = [Say("Done.", usage=(4000, 5))] if tries < 3 else []
    desk.model.play([*[cut] * tries, *whole])
    desk.model_pause = 0.01
    async with desk.treadle():
        await ask(desk)
        used = await desk.command("alice", "usage")
    (tokens,) = re.findall(r"You today: 1 turns?, ([\d,]+) tokens", used)
    assert int(tokens.replace(",", "")) > least


async def test_an_endpoint_that_counts_backwards_gives_nothing_back(desk: Desk) -> None:
    desk.config("[budget]\ntokens_per_user_day = 4000")
    desk.model.play([Say("One.", usage=(-1_000_000, 5)), *[Say("More.", usage=(3000, 5))] * 2])
    async with desk.treadle():
        await ask(desk)
        await ask(desk)
        notice = await ask(desk)
    assert "has no room" in notice


async def test_the_report_of_the_command_is_a_table_or_csv_also_while_the_bot_runs(
    desk: Desk, repository: Path
) -> None:
    desk.config(PRICE)
    desk.model.play([Say("One.", usage=(1000, 0)), Say("Two.", usage=(2000, 0))])

    def command(*arguments: str) -> str:
        environ = {**desk.environment(), "PATH": os.environ["PATH"], "PYTHONPATH": str(repository)}
        return subprocess.run(
            [sys.executable, "-m", "bot", "usage", *arguments],
            cwd=desk.home,
            env=environ,
            text=True,
            capture_output=True,
            check=True,
            timeout=30,
        ).stdout

    async with desk.treadle():
        await ask(desk)
        await ask(desk, "bob")
        table = command("--by", "user")
        rows = list(csv.DictReader(io.StringIO(command("--csv", "--days", "1"))))

    (day,) = rows
    assert (day["turns"], day["tokens"], day["cost_USD"]) == ("2", "3000", "0.300000")
    alice = next(line for line in table.splitlines() if desk.slack.person("alice").id in line)
    assert "1,000" in alice
    assert "0.1000" in alice
