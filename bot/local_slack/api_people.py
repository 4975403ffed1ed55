"""auth.test, apps.connections.open, users.*, team.info, bots.info and usergroups.*."""

from bot.local_slack.method import Call, Method, Token, page
from bot.local_slack.options import (
    APP_ID,
    BOT_ID,
    BOT_NAME,
    BOT_USER_ID,
    TEAM_DOMAIN,
    TEAM_ID,
    TEAM_NAME,
)
from bot.local_slack.shapes import Json, Refusal
from bot.local_slack.world import Member


def _auth_test(call: Call) -> Json:
    return {
        "ok": True,
        "url": call.world.base_url + "/",
        "team": TEAM_NAME,
        "user": BOT_NAME,
        "team_id": TEAM_ID,
        "user_id": BOT_USER_ID,
        "bot_id": BOT_ID,
        "is_enterprise_install": False,
    }


def _connections_open(call: Call) -> Json:
    host = call.world.base_url.removeprefix("http://")
    ticket = call.tickets.issue()
    return {"ok": True, "url": f"ws://{host}/link/?ticket={ticket}&app_id={APP_ID}"}


def described(member: Member) -> Json:
    """Slack's user object."""
    guest, admin = member.role == "guest", member.role == "admin"
    shown: Json = {
        "id": member.id,
        "team_id": member.team_id,
        "name": member.name,
        "deleted": False,
        "color": "9f69e7",
        "real_name": member.real_name,
        "tz": "Europe/London",
        "tz_label": "Greenwich Mean Time",
        "tz_offset": 0,
        "profile": {
            "real_name": member.real_name,
            "real_name_normalized": member.real_name,
            "display_name": member.name,
            "display_name_normalized": member.name,
            "team": member.team_id,
            "status_text": "",
            "status_emoji": "",
            "avatar_hash": "",
        },
        "is_admin": admin,
        "is_owner": False,
        "is_primary_owner": False,
        "is_restricted": guest,
        "is_ultra_restricted": False,
        "is_bot": member.role == "bot",
        "is_app_user": False,
        "is_email_confirmed": True,
        "updated": 1_700_000_000,
    }
    if member.role == "external":
        shown["is_stranger"] = True
    return shown


def _users_info(call: Call) -> Json:
    return {"ok": True, "user": described(call.member())}


def _users_list(call: Call) -> Json:
    rows = [described(member) for member in call.world.members.values()]
    shown, cursor = page(rows, call)
    now = int(call.world.clock.now())
    return {
        "ok": True,
        "members": shown,
        "cache_ts": now,
        "response_metadata": {"next_cursor": cursor},
    }


def _team_info(call: Call) -> Json:
    team = {"id": TEAM_ID, "name": TEAM_NAME, "domain": TEAM_DOMAIN, "email_domain": "", "icon": {}}
    return {"ok": True, "team": {**team, "url": call.world.base_url + "/"}}


def _bots_info(call: Call) -> Json:
    if call.text("bot", BOT_ID) != BOT_ID:
        raise Refusal("bot_not_found")
    bot = {"id": BOT_ID, "deleted": False, "name": BOT_NAME, "updated": 1_700_000_000,
           "app_id": APP_ID, "user_id": BOT_USER_ID, "icons": {}}  # fmt: skip
    return {"ok": True, "bot": bot}


def _usergroups_list(call: Call) -> Json:
    rows = []
    for group in call.world.groups.values():
        row = dict(group)
        if not call.flag("include_users"):
            row.pop("users")
        rows.append(row)
    return {"ok": True, "usergroups": rows}


def _usergroups_users_list(call: Call) -> Json:
    group = call.world.groups.get(call.required("usergroup"))
    if group is None:
        raise Refusal("no_such_subteam")
    return {"ok": True, "users": group["users"]}


METHODS = (
    Method("auth.test", _auth_test, "", 0),
    Method("apps.connections.open", _connections_open, "", 50, Token.APP),
    Method("users.info", _users_info, "users:read", 100),
    Method("users.list", _users_list, "users:read", 20),
    Method("team.info", _team_info, "team:read", 50),
    Method("bots.info", _bots_info, "users:read", 50),
    Method("usergroups.list", _usergroups_list, "usergroups:read", 20),
    Method("usergroups.users.list", _usergroups_users_list, "usergroups:read", 20),
)
