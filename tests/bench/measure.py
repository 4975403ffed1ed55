"""One bot in one round: started, loaded, ended."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.bench.plan import Bot, Load, Plan, Round
from tests.bench.processes import ROOT, Process, module, running


class Lost(Exception):
    """An answer or a step reply did not arrive: the run is worth nothing."""


@dataclass(frozen=True, slots=True)
class Stage:
    """A bot that is connected to a workspace of its own."""

    bot: Process
    workspace: Process
    started_in: float
    plan: Plan

    async def load(
        self, name: str, *, threads: int, step: bool, repeats: int = 1, first: int = 0
    ) -> Load:
        """`repeats` times one question in each of `threads` channels at once. Raises Lost.

        Each repeat has channels of its own, so that no turn waits for the pace of an earlier one.
        """
        plan = self.plan
        await self.workspace.tell(plan.patience, do="calls")
        cpu = self.bot.cpu()  # idle: whatever came before has settled
        seconds: list[float] = []
        for repeat in range(repeats):
            answer = await self.workspace.tell(
                plan.patience + 10,
                do="ask",
                first=first + repeat * threads,
                threads=threads,
                step=step,
                patience=plan.patience,
            )
            if answer["lost"]:
                raise Lost(f"{name}: " + "; ".join(answer["lost"]))
            seconds += answer["seconds"]
        turns = threads * repeats
        used = await self.bot.settled_cpu() - cpu
        calls = (await self.workspace.tell(plan.patience, do="calls"))["total"]
        model = plan.model_seconds * (2 if step else 1)
        return Load(turns, tuple(s - model for s in seconds), used / turns, calls / turns)


@asynccontextmanager
async def stage(bot: Bot, model: Mapping[str, str], home: Path, plan: Plan) -> AsyncIterator[Stage]:
    """Start the workspace, then the bot; `started_in` is from its spawn until connected."""
    async with running(module("tests.bench.workspace"), {}, ROOT) as (workspace, _):
        slack = await workspace.hear()
        environ = {**slack, **model}
        async with running(bot.command, environ, home, quiet=True) as (process, spawned_at):
            found = await workspace.tell(plan.patience, do="connected", patience=plan.patience)
            yield Stage(process, workspace, found["at"] - spawned_at, plan)


async def measure(bot: Bot, model: Mapping[str, str], home: Path, plan: Plan) -> None:
    """One round of a bot in an empty home, added to its rounds. Raises Lost."""
    async with stage(bot, model, home, plan) as first:
        first_start = first.started_in
    starts = []
    for _ in range(plan.starts):
        async with stage(bot, model, home, plan) as again:
            starts.append(again.started_in)
    async with stage(bot, model, home, plan) as on:
        few, many = plan.singles, plan.threads
        for step in (False, True):  # warming up
            await on.load(bot.name, threads=many, step=step, first=1000)
        bot.rounds.append(
            Round(
                first_start=first_start,
                starts=(*starts, on.started_in),
                answer_alone=await on.load(bot.name, threads=1, repeats=few, step=False),
                answer_many=await on.load(bot.name, threads=many, step=False),
                step_alone=await on.load(bot.name, threads=1, repeats=few, step=True),
                step_many=await on.load(bot.name, threads=many, step=True),
                memory=on.bot.memory(),
            )
        )
