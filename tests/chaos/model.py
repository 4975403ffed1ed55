"""The model of a run: what it does next depends on the conversation; how it fails, on the dice."""

from __future__ import annotations

import itertools
import random
import re

from tests.doubles.desk import arguments
from tests.doubles.model_endpoint import Refuse, Reply, Request, Say

WANTED = re.compile(r"do:(\w+)x(\d+)")
"""In a message: which tool the model is to call, and how often, before it answers."""
NOTHING = ("answer", "0")


def wish(tool: str, times: int) -> str:
    """Words that make the model call this tool so many times."""
    return f"do:{tool}x{times}"


class ChaosModel:
    """A script for `ModelEndpoint`. Every reply holds a mark, and every call a token of its own."""

    def __init__(self, dice: random.Random, digits: str) -> None:
        self._dice, self._digits = dice, digits
        self._numbers = itertools.count(1)
        self.failed = 0
        self.calm = False

    def __call__(self, request: Request) -> Reply:
        if not self.calm and self._dice.random() < 0.12:
            self.failed += 1
            return self._failure()
        tool, times = NOTHING
        done = 0
        for message in request["messages"]:
            if message["role"] == "tool":
                done += 1
            elif message["role"] == "user" and (found := WANTED.findall(str(message["content"]))):
                (tool, times), done = found[-1], 0
        number = next(self._numbers)
        delay = self._dice.uniform(0.05, 0.8)
        if done >= int(times):
            return Say(f"answer:{number}", delay=delay)
        return Say(f"plan:{number}", calls=(self._call(tool, f"k{number}k"),), delay=delay)

    def _call(self, tool: str, token: str) -> tuple[str, str]:
        if tool != "shell":
            seconds = self._dice.uniform(0.5, 3.0) if tool == "slow" else 0.0
            return tool, arguments(token=token, seconds=seconds)
        sleep = f"sleep 300 0.{self._digits}"
        command = (
            f"echo {token} >> starts.txt; (setsid {sleep} &); {sleep} & "
            f"sleep {self._dice.uniform(0.1, 2.0):.2f} 0.0{self._digits}; echo done:{token}"
        )
        return "run_command", arguments(command=command)

    def _failure(self) -> Reply:
        return self._dice.choice(
            (
                Refuse(500, {"error": "chaos"}),
                Refuse(503, {"error": "chaos"}, {"retry-after": "1"}),
                Refuse(429, {"error": "chaos"}, {"retry-after": "1"}),
                Say("half of a sentence that is cut", cut=True, chunk=5),
                Say("late", delay=4.0, cut=True),
            )
        )


TOOLS = '''
"""Tools with a side effect: each start is a line in a file, so that a second one is seen."""

import asyncio
import os

from tools.base import tool


async def _work(token: str, seconds: float) -> str:
    file = os.open("starts.txt", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    os.write(file, f"{token}\\n".encode())
    os.close(file)
    await asyncio.sleep(seconds)
    return f"done:{token}"


@tool(changes=True)
async def note(token: str, seconds: float) -> str:
    """Take a note.

    Args:
        token: which
        seconds: how long it takes
    """
    return await _work(token, seconds)


@tool(changes=True)
async def slow(token: str, seconds: float) -> str:
    """Take a note slowly.

    Args:
        token: which
        seconds: how long it takes
    """
    return await _work(token, seconds)


@tool(changes=True)
async def deploy(token: str, seconds: float) -> str:
    """Deploy what an admin has approved.

    Args:
        token: which
        seconds: how long it takes
    """
    return await _work(token, seconds)
'''
"""The operator's own tools."""

CONFIG = """
[tools]
modules = ["own.py"]
[slack]
reply_in_threads = "always"
[[policy]]
tool = "deploy"
decision = "ask"
"""
