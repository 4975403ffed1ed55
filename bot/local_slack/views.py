"""Home tabs, modals, the triggers that open them, and response addresses."""

import hashlib
import json
from dataclasses import dataclass, field
from typing import TypeVar

from bot.local_slack.host import Change, Host
from bot.local_slack.options import APP_ID, BOT_ID, TEAM_ID
from bot.local_slack.shapes import Json, Refusal

RESPONSE_USES = 5
_KEPT = 10_000

V = TypeVar("V")
MODAL_STACK = 3


@dataclass(slots=True)
class Trigger:
    """A ``trigger_id``: who acted, when, from which modal, and whether it was used."""

    user: str
    made: float
    view_id: str = ""
    used: bool = False


@dataclass(slots=True)
class ResponseAddress:
    """A ``response_url``: what it answers to and how often it may still be used."""

    user: str
    channel: str
    made: float
    message_ts: str = ""
    thread_ts: str = ""
    ephemeral: bool = False
    left: int = RESPONSE_USES


@dataclass(slots=True)
class OpenView:
    """A view and the person who sees it."""

    user: str
    view: Json = field(default_factory=dict)


class Views:
    """Everything that apps show outside of messages."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self.homes: dict[str, Json] = {}
        self.stacks: dict[str, list[str]] = {}
        self.modals: dict[str, OpenView] = {}
        self._triggers: dict[str, Trigger] = {}
        self.addresses: dict[str, ResponseAddress] = {}

    def trigger(self, user: str, view_id: str = "") -> str:
        """A new ``trigger_id`` for what this person just did."""
        trigger_id = f"{self._host.new_id('')}.{self._host.new_id('')}"
        self._triggers[trigger_id] = Trigger(user, self._host.clock.now(), view_id)
        _forget_oldest(self._triggers)
        return trigger_id

    def address(self, made_for: ResponseAddress) -> str:
        """A new ``response_url``."""
        token = self._host.new_id("R")
        self.addresses[token] = made_for
        _forget_oldest(self.addresses)
        return f"{self._host.base_url}/response/{token}"

    def use_address(self, token: str) -> ResponseAddress:
        """One use of a response address, or the refusal that Slack answers."""
        address = self.addresses.get(token)
        if address is None:
            raise Refusal("invalid_url")
        if self._host.clock.now() - address.made > self._host.options.response_url_seconds:
            raise Refusal("expired_url")
        if address.left <= 0:
            raise Refusal("used_url")
        address.left -= 1
        return address

    def publish(self, user: str, view: Json, view_hash: str = "") -> Json:
        """Replace this person's Home tab."""
        before = self.homes.get(user, {})
        _check_hash(before, view_hash)
        built = self._built(view, str(before.get("id") or self._host.new_id("V")))
        self.homes[user] = built
        self._host.notify(Change("home", {"view": built}, user=user))
        return built

    def open(self, trigger_id: str, view: Json, push: bool = False) -> Json:
        """Open a modal (or put one on top) with an unused trigger not older than three seconds."""
        trigger = self._use_trigger(trigger_id)
        stack = self.stacks.get(trigger.user, []) if push else []
        if push and not stack:
            raise Refusal("not_found")
        return self.show(trigger.user, view, stack)

    def show(self, user: str, view: Json, below: list[str]) -> Json:
        """Put a modal on top of the ones ``below``, for one person."""
        if len(below) >= MODAL_STACK:
            raise Refusal("push_limit_reached")
        built = self._built(view, self._host.new_id("V"))
        built["root_view_id"] = below[0] if below else built["id"]
        built["previous_view_id"] = below[-1] if below else None
        if not below:
            self.close_all(user, tell=False)
        self.stacks[user] = [*below, built["id"]]
        self.modals[built["id"]] = OpenView(user, built)
        self._host.notify(Change("view", {"view": built}, user=user))
        return built

    def update(self, view: Json, view_id: str, external_id: str, view_hash: str) -> Json:
        """Replace an open view, found by id or by the app's own id."""
        shown = self.modals.get(view_id) or next(
            (m for m in self.modals.values() if external_id and
             m.view.get("external_id") == external_id), None)  # fmt: skip
        if shown is None:
            home = next((u for u, v in self.homes.items() if v["id"] == view_id), None)
            if home is None:
                raise Refusal("not_found")
            return self.publish(home, view, view_hash)
        _check_hash(shown.view, view_hash)
        built = self._built(view, shown.view["id"])
        for key in ("root_view_id", "previous_view_id"):
            built[key] = shown.view[key]
        shown.view = built
        self._host.notify(Change("view", {"view": built}, user=shown.user))
        return built

    def close(self, user: str, view_id: str) -> None:
        """Close one modal of this person; the one below shows again."""
        if self.modals.pop(view_id, None) is None:
            return
        left = [one for one in self.stacks.get(user, []) if one != view_id]
        self.stacks[user] = left
        self._host.notify(Change("view_closed", {"view_id": view_id}, user=user))
        if left:
            self._host.notify(Change("view", {"view": self.modals[left[-1]].view}, user=user))

    def close_all(self, user: str, tell: bool = True) -> None:
        """Close every modal of this person."""
        for view_id in self.stacks.pop(user, []):
            self.modals.pop(view_id, None)
            if tell:
                self._host.notify(Change("view_closed", {"view_id": view_id}, user=user))

    def _use_trigger(self, trigger_id: str) -> Trigger:
        trigger = self._triggers.get(trigger_id)
        if trigger is None:
            raise Refusal("invalid_trigger_id")
        if trigger.used:
            raise Refusal("exchanged_trigger_id")
        if self._host.clock.now() - trigger.made > self._host.options.trigger_seconds:
            raise Refusal("expired_trigger_id")
        trigger.used = True
        return trigger

    def _built(self, view: Json, view_id: str) -> Json:
        """The view with everything that Slack adds to it."""
        digest = hashlib.sha256(json.dumps(view, sort_keys=True).encode()).hexdigest()[:8]
        return {
            "private_metadata": "",
            "callback_id": "",
            "external_id": "",
            "title": None,
            "close": None,
            "submit": None,
            "clear_on_close": False,
            "notify_on_close": False,
            "previous_view_id": None,
            **view,
            "id": view_id,
            "team_id": TEAM_ID,
            "app_id": APP_ID,
            "bot_id": BOT_ID,
            "app_installed_team_id": TEAM_ID,
            "root_view_id": view_id,
            "state": {"values": {}},
            "hash": f"{int(self._host.clock.now())}.{digest}",
            "blocks": with_ids(view["blocks"], self._host),
        }


def _forget_oldest(kept: dict[str, V]) -> None:
    """Bound what benchmarks with many clicks would let grow; the oldest are long expired."""
    while len(kept) > _KEPT:
        del kept[next(iter(kept))]


def with_ids(blocks: list[Json], host: Host) -> list[Json]:
    """The blocks with the ids that Slack gives to blocks and interactive elements without one."""
    return [_with_id(block, host) for block in blocks]


def _with_id(block: Json, host: Host) -> Json:
    block = {**block, "block_id": block.get("block_id") or host.new_id("b")}
    for key in ("elements", "actions"):
        if block["type"] in ("actions", "context_actions", "card") and key in block:
            block[key] = [_with_action_id(element, host) for element in block[key]]
    for key in ("accessory", "element"):
        if isinstance(block.get(key), dict):
            block[key] = _with_action_id(block[key], host)
    return block


def _with_action_id(element: Json, host: Host) -> Json:
    if element.get("action_id") or element.get("type") == "image":
        return element
    return {**element, "action_id": host.new_id("a")}


def _check_hash(before: Json, given: str) -> None:
    if given and before and before.get("hash") != given:
        raise Refusal("hash_conflict")
