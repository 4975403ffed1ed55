"""What an app answers to a click or a command: at the response address, or with the ack."""

from bot.local_slack import messages
from bot.local_slack.host import Change
from bot.local_slack.limits import check_message_blocks, check_text
from bot.local_slack.shapes import Json, Refusal
from bot.local_slack.views import ResponseAddress, with_ids
from bot.local_slack.world import Channel, World


def respond(world: World, address: ResponseAddress, given: Json) -> None:
    """Carry out what was posted to a response address; ``Refusal`` if Slack would not."""
    channel = world.channels[address.channel]
    if given.get("delete_original"):
        _delete_original(world, channel, address)
        return
    body = _content(world, given)
    if given.get("replace_original"):
        _replace_original(world, channel, address, body)
        return
    thread_ts = str(given.get("thread_ts") or address.thread_ts or "")
    if given.get("response_type") == "in_channel":
        if thread_ts:
            body["thread_ts"] = thread_ts
        messages.post(world, channel, {**messages.bot_author(), **body})
        return
    show_ephemeral(world, channel, address.user, body, thread_ts)


def show_ephemeral(
    world: World, channel: Channel, user: str, body: Json, thread_ts: str = ""
) -> Json:
    """Show something to one person only; it stays until that person or the app takes it away."""
    shown = {"id": world.clock.ts(), "channel": channel.id, "user": user}
    shown |= {"text": body.get("text", ""), "blocks": body.get("blocks", [])}
    if thread_ts:
        shown["thread_ts"] = thread_ts
    world.ephemerals.append(shown)
    world.notify(Change("ephemeral", shown, user=user))
    return shown


def _content(world: World, given: Json) -> Json:
    body: Json = {"text": check_text(str(given.get("text") or ""))}
    if given.get("blocks"):
        body["blocks"] = with_ids(check_message_blocks(given["blocks"]), world)
    if not body["text"] and not body.get("blocks"):
        raise Refusal("no_text")
    return body


def _replace_original(world: World, channel: Channel, address: ResponseAddress, body: Json) -> None:
    if not address.message_ts:
        show_ephemeral(world, channel, address.user, body)
    elif address.ephemeral:
        for at, shown in enumerate(world.ephemerals):
            if shown["id"] == address.message_ts:
                after = {**shown, "blocks": [], **body}
                world.ephemerals[at] = after
                world.notify(Change("ephemeral", after, user=address.user))
    else:
        fields = {"blocks": None, **body}
        messages.change(world, channel, address.message_ts, fields)


def _delete_original(world: World, channel: Channel, address: ResponseAddress) -> None:
    if not address.ephemeral:
        messages.delete(world, channel, address.message_ts)
        return
    kept = [shown for shown in world.ephemerals if shown["id"] != address.message_ts]
    world.ephemerals[:] = kept
    gone = {"channel": channel.id, "ts": address.message_ts}
    world.notify(Change("deleted", gone, user=address.user))
