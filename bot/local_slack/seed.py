"""The workspace that a new stand-in starts with."""

from bot.local_slack.options import BOT_NAME, BOT_USER_ID, OTHER_TEAM_ID
from bot.local_slack.world import Channel, Member, World

_PEOPLE = (
    Member("U0ALICE", "alice", "Alice"),
    Member("U0BOB", "bob", "Bob"),
    Member("U0ADA", "ada", "Ada", "admin"),
    Member("U0GUS", "gus", "Gus", "guest"),
    Member("U0EVE", "eve", "Eve", "external", OTHER_TEAM_ID),
)
_STAFF = {"U0ALICE", "U0BOB", "U0ADA"}


def fill(world: World) -> None:
    """Add the bot, the people and the channels of the demo workspace."""
    world.add_member(Member(BOT_USER_ID, BOT_NAME, "Treadle", "bot"))
    for person in _PEOPLE:
        world.add_member(person)
    here = {*_STAFF, BOT_USER_ID}
    for channel in (
        Channel("C0GENERAL", "general", topic="Everybody", members={*here, "U0GUS"}),
        Channel("C0OPS", "ops", topic="Servers and deployments", members=set(here)),
        Channel("C0RANDOM", "random", topic="Treadle is not here", members=set(_STAFF)),
        Channel(
            "C0PARTNERS",
            "partners",
            topic="Shared with another company",
            members={*here, "U0EVE"},
            is_ext_shared=True,
        ),
    ):
        world.add_channel(channel)
    world.groups["S0ONCALL"] = {
        "id": "S0ONCALL",
        "team_id": "T0LOCAL",
        "is_usergroup": True,
        "name": "On call",
        "handle": "oncall",
        "users": ["U0ADA", "U0BOB"],
        "user_count": 2,
        "date_delete": 0,
    }
