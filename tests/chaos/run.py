"""One run: people write, things break, everything calms down, and what is left is judged."""

from __future__ import annotations

import asyncio
import random
import time
from collections import Counter
from collections.abc import Callable, Coroutine, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from bot.local_slack.faults import FaultRule
from bot.local_slack.options import BOT_USER_ID, Options
from bot.local_slack.server import LocalSlack
from bot.local_slack.world import Channel
from tests.chaos.checker import Violation, check
from tests.chaos.deployment import Deployment
from tests.chaos.evidence import Evidence
from tests.chaos.gather import evidence_of, marked_processes
from tests.chaos.model import CONFIG, TOOLS, ChaosModel
from tests.chaos.people import Notebook, Talk, answer_cards, channel_name, threads
from tests.chaos.plan import Blow, Course, Plan, conversations, storm, weather
from tests.doubles.model_endpoint import ModelEndpoint

Make = Callable[[Path, Mapping[str, str]], Deployment]
START_SECONDS = 30.0
CONNECT_SECONDS = 8.0
"""A storm waits so long for a Treadle that has something to do."""
OPTIONS = Options(retry_scale=0.05, hold_while_offline=True, max_calls=200_000)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a run was and what it came to. `seconds` is how long it took."""

    plan: Plan
    evidence: Evidence
    violations: tuple[Violation, ...]
    blows: Mapping[str, int]
    did: Mapping[str, int]
    """What else happened to the deployment, by its own words."""
    seconds: float


class Run:
    """Everything that plays a part in one run, in the directory `home`."""

    def __init__(self, plan: Plan, home: Path, slack: LocalSlack) -> None:
        self._plan, self._home, self._slack = plan, home, slack
        self._digits = f"{random.SystemRandom().randrange(10**9):09d}7"
        self._script = ChaosModel(plan.dice("model"), self._digits)
        self._notebook = Notebook()
        self._blows: Counter[str] = Counter()
        self._orphans: list[str] = []
        self._watches: set[asyncio.Task[None]] = set()

    async def go(self, make: Make) -> Outcome:
        """The whole run. Whatever was started is ended, whatever happens."""
        began = time.monotonic()
        (self._home / "own.py").write_text(TOOLS, "utf-8")
        (self._home / "treadle.toml").write_text(CONFIG, "utf-8")
        self._slack.add_channels(_channels(self._plan))
        model = ModelEndpoint(self._script)
        await model.start()
        deployment = make(self._home, self._environment(model))
        try:
            await deployment.start()
            with suppress(TimeoutError):  # how a first start is killed is for `test_moments`
                await self._slack.until_connected(START_SECONDS)
            await self._storm(deployment)
            await self._calm(deployment)
        finally:
            await deployment.stop()
            await asyncio.gather(self._no_orphans(deployment.orphan_seconds), *self._watches)
            await model.stop()
        stored = replace(deployment.stored(), deaths=tuple(deployment.deaths))
        found = evidence_of(self._slack, self._notebook, self._home, stored, self._orphans)
        self._blows["model failures"] = self._script.failed
        did = dict(deployment.did)
        seconds = time.monotonic() - began
        return Outcome(self._plan, found, check(found), dict(self._blows), did, seconds)

    def _environment(self, model: ModelEndpoint) -> dict[str, str]:
        options = self._slack.options
        return {
            "SLACK_BOT_TOKEN": options.bot_token,
            "SLACK_APP_TOKEN": options.app_token,
            "SLACK_API_URL": self._slack.api_url,
            "OPENAI_BASE_URL": model.base_url,
            "OPENAI_API_KEY": "sk-chaos-no-secret",
            "OPENAI_MODEL": "scripted",
        }

    # -- the storm --------------------------------------------------------------------------
    async def _storm(self, deployment: Deployment) -> None:
        talks = [
            asyncio.create_task(Talk(self._slack, self._notebook, one).hold())
            for one in conversations(self._plan)
        ]
        dice, began = self._plan.dice("blows"), time.monotonic()
        for at, blow in storm(self._plan):
            late = time.monotonic() - began - at
            await asyncio.sleep(max(0.0, -late))
            if late < self._plan.storm or at == self._plan.storm:  # a slow host is hit less often
                await self._strike(blow, deployment, dice)
        self._set_weather()
        await asyncio.gather(*talks)
        self._script.calm = True

    async def _strike(self, blow: Blow, deployment: Deployment, dice: random.Random) -> None:
        self._blows[blow.value] += 1
        match blow:
            case Blow.KILL:
                await self._at_work(dice)
                before = marked_processes(self._digits)
                await deployment.kill(dice)
                self._watch(self._gone(before, deployment.orphan_seconds))
            case Blow.RESTART:
                await self._at_work(dice)
                await deployment.restart(dice)
            case Blow.CUT:
                self._slack.sockets.cut()
            case Blow.REFRESH:
                self._watch(self._refresh())
            case Blow.MUTE:
                self._slack.sockets.mute()
            case Blow.VANISH:
                await self._slack.vanish()
                await asyncio.sleep(dice.uniform(0.1, 2.0))
                await self._slack.appear()
            case Blow.TROUBLE:
                await deployment.trouble(dice)
            case Blow.WEATHER:
                self._set_weather(*weather(dice))

    async def _at_work(self, dice: random.Random) -> None:
        """Mostly, wait until it works again, so that there is something to break off."""
        if dice.random() < 0.75:
            with suppress(TimeoutError):
                await self._slack.until_connected(CONNECT_SECONDS)
                await asyncio.sleep(dice.uniform(0.2, 4.0))

    async def _refresh(self) -> None:
        with suppress(ConnectionError):
            await self._slack.sockets.refresh()

    def _set_weather(self, *rules: FaultRule) -> None:
        self._blows["faults"] += self._slack.faults.fired()
        self._slack.fail(*rules)

    # -- the calm ---------------------------------------------------------------------------
    async def _calm(self, deployment: Deployment) -> None:
        """Return when nothing is left to do; an admin answers what is still asked."""
        until = time.monotonic() + self._plan.calm
        while time.monotonic() < until:
            for channel, root in threads(self._notebook):
                await answer_cards(self._slack, self._notebook, channel, root, Course.APPROVED)
            if not self._slack.courier.pending and deployment.idle():
                return
            await asyncio.sleep(0.25)

    # -- orphans ----------------------------------------------------------------------------
    def _watch(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(work)
        self._watches.add(task)
        task.add_done_callback(self._watches.discard)

    async def _gone(self, before: Mapping[int, str], seconds: float) -> None:
        """The processes that ran when a Treadle was killed end with it."""
        until = time.monotonic() + seconds
        while left := before.keys() & marked_processes(self._digits).keys():
            if time.monotonic() > until:
                self._orphans += [f"{pid} {before[pid]}" for pid in left]
                return
            await asyncio.sleep(0.1)

    async def _no_orphans(self, seconds: float) -> None:
        await self._gone(marked_processes(self._digits), seconds)


async def run(plan: Plan, home: Path, make: Make) -> Outcome:
    """One run in the empty directory `home`, on the deployment that `make` builds."""
    slack = await LocalSlack.start(replace(OPTIONS, seed=plan.seed))
    try:
        return await Run(plan, home, slack).go(make)
    finally:
        await slack.stop()


def _channels(plan: Plan) -> list[Channel]:
    members = {"U0ALICE", "U0BOB", "U0ADA", BOT_USER_ID}
    names = [channel_name(number)[1:] for number in range(plan.channels)]
    return [
        Channel(f"C0CHAOS{number}", name, topic="Chaos", members=set(members))
        for number, name in enumerate(names)
    ]
