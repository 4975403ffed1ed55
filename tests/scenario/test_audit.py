"""What happened in Slack stands in the audit trail, and what was done to the trail is found."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from contextlib import closing
from typing import Any, TypeAlias

import pytest

from bot.trail import Wanted, export_trail, verify_trail
from tests.doubles.desk import Desk, arguments
from tests.doubles.model_endpoint import Say

KEY = {"TREADLE_AUDIT_KEY": "a-key-of-the-tests-own"}
WRITE = ("write_file", arguments(path="n.txt", content="seven"))
CALCULATE = ("calculate", arguments(expression="6*7"))


Line: TypeAlias = dict[str, Any]


def exported(desk: Desk, **wanted: str) -> list[Line]:
    lines: list[str] = []
    export_trail(desk.environment(**KEY), desk.home, lines.append, Wanted(**wanted))
    return [json.loads(line) for line in lines]


def bodies(desk: Desk, kind: str) -> list[Line]:
    return [row["body"] for row in exported(desk) if row["kind"] == kind]


def verified(desk: Desk, *recorded: str, **environ: str) -> tuple[bool, str]:
    lines: list[str] = []
    given = desk.environment(**{**KEY, **environ})
    whole = verify_trail(given, desk.home, lines.append, recorded=recorded)
    return whole, "\n".join(lines)


def change(desk: Desk, deed: str) -> None:
    """What somebody does who can write to the database and has no key."""
    with closing(sqlite3.connect(desk.home / ".treadle" / "treadle.db")) as database:
        database.executescript(deed)
        assert database.total_changes > 0


async def a_turn(desk: Desk) -> str:
    desk.model.play([Say("I count.", calls=(CALCULATE,)), Say("42.")])
    ts = await desk.slack.person("alice").say("#general", "@treadle what is 6*7?")
    await desk.answered("#general", ts, covers=ts)
    return ts


async def test_a_turn_is_recorded_from_the_message_to_its_end(desk: Desk) -> None:
    async with desk.treadle(**KEY):
        ts = await a_turn(desk)
        await desk.nothing_is_left_to_do()
        thread = f"T0LOCAL:C0GENERAL:{ts}"
        rows = exported(desk, thread=thread)
        assert verified(desk)[0]

    assert [row["kind"] for row in rows] == [
        *("message_accepted", "decided", "tool_started", "tool_ended", "turn_ended"),
    ]
    said, decided, started, ended, end = (row["body"] for row in rows)
    assert (said["who"], said["ts"], said["role"]) == ("U0ALICE", ts, "member")
    assert (decided["tool"], decided["verdict"]) == ("calculate", "allow")
    assert started["arguments"] == CALCULATE[1]
    assert started["for"] == decided["for"] == ["U0ALICE"]
    assert started["digest"] == decided["digest"] == ended["digest"]
    assert (ended["error"], ended["result"]) == (False, "42")
    assert (end["how"], end["covers"]) == ("answered", [ts])
    assert "what is 6*7" not in json.dumps(rows)
    whole = exported(desk)
    assert (whole[0]["kind"], whole[-1]["kind"]) == ("process_started", "process_stopped")


async def test_a_question_its_answer_and_clicks_without_effect_are_recorded(desk: Desk) -> None:
    desk.config('[[policy]]\ntool = "write_file"\ndecision = "ask"\n')
    desk.model.play([Say("I write.", calls=(WRITE,)), Say("Ready.")])
    async with desk.treadle(**KEY):
        root = await desk.slack.person("alice").say("#general", "@treadle write seven")

        def card() -> object:
            found = desk.slack.thread("#general", root)
            return next(
                (m for m in found if any(b["type"] == "actions" for b in m.get("blocks", ()))), None
            )

        question = await desk.until(card)
        assert isinstance(question, dict)
        await desk.slack.person("bob").click(question, "treadle_approve")
        await desk.until(lambda: desk.slack.person("bob").ephemeral())
        await desk.slack.person("ada").click(question, "treadle_deny")
        await desk.answered("#general", root, covers=root)

    (asked,) = bodies(desk, "approval_asked")
    (answered,) = bodies(desk, "approval_answered")
    (ignored,) = bodies(desk, "ignored")
    (rules,) = bodies(desk, "process_started")
    assert asked["tool"] == "write_file"
    assert (answered["who"], answered["answer"]) == ("U0ADA", "denied")
    assert (ignored["what"], ignored["who"]) == ("click", "U0BOB")
    assert [decided["rule"] for decided in bodies(desk, "decided")] == ["treadle.toml line 1"]
    assert bodies(desk, "tool_started") == []
    assert '"decision": "ask"' in json.dumps(rules["rules"])


async def test_an_expired_question_is_recorded(desk: Desk) -> None:
    rule = '[[policy]]\ntool = "write_file"\ndecision = "ask"\n'
    desk.config("[approvals]\nexpires_s = 1\n" + rule)
    desk.model.play([Say("I write.", calls=(WRITE,)), Say("Nobody answered.")])
    desk.patience = type(desk.patience)(sweep=0.1)
    async with desk.treadle(**KEY):
        root = await desk.slack.person("alice").say("#general", "@treadle write seven")
        await desk.answered("#general", root, covers=root)

    (expired,) = bodies(desk, "approval_expired")
    assert expired["tool"] == "write_file"


@pytest.mark.parametrize("refusal", ["say", "silent"])
async def test_who_is_refused_is_recorded_with_the_reason(desk: Desk, refusal: str) -> None:
    desk.config(f'[access]\nrefusal = "{refusal}"')
    async with desk.treadle(**KEY):
        ts = await desk.slack.person("gus").say("#general", "@treadle let me in")
        async with asyncio.timeout(15):
            while not bodies(desk, "message_refused"):
                await asyncio.sleep(0.05)

    (refused,) = bodies(desk, "message_refused")
    assert (refused["who"], refused["ts"]) == ("U0GUS", [ts])
    assert "guest" in str(refused["why"])


async def test_a_stop_is_recorded(desk: Desk) -> None:
    desk.model.play(lambda _: Say("Slowly.", delay=10))
    alice = desk.slack.person("alice")
    async with desk.treadle(**KEY):
        root = await alice.say("#general", "@treadle think")
        await desk.model.asked()
        await alice.reply("#general", root, "stop")
        await desk.answered("#general", root, covers=root)

    (end,) = bodies(desk, "turn_ended")
    assert (end["how"], end["by"], end["who"]) == ("stopped", "alice", "U0ALICE")
    assert bodies(desk, "ignored") == []


async def test_an_admin_who_stops_by_command_is_named_by_id(desk: Desk) -> None:
    """Anybody can call themselves what they like in Slack."""
    desk.model.play(lambda _: Say("Slowly.", delay=10))
    async with desk.treadle(**KEY):
        root = await desk.slack.person("alice").say("#general", "@treadle think")
        await desk.model.asked()
        await desk.command("ada", "stop")
        await desk.answered("#general", root, covers=root)

    (end,) = bodies(desk, "turn_ended")
    assert (end["how"], end["who"]) == ("stopped", "U0ADA")


async def test_the_trail_can_be_proved_beside_the_running_process_and_over_restarts(
    desk: Desk,
) -> None:
    for _ in range(2):
        async with desk.treadle(**KEY):
            await a_turn(desk)
            await desk.nothing_is_left_to_do()
            whole, said = verified(desk)
            assert whole, said
    whole, said = verified(desk)
    assert whole, said
    assert said.count("ended in order") == 2
    assert "unkeyed" not in said


DEEDS = {
    "UPDATE audit SET body = replace(body, 'U0ALICE', 'U0BOB') WHERE seq = 1": (
        "row 1: not as sealed"
    ),
    "UPDATE audit SET at = at - 1 WHERE seq = 3": "row 3: not as sealed",
    "DELETE FROM audit WHERE seq = 2": "row 2: missing",
    "DELETE FROM audit WHERE seq > 3": "rows 4 to 6: missing at the end",
    "DELETE FROM audit": "rows 0 to 6: missing at the end",
    # Two rows change places; the one behind them cannot be proved either.
    "UPDATE audit SET seq = seq - 10 WHERE seq IN (2, 3); "
    "UPDATE audit SET seq = CASE seq WHEN -8 THEN 3 ELSE 2 END WHERE seq < 0": (
        "rows 2 to 4: not as sealed"
    ),
}


async def test_what_was_done_to_the_trail_is_found_and_the_row_named(desk: Desk) -> None:
    async with desk.treadle(**KEY):
        await a_turn(desk)
    database = desk.home / ".treadle" / "treadle.db"
    as_it_was = database.read_bytes()
    for deed, found in DEEDS.items():
        database.write_bytes(as_it_was)
        assert verified(desk)[0]
        change(desk, deed)
        whole, said = verified(desk)
        assert not whole
        assert found in said
        assert "one fault" in said


async def test_a_head_from_the_log_finds_what_the_file_beside_the_database_cannot(
    desk: Desk, caplog: pytest.LogCaptureFixture
) -> None:
    """Somebody cut rows off and took the recorded head away with them."""
    caplog.set_level("INFO", "bot.audit.heads")
    async with desk.treadle(**KEY):
        await a_turn(desk)
    newest = caplog.messages[-1].rpartition(" ")[2]
    assert verified(desk, newest)[0]
    change(desk, "DELETE FROM audit WHERE seq > 3")
    for path in (desk.home / ".treadle" / "audit").iterdir():
        path.unlink()
    assert verified(desk)[0]
    whole, said = verified(desk, newest)
    assert not whole
    assert "rows 4 to 6: missing at the end" in said


async def test_without_a_key_the_trail_says_that_it_is_unkeyed(desk: Desk) -> None:
    async with desk.treadle():
        await a_turn(desk)
    whole, said = verified(desk, TREADLE_AUDIT_KEY="")
    assert whole
    assert "It is unkeyed: TREADLE_AUDIT_KEY is not set" in said


async def test_another_key_proves_nothing_and_the_older_one_can_be_named(desk: Desk) -> None:
    async with desk.treadle(**KEY):
        await a_turn(desk)
    whole, said = verified(desk, TREADLE_AUDIT_KEY="another-key-altogether")
    assert not whole
    assert "no row fits a key that was given" in said
    environ = {**desk.environment(), "TREADLE_AUDIT_KEY": "another-key-altogether"}
    environ |= {"LAST_YEARS_KEY": KEY["TREADLE_AUDIT_KEY"]}
    assert verify_trail(environ, desk.home, lambda _: None, old_keys=["LAST_YEARS_KEY"])
