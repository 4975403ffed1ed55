"""Streams, assistant status and agent sessions."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
from slack_sdk.errors import SlackApiError
from slack_sdk.models.messages.chunk import (
    BlocksChunk,
    MarkdownTextChunk,
    PlanUpdateChunk,
    TaskUpdateChunk,
)
from slack_sdk.web.async_client import AsyncWebClient

from bot.local_slack import LocalSlack, Options
from bot.local_slack.shapes import PersonError

TO_ALICE: dict[str, Any] = {"recipient_user_id": "U0ALICE", "recipient_team_id": "T0LOCAL"}


@pytest.fixture
async def slack() -> AsyncIterator[LocalSlack]:
    async with LocalSlack(Options(retry_scale=0.0, ack_seconds=0.05)) as running:
        yield running


@pytest.fixture
def web(slack: LocalSlack) -> AsyncWebClient:
    return AsyncWebClient(token=slack.options.bot_token, base_url=slack.api_url)


@pytest.fixture
async def root(slack: LocalSlack) -> str:
    """A question of Alice's in #ops."""
    return await slack.person("alice").say("#ops", "@treadle hi")


async def word(call: object) -> str:
    with pytest.raises(SlackApiError) as caught:
        await call  # type: ignore[misc]
    return str(caught.value.response["error"])


async def start(web: AsyncWebClient, root: str, text: str | None = "Hello") -> str:
    started = await web.chat_startStream(
        channel="C0OPS",
        thread_ts=root,
        markdown_text=text,
        recipient_user_id="U0ALICE",
        recipient_team_id="T0LOCAL",
    )
    return str(started["ts"])


async def test_a_stream_grows_and_ends_with_blocks_and_metadata(
    slack: LocalSlack, web: AsyncWebClient, root: str
) -> None:
    ts = await start(web, root)
    await web.chat_appendStream(channel="C0OPS", ts=ts, markdown_text=", *world*")
    assert [slack.visible_text(m) for m in slack.thread("#ops", root)][1] == "Hello, *world*"
    metadata = {"event_type": "answer", "event_payload": {"key": "1"}}
    stopped = await web.chat_stopStream(
        channel="C0OPS",
        ts=ts,
        markdown_text="!",
        metadata=metadata,
        blocks=[{"type": "context", "elements": [{"type": "mrkdwn", "text": "foot"}]}],
    )
    assert stopped["message"]["text"] == "Hello, *world*!"
    assert slack.visible_text(slack.thread("#ops", root)[1]) == "Hello, *world*!\nfoot"
    read = await web.conversations_replies(channel="C0OPS", ts=root, include_all_metadata=True)
    assert read["messages"][1]["metadata"] == metadata


async def test_the_sdks_chat_stream_helper_works(
    slack: LocalSlack, web: AsyncWebClient, root: str
) -> None:
    stream = await web.chat_stream(channel="C0OPS", thread_ts=root, buffer_size=4, **TO_ALICE)
    await stream.append(markdown_text="one two ")
    await stream.append(chunks=[MarkdownTextChunk(text="three")])
    await stream.stop()
    assert slack.visible_text(slack.thread("#ops", root)[1]) == "one two three"


async def test_task_cards_are_updated_by_their_ids(
    slack: LocalSlack, web: AsyncWebClient, root: str
) -> None:
    started = await web.chat_startStream(
        channel="C0OPS", thread_ts=root, task_display_mode="plan", **TO_ALICE
    )
    ts = started["ts"]
    await web.chat_appendStream(
        channel="C0OPS",
        ts=ts,
        chunks=[
            PlanUpdateChunk(title="Work"),
            TaskUpdateChunk(id="1", title="Read", status="in_progress", details="file"),
        ],
    )
    await web.chat_appendStream(
        channel="C0OPS",
        ts=ts,
        chunks=[
            TaskUpdateChunk(id="1", title="Read it", status="complete", output="42 lines"),
            MarkdownTextChunk(text="Done"),
            BlocksChunk(blocks=[{"type": "divider"}]),
        ],
    )
    stopped = await web.chat_stopStream(channel="C0OPS", ts=ts)
    plan, text, divider = stopped["message"]["blocks"]
    assert (plan["type"], text["text"], divider["type"]) == ("plan", "Done", "divider")
    assert [(t["title"], t["status"]) for t in plan["tasks"]] == [("Read it", "complete")]
    assert slack.visible_text(stopped["message"]) == "Work\nRead it\nfile\n42 lines\nDone"


async def test_streams_in_channels_need_their_recipient(web: AsyncWebClient, root: str) -> None:
    nobody = web.chat_startStream(channel="C0OPS", thread_ts=root)
    assert await word(nobody) == "missing_recipient_user_id"
    no_team = web.chat_startStream(channel="C0OPS", thread_ts=root, recipient_user_id="U0ALICE")
    assert await word(no_team) == "missing_recipient_team_id"


async def test_a_stream_in_direct_messages_needs_a_thread_and_no_recipient(
    slack: LocalSlack, web: AsyncWebClient
) -> None:
    ts = await slack.person("alice").say("dm", "hi")
    assert (await web.chat_startStream(channel="D0ALICE", thread_ts=ts))["ok"]
    top = web.api_call("chat.startStream", json={"channel": "D0ALICE"})
    assert await word(top) == "channel_type_not_supported"


async def test_text_and_chunks_never_go_together_nor_after_one_another(
    web: AsyncWebClient, root: str
) -> None:
    ts = await start(web, root)
    chunk = {"type": "markdown_text", "text": "x"}
    both = web.chat_appendStream(channel="C0OPS", ts=ts, markdown_text="x", chunks=[chunk])
    assert await word(both) == "cannot_provide_both_markdown_text_and_chunks"
    other = web.api_call(
        "chat.appendStream", json={"channel": "C0OPS", "ts": ts, "chunks": [chunk]}
    )
    assert await word(other) == "streaming_mode_mismatch"


@pytest.mark.parametrize(
    "chunk",
    [
        {"type": "song", "text": "la"},
        {"type": "markdown_text"},
        {"type": "task_update", "id": "1", "title": "t", "status": "done"},
        {"type": "task_update", "id": "1", "title": "t", "status": "complete", "output": "x" * 257},
        {"type": "plan_update", "title": "x" * 257},
        "text",
    ],
)
async def test_chunks_that_slack_does_not_know_are_refused(
    web: AsyncWebClient, root: str, chunk: object
) -> None:
    ts = await start(web, root, None)
    call = web.api_call("chat.appendStream", json={"channel": "C0OPS", "ts": ts, "chunks": [chunk]})
    assert await word(call) == "invalid_chunks"


async def test_a_refused_append_leaves_the_stream_as_it_was(
    slack: LocalSlack, web: AsyncWebClient, root: str
) -> None:
    ts = await start(web, root, "a" * 12_000)
    long = web.chat_appendStream(channel="C0OPS", ts=ts, markdown_text="b" * 12_001)
    assert await word(long) == "msg_too_long"
    await web.chat_appendStream(channel="C0OPS", ts=ts, markdown_text="c")
    assert slack.thread("#ops", root)[1]["text"] == "a" * 12_000 + "c"


async def test_cards_count_to_the_length_of_the_message(web: AsyncWebClient, root: str) -> None:
    ts = await start(web, root, None)

    def cards(first: int) -> list[dict[str, object]]:
        return [
            {"type": "task_update", "id": str(n), "title": "t" * 200, "status": "complete",
             "output": "o" * 256}
            for n in range(first, first + 15)
        ]  # fmt: skip

    await web.chat_appendStream(channel="C0OPS", ts=ts, chunks=cards(0))
    more = web.chat_appendStream(channel="C0OPS", ts=ts, chunks=cards(15))
    assert await word(more) == "msg_blocks_too_long"


async def test_nothing_can_be_appended_after_the_stop(web: AsyncWebClient, root: str) -> None:
    ts = await start(web, root)
    await web.chat_stopStream(channel="C0OPS", ts=ts)
    late = web.chat_appendStream(channel="C0OPS", ts=ts, markdown_text="x")
    assert await word(late) == "message_not_in_streaming_state"
    again = web.chat_stopStream(channel="C0OPS", ts=ts)
    assert await word(again) == "message_not_in_streaming_state"


async def test_an_open_stream_can_neither_be_updated_nor_deleted(
    web: AsyncWebClient, root: str
) -> None:
    ts = await start(web, root)
    update = web.chat_update(channel="C0OPS", ts=ts, text="x")
    assert await word(update) == "streaming_state_conflict"
    assert await word(web.chat_delete(channel="C0OPS", ts=ts)) == "cant_delete_message"
    await web.chat_stopStream(channel="C0OPS", ts=ts)
    await web.chat_update(channel="C0OPS", ts=ts, text="x", blocks=[])
    await web.chat_delete(channel="C0OPS", ts=ts)


async def test_slack_closes_a_stream_after_five_minutes(
    slack: LocalSlack, web: AsyncWebClient, root: str
) -> None:
    ts = await start(web, root)
    slack.advance(299)
    await web.chat_appendStream(channel="C0OPS", ts=ts, markdown_text="!")
    slack.advance(2)
    late = web.chat_appendStream(channel="C0OPS", ts=ts, markdown_text="x")
    assert await word(late) == "message_not_in_streaming_state"
    updated = await web.chat_update(channel="C0OPS", ts=ts, text="in the end", blocks=[])
    assert updated["text"] == "in the end"


async def test_a_status_shows_until_the_app_posts_or_two_minutes_pass(
    slack: LocalSlack, web: AsyncWebClient, root: str
) -> None:
    where: dict[str, Any] = {"channel_id": "C0OPS", "thread_ts": root}
    await web.assistant_threads_setStatus(status="is thinking…", **where)
    assert slack.status("#ops", root) == "is thinking…"
    await web.chat_postMessage(channel="C0OPS", thread_ts=root, text="hello")
    assert slack.status("#ops", root) == ""
    await web.assistant_threads_setStatus(status="is reading…", **where)
    slack.advance(119)
    assert slack.status("#ops", root) == "is reading…"
    slack.advance(2)
    assert slack.status("#ops", root) == ""
    await web.assistant_threads_setStatus(status="is writing…", **where)
    await web.assistant_threads_setStatus(status="", **where)
    assert slack.status("#ops", root) == ""


async def test_a_status_goes_by_itself_when_its_time_is_over() -> None:
    async with LocalSlack(Options(status_seconds=0.05, ack_seconds=0.01)) as slack:
        web = AsyncWebClient(token=slack.options.bot_token, base_url=slack.api_url)
        root = await slack.person("alice").say("#ops", "hi")
        await web.assistant_threads_setStatus(channel_id="C0OPS", thread_ts=root, status="busy")
        await slack.until(lambda: not slack.status("#ops", root), 5)


async def test_a_session_processes_until_the_app_says_otherwise(
    slack: LocalSlack, web: AsyncWebClient, root: str
) -> None:
    where: dict[str, Any] = {"channel_id": "C0OPS", "thread_ts": root}
    answer = await web.agents_sessions_setStatus(status="processing", title="Find it", **where)
    assert (answer["status"], answer["title"]) == ("processing", "Find it")
    assert "warning" not in answer.data
    await web.chat_postMessage(channel="C0OPS", thread_ts=root, text="hello")
    assert slack.world.sessions.shown("C0OPS", root)["stoppable"] is True
    renamed = await web.agents_sessions_rename(title="Found it", **where)
    assert renamed["ok"]
    answer = await web.agents_sessions_setStatus(status="active", title="ignored", **where)
    assert answer["title"] == "Found it"
    assert slack.world.sessions.shown("C0OPS", root)["stoppable"] is False
    wrong = web.agents_sessions_setStatus(status="sleeping", **where)
    assert await word(wrong) == "invalid_status"


async def test_stopping_a_stream_sets_the_sessions_status(
    slack: LocalSlack, web: AsyncWebClient, root: str
) -> None:
    where: dict[str, Any] = {"channel_id": "C0OPS", "thread_ts": root}
    await web.agents_sessions_setStatus(status="processing", **where)
    ts = await start(web, root)
    await web.chat_stopStream(channel="C0OPS", ts=ts, session_status="suspended")
    session = slack.world.sessions.session("C0OPS", root)
    assert session is not None
    assert session.status == "suspended"


async def test_without_the_stop_event_there_is_a_warning_and_no_button(
    slack: LocalSlack, web: AsyncWebClient, root: str
) -> None:
    slack.change(subscriptions=slack.options.subscriptions - {"agent_session_stopped"})
    answer = await web.agents_sessions_setStatus(
        channel_id="C0OPS", thread_ts=root, status="processing"
    )
    assert answer["warning"] == "missing_agent_session_stopped_event_subscription"
    with pytest.raises(PersonError, match="no stop button"):
        await slack.person("alice").stop("#ops", root)


async def test_the_stop_button_closes_the_streams_of_the_thread(
    slack: LocalSlack, web: AsyncWebClient, root: str
) -> None:
    where: dict[str, Any] = {"channel_id": "C0OPS", "thread_ts": root}
    await web.agents_sessions_setStatus(status="processing", **where)
    ts = await start(web, root)
    await slack.person("alice").stop("#ops", root)
    events = [p["event"] for p in slack.courier.pending.values()]
    [stopped] = [e for e in events if e["type"] == "agent_session_stopped"]
    assert (stopped["user"], stopped["streaming_message_ts"]) == ("U0ALICE", [ts])
    late = web.chat_appendStream(channel="C0OPS", ts=ts, markdown_text="x")
    assert await word(late) == "stopped_by_user"
    await web.chat_update(channel="C0OPS", ts=ts, text="Stopped.", blocks=[])
    session = slack.world.sessions.session("C0OPS", root)
    assert session is not None
    assert session.status == "processing"


async def test_an_app_that_is_no_agent_has_no_sessions_and_no_assistant(
    slack: LocalSlack, web: AsyncWebClient, root: str
) -> None:
    slack.change(agent_app=False)
    where: dict[str, Any] = {"channel_id": "C0OPS", "thread_ts": root}
    for call in (
        web.agents_sessions_setStatus(status="processing", **where),
        web.agents_sessions_rename(title="t", **where),
        web.assistant_threads_setStatus(status="busy", **where),
        web.assistant_threads_setTitle(title="t", **where),
        web.assistant_threads_setSuggestedPrompts(channel_id="D0ALICE", prompts=[]),
    ):
        assert await word(call) == "not_authorized"


async def test_suggested_prompts_show_only_without_a_thread(
    slack: LocalSlack, web: AsyncWebClient
) -> None:
    ts = await slack.person("alice").say("dm", "hi")
    prompts = [{"title": "Try", "message": "Try it"}]
    await web.assistant_threads_setSuggestedPrompts(
        channel_id="D0ALICE", prompts=prompts, thread_ts=ts
    )
    assert slack.world.prompts == []
    await web.assistant_threads_setSuggestedPrompts(channel_id="D0ALICE", prompts=prompts)
    assert slack.world.prompts == prompts
    five = web.assistant_threads_setSuggestedPrompts(channel_id="D0ALICE", prompts=prompts * 5)
    assert await word(five) == "invalid_arguments"
