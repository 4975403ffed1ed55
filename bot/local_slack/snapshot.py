"""What one person's page shows, as a whole and in pieces."""

from bot.local_slack.host import Change
from bot.local_slack.options import BOT_NAME, BOT_USER_ID, TEAM_ID, TEAM_NAME
from bot.local_slack.shapes import Json
from bot.local_slack.world import Channel, World


def of_person(world: World, user: str, connected: bool) -> Json:
    """The snapshot for this person (the contract with the page)."""
    channels = world.visible_to(user)
    seen = {channel.id for channel in channels}
    return {
        "me": world.members[user].page_form(),
        "team": {"id": TEAM_ID, "name": TEAM_NAME},
        "bot": {"user_id": BOT_USER_ID, "name": BOT_NAME},
        "users": [member.page_form() for member in world.members.values()],
        "channels": [_channel(channel) for channel in channels],
        "messages": {
            channel.id: [world.page_message(channel.id, m) for m in channel.messages.values()]
            for channel in channels
        },
        "ephemeral": [one for one in world.ephemerals if one["user"] == user],
        "statuses": [row for row in world.sessions.all_shown() if row["channel"] in seen],
        "home": world.views.homes.get(user),
        "view": _top_view(world, user),
        "prompts": world.prompts,
        "connected": connected,
        "banner": world.banner,
    }


def concerns(world: World, change: Change, user: str) -> bool:
    """Whether this person's page is told of a change."""
    if change.user:
        return change.user == user
    if change.channel:
        channel = world.channels.get(change.channel)
        return channel is not None and user in channel.members
    return True


def _channel(channel: Channel) -> Json:
    kind = "im" if channel.kind == "im" else "channel"
    return {"id": channel.id, "name": channel.name, "kind": kind, "topic": channel.topic}


def _top_view(world: World, user: str) -> Json | None:
    stack = world.views.stacks.get(user)
    return world.views.modals[stack[-1]].view if stack else None
