"""For each dialect `golden/` holds the whole system prompt, with the tools of this release.

After a wanted change: `TREADLE_GOLDEN=write` in the environment writes the files anew.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from bot.agent.dialects.detect import DIALECTS
from bot.agent.prompt import Facts
from tools.catalog import builtin_tools

GOLDEN = Path(__file__).parent / "golden"
FILES = ("docs/", "hello.py", "读我.txt", 'odd"name\n<b>.txt')
FACTS = Facts(
    "a Slack channel thread",
    missing={"run_command": "this machine cannot hold a command in."},
    files=FILES,
    system="Linux",
    machine="x86_64",
    python="3.12.1",
)


def prompt(name: str, facts: Facts = FACTS) -> str:
    tools = sorted(builtin_tools("https://en.wikipedia.org"), key=lambda tool: tool.name)
    return DIALECTS[name].system(facts, [tool for tool in tools if tool.name != "run_command"])


@pytest.mark.parametrize("name", DIALECTS)
def test_the_whole_system_prompt_is_as_reviewed(name: str) -> None:
    path = GOLDEN / f"{name}.txt"
    if os.environ.get("TREADLE_GOLDEN") == "write":
        path.write_text(prompt(name) + "\n", "utf-8")

    assert prompt(name) + "\n" == path.read_text("utf-8")


def test_native_says_nothing_of_a_format() -> None:
    for word in ("<action>", "PAUSE", "Action:", "tool_name", "function_name"):
        assert word not in prompt("native")


def test_the_xml_prompt_lists_at_most_two_hundred_names_each_on_one_escaped_line() -> None:
    many = prompt("xml", Facts("here", files=tuple(f"file{n}" for n in range(250))))

    assert '"file199"' in many
    assert '"file200"' not in many
    assert '"odd\\"name\\n\\u003cb\\u003e.txt"' in prompt("xml").splitlines()


@pytest.mark.parametrize("name", DIALECTS)
def test_every_tool_that_a_text_prompt_names_is_there_and_no_other(name: str) -> None:
    tools = [tool.name for tool in builtin_tools("https://en.wikipedia.org")]

    named = [tool for tool in tools if f"\n- {tool}(" in prompt(name)]

    assert named == ([] if name == "native" else [tool for tool in tools if tool != "run_command"])
