"""Payloads of clicks, submissions, slash commands and shortcuts, in Slack's shapes."""

from collections.abc import Iterator

from bot.local_slack.options import APP_ID, TEAM_DOMAIN, TEAM_ID
from bot.local_slack.shapes import Json, PersonError
from bot.local_slack.views import ResponseAddress
from bot.local_slack.world import Channel, Member, World

_TOKEN = "local-verification-token"  # noqa: S105 - the retired verification token, not a secret
_SELECTED = {
    "static_select": "selected_option", "external_select": "selected_option",
    "overflow": "selected_option", "radio_buttons": "selected_option",
    "multi_static_select": "selected_options", "checkboxes": "selected_options",
    "multi_external_select": "selected_options",
    "users_select": "selected_user", "multi_users_select": "selected_users",
    "channels_select": "selected_channel", "multi_channels_select": "selected_channels",
    "conversations_select": "selected_conversation",
    "multi_conversations_select": "selected_conversations",
    "datepicker": "selected_date", "timepicker": "selected_time",
    "datetimepicker": "selected_date_time",
}  # fmt: skip


def base(world: World, person: Member, kind: str, view_id: str = "") -> Json:
    """The fields that every interaction carries, with a fresh ``trigger_id``."""
    return {
        "type": kind,
        "user": {
            "id": person.id,
            "username": person.name,
            "name": person.name,
            "team_id": person.team_id,
        },
        "api_app_id": APP_ID,
        "token": _TOKEN,
        "trigger_id": world.views.trigger(person.id, view_id),
        "team": {"id": TEAM_ID, "domain": TEAM_DOMAIN},
        "enterprise": None,
        "is_enterprise_install": False,
    }


def elements_of(blocks: list[Json]) -> Iterator[tuple[Json, Json]]:
    """Every (block, element) of the blocks that a person can act on."""
    for block in blocks:
        parts = [*(block.get("elements") or ()), *(block.get("actions") or ())]
        parts += [block[key] for key in ("accessory", "element") if block.get(key)]
        for part in parts:
            if isinstance(part, dict) and part.get("action_id"):
                yield block, part
        for child in block.get("child_blocks") or ():
            yield from elements_of([child])


def find_element(blocks: list[Json], action_id: str, block_id: str = "") -> tuple[Json, Json]:
    """The element that a click names; ``PersonError`` if nothing like it is shown."""
    for block, element in elements_of(blocks):
        if element["action_id"] == action_id and block_id in ("", block.get("block_id")):
            return block, element
    shown = sorted({element["action_id"] for _, element in elements_of(blocks)})
    raise PersonError(f"There is nothing to click with the id {action_id!r}; there is {shown}.")


def action(world: World, block: Json, element: Json, value: object, selected: object) -> Json:
    """The ``actions`` entry of a click."""
    kind = element["type"]
    done: Json = {
        "action_id": element["action_id"],
        "block_id": block.get("block_id", ""),
        "type": kind,
        "action_ts": world.clock.ts(),
    }
    if kind == "button":
        done |= {key: element[key] for key in ("text", "style") if key in element}
        if "value" in element:
            done["value"] = element["value"]
    elif kind == "feedback_buttons":
        done["value"] = value
        both = (element["positive_button"], element["negative_button"])
        button = next((b for b in both if b["value"] == value), None)
        if button is None:
            raise PersonError("Feedback needs the value of one of the two buttons.")
        done["text"] = button["text"]
    elif kind == "icon_button":
        done["value"] = element.get("value", "")
    else:
        done |= state_of(element, selected if selected is not None else value)
    return done


def state_of(element: Json, given: object) -> Json:
    """An input's state as in ``view.state.values``, from a plain value or from Slack's form."""
    kind = element["type"]
    if isinstance(given, dict) and given.get("type") == kind:
        return given
    key = _SELECTED.get(kind, "value")
    if key == "selected_option" and not isinstance(given, dict) and given is not None:
        given = _option(element, given)
    elif key == "selected_options" and isinstance(given, list):
        given = [one if isinstance(one, dict) else _option(element, one) for one in given]
    if key == "value" and given == "":
        given = None  # what Slack sends for a field that was left empty
    return {"type": kind, key: given}


def _option(element: Json, value: object) -> Json:
    """The option of a select whose value this is."""
    options = list(element.get("options") or ())
    for group in element.get("option_groups") or ():
        options += group.get("options") or []
    for option in options:
        if option.get("value") == value:
            return {"text": option["text"], "value": option["value"]}
    raise PersonError(f"There is no choice {value!r} here.")


def initial(element: Json) -> Json:
    """The state of an input that the person left as it was."""
    kind = element["type"]
    key = _SELECTED.get(kind, "value")
    first = {"value": "initial_value", "selected_option": "initial_option",
             "selected_options": "initial_options"}  # fmt: skip
    name = first.get(key, key.replace("selected", "initial"))
    empty: list[Json] | None = [] if key.endswith("s") and key != "value" else None
    return {"type": kind, key: element.get(name, empty)}


def view_state(view: Json, values: Json) -> Json:
    """``state.values`` of a submitted view: what was given, and what stood there before."""
    state: Json = {}
    for block in view["blocks"]:
        element = block.get("element")
        if block["type"] != "input" or not isinstance(element, dict):
            continue
        given = values.get(block["block_id"], {}).get(element["action_id"])
        filled = initial(element) if given is None else state_of(element, given)
        state[block["block_id"]] = {element["action_id"]: filled}
    return {"values": state}


def message_place(channel: Channel, shown: Json, ephemeral: bool) -> Json:
    """``container`` and ``channel`` of a click on something in a conversation."""
    ts = shown.get("ts") or shown["id"]
    container: Json = {
        "type": "message",
        "message_ts": ts,
        "channel_id": channel.id,
        "is_ephemeral": ephemeral,
    }
    if shown.get("thread_ts"):
        container["thread_ts"] = shown["thread_ts"]
    name = "directmessage" if channel.kind == "im" else channel.name
    return {"container": container, "channel": {"id": channel.id, "name": name}}


def response_url(
    world: World, person: Member, channel: Channel, shown: Json, ephemeral: bool = False
) -> str:
    """The address at which the app may answer a click or a command."""
    return world.views.address(
        ResponseAddress(
            user=person.id,
            channel=channel.id,
            made=world.clock.now(),
            message_ts=str(shown.get("ts") or shown.get("id") or ""),
            thread_ts=str(shown.get("thread_ts") or ""),
            ephemeral=ephemeral,
        )
    )


def slash(world: World, person: Member, channel: Channel, command: str, text: str) -> Json:
    """The form fields of a slash command."""
    return {
        "token": _TOKEN,
        "team_id": TEAM_ID,
        "team_domain": TEAM_DOMAIN,
        "channel_id": channel.id,
        "channel_name": "directmessage" if channel.kind == "im" else channel.name,
        "user_id": person.id,
        "user_name": person.name,
        "command": command,
        "text": text,
        "api_app_id": APP_ID,
        "is_enterprise_install": "false",
        "response_url": response_url(world, person, channel, {}),
        "trigger_id": world.views.trigger(person.id),
    }
