"""Twelve wishes of admins, each as rules of the file and as `/treadle` lines, each explained.

The wishes are those that users of other team bots ask for: tools per channel, people per channel
without direct messages, spending nothing on guests, a yes before certain writes.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from bot.local_slack.world import Member
from tests.doubles.desk import QUICK, Desk, arguments, open_desk
from tests.doubles.model_endpoint import Request, Say
from tests.doubles.shell import open_place

ALLOWED, ASKED, DENIED = "allowed", "asked", "denied"


@dataclass(frozen=True)
class Try:
    """A call that the model makes for somebody somewhere, and what is to come of it."""

    outcome: str
    who: str
    channel: str
    tool: str
    values: dict[str, object]


@dataclass(frozen=True)
class Wish:
    name: str
    toml: str
    lines: tuple[str, ...]
    tries: tuple[Try, ...]


def rule(decision: str, tool: str, **more: str) -> str:
    selectors = "".join(f"{name} = {value}\n" for name, value in more.items())
    return f'[[policy]]\ntool = "{tool}"\ndecision = "{decision}"\n{selectors}'


def run(outcome: str, who: str, channel: str, command: str = "git status") -> Try:
    return Try(outcome, who, channel, "run_command", {"command": command})


def write(outcome: str, who: str, channel: str, path: str = "n.txt") -> Try:
    return Try(outcome, who, channel, "write_file", {"path": path, "content": "x"})


def read(outcome: str, who: str, channel: str, path: str = "n.txt") -> Try:
    return Try(outcome, who, channel, "read_file", {"path": path})


def count(outcome: str, who: str, channel: str) -> Try:
    return Try(outcome, who, channel, "calculate", {"expression": "3+4"})


WISHES = [
    Wish(
        "the shell only in #ops",
        rule("deny", "run_command", channel='"!C0OPS"'),
        ("deny run_command outside #ops",),
        (
            run(ALLOWED, "alice", "#ops"),
            run(DENIED, "alice", "#general"),
            run(DENIED, "ada", "dm"),
        ),
    ),
    Wish(
        "Bob may use the shell, Carol may not",
        rule("deny", "run_command", user='"U0CAROL"'),
        ("deny run_command for @carol",),
        (run(ALLOWED, "bob", "#general"), run(DENIED, "carol", "#general")),
    ),
    Wish(
        "nobody but Bob may write",
        rule("deny", "write_file", user='"!U0BOB"'),
        ("deny write_file for everyone but @bob",),
        (write(ALLOWED, "bob", "#general"), write(DENIED, "ada", "#general")),
    ),
    Wish(
        "of the shell only git, and of git only looking",
        rule("allow", "run_command", match="{ command = 'git (status|log|diff)' }")
        + rule("deny", "run_command"),
        (
            "allow run_command when command matches git (status|log|diff)",
            "deny run_command",
        ),
        (
            run(ALLOWED, "alice", "#general"),
            run(DENIED, "alice", "#general", "git push"),
            run(DENIED, "alice", "#general", "git status; rm -rf ."),
            run(DENIED, "alice", "#general", "git status\nrm -rf ."),
        ),
    ),
    Wish(
        "a yes for writes outside reports/",
        rule("allow", "write_file", match="{ path = 'reports/.*' }") + rule("ask", "write_file"),
        ("ask write_file", "allow write_file when path matches reports/.*"),
        (
            write(ALLOWED, "alice", "#general", "reports/may.md"),
            write(ASKED, "alice", "#general"),
            write(ASKED, "alice", "#general", "/workspace/other/reports/n.txt"),
        ),
    ),
    Wish(
        "nothing for guests",
        rule("deny", "*", role='"guest"'),
        ("deny everything for guests",),
        (count(ALLOWED, "alice", "#general"), count(DENIED, "gus", "#general")),
    ),
    Wish(
        "guests may look and not touch",
        rule("deny", "write_file", role='"guest"') + rule("deny", "run_command", role='"guest"'),
        ("deny write_file for guests", "deny run_command for guests"),
        (
            read(ALLOWED, "gus", "#general"),
            write(DENIED, "gus", "#general"),
            run(DENIED, "gus", "#general"),
            write(ALLOWED, "alice", "#general"),
        ),
    ),
    Wish(
        "members need a yes for the shell, admins do not",
        rule("ask", "run_command", role='"member"'),
        ("ask run_command for members",),
        (run(ALLOWED, "ada", "#general"), run(ASKED, "alice", "#general")),
    ),
    Wish(
        "only in two channels, so not in direct messages",
        rule("deny", "*", channel='["!C0GENERAL", "!C0OPS"]'),
        ("deny everything outside #general #ops",),
        (
            count(ALLOWED, "alice", "#general"),
            count(ALLOWED, "alice", "#ops"),
            count(DENIED, "alice", "dm"),
        ),
    ),
    Wish(
        "nobody reads secret/",
        rule("deny", "read_file", match="{ path = 'secret(/.*)?' }"),
        ("deny read_file when path matches secret(/.*)?",),
        (
            read(ALLOWED, "alice", "#general"),
            read(DENIED, "ada", "#general", "secret/key"),
            read(DENIED, "ada", "#general", "./secret//key"),
        ),
    ),
    Wish(
        "a yes before anything is removed",
        rule("ask", "run_command", match=r"{ command = '.*\brm\b.*' }"),
        (r"ask run_command when command matches .*\brm\b.*",),
        (
            run(ALLOWED, "alice", "#general", "ls"),
            run(ASKED, "alice", "#general", "rm n.txt"),
            run(ASKED, "alice", "#general", "ls\nrm n.txt"),
        ),
    ),
    Wish(
        "Bob may write in #ops, and nobody else anywhere",
        rule("deny", "write_file", user='"!U0BOB"')
        + rule("deny", "write_file", channel='"!C0OPS"'),
        ("deny write_file except @bob", "deny write_file outside #ops"),
        (
            write(ALLOWED, "bob", "#ops"),
            write(DENIED, "bob", "#general"),
            write(DENIED, "alice", "#ops"),
        ),
    ),
]


def test_there_are_twelve() -> None:
    assert len(WISHES) == 12


@asynccontextmanager
async def desk_for(wish: Wish, home: Path) -> AsyncIterator[Desk]:
    """A desk; with a sandbox only where it matters, since its self-test takes a second.

    It does where a command's text decides, or a person is asked: about what cannot run nobody is.
    """
    asked = any(one.tool == "run_command" and one.outcome == ASKED for one in wish.tries)
    if not asked and "match = { command" not in wish.toml:
        async with open_desk(home) as opened:
            opened.patience = QUICK
            yield opened
        return
    with open_place() as place:
        async with open_desk(place) as opened:
            opened.patience = QUICK
            yield opened


@pytest.mark.needs("bwrap")
@pytest.mark.parametrize("wish", WISHES, ids=lambda wish: wish.name)
@pytest.mark.parametrize("made_in", ["the file", "Slack"])
async def test_a_wish_holds_and_is_explained(tmp_path: Path, wish: Wish, made_in: str) -> None:
    async with desk_for(wish, tmp_path) as desk:
        await _fulfilled(desk, wish, made_in)


async def _fulfilled(desk: Desk, wish: Wish, made_in: str) -> None:
    carol = Member("U0CAROL", "carol", "Carol")
    desk.slack.world.add_member(carol)
    for channel in ("#general", "#ops"):
        desk.slack.channel(channel).members |= {"U0CAROL", "U0GUS"}
    desk.config("[access]\nguests = true\n" + (wish.toml if made_in == "the file" else ""))
    async with desk.treadle():
        if made_in == "Slack":
            for line in wish.lines:
                assert "Done: rule" in await desk.command("ada", line)
        for attempt in wish.tries:
            await _holds(desk, attempt, made_in)


async def _holds(desk: Desk, attempt: Try, made_in: str) -> None:
    call = (attempt.tool, arguments(**attempt.values))
    sent = len(desk.model.requests)
    desk.model.play([Say("I try.", calls=(call,)), Say("That is all.")])
    person = desk.slack.person(attempt.who)
    ts = await person.say(attempt.channel, "@treadle go")
    channel = "D0" + person.id.removeprefix("U0") if attempt.channel == "dm" else attempt.channel
    if attempt.outcome == ASKED:
        card = await desk.until(lambda: _card(desk, channel, ts))
        await desk.slack.person("ada").click(card, "treadle_deny")
    await desk.answered(channel, ts, covers=ts)
    (seen,) = _observations(desk.model.requests[sent + 1])
    refused = {
        ALLOWED: "",
        ASKED: "ada said no to this call",
        DENIED: f"{attempt.tool} is not allowed here",
    }
    wanted = refused[attempt.outcome]
    if not wanted:
        assert not any(text in seen for text in refused.values() if text), seen
        return
    assert wanted in seen
    why = await desk.command(attempt.who, "why", channel)
    origin = (
        r"treadle\.toml line \d+" if made_in == "the file" else r"Rule \d \(set in Slack by ada"
    )
    assert re.search(rf"^{origin}.* decided it: (ask|deny) ", why, re.M), why


def _card(desk: Desk, channel: str, ts: str) -> dict[str, object] | None:
    return next((m for m in desk.slack.thread(channel, ts) if "treadle_deny" in str(m)), None)


def _observations(request: Request) -> Sequence[str]:
    return [str(m["content"]) for m in request["messages"] if m["role"] == "tool"]


def test_the_admins_page_says_how_each_wish_is_made() -> None:
    text = (Path(__file__).parents[2] / "docs" / "admin.md").read_text("utf-8")
    rows = [line.replace("\\|", "¦").strip("| ").split(" | ") for line in text.splitlines()]
    table = {row[0]: row[1:] for row in rows if len(row) == 3}
    for wish in WISHES:
        typed, written = (cell.replace("¦", "|") for cell in table[wish.name])
        assert typed == "<br>".join(f"`/treadle {line}`" for line in wish.lines)
        rules = ", ".join(part.strip("`") for part in written.split("<br>"))
        assert tomllib.loads(f"policy = [{rules}]") == tomllib.loads(wish.toml)
