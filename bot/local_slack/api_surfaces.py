"""views.*, reactions.*, blocks.validate."""

from bot.local_slack import messages
from bot.local_slack.limits import check_message_blocks, check_text, check_view
from bot.local_slack.method import Call, Method, invalid_argument
from bot.local_slack.options import BOT_USER_ID
from bot.local_slack.shapes import Json, Refusal
from bot.local_slack.world import Channel


def _view(call: Call, modal: bool) -> Json:
    return check_view(call.json("view"), modal)


def _open(call: Call) -> Json:
    view = _view(call, modal=True)
    return {"ok": True, "view": call.world.views.open(call.required("trigger_id"), view)}


def _push(call: Call) -> Json:
    view = _view(call, modal=True)
    return {"ok": True, "view": call.world.views.open(call.required("trigger_id"), view, push=True)}


def _update(call: Call) -> Json:
    view_id, external_id = call.text("view_id"), call.text("external_id")
    if not view_id and not external_id:
        raise invalid_argument("missing required field: view_id")
    given = call.json("view")
    modal = not (isinstance(given, dict) and given.get("type") == "home")
    view = check_view(given, modal)
    return {"ok": True, "view": call.world.views.update(view, view_id, external_id,
                                                        call.text("hash"))}  # fmt: skip


def _publish(call: Call) -> Json:
    user = call.text("user_id")
    if user not in call.world.members:
        raise Refusal("user_not_found")
    view = _view(call, modal=False)
    return {"ok": True, "view": call.world.views.publish(user, view, call.text("hash"))}


def _reaction(call: Call) -> tuple[Channel, str]:
    channel = call.channel()
    if BOT_USER_ID not in channel.members:
        raise Refusal("not_in_channel")
    ts = call.text("timestamp")
    if not ts:
        raise Refusal("no_item_specified")
    return channel, ts


def _emoji(call: Call) -> str:
    name = call.text("name").strip(":")
    if not name:
        raise Refusal("invalid_name")
    return name


def _add(call: Call) -> Json:
    name = _emoji(call)
    channel, ts = _reaction(call)
    messages.react(call.world, channel, ts, name, BOT_USER_ID)
    return {"ok": True}


def _remove(call: Call) -> Json:
    name = _emoji(call)
    channel, ts = _reaction(call)
    messages.unreact(call.world, channel, ts, name, BOT_USER_ID)
    return {"ok": True}


def _get(call: Call) -> Json:
    channel, ts = _reaction(call)
    message = messages.find(channel, ts)
    return {"ok": True, "type": "message", "channel": channel.id, "message": message}


def _validate(call: Call) -> Json:
    given = [name for name in ("blocks", "message", "view") if call.args.get(name) is not None]
    if len(given) != 1:
        raise invalid_argument("exactly one of blocks, message or view must be given")
    value = call.json(given[0], "invalid_blocks_format")
    if given[0] == "blocks":
        check_message_blocks(value)
    elif not isinstance(value, dict):
        raise invalid_argument(f"must be an object [json-pointer:/{given[0]}]")
    elif given[0] == "view":
        check_view(value, value.get("type") != "home")
    else:
        check_text(str(value.get("text") or ""))
        check_message_blocks(value.get("blocks") or [])
    return {"ok": True}


METHODS = (
    Method("views.open", _open, "", 100),
    Method("views.push", _push, "", 100),
    Method("views.update", _update, "", 100),
    Method("views.publish", _publish, "", 100),
    Method("reactions.add", _add, "reactions:write", 50),
    Method("reactions.remove", _remove, "reactions:write", 20),
    Method("reactions.get", _get, "reactions:read", 50),
    Method("blocks.validate", _validate, "", 50),
)
