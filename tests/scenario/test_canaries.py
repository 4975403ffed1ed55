"""Every configured secret is planted where text comes in, and looked for where it goes out."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from asyncio.subprocess import PIPE, STDOUT
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from bot.local_slack.faults import Effect, FaultRule
from bot.local_slack.options import Options
from bot.local_slack.world import Member
from bot.trail import Wanted, export_trail, verify_trail
from tests.doubles.canaries import leaks, planted
from tests.doubles.desk import QUICK, Desk, arguments, open_desk
from tests.doubles.model_endpoint import Refuse, Reply, Request, Say
from tests.doubles.shell import open_place

pytestmark = pytest.mark.needs("bwrap")

ROOT = Path(__file__).parents[2]
SECONDS = 45.0
SECRETS = {
    "SLACK_BOT_TOKEN": "xoxb-411-canary-Bot7Kq",
    "SLACK_APP_TOKEN": "xapp-1-A0-411-canary-App9",
    "SLACK_SIGNING_SECRET": "8f742231canary88abcd99",
    "OPENAI_API_KEY": 'sk-can"ary/\\+&%=<key>?',
    "TREADLE_AUDIT_KEY": "audit-canary+f3a1c0/d2",
}
ALL = "\n".join(planted(secret) for secret in SECRETS.values())
INLINE = " ".join(planted(secret) for secret in SECRETS.values())
NAME = SECRETS["SLACK_BOT_TOKEN"]

TOOL = f"""
from tools.base import ToolError, tool

ALL = {ALL!r}

@tool()
def blow_up() -> str:
    \"\"\"Fail with a secret in the exception.\"\"\"
    try:
        raise ValueError(ALL)
    except ValueError as error:
        raise RuntimeError("with " + ALL) from error

@tool()
def complain() -> str:
    \"\"\"Fail with a secret in the advice.\"\"\"
    raise ToolError("Try again with " + ALL)
"""


@dataclass
class Output:
    """What a process printed, on both of its streams."""

    text: str = ""
    ready: asyncio.Event = field(default_factory=asyncio.Event)

    async def gather(self, stream: asyncio.StreamReader) -> None:
        async for line in stream:
            self.text += line.decode()
            if "Treadle is @" in self.text:
                self.ready.set()


def environment(desk: Desk) -> dict[str, str]:
    return {**os.environ, **desk.environment(**SECRETS), "PYTHONPATH": str(ROOT)}


@asynccontextmanager
async def running(desk: Desk) -> AsyncIterator[Output]:
    """`treadle run`, with the log that it really writes."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "bot", "run", "--verbose"),
        cwd=desk.home,
        env=environment(desk),
        stdout=PIPE,
        stderr=STDOUT,
    )
    assert process.stdout is not None
    output = Output()
    reading = asyncio.create_task(output.gather(process.stdout))
    try:
        await asyncio.wait_for(output.ready.wait(), SECONDS)
        yield output
    finally:
        process.terminate()
        await process.wait()
        await reading


async def command(desk: Desk, *words: str, typed: str = "") -> str:
    """What a command prints on both streams."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "bot", *words),
        cwd=desk.home,
        env=environment(desk),
        stdin=PIPE,
        stdout=PIPE,
        stderr=STDOUT,
    )
    out, _ = await asyncio.wait_for(process.communicate(typed.encode()), SECONDS)
    return out.decode()


def step(text: str, *calls: tuple[str, dict[str, object]]) -> Say:
    """A reply that arrives in pieces of a few letters."""
    made = tuple((name, arguments(**given)) for name, given in calls)
    return Say(text, calls=made, chunk=17, reasoning="So. " + INLINE)


STEPS = [
    step("I read. " + ALL, ("read_file", {"path": "leak.txt"}), ("list_dir", {"path": "."})),
    step("I look.", ("search_files", {"pattern": "canary", "path": "."})),
    step("I write.", ("write_file", {"path": f"out-{NAME}.txt", "content": ALL})),
    step("I run.", ("run_command", {"command": "cat leak.txt; base64 -w 20 leak.txt; ls"})),
    step("I echo.", ("run_command", {"command": f"echo '{NAME}'; false"})),
    step("I fail.", ("blow_up", {}), ("complain", {}), ("no_such_" + NAME, {"a": ALL})),
    step("I ask.", ("edit_file", {"path": "leak.txt", "old": "a", "new": ALL})),
]


def script(request: Request) -> Reply:
    """The step that is next in this turn; then an endpoint that refuses, with the key in it."""
    said = [str(m["content"]) for m in request["messages"] if m["role"] == "user"]
    if "the endpoint" in said[-1]:
        return Refuse(400, {"error": {"message": f"bad request for key {ALL}"}})
    done = sum(m["role"] == "assistant" for m in request["messages"])
    return STEPS[done] if done < len(STEPS) else step("It is " + ALL)


@pytest.fixture
async def desk() -> AsyncIterator[Desk]:
    tokens = Options(bot_token=NAME, app_token=SECRETS["SLACK_APP_TOKEN"])
    with open_place() as place:
        async with open_desk(place, script, tokens) as opened:
            opened.patience = QUICK
            opened.config(
                '[slack]\nverbosity = "full"\n[tools]\nmodules = ["own.py"]\n'
                '[[policy]]\ntool = "edit_file"\ndecision = "ask"\n'
            )
            (place / "own.py").write_text(TOOL)
            for where in ("T0LOCAL-C0GENERAL", "TLOCAL-DTERMINAL"):
                workspace = opened.workspace(where)
                (workspace / "leak.txt").write_text(ALL)
                (workspace / f"{NAME}.txt").write_text("canary")
            for user, name in (("U0ALICE", "alice"), ("U0ADA", "ada")):
                role = "admin" if name == "ada" else "member"
                world = opened.slack.world
                world.members[user] = Member(user, name, f"{name} {ALL}", role)
            yield opened


def sent(desk: Desk) -> str:
    """All that the bot told Slack."""
    return json.dumps([call.args for call in desk.slack.log], ensure_ascii=False)


def kept(desk: Desk) -> bytes:
    """All that stands in Treadle's home."""
    files = (path for path in (desk.home / ".treadle").rglob("*") if path.is_file())
    return b"\n".join(path.read_bytes() for path in files)


def found(**outlets: str | bytes) -> list[str]:
    return sorted({leak for name, text in outlets.items() for leak in leaks(name, text, SECRETS)})


def test_the_search_finds_what_is_planted() -> None:
    for text in (ALL, INLINE, json.dumps(ALL), json.dumps(json.dumps(ALL))):
        assert {leak.split(", ")[0] for leak in leaks("", text, SECRETS)} == {
            f": {name}" for name in SECRETS
        }


async def test_no_secret_leaves_by_slack_log_database_audit_or_model(desk: Desk) -> None:
    alice, ada = desk.slack.person("alice"), desk.slack.person("ada")
    async with running(desk) as output:
        root = await alice.say("#general", f"@treadle is it {ALL}?")

        def question() -> object:
            thread = desk.slack.thread("#general", root)
            return next((m for m in thread if "treadle_approve" in json.dumps(m)), None)

        card = await desk.until(question, timeout=SECONDS)
        assert isinstance(card, dict)
        await ada.click(card, "treadle_approve")
        await desk.answered("#general", root, covers=root)
        ts = await alice.reply("#general", root, f"@treadle and the endpoint? {ALL}")
        await desk.answered("#general", root, covers=ts)
        stopped = await ada.say("#general", f"@treadle {ALL}")
        await ada.reply("#general", stopped, "stop")
        await desk.answered("#general", stopped, covers=stopped)
        during = kept(desk)
    trail: list[str] = []
    export_trail(desk.environment(**SECRETS), desk.home, trail.append, Wanted())
    whole = verify_trail(desk.environment(**SECRETS), desk.home, trail.append)

    assert "no_such_[redacted]" in sent(desk)
    assert "blow_up" in output.text
    assert "tool_ended" in str(trail)
    assert whole
    assert (
        found(
            slack=sent(desk),
            log=output.text,
            home=during,
            home_at_the_end=kept(desk),
            audit="\n".join(trail),
            model=json.dumps(desk.model.requests, ensure_ascii=False),
        )
        == []
    )


async def test_no_secret_leaves_by_the_terminal(desk: Desk) -> None:
    said = await command(desk, "chat", typed=f"look around\ny\nand the endpoint? {INLINE}\n")
    assert "I fail." in said
    assert "[redacted]" in said
    model = json.dumps(desk.model.requests, ensure_ascii=False)
    assert found(terminal=said, home=kept(desk), model=model) == []


async def test_no_secret_is_printed_by_doctor_or_a_start_that_fails(desk: Desk) -> None:
    desk.model.play(lambda _: Refuse(400, {"error": {"message": f"no: {ALL}"}}))
    desk.slack.fail(FaultRule(Effect.ERROR, error=f"bad_{NAME}"))
    told = await command(desk, "doctor")
    start = await command(desk, "run")
    assert "FAIL  model" in told
    assert "[redacted]" in told
    assert "[redacted]" in start
    assert found(doctor=told, start=start, home=kept(desk)) == []
