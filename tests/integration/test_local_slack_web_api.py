"""The stand-in's Web API, through slack_sdk's own client."""

import re
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest
from slack_sdk.errors import SlackApiError
from slack_sdk.web.async_client import AsyncWebClient

from bot.local_slack import LocalSlack, Options
from bot.local_slack.world import Channel


@pytest.fixture
async def slack() -> AsyncIterator[LocalSlack]:
    """A stand-in without an app."""
    async with LocalSlack(Options(retry_scale=0.0, ack_seconds=0.05)) as running:
        yield running


@pytest.fixture
def web(slack: LocalSlack) -> AsyncWebClient:
    """slack_sdk's client with the bot's token."""
    return AsyncWebClient(token=slack.options.bot_token, base_url=slack.api_url)


async def refused(call: object) -> str:
    """The error word of a call that must fail."""
    with pytest.raises(SlackApiError) as caught:
        await call  # type: ignore[misc]
    return str(caught.value.response["error"])


async def test_a_call_without_a_token_is_not_authed(slack: LocalSlack) -> None:
    async with aiohttp.ClientSession() as http:
        answer = await (await http.post(slack.api_url + "auth.test")).json()
    assert answer == {"ok": False, "error": "not_authed"}


@pytest.mark.parametrize("how", ["header", "query", "form", "json"])
async def test_the_token_is_taken_from_the_header_or_the_arguments(
    slack: LocalSlack, how: str
) -> None:
    token, url = slack.options.bot_token, slack.api_url + "auth.test"
    async with aiohttp.ClientSession() as http:
        if how == "header":
            request = http.get(url, headers={"Authorization": f"Bearer {token}"})
        elif how == "query":
            request = http.get(url, params={"token": token})
        elif how == "form":
            request = http.post(url, data={"token": token})
        else:
            request = http.post(url, json={"token": token})
        response = await request
        answer = await response.json()
    assert answer["ok"] is True
    assert answer["user_id"] == "U0TREADLE"
    assert "chat:write" in response.headers["x-oauth-scopes"].split(",")
    assert all("token" not in call.args for call in slack.log)


@pytest.mark.parametrize(
    ("token", "word"),
    [
        ("xoxb-of-somebody-else", "invalid_auth"),
        ("xoxp-local-person", "not_allowed_token_type"),
        ("APP", "not_allowed_token_type"),
    ],
)
async def test_a_wrong_token_gets_slacks_word_for_it(
    slack: LocalSlack, token: str, word: str
) -> None:
    given = slack.options.app_token if token == "APP" else token
    web = AsyncWebClient(token=given, base_url=slack.api_url)
    assert await refused(web.auth_test()) == word


async def test_opening_a_socket_needs_the_app_token(slack: LocalSlack, web: AsyncWebClient) -> None:
    bot_token = slack.options.bot_token
    assert await refused(web.apps_connections_open(app_token=bot_token)) == "not_allowed_token_type"
    opened = await web.apps_connections_open(app_token=slack.options.app_token)
    assert str(opened["url"]).startswith(slack.base_url.replace("http:", "ws:") + "/link/?ticket=")


async def test_an_unknown_method_is_called_unknown(web: AsyncWebClient) -> None:
    assert await refused(web.api_call("chat.sing")) == "unknown_method"


async def test_an_older_slack_lacks_the_methods_named_absent() -> None:
    options = Options(absent_methods=frozenset({"chat.startStream"}))
    async with LocalSlack(options) as slack:
        web = AsyncWebClient(token=slack.options.bot_token, base_url=slack.api_url)
        call = web.chat_startStream(channel="C0GENERAL", thread_ts="1.1")
        assert await refused(call) == "unknown_method"


async def test_a_missing_scope_names_what_is_needed_and_what_was_given(
    slack: LocalSlack, web: AsyncWebClient
) -> None:
    slack.change(scopes=frozenset({"channels:read", "users:read"}))
    with pytest.raises(SlackApiError) as caught:
        await web.chat_postMessage(channel="C0GENERAL", text="hi")
    answer = caught.value.response
    assert (answer["error"], answer["needed"]) == ("missing_scope", "chat:write")
    assert answer["provided"] == "channels:read,users:read"
    assert answer.headers["x-oauth-scopes"] == "channels:read,users:read"


async def test_reading_asks_for_the_scope_of_the_kind_of_channel(
    slack: LocalSlack, web: AsyncWebClient
) -> None:
    slack.change(scopes=slack.options.scopes - {"im:history"})
    await web.conversations_history(channel="C0GENERAL")
    with pytest.raises(SlackApiError) as caught:
        await web.conversations_history(channel="D0ALICE")
    assert caught.value.response["needed"] == "im:history"


@pytest.mark.parametrize("name", ["C0GENERAL", "#general", "general"])
async def test_a_message_is_posted_and_can_be_read_again(web: AsyncWebClient, name: str) -> None:
    posted = await web.chat_postMessage(channel=name, text="a &lt; b")
    assert posted["channel"] == "C0GENERAL"
    history = await web.conversations_history(channel="C0GENERAL", limit=1)
    [message] = history["messages"]
    assert message["ts"] == posted["ts"]
    assert (message["text"], message["bot_id"], message["user"]) == (
        "a &lt; b",
        "B0TREADLE",
        "U0TREADLE",
    )


async def test_posting_to_a_user_id_reaches_the_direct_messages(web: AsyncWebClient) -> None:
    assert (await web.chat_postMessage(channel="U0ALICE", text="hi"))["channel"] == "D0ALICE"
    opened = await web.conversations_open(users="U0BOB")
    assert opened["channel"] == {"id": "D0BOB"}


async def test_posting_is_refused_where_slack_refuses_it(
    slack: LocalSlack, web: AsyncWebClient
) -> None:
    slack.add_channels([Channel("C0OLD", "old", members={"U0TREADLE"}, is_archived=True)])
    slack.add_channels([Channel("G0SECRET", "secret", kind="private", members={"U0BOB"})])
    for channel, word in [
        ("C0NOWHERE", "channel_not_found"),
        ("G0SECRET", "channel_not_found"),
        ("C0RANDOM", "not_in_channel"),
        ("C0OLD", "is_archived"),
    ]:
        assert await refused(web.chat_postMessage(channel=channel, text="hi")) == word
    assert await refused(web.api_call("chat.postMessage", json={"channel": "C0OPS"})) == "no_text"
    reply = web.chat_postMessage(channel="C0OPS", text="hi", thread_ts="1.000001")
    assert await refused(reply) == "thread_not_found"


async def test_a_reply_may_only_answer_the_first_message_of_a_thread(web: AsyncWebClient) -> None:
    root = (await web.chat_postMessage(channel="C0OPS", text="root"))["ts"]
    reply = (await web.chat_postMessage(channel="C0OPS", text="one", thread_ts=root))["ts"]
    again = web.chat_postMessage(channel="C0OPS", text="two", thread_ts=reply)
    assert await refused(again) == "cannot_reply_to_message"


async def test_an_update_replaces_text_and_keeps_blocks_unless_told(web: AsyncWebClient) -> None:
    blocks = [{"type": "section", "text": {"type": "mrkdwn", "text": "block"}}]
    ts = (await web.chat_postMessage(channel="C0OPS", text="one", blocks=blocks))["ts"]
    updated = await web.chat_update(channel="C0OPS", ts=ts, text="two")
    assert updated["text"] == "two"
    assert updated["message"]["blocks"][0]["text"]["text"] == "block"
    assert updated["message"]["edited"]["user"] == "B0TREADLE"
    emptied = await web.chat_update(channel="C0OPS", ts=ts, text="three", blocks=[])
    assert "blocks" not in emptied["message"]


async def test_only_own_messages_can_be_changed_or_deleted(
    slack: LocalSlack, web: AsyncWebClient
) -> None:
    ts = await slack.person("alice").say("#ops", "mine")
    assert await refused(web.chat_update(channel="C0OPS", ts=ts, text="x")) == "cant_update_message"
    assert await refused(web.chat_delete(channel="C0OPS", ts=ts)) == "cant_delete_message"
    gone = web.chat_update(channel="C0OPS", ts="1.000001", text="x")
    assert await refused(gone) == "message_not_found"


async def test_a_deleted_root_with_replies_leaves_a_tombstone(web: AsyncWebClient) -> None:
    root = (await web.chat_postMessage(channel="C0OPS", text="root"))["ts"]
    await web.chat_postMessage(channel="C0OPS", text="one", thread_ts=root)
    await web.chat_delete(channel="C0OPS", ts=root)
    thread = (await web.conversations_replies(channel="C0OPS", ts=root))["messages"]
    assert [m.get("subtype", "plain") for m in thread] == ["tombstone", "plain"]
    assert await refused(web.chat_delete(channel="C0OPS", ts=root)) == "message_not_found"


async def test_replies_are_paged_bounded_and_show_metadata_on_request(web: AsyncWebClient) -> None:
    root = (await web.chat_postMessage(channel="C0OPS", text="root"))["ts"]
    metadata = {"event_type": "answer", "event_payload": {"key": "k1"}}
    sent = [
        (
            await web.chat_postMessage(
                channel="C0OPS", text=str(n), thread_ts=root, metadata=metadata
            )
        )["ts"]
        for n in range(5)
    ]
    first = await web.conversations_replies(channel="C0OPS", ts=root, limit=4)
    assert first["has_more"] is True
    cursor = first["response_metadata"]["next_cursor"]
    rest = await web.conversations_replies(channel="C0OPS", ts=root, limit=4, cursor=cursor)
    assert [m["ts"] for m in [*first["messages"], *rest["messages"]]] == [root, *sent]
    assert "metadata" not in first["messages"][1]
    after = await web.conversations_replies(
        channel="C0OPS", ts=root, oldest=sent[2], include_all_metadata=True
    )
    assert [m["ts"] for m in after["messages"]] == [root, sent[3], sent[4]]
    assert after["messages"][1]["metadata"] == metadata
    within = await web.conversations_replies(
        channel="C0OPS", ts=root, oldest=sent[2], latest=sent[3], inclusive=True
    )
    assert [m["ts"] for m in within["messages"]] == [root, sent[2], sent[3]]
    missing = web.conversations_replies(channel="C0OPS", ts="1.000001")
    assert await refused(missing) == "thread_not_found"


async def test_the_root_counts_its_replies(slack: LocalSlack, web: AsyncWebClient) -> None:
    root = await slack.person("alice").say("#ops", "question")
    reply = (await web.chat_postMessage(channel="C0OPS", text="a", thread_ts=root))["ts"]
    message = slack.message("#ops", root)
    assert message is not None
    assert (message["reply_count"], message["latest_reply"]) == (1, reply)
    await web.chat_delete(channel="C0OPS", ts=reply)
    message = slack.message("#ops", root)
    assert message is not None
    assert message["reply_count"] == 0
    assert "thread_ts" not in message


async def test_reactions_are_added_once_and_removed_once(
    slack: LocalSlack, web: AsyncWebClient
) -> None:
    ts = await slack.person("alice").say("#ops", "hi")
    where = {"channel": "C0OPS", "timestamp": ts}
    await web.reactions_add(name="eyes", **where)
    assert await refused(web.reactions_add(name="eyes", **where)) == "already_reacted"
    got = await web.reactions_get(channel="C0OPS", timestamp=ts)
    assert got["message"]["reactions"] == [{"name": "eyes", "users": ["U0TREADLE"], "count": 1}]
    await web.reactions_remove(name="eyes", **where)
    assert await refused(web.reactions_remove(name="eyes", **where)) == "no_reaction"


async def test_people_are_told_apart_by_their_roles(web: AsyncWebClient) -> None:
    people = {m["name"]: m for m in (await web.users_list())["members"]}
    assert people["ada"]["is_admin"] is True
    assert people["gus"]["is_restricted"] is True
    assert (people["eve"]["is_stranger"], people["eve"]["team_id"]) == (True, "T0OTHER")
    assert "is_stranger" not in people["alice"]
    assert (await web.users_info(user="U0BOB"))["user"]["real_name"] == "Bob"
    assert await refused(web.users_info(user="U0NOBODY")) == "user_not_found"


async def test_channels_can_be_listed_and_described(web: AsyncWebClient) -> None:
    listed = await web.conversations_list(types="public_channel,im", limit=3)
    assert len(listed["channels"]) == 3
    assert listed["response_metadata"]["next_cursor"]
    mine = await web.users_conversations(types="public_channel")
    assert [c["name"] for c in mine["channels"]] == ["general", "ops", "partners"]
    random = (await web.conversations_info(channel="C0RANDOM", include_num_members=True))["channel"]
    assert (random["is_member"], random["num_members"]) == (False, 3)
    partners = (await web.conversations_info(channel="C0PARTNERS"))["channel"]
    assert partners["is_ext_shared"] is True
    dm = (await web.conversations_info(channel="D0GUS"))["channel"]
    assert (dm["is_im"], dm["user"]) == (True, "U0GUS")
    members = (await web.conversations_members(channel="C0PARTNERS"))["members"]
    assert "U0EVE" in members
    assert await refused(web.conversations_history(channel="C0RANDOM")) == "not_in_channel"
    assert await refused(web.conversations_list(types="songs")) == "invalid_types"
    assert await refused(web.conversations_list(cursor="nonsense")) == "invalid_cursor"


async def test_small_look_ups_answer(slack: LocalSlack, web: AsyncWebClient) -> None:
    ts = await slack.person("alice").say("#ops", "hi")
    link = (await web.chat_getPermalink(channel="C0OPS", message_ts=ts))["permalink"]
    assert link.endswith(f"/archives/C0OPS/p{ts.replace('.', '')}")
    assert (await web.team_info())["team"]["id"] == "T0LOCAL"
    assert (await web.bots_info(bot="B0TREADLE"))["bot"]["user_id"] == "U0TREADLE"
    groups = await web.usergroups_list(include_users=True)
    assert groups["usergroups"][0]["users"] == ["U0ADA", "U0BOB"]
    users = await web.usergroups_users_list(usergroup="S0ONCALL")
    assert users["users"] == ["U0ADA", "U0BOB"]
    assert await refused(web.usergroups_users_list(usergroup="S0NONE")) == "no_such_subteam"


async def test_an_ephemeral_message_is_seen_by_one_person_only(
    slack: LocalSlack, web: AsyncWebClient
) -> None:
    await web.chat_postEphemeral(channel="C0OPS", user="U0BOB", text="just you")
    assert [e["text"] for e in slack.person("bob").ephemeral()] == ["just you"]
    assert slack.person("alice").ephemeral() == []
    assert slack.messages("#ops") == []
    outsider = web.chat_postEphemeral(channel="C0OPS", user="U0GUS", text="x")
    assert await refused(outsider) == "user_not_in_channel"


async def test_a_file_is_uploaded_shared_and_downloaded(
    slack: LocalSlack, web: AsyncWebClient
) -> None:
    root = await slack.person("alice").say("#ops", "report?")
    done = await web.files_upload_v2(
        channel="C0OPS",
        thread_ts=root,
        filename="report.csv",
        content="a,b\n1,2\n",
        title="Report",
        initial_comment="here",
    )
    file = done["file"]
    shared = slack.thread("#ops", root)[1]
    assert shared["files"][0]["title"] == "Report"
    assert slack.visible_text(shared) == "here\nReport"
    info = (await web.files_info(file=file["id"]))["file"]
    assert info["shares"]["public"]["C0OPS"][0]["ts"] == shared["ts"]
    async with aiohttp.ClientSession() as http:
        headers = {"Authorization": f"Bearer {slack.options.bot_token}"}
        got = await http.get(info["url_private_download"], headers=headers)
        assert (got.content_type, await got.text()) == ("text/csv", "a,b\n1,2\n")


async def test_a_download_without_the_scope_is_a_login_page(
    slack: LocalSlack, web: AsyncWebClient
) -> None:
    done = await web.files_upload_v2(channel="C0OPS", filename="a.txt", content="secret")
    slack.change(scopes=slack.options.scopes - {"files:read"})
    async with aiohttp.ClientSession() as http:
        headers = {"Authorization": f"Bearer {slack.options.bot_token}"}
        got = await http.get(done["file"]["url_private"], headers=headers)
        assert (got.status, got.content_type) == (200, "text/html")
        assert "secret" not in await got.text()


async def test_a_wrong_upload_is_refused(slack: LocalSlack, web: AsyncWebClient) -> None:
    wanted = await web.files_getUploadURLExternal(filename="a.txt", length=5)
    async with aiohttp.ClientSession() as http:
        assert (await http.post(wanted["upload_url"], data=b"too long")).status == 400
        assert (await http.post(slack.base_url + "/upload/v1/UPNONE", data=b"x")).status == 400
    unfinished = web.files_completeUploadExternal(files=[{"id": wanted["file_id"], "title": "t"}])
    assert await refused(unfinished) == "file_not_found"


async def test_broken_json_and_wrong_types_get_an_error_word(slack: LocalSlack) -> None:
    headers = {"Authorization": f"Bearer {slack.options.bot_token}"}
    url = slack.api_url + "chat.postMessage"
    async with aiohttp.ClientSession(headers=headers) as http:
        json_type = {"Content-Type": "application/json"}
        broken = await http.post(url, data=b"{", headers=json_type)
        assert (await broken.json())["error"] == "invalid_json"
        listed = await http.post(url, json=["a"])
        assert (await listed.json())["error"] == "json_not_object"
        typed = await http.post(url, json={"channel": "C0OPS", "text": {"a": 1}})
        assert (await typed.json())["error"] == "invalid_arguments"
        blocks = await http.post(url, data={"channel": "C0OPS", "blocks": "[{"})
        assert (await blocks.json())["error"] == "invalid_blocks_format"


async def test_blocks_and_metadata_may_be_json_strings_in_a_form(slack: LocalSlack) -> None:
    headers = {"Authorization": f"Bearer {slack.options.bot_token}"}
    fields = {
        "channel": "C0OPS",
        "text": "t",
        "blocks": '[{"type":"divider"}]',
        "metadata": '{"event_type":"x","event_payload":{}}',
    }
    async with aiohttp.ClientSession(headers=headers) as http:
        answer = await (await http.post(slack.api_url + "chat.postMessage", data=fields)).json()
    assert answer["message"]["blocks"][0]["type"] == "divider"
    assert answer["message"]["metadata"]["event_type"] == "x"


async def test_every_call_is_logged_with_its_outcome(
    slack: LocalSlack, web: AsyncWebClient
) -> None:
    await web.chat_postMessage(channel="C0OPS", text="hi")
    await refused(web.chat_postMessage(channel="C0NOWHERE", text="hi"))
    first, second = slack.log.of("chat.postMessage")
    assert (first.ok, first.args["text"], first.status) == (True, "hi", 200)
    assert (second.ok, second.error) == (False, "channel_not_found")
    assert slack.log.total == 2


def test_the_contract_page_names_every_method(slack: LocalSlack) -> None:
    """docs/slack-contract.md lists what can be called, and nothing that cannot."""
    page = Path(__file__).parents[2] / "docs" / "slack-contract.md"
    section = page.read_text(encoding="utf-8").split("## Methods")[1].split("##")[0]
    assert set(re.findall(r"`([a-z]+\.[A-Za-z.]+)`", section)) == slack.api.names
