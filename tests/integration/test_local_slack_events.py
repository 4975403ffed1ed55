"""Events, clicks and commands as slack_bolt's AsyncApp gets them over Socket Mode."""

from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from slack_bolt.adapter.socket_mode.aiohttp import AsyncSocketModeHandler
from slack_bolt.async_app import AsyncApp
from slack_sdk.web.async_client import AsyncWebClient

from bot.local_slack import LocalSlack, Options
from bot.local_slack.shapes import PersonError
from bot.local_slack.world import Channel

Json = dict[str, Any]


@dataclass
class Bot:
    """A Bolt app that notes everything it gets."""

    app: AsyncApp
    web: AsyncWebClient
    bodies: list[Json] = field(default_factory=list)

    def events(self, kind: str) -> list[Json]:
        """The events of one type, in the order of their arrival."""
        return [b["event"] for b in self.bodies if b.get("event", {}).get("type") == kind]

    def interactions(self, kind: str) -> list[Json]:
        """The interactions of one type."""
        return [b for b in self.bodies if b.get("type") == kind]


@pytest.fixture
async def slack() -> AsyncIterator[LocalSlack]:
    commands = frozenset({"/treadle", "/form", "/twice", "/late"})
    async with LocalSlack(Options(retry_scale=0.01, commands=commands)) as running:
        yield running


@pytest.fixture
async def bot(slack: LocalSlack) -> AsyncIterator[Bot]:
    """A Bolt app on a real socket to the stand-in."""
    web = AsyncWebClient(token=slack.options.bot_token, base_url=slack.api_url)
    app = AsyncApp(client=web, process_before_response=True, ignoring_self_events_enabled=False)
    noting = Bot(app, web)

    @app.use
    async def note(body: Json, next: Any) -> None:  # noqa: A002 - Bolt's name for it
        noting.bodies.append(body)
        slack.world.pulse.beat()
        await next()

    @app.event({"type": "message"})
    async def any_message() -> None:
        """Acknowledge."""

    for name in (
        "app_mention",
        "reaction_added",
        "reaction_removed",
        "app_home_opened",
        "app_context_changed",
        "agent_session_stopped",
        "agent_session_title_changed",
        "member_joined_channel",
    ):
        app.event(name)(any_message)
    handler = AsyncSocketModeHandler(app, slack.options.app_token)
    await handler.connect_async()  # type: ignore[no-untyped-call]
    await slack.until_connected()
    yield noting
    await handler.close_async()  # type: ignore[no-untyped-call]


async def test_a_mention_arrives_twice_with_different_ids_and_the_same_message(
    slack: LocalSlack, bot: Bot
) -> None:
    ts = await slack.person("alice").say("#general", "@treadle say hi to @Bob in #ops & <b>")
    await slack.until(lambda: len(bot.bodies) >= 2)
    [mention], [message] = bot.events("app_mention"), bot.events("message")
    text = "<@U0TREADLE> say hi to <@U0BOB> in <#C0OPS|ops> &amp; &lt;b&gt;"
    assert (mention["text"], message["text"]) == (text, text)
    assert mention["ts"] == message["ts"] == message["event_ts"] == ts
    assert (message["channel_type"], message["user"]) == ("channel", "U0ALICE")
    assert "channel_type" not in mention
    assert message["client_msg_id"] == mention["client_msg_id"]
    elements = message["blocks"][0]["elements"][0]["elements"]
    assert [e["type"] for e in elements] == ["user", "text", "user", "text", "channel", "text"]
    first, second = bot.bodies
    assert first["event_id"] != second["event_id"]
    assert first["team_id"] == "T0LOCAL"
    assert first["authorizations"][0]["user_id"] == "U0TREADLE"
    assert {"api_app_id", "event_context", "event_time", "is_ext_shared_channel"} <= set(first)


async def test_a_direct_message_is_message_im_without_a_mention(
    slack: LocalSlack, bot: Bot
) -> None:
    await slack.person("gus").say("dm", "@treadle hello")
    await slack.until(lambda: bot.events("message"))
    await slack.until_delivered()
    assert bot.events("message")[0]["channel_type"] == "im"
    assert bot.events("app_mention") == []


async def test_edits_and_deletions_carry_both_versions(slack: LocalSlack, bot: Bot) -> None:
    alice = slack.person("alice")
    ts = await alice.say("#ops", "helo")
    await alice.edit("#ops", ts, "hello")
    await alice.delete("#ops", ts)
    await slack.until(lambda: len(bot.events("message")) == 3)
    _, changed, deleted = sorted(bot.events("message"), key=lambda e: str(e["event_ts"]))
    assert changed["subtype"] == "message_changed"
    assert (changed["previous_message"]["text"], changed["message"]["text"]) == ("helo", "hello")
    assert changed["message"]["edited"]["user"] == "U0ALICE"
    assert changed["ts"] != ts
    assert (deleted["subtype"], deleted["deleted_ts"]) == ("message_deleted", ts)
    assert deleted["previous_message"]["text"] == "hello"


async def test_a_deleted_root_with_replies_is_told_as_a_tombstone(
    slack: LocalSlack, bot: Bot
) -> None:
    alice = slack.person("alice")
    ts = await alice.say("#ops", "question")
    await alice.reply("#ops", ts, "more")
    await alice.delete("#ops", ts)
    await slack.until(lambda: len(bot.events("message")) == 3)
    changed = max(bot.events("message"), key=lambda e: str(e["event_ts"]))
    assert changed["subtype"] == "message_changed"
    assert changed["message"]["subtype"] == "tombstone"
    assert changed["previous_message"]["text"] == "question"


async def test_the_bots_own_posts_come_back_with_its_bot_id(slack: LocalSlack, bot: Bot) -> None:
    ts = (await bot.web.chat_postMessage(channel="C0OPS", text="me"))["ts"]
    await slack.until(lambda: bot.events("message"))
    own = bot.events("message")[0]
    assert (own["ts"], own["bot_id"], own["user"]) == (ts, "B0TREADLE", "U0TREADLE")


async def test_replies_name_their_root(slack: LocalSlack, bot: Bot) -> None:
    root = await slack.person("alice").say("#ops", "root")
    await slack.person("bob").reply("#ops", root, "reply")
    await slack.until(lambda: len(bot.events("message")) == 2)
    reply = next(e for e in bot.events("message") if e["text"] == "reply")
    assert (reply["thread_ts"], reply["parent_user_id"]) == (root, "U0ALICE")


async def test_nothing_is_told_of_channels_without_the_bot(slack: LocalSlack, bot: Bot) -> None:
    await slack.person("alice").say("#random", "@treadle are you here?")
    slack.add_channels([Channel("G0DEN", "den", "private", members={"U0BOB", "U0TREADLE"})])
    await slack.person("bob").say("#den", "@treadle and here?")
    await slack.until(lambda: bot.events("message"))
    await slack.until_delivered()
    assert {e["channel"] for e in bot.events("message")} == {"G0DEN"}
    assert bot.events("message")[0]["channel_type"] == "group"
    assert [e["channel"] for e in bot.events("app_mention")] == ["G0DEN"]


async def test_only_subscribed_events_are_sent(slack: LocalSlack, bot: Bot) -> None:
    slack.change(subscriptions=frozenset({"app_mention"}))
    await slack.person("alice").say("#ops", "@treadle hi")
    await slack.until(lambda: bot.events("app_mention"))
    await slack.until_delivered()
    assert len(bot.bodies) == 1


async def test_reactions_joins_home_and_context_are_events(slack: LocalSlack, bot: Bot) -> None:
    alice = slack.person("alice")
    ts = await alice.say("#ops", "hi")
    await alice.react("#ops", ts, "x")
    await alice.unreact("#ops", ts, "x")
    await alice.invite_bot("#random")
    await alice.open_home("home")
    await alice.open_home("messages")
    await alice.look_at("#ops")
    await slack.until(lambda: len(bot.bodies) == 7)
    added = bot.events("reaction_added")[0]
    assert added["item"] == {"type": "message", "channel": "C0OPS", "ts": ts}
    assert (added["reaction"], added["user"], added["item_user"]) == ("x", "U0ALICE", "U0ALICE")
    assert bot.events("reaction_removed")[0]["reaction"] == "x"
    joined = bot.events("member_joined_channel")[0]
    assert (joined["user"], joined["channel"]) == ("U0TREADLE", "C0RANDOM")
    assert {e["tab"] for e in bot.events("app_home_opened")} == {"home", "messages"}
    context = bot.events("app_context_changed")[0]["context"]
    assert context["entities"][0]["value"] == "C0OPS"


async def test_external_people_are_seen_as_such(slack: LocalSlack, bot: Bot) -> None:
    await slack.person("eve").say("#partners", "@treadle hi")
    await slack.until(lambda: len(bot.bodies) == 2)
    assert all(body["is_ext_shared_channel"] is True for body in bot.bodies)
    assert bot.events("message")[0]["user_team"] == "T0OTHER"
    with pytest.raises(PersonError, match="Eve is not in this channel"):
        await slack.person("eve").say("#ops", "hello?")


async def test_a_persons_file_arrives_with_the_message(slack: LocalSlack, bot: Bot) -> None:
    await slack.person("alice").say("#ops", "look", files=[("a.txt", b"words")])
    await slack.until(lambda: bot.events("message"))
    event = bot.events("message")[0]
    assert event["subtype"] == "file_share"
    assert (event["files"][0]["name"], event["files"][0]["size"]) == ("a.txt", 5)


async def test_a_click_reaches_the_app_and_its_response_url_works_five_times(
    slack: LocalSlack, bot: Bot
) -> None:
    responses: list[int] = []

    @bot.app.action("go")
    async def go(ack: Any, respond: Any) -> None:
        await ack()
        for n in range(6):
            responses.append((await respond(f"answer {n}")).status_code)
        slack.world.pulse.beat()

    button = {"type": "button", "action_id": "go", "text": {"type": "plain_text", "text": "Go"}}
    posted = await bot.web.chat_postMessage(
        channel="C0OPS",
        text="t",
        blocks=[{"type": "actions", "elements": [{**button, "value": "v1"}]}],
    )
    alice = slack.person("alice")
    await alice.click(posted["message"], "go")
    await slack.until(lambda: len(responses) == 6)
    assert responses == [200] * 5 + [404]
    assert [e["text"] for e in alice.ephemeral()] == [f"answer {n}" for n in range(5)]
    [body] = bot.interactions("block_actions")
    assert (body["actions"][0]["value"], body["user"]["id"]) == ("v1", "U0ALICE")
    assert body["container"]["message_ts"] == posted["ts"] == body["message"]["ts"]
    assert body["channel"] == {"id": "C0OPS", "name": "ops"}
    assert body["actions"][0]["block_id"] == posted["message"]["blocks"][0]["block_id"]
    with pytest.raises(PersonError, match="nothing to click with the id 'stop'"):
        await alice.click(posted["ts"], "stop")


async def test_a_response_can_replace_or_delete_what_was_clicked(
    slack: LocalSlack, bot: Bot
) -> None:
    @bot.app.action("replace")
    async def replace(ack: Any, respond: Any) -> None:
        await ack()
        await respond(text="replaced", replace_original=True)

    @bot.app.action("gone")
    async def gone(ack: Any, respond: Any) -> None:
        await ack()
        await respond(delete_original=True)

    def message(action_id: str) -> list[Json]:
        text = {"type": "plain_text", "text": "B"}
        button = {"type": "button", "action_id": action_id, "text": text}
        return [{"type": "actions", "elements": [button]}]

    bob = slack.person("bob")
    kept = await bot.web.chat_postMessage(channel="C0OPS", text="t", blocks=message("replace"))
    await bob.click(kept["ts"], "replace")
    await slack.until(
        lambda: (slack.message("#ops", str(kept["ts"])) or {}).get("text") == "replaced"
    )
    await bot.web.chat_postEphemeral(
        channel="C0OPS", user="U0BOB", text="t", blocks=message("gone")
    )
    await bob.click(bob.ephemeral()[0], "gone")
    await slack.until(lambda: not bob.ephemeral())


async def test_a_slash_command_is_answered_with_the_ack(slack: LocalSlack, bot: Bot) -> None:
    @bot.app.command("/treadle")
    async def command(ack: Any, command: Json) -> None:
        await ack(f"{command['user_id']} in {command['channel_name']}: {command['text']}")

    alice = slack.person("alice")
    assert await alice.slash("#ops", "/treadle", "policy") == {"text": "U0ALICE in ops: policy"}
    assert [e["text"] for e in alice.ephemeral()] == ["U0ALICE in ops: policy"]


async def test_a_command_that_the_app_has_not_is_refused_and_the_app_hears_nothing(
    slack: LocalSlack, bot: Bot
) -> None:
    with pytest.raises(PersonError, match="/nonsense is not a valid command"):
        await slack.person("alice").slash("#ops", "/nonsense", "x")
    assert bot.bodies == []


async def test_a_modal_is_opened_refused_replaced_and_closed(slack: LocalSlack, bot: Bot) -> None:
    def modal(title: str) -> Json:
        return {
            "type": "modal",
            "callback_id": "form",
            "notify_on_close": True,
            "title": {"type": "plain_text", "text": title},
            "submit": {"type": "plain_text", "text": "OK"},
            "blocks": [
                {
                    "type": "input",
                    "block_id": "name",
                    "label": {"type": "plain_text", "text": "Name"},
                    "element": {"type": "plain_text_input", "action_id": "value"},
                }
            ],
        }

    opened: list[Json] = []

    @bot.app.command("/form")
    async def command(ack: Any, body: Json) -> None:
        await ack()
        opened.append(
            (await bot.web.views_open(trigger_id=body["trigger_id"], view=modal("First")))["view"]
        )

    @bot.app.view("form")
    async def submitted(ack: Any, view: Json) -> None:
        name = view["state"]["values"]["name"]["value"]["value"]
        if name == "update":
            await ack(response_action="update", view=modal("Second"))
        elif name:
            await ack()
        else:
            await ack(response_action="errors", errors={"name": "Give a name."})

    @bot.app.view_closed("form")
    async def closed(ack: Any) -> None:
        await ack()

    alice = slack.person("alice")
    await alice.slash("#ops", "/form")
    await slack.until(lambda: opened)
    view_id = opened[0]["id"]
    assert await alice.submit(view_id, {}) == {"name": "Give a name."}
    assert await alice.submit(view_id, {"name": {"value": "update"}}) == {}
    top = alice.modal()
    assert top is not None
    assert top["title"]["text"] == "Second"
    assert await alice.submit(top["id"], {"name": {"value": "Ann"}}) == {}
    assert alice.modal() is None
    with pytest.raises(PersonError, match="closed already"):
        await alice.submit(view_id, {})
    await alice.slash("#ops", "/form")
    await slack.until(lambda: len(opened) == 2)
    await alice.close_view(opened[1]["id"])
    assert bot.interactions("view_closed")[0]["view"]["id"] == opened[1]["id"]


async def test_a_trigger_is_good_for_one_modal_and_three_seconds(
    slack: LocalSlack, bot: Bot
) -> None:
    from slack_sdk.errors import SlackApiError

    view = {"type": "modal", "title": {"type": "plain_text", "text": "T"}, "blocks": []}
    words: list[str] = []

    @bot.app.command("/twice")
    async def twice(ack: Any, body: Json) -> None:
        await ack()
        await bot.web.views_open(trigger_id=body["trigger_id"], view=view)
        for trigger_id in (body["trigger_id"], "1.2"):
            with pytest.raises(SlackApiError) as caught:
                await bot.web.views_open(trigger_id=trigger_id, view=view)
            words.append(caught.value.response["error"])

    @bot.app.command("/late")
    async def late(ack: Any, body: Json) -> None:
        await ack()
        slack.advance(3.5)
        with pytest.raises(SlackApiError) as caught:
            await bot.web.views_open(trigger_id=body["trigger_id"], view=view)
        words.append(caught.value.response["error"])

    await slack.person("alice").slash("#ops", "/twice")
    await slack.until(lambda: len(words) == 2)
    await slack.person("alice").slash("#ops", "/late")
    await slack.until(lambda: len(words) == 3)
    assert words == ["exchanged_trigger_id", "invalid_trigger_id", "expired_trigger_id"]


async def test_the_home_tab_is_published_clicked_and_guarded_by_its_hash(
    slack: LocalSlack, bot: Bot
) -> None:
    from slack_sdk.errors import SlackApiError

    clicks: list[Json] = []

    @bot.app.action("choose")
    async def choose(ack: Any, action: Json) -> None:
        await ack()
        clicks.append(action)

    option = {"text": {"type": "plain_text", "text": "One"}, "value": "1"}
    select = {"type": "static_select", "action_id": "choose", "options": [option]}
    home = {"type": "home", "blocks": [{"type": "actions", "elements": [select]}]}
    first = (await bot.web.views_publish(user_id="U0ADA", view=home))["view"]
    ada = slack.person("ada")
    shown = ada.home()
    assert shown is not None
    await ada.click(shown, "choose", selected="1")
    await slack.until(lambda: clicks)
    assert clicks[0]["selected_option"] == option
    assert bot.interactions("block_actions")[0]["container"]["view_id"] == first["id"]
    await bot.web.views_publish(user_id="U0ADA", view={"type": "home", "blocks": []})
    with pytest.raises(SlackApiError) as caught:
        await bot.web.views_publish(user_id="U0ADA", view=home, hash=first["hash"])
    assert caught.value.response["error"] == "hash_conflict"


async def test_shortcuts_reach_the_app(slack: LocalSlack, bot: Bot) -> None:
    @bot.app.shortcut("summarize")
    async def shortcut(ack: Any) -> None:
        await ack()

    ts = await slack.person("alice").say("#ops", "long story")
    await slack.person("bob").shortcut("summarize", "#ops", ts)
    await slack.person("bob").shortcut("summarize")
    assert bot.interactions("message_action")[0]["message"]["text"] == "long story"
    assert bot.interactions("shortcut")[0]["user"]["id"] == "U0BOB"


async def test_feedback_buttons_carry_the_chosen_value(slack: LocalSlack, bot: Bot) -> None:
    values: list[str] = []

    @bot.app.action("feedback")
    async def feedback(ack: Any, action: Json) -> None:
        await ack()
        values.append(action["value"])

    def choice(text: str, value: str) -> Json:
        return {"text": {"type": "plain_text", "text": text}, "value": value}

    element = {
        "type": "feedback_buttons",
        "action_id": "feedback",
        "positive_button": choice("Good", "up"),
        "negative_button": choice("Bad", "down"),
    }
    posted = await bot.web.chat_postMessage(
        channel="C0OPS", text="t", blocks=[{"type": "context_actions", "elements": [element]}]
    )
    await slack.person("alice").click(posted["ts"], "feedback", value="down")
    await slack.until(lambda: values)
    assert values == ["down"]
