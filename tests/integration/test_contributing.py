"""The common changes of CONTRIBUTING.md, each made in a copy of the sources as it says there."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
SETTINGS = """
import pathlib
from bot.config import Need
from bot.making import read_settings
settings = read_settings({}, pathlib.Path.cwd(), Need.NOTHING)
"""
LISTEN = """
import asyncio
from slack_bolt.request.async_request import AsyncBoltRequest
from slack_sdk.web.async_client import AsyncWebClient
from bot.slack.app import Visits, build_app
from bot.slack.inbound import Self
from bot.slack.preflight import Identity

async def main():
    identity = Identity("T1", "t", "U1", "B1", "treadle")
    app = build_app(AsyncWebClient("xoxb-1"), identity, Self("U1", "B1"), None, None, Visits())
    event = {"type": "channel_rename", "channel": {"id": "C1", "name": "ops"}}
    body = {"type": "event_callback", "team_id": "T1", "event_id": "Ev1", "event": event}
    answer = await app.async_dispatch(AsyncBoltRequest(mode="socket_mode", body=body))
    print(answer.status)

asyncio.run(main())
"""


@dataclass(frozen=True)
class Sources:
    """A copy of both packages, and a directory to start them in."""

    place: Path

    def add(self, path: str, text: str) -> None:
        with (self.place / path).open("a", encoding="utf-8") as file:
            file.write(text)

    def change(self, path: str, old: str, new: str) -> None:
        text = (self.place / path).read_text("utf-8")
        assert text.count(old) == 1, f"{path}: {old!r}"
        (self.place / path).write_text(text.replace(old, new), "utf-8")

    def run(self, script: str, config: str = "") -> str:
        home = self.place / "home"
        home.mkdir()
        (home / "treadle.toml").write_text(config, "utf-8")
        done = subprocess.run(
            [sys.executable, "-c", script],
            cwd=home,
            env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(self.place)},
            capture_output=True,
            text=True,
            timeout=50,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout


@pytest.fixture
def sources(tmp_path: Path) -> Sources:
    for package in ("bot", "tools"):
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(ROOT / package, tmp_path / package, ignore=ignored)
    return Sources(tmp_path)


def test_a_tool_is_a_file_and_its_name_in_the_catalog(sources: Sources) -> None:
    (example,) = re.findall(r"```python\n(.*?)```", TEXT, re.S)
    sources.add("tools/shouting.py", f"from tools.base import tool\n\n\n{example}")
    catalog = "tools/catalog.py"
    sources.change(
        catalog, "import run_command\n", "import run_command; from tools.shouting import shout\n"
    )
    sources.change(catalog, "        run_command,\n", "        run_command,\n        shout,\n")
    config = '[tools]\nenabled = ["shout"]\n[[policy]]\ntool = "shout"\ndecision = "allow"\n'

    script = f"""{SETTINGS}
import asyncio
from tools.base import ToolContext
from tools.catalog import builtin_tools
from tools.toolset import Toolset
from tools.workspace import Workspace
with Workspace.at(pathlib.Path.cwd()) as workspace:
    tools = Toolset(builtin_tools(), ToolContext(workspace), frozenset(settings.tools.enabled))
    print(asyncio.run(tools.run("shout", '{{"text": "hello"}}')).text)
"""
    assert sources.run(script, config) == "HELLO\n"


def test_a_setting_is_a_field(sources: Sources) -> None:
    field = "    footer: bool = False\n"
    sources.change("bot/config/model.py", field, f"{field}    shouting: bool = False\n")

    script = f"{SETTINGS}print(settings.slack.shouting)"
    assert sources.run(script, "[slack]\nshouting = true\n") == "True\n"


def test_a_listener_is_a_function_and_the_line_that_registers_it(sources: Sources) -> None:
    app = "bot/slack/app.py"
    sources.add(
        app,
        '\n\nasync def _on_rename(event: Payload) -> None:\n    print(event["channel"]["name"])\n',
    )
    last = "    app.event(ANYTHING)(_on_other_event)\n"
    sources.change(app, last, f'    app.event("channel_rename")(_on_rename)\n{last}')

    assert sources.run(LISTEN) == "ops\n200\n"


def test_a_dialect_is_a_module_its_line_and_its_name(sources: Sources) -> None:
    module = 'from bot.agent.dialects.text import Text\n\n\nclass Loud(Text):\n    name = "loud"\n'
    sources.add("bot/agent/dialects/loud.py", module)
    detect, text = "bot/agent/dialects/detect.py", "import Text\n"
    sources.change(detect, text, f"{text}from bot.agent.dialects.loud import Loud\n")
    sources.change(detect, "BareJson())", "BareJson(), Loud())")
    sources.change("bot/config/model.py", '"bare-json"]', '"bare-json", "loud"]')

    script = f"""{SETTINGS}
from bot.agent.dialects.detect import DIALECTS
loud = DIALECTS[settings.model.dialect]
print(loud.parse("Action: f: x", (), cut_off=False).calls[0].name)
"""
    assert sources.run(script, '[model]\ndialect = "loud"\n') == "f\n"


def test_a_notice_is_a_sentence_in_the_module_of_its_subject(sources: Sources) -> None:
    sources.add("bot/words/runs.py", '\n\ndef too_loud() -> str:\n    return "Not so loud."\n')

    assert sources.run("from bot import words; print(words.too_loud())") == "Not so loud.\n"
