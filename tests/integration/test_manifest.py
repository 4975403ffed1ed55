"""manifest.yml against the code, both ways, and against Slack's limits.

Limits: docs.slack.dev, "App manifest reference".
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

import pytest
import yaml
from slack_sdk.web.async_client import AsyncWebClient

from bot.local_slack.events import emit
from bot.local_slack.options import BOT_USER_ID, EVERY_EVENT
from bot.local_slack.world import Channel
from bot.slack.scopes import BOT_EVENTS, BOT_SCOPES, EVENT_SCOPES, METHOD_SCOPES
from tests.doubles.desk import Desk, open_desk
from tests.doubles.model_endpoint import Say

ROOT = Path(__file__).parents[2]
Manifest: TypeAlias = dict[str, Any]
Act: TypeAlias = Callable[[Desk], Awaitable[object]]

LATER = {
    "channels:read", "commands", "files:read", "files:write", "im:read", "im:write", "mpim:read",
    "usergroups:read",
}  # fmt: skip
"""Asked for from the first day, for commands, files and user groups: nobody has to reinstall."""


@pytest.fixture(scope="module")
def manifest() -> Manifest:
    loaded = yaml.safe_load((ROOT / "manifest.yml").read_text("utf-8"))
    assert isinstance(loaded, dict)
    return loaded


def test_scopes_and_events_are_those_of_the_code(manifest: Manifest) -> None:
    assert manifest["oauth_config"]["scopes"] == {"bot": list(BOT_SCOPES)}
    assert manifest["settings"]["event_subscriptions"] == {"bot_events": sorted(BOT_EVENTS)}


def test_every_scope_is_needed_by_a_method_or_an_event_or_planned() -> None:
    used = {scope for scopes in METHOD_SCOPES.values() for scope in scopes}
    used |= {scope for scopes in EVENT_SCOPES.values() for scope in scopes}
    assert used <= set(BOT_SCOPES)
    assert set(BOT_SCOPES) - used <= LATER


def python_files() -> Iterator[Path]:
    for path in sorted((ROOT / "bot").rglob("*.py")):
        if "local_slack" not in path.parts and path.name != "scopes.py":
            yield path


def methods_called() -> dict[str, str]:
    """Every Web API method that the code names, as text or through slack_sdk, and where."""
    by_name = {
        name: found[1]
        for name, function in inspect.getmembers(AsyncWebClient, inspect.iscoroutinefunction)
        if (found := re.search(r'self\.api_call\(\s*"([\w.]+)"', inspect.getsource(function)))
    }
    methods = set(by_name.values())
    called = {}
    for path in python_files():
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Constant) and node.value in methods:
                called[str(node.value)] = path.name
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                name = node.func.attr
                if name in by_name and "client" in ast.unparse(node.func.value):
                    called[by_name[name]] = path.name
    return called


def test_each_method_called_anywhere_has_its_scopes_and_no_other_is_listed() -> None:
    called = methods_called()
    assert {"chat.postMessage", "auth.test", "apps.connections.open"} <= called.keys()
    assert called.keys() == METHOD_SCOPES.keys()


def test_socket_mode_and_the_agent_surface_are_on(manifest: Manifest) -> None:
    settings, features = manifest["settings"], manifest["features"]
    assert settings["socket_mode_enabled"] is True
    assert settings["interactivity"] == {"is_enabled": True}
    assert settings["token_rotation_enabled"] is False
    assert "assistant_view" not in features
    assert features["app_home"] == {
        "home_tab_enabled": True,
        "messages_tab_enabled": True,
        "messages_tab_read_only_enabled": False,
    }
    assert [command["command"] for command in features["slash_commands"]] == ["/treadle"]


def test_every_text_is_within_slacks_limits(manifest: Manifest) -> None:
    shown, features = manifest["display_information"], manifest["features"]
    assert len(shown["name"]) <= 35
    assert len(shown["description"]) <= 140
    assert 174 <= len(shown["long_description"]) <= 4000
    assert re.fullmatch(r"#[0-9A-Fa-f]{6}", shown["background_color"])
    assert len(features["bot_user"]["display_name"]) <= 80
    assert len(features["agent_view"]["agent_description"]) <= 300
    assert 1 <= len(features["agent_view"]["suggested_prompts"]) <= 4
    for prompt in features["agent_view"]["suggested_prompts"]:
        assert prompt.keys() == {"title", "message"}
    for command in features["slash_commands"]:
        assert len(command["command"]) <= 32
        assert len(command["description"]) <= 2000
        assert len(command["usage_hint"]) <= 1000
    assert len(BOT_SCOPES) <= 255
    assert len(BOT_EVENTS) <= 100


async def _in_private_channel(desk: Desk) -> None:
    members = {"U0ALICE", BOT_USER_ID}
    desk.slack.add_channels([Channel("G0SECRET", "secret", kind="private", members=members)])
    ts = await desk.slack.person("alice").say("#secret", "@treadle hi")
    await desk.answered("#secret", ts, covers=ts)


async def _in_channel(desk: Desk) -> None:
    ts = await desk.slack.person("alice").say("#general", "@treadle hi")
    await desk.answered("#general", ts, covers=ts)


async def _in_dm(desk: Desk) -> None:
    ts = await desk.slack.person("alice").say("dm", "hi")
    await desk.answered("D0ALICE", ts, covers=ts)


async def _in_group_dm(desk: Desk) -> None:
    """The stand-in has no group DMs: the event is written out, and posted where it can be seen."""
    world = desk.slack.world
    channel = world.add_channel(
        Channel("G0MPIM", "mpdm-1", kind="private", members={"U0ALICE", "U0BOB", BOT_USER_ID})
    )
    ts = world.clock.ts()
    message = {"type": "message", "user": "U0ALICE", "text": f"<@{BOT_USER_ID}> hi", "ts": ts}
    channel.messages[ts] = message
    event = {**message, "channel": channel.id, "channel_type": "mpim", "event_ts": ts}
    emit(world, event, channel, "message.mpim")
    await desk.answered("G0MPIM", ts, covers=ts)


async def _react(desk: Desk) -> None:
    alice = desk.slack.person("alice")
    ts = await alice.say("#general", "look")
    await alice.react("#general", ts, "wave")
    await alice.unreact("#general", ts, "wave")


async def _stop(desk: Desk) -> None:
    alice = desk.slack.person("alice")
    ts = await alice.say("#general", "look")
    desk.slack.world.sessions.set_session("C0GENERAL", ts, "processing")
    await alice.stop("#general", ts)


ACTS: dict[str, Act] = {
    "agent_session_stopped": _stop,
    "app_context_changed": lambda desk: desk.slack.person("alice").look_at("#general"),
    "app_home_opened": lambda desk: desk.slack.person("alice").open_home(),
    "app_mention": _in_channel,
    "member_joined_channel": lambda desk: desk.slack.person("alice").invite_bot("#random"),
    "message.channels": _in_channel,
    "message.groups": _in_private_channel,
    "message.im": _in_dm,
    "message.mpim": _in_group_dm,
    "reaction_added": _react,
    "reaction_removed": _react,
}


def test_the_stand_in_knows_every_event() -> None:
    assert set(BOT_EVENTS) <= EVERY_EVENT
    assert ACTS.keys() == set(BOT_EVENTS)


@pytest.mark.parametrize("event", BOT_EVENTS)
async def test_each_subscribed_event_reaches_a_listener_and_is_acknowledged(
    tmp_path: Path, event: str
) -> None:
    async with open_desk(tmp_path) as desk:
        desk.slack.change(subscriptions=frozenset({event}))
        desk.model.play(lambda _: Say("Hello."))
        async with desk.treadle():
            await ACTS[event](desk)
            await desk.slack.until_delivered()
            records = list(desk.slack.courier.records)

    assert {record.type for record in records} == {event.partition(".")[0]}
    assert all(record.ok and record.attempt == 0 for record in records)


async def test_opening_the_home_shows_what_the_bot_can_do(tmp_path: Path) -> None:
    async with open_desk(tmp_path) as desk, desk.treadle():
        await desk.slack.person("alice").open_home()
        home = await desk.until(lambda: desk.slack.world.views.homes.get("U0ALICE"))

    assert "read_file" in str(home)
