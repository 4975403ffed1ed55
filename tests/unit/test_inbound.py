"""Slack's event payloads become inbox items, or nothing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.slack.inbound import Payload, Self, read_event, read_limit, readable
from bot.storage.items import Addressing, Item, Kind

ME = Self("U0BOT", "B0BOT", frozenset({"B0FRIEND"}))
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=8,
)


def spoken(text: str = "hi", **fields: object) -> Payload:
    """The outer event of a message in a channel."""
    event = {"type": "message", "channel": "C1", "user": "U1", "text": text, "ts": "2.0", **fields}
    return {"team_id": "T1", "event_id": "Ev1", "event": event}


def item(body: Payload) -> Item:
    found = read_event(body, ME)
    assert found is not None
    return found


def test_a_message_becomes_an_item_with_all_that_the_runner_needs() -> None:
    assert item(spoken("hello", thread_ts="1.0", user_team="T9")) == Item(
        kind=Kind.MESSAGE,
        team="T1",
        channel="C1",
        root_ts="1.0",
        ts="2.0",
        author="U1",
        text="hello",
        author_team="T9",
        event_id="Ev1",
    )


def test_a_message_outside_a_thread_is_the_root_of_its_own() -> None:
    assert item(spoken()).is_root
    assert item(spoken()).thread == "T1:C1:2.0"


def test_both_events_of_one_mention_have_one_key() -> None:
    mention = item(spoken("<@U0BOT> hi", type="app_mention"))
    assert mention.key == item(spoken("<@U0BOT> hi")).key
    assert mention.addressing is Addressing.MENTION


def test_the_workspace_is_the_one_through_which_the_app_gets_the_event() -> None:
    """In a channel shared with a partner, `team_id` may be the partner's."""
    assert item({**spoken(), "team_id": "T9", "context_team_id": "T1"}).team == "T1"


@pytest.mark.parametrize(
    ("text", "fields", "addressing"),
    [
        ("what now?", {}, Addressing.OPEN),
        ("<@U0BOT> what now?", {}, Addressing.MENTION),
        ("<@U0BOT|treadle> what now?", {}, Addressing.MENTION),
        ("so, <@U0BOT>?", {}, Addressing.MENTION),
        ("<@U2> ask <@U0BOT>", {}, Addressing.MENTION),
        ("<@U2> what now?", {}, Addressing.ELSEWHERE),
        ("  <@W2|bob> what now?", {}, Addressing.ELSEWHERE),
        ("ask <@U2>", {}, Addressing.OPEN),
        ("<@U0BOTX> what now?", {}, Addressing.ELSEWHERE),
        ("<#C2|ops> is where", {}, Addressing.OPEN),
        ("<@U2> hi", {"channel": "D1", "channel_type": "im"}, Addressing.DIRECT),
        ("hi", {"channel": "G1", "channel_type": "mpim"}, Addressing.OPEN),
    ],
)
def test_whom_a_message_addresses(
    text: str, fields: dict[str, object], addressing: Addressing
) -> None:
    assert item(spoken(text, **fields)).addressing is addressing


@pytest.mark.parametrize(
    "fields",
    [
        {"user": "U0BOT"},
        {"bot_id": "B0BOT"},
        {"bot_id": "B0OTHER"},
        {"subtype": "bot_message", "bot_id": "B0OTHER", "user": ""},
        {"subtype": "channel_join"},
        {"subtype": "channel_topic"},
        {"subtype": "message_replied"},
        {"subtype": "a_subtype_of_tomorrow"},
        {"user": ""},
        {"ts": ""},
        {"channel": ""},
    ],
)
def test_what_is_not_a_persons_message_is_nothing(fields: dict[str, object]) -> None:
    assert read_event(spoken("<@U0BOT> hi", **fields), ME) is None


@pytest.mark.parametrize("subtype", ["file_share", "thread_broadcast", "me_message"])
def test_messages_of_other_kinds_are_messages_all_the_same(subtype: str) -> None:
    assert item(spoken("hi", subtype=subtype)).kind is Kind.MESSAGE


def test_a_bot_that_is_named_is_known_by_its_bot_id() -> None:
    found = item(spoken("<@U0BOT> hi", bot_id="B0FRIEND", user="U0FRIENDBOT"))
    assert (found.author, found.is_bot) == ("B0FRIEND", True)


def test_files_are_named() -> None:
    files = [{"name": "a.txt"}, {"id": "F1"}, "not a file"]
    assert item(spoken("see", files=files)).files == ("a.txt", "a file")


def changed(text: str, before: str, **fields: object) -> Payload:
    message = {"user": "U1", "text": text, "ts": "2.0", "edited": {"ts": "3.0"}, **fields}
    event = {"type": "message", "subtype": "message_changed", "channel": "C1", "ts": "3.1"}
    previous = {"user": "U1", "text": before, "ts": "2.0"}
    full = {**event, "message": message, "previous_message": previous}
    return {"team_id": "T1", "event_id": "Ev2", "event": full}


def test_an_edit_is_an_item_of_its_own_under_the_messages_ts() -> None:
    first = item(changed("<@U0BOT> hi", "hi", thread_ts="1.0"))
    assert (first.kind, first.ts, first.root_ts, first.change) == (Kind.EDIT, "2.0", "1.0", "3.0")
    assert first.addressing is Addressing.MENTION
    assert first.key != item(changed("x", "y", edited={"ts": "4.0"})).key


def test_a_change_that_no_person_made_is_nothing() -> None:
    assert read_event(changed("same", "same", attachments=[{}]), ME) is None
    assert read_event(changed("new", "old", user="U0BOT"), ME) is None


def test_a_deletion_names_the_message_and_its_thread() -> None:
    before = {"user": "U1", "text": "hi", "ts": "2.0", "thread_ts": "1.0"}
    event = {"type": "message", "subtype": "message_deleted", "channel": "C1", "deleted_ts": "2.0"}
    body = {"team_id": "T1", "event": {**event, "previous_message": before, "ts": "3.0"}}
    found = item(body)
    assert (found.kind, found.ts, found.root_ts, found.text) == (Kind.DELETION, "2.0", "1.0", "")


def test_a_tombstone_is_the_deletion_of_a_root_with_replies() -> None:
    body = changed("This message was deleted.", "hi", subtype="tombstone", user="USLACKBOT")
    assert (item(body).kind, item(body).author) == (Kind.DELETION, "U1")


@pytest.mark.parametrize(
    ("marked", "plain"),
    [
        ("<@U0BOT> <@U0BOT|treadle>  sum up", "sum up"),
        ("thanks <@U0BOT>!", "thanks @me!"),
        ("ask <@U2|bob> and <@W3>", "ask <@U2> and <@W3>"),
        ("in <#C2|ops> or <#C3>", "in #ops or #C3"),
        ("<!here> <!subteam^S1|@oncall> <!date^1^{date}|today>", "@here @oncall today"),
        ("<https://a.example/x|the page>", "the page (https://a.example/x)"),
        (
            "<https://a.example|https://a.example> <https://b.example>",
            "https://a.example https://b.example",
        ),
        ("<mailto:a@b.example|a@b.example>", "a@b.example"),
        ("1 &lt; 2 &amp;&amp; 3 &gt; 2", "1 < 2 && 3 > 2"),
        ("&lt;@U2&gt; as typed", "<@U2> as typed"),
    ],
)
def test_slacks_markup_is_read_as_plain_text(marked: str, plain: str) -> None:
    assert readable(marked, "U0BOT") == plain


@given(st.dictionaries(st.text(max_size=10), JSON), JSON)
def test_no_payload_whatever_makes_the_parser_fail(body: dict[str, object], event: object) -> None:
    found = read_event({**body, "event": event}, ME)
    assert found is None or found.ts


NAMES = st.sampled_from(
    [
        *("type", "subtype", "channel", "user", "bot_id", "text", "ts", "thread_ts", "files"),
        *("message", "previous_message", "deleted_ts", "edited", "channel_type"),
    ]
)
VALUES = st.sampled_from(["message_changed", "message_deleted", "tombstone", "U1", "1.0"]) | JSON


@given(st.dictionaries(NAMES, VALUES | st.dictionaries(NAMES, VALUES)))
def test_no_message_event_makes_the_parser_fail(event: dict[str, object]) -> None:
    found = read_event({"team_id": "T1", "event": event}, ME)
    if found is not None:
        assert found.channel
        assert float(found.ts) >= 0
        assert float(found.root_ts) >= 0
        assert float(found.change or 0) >= 0


@given(st.text(alphabet="<>@#!|&;U0BOTx \n", max_size=60))
def test_any_text_can_be_read_and_loses_the_bots_own_mention(text: str) -> None:
    assert "<@U0BOT>" not in readable(text.replace("&", ""), "U0BOT")


@pytest.mark.parametrize("named", ["B0CI", "U0CI", "A0CI"])
def test_a_bot_is_known_by_the_id_that_the_operator_names_it_by(named: str) -> None:
    me = Self("U0BOT", "B0BOT", frozenset({named}))
    said = spoken("<@U0BOT> red", user="U0CI", bot_id="B0CI", app_id="A0CI")

    found = read_event(said, me)

    assert found is not None
    assert (found.author, found.is_bot) == (named, True)


def test_the_user_id_of_a_bot_makes_no_other_bot_heard() -> None:
    me = Self("U0BOT", "B0BOT", frozenset({"U0CI"}))

    assert read_event(spoken("hi", user="U0CD", bot_id="B0CD", app_id="A0CD"), me) is None


def test_a_deletion_is_read_though_slack_does_not_say_what_stood_there() -> None:
    gone = spoken("", subtype="message_deleted", deleted_ts="2.0", user="")

    assert item(gone).kind is Kind.DELETION


def test_slacks_notice_that_it_holds_events_back_names_the_minute() -> None:
    assert read_limit({"type": "app_rate_limited", "minute_rate_limited": 1518467820}) == 1518467820


@given(st.dictionaries(st.sampled_from(["type", "minute_rate_limited", "event"]), JSON))
def test_nothing_else_is_such_a_notice(body: dict[str, object]) -> None:
    assert read_limit(body) is None
    assert read_limit({**body, "type": "app_rate_limited", "minute_rate_limited": "1"}) is None
