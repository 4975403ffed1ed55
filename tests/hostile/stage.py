"""Plays attempts through the real bot: a Slack message in, a scripted model, observations out."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import termios
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from fcntl import ioctl
from pathlib import Path

from bot.local_slack.server import LocalSlack
from tests.doubles.model_endpoint import ModelEndpoint, Refuse, Reply, Request, Say
from tests.hostile.attack import HIT, RAN, Case, judged
from tests.hostile.house import House, open_house, program
from tools.sandbox.landlock_kernel import NEEDED_ABI, landlock_abi

ROOT = Path(__file__).parents[2]
CONFIG = """
[limits]
max_steps = 100000
max_seconds = 3600
max_tokens = 1000000000
[slack]
verbosity = "quiet"
[model]
context_tokens = 100000000
[workspace]
quota_mb = 900
[sandbox]
mode = "@MODE@"
memory_mb = 400
@MORE@
"""
"""Memory and quota are small so that filling them is quick."""
NO_LANDLOCK = "this host's kernel has no Landlock that is new enough"


@dataclass(frozen=True, slots=True)
class Result:
    """What came of one case."""

    result: str
    text: str


@dataclass
class Stage:
    """A bot at work in its house, with the Slack and the model that it talks to."""

    house: House
    slack: LocalSlack
    model: ModelEndpoint
    bot: subprocess.Popen[bytes]

    async def play(self, cases: Sequence[Case]) -> dict[str, Result]:
        """Run every case in one turn, in order."""
        script = _Script(self.house, cases)
        self.model.play(script.reply)
        ts = await self.slack.person("alice").say("#general", "@treadle go")
        await self.slack.until(lambda: script.over or self.bot.poll() is not None, timeout=400)
        assert script.over, f"the bot ended in {script.current}"
        await self.slack.until(lambda: self.slack.thread("#general", ts)[1:], timeout=30)
        return script.results


@dataclass
class _Script:
    """Plays the cases as a model would: one call after the other."""

    house: House
    cases: Sequence[Case]
    results: dict[str, Result] = field(default_factory=dict)
    texts: list[str] = field(default_factory=list)
    case: int = -1
    call: int = 0
    over: bool = False

    @property
    def current(self) -> str:
        return self.cases[self.case].id

    def reply(self, request: Request) -> Reply:
        if not request.get("tools"):
            return Refuse(500, {"error": "the bot offers no tools"})
        if self.case >= 0:
            self.texts.append(str(request["messages"][-1]["content"]))
            if self.call < len(self.cases[self.case].then):
                self.call += 1
                return self._say(*self.cases[self.case].then[self.call - 1])
            self._judge()
        self.case, self.call = self.case + 1, 0
        if self.case == len(self.cases):
            self.over = True
            return Say("done")
        case = self.cases[self.case]
        return self._say("run_command", {"command": command(case), "timeout_s": case.timeout_s})

    def _say(self, tool: str, arguments: Mapping[str, object]) -> Say:
        return Say(calls=((tool, self.house.fill(json.dumps(arguments))),))

    def _judge(self) -> None:
        case, text = self.cases[self.case], "\n".join(self.texts)
        self.texts = []
        seen = case.evidence is not None and case.evidence(self.house, text)
        result = judged(case, text, seen or self.house.secret in text)
        self.results[case.id] = Result(result, text)


def command(case: Case) -> str:
    """The whole command of a case, still with its @NAME@s."""
    return f"mkdir -p '{case.id}' && cd '{case.id}' || exit 9\n{case.script}\necho ran-$((6*7))"


def lacking(case: Case, mode: str = "") -> str:
    """What this host lacks for a case in a mode of the sandbox; empty if nothing."""
    if case.needs and not program(case.needs):
        return f"{case.needs} is not installed"
    if case.only not in ("", os.uname().machine):
        return f"this machine is no {case.only}"
    if mode == "landlock" and landlock_abi() < NEEDED_ABI:
        return NO_LANDLOCK
    if mode in ("bwrap", "bwrap-hostproc", "network") and not program("bwrap"):
        return "bwrap is not installed"
    return ""


@asynccontextmanager
async def open_stage(mode: str, more: str = "") -> AsyncIterator[Stage]:
    """A house and a bot in it with `[sandbox] mode`; `more` are further lines of that section."""
    slack = await LocalSlack.start()
    model = ModelEndpoint()
    await model.start()
    try:
        with open_house() as house:
            (house.base / "bot/treadle.toml").write_text(
                CONFIG.replace("@MODE@", mode).replace("@MORE@", more)
            )
            bot = start_bot(house, slack, model)
            try:
                await slack.until(lambda: slack.connected or bot.poll() is not None, timeout=30)
                assert bot.poll() is None, (house.base / "bot.log").read_text()
                yield Stage(house, slack, model, bot)
            finally:
                await _stop(bot)
    finally:
        await model.stop()
        await slack.stop()


def start_bot(house: House, slack: LocalSlack, model: ModelEndpoint) -> subprocess.Popen[bytes]:
    """The bot as an operator starts it: in a terminal, with secrets in its environment."""
    environment = {
        "PATH": os.environ["PATH"],
        "PYTHONPATH": import_path(),
        "HOME": house.marks["HOME"],
        "TREADLE_WORKSPACE": str(house.base / "workspaces"),
        "SLACK_BOT_TOKEN": slack.options.bot_token,
        "SLACK_APP_TOKEN": slack.options.app_token,
        "SLACK_API_URL": slack.api_url,
        "OPENAI_BASE_URL": model.base_url,
        "OPENAI_API_KEY": f"sk-{house.token}-key",
        "OPENAI_MODEL": "scripted",
        "ONE_MORE_SECRET": house.secret,
    }

    def prepare() -> None:
        ioctl(house.terminal, termios.TIOCSCTTY, 0)
        os.dup2(house.inherited, 77)

    with (house.base / "bot.log").open("wb") as log:
        bot = subprocess.Popen(
            [sys.executable, "-P", "-m", "bot", "run"],
            cwd=house.base / "bot",
            env=environment,
            stdin=house.terminal,
            stdout=log,
            stderr=log,
            start_new_session=True,
            close_fds=False,
            preexec_fn=prepare,
        )
    house.marks["BOTPID"] = str(bot.pid)
    return bot


def import_path() -> str:
    """PYTHONPATH for a bot that starts elsewhere: this Treadle, and what the tests were given."""
    given = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    return os.pathsep.join([str(ROOT), *(str(Path(path).resolve()) for path in given if path)])


async def _stop(bot: subprocess.Popen[bytes]) -> None:
    if bot.poll() is None:
        bot.send_signal(signal.SIGTERM)
    try:
        await asyncio.to_thread(bot.wait, 15)
    except subprocess.TimeoutExpired:
        bot.kill()
        await asyncio.to_thread(bot.wait)
        raise


async def perform(mode: str, cases: Sequence[Case]) -> dict[str, Result]:
    """Every case that this host can run, under one confinement."""
    async with open_stage(mode) as stage:
        return await stage.play([case for case in cases if not lacking(case)])


def alone(house: House, case: Case) -> str:
    """The result of a case without any sandbox: what a careless bot would let happen."""
    done = subprocess.run(
        ["bash", "-c", house.fill(command(case))],
        cwd=house.workspace,
        env={"PATH": "/usr/local/bin:/usr/bin:/bin", "TMPDIR": "/tmp", "SECRET": house.secret},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=60,
        check=False,
    )
    text = done.stdout.decode("utf-8", "replace")
    assert HIT in text or RAN in text or case.killed, text
    seen = case.evidence is not None and case.evidence(house, text)
    return judged(case, text, seen or house.secret in text)
