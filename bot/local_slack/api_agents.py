"""assistant.threads.* and agents.sessions.*."""

from bot.local_slack.events import emit
from bot.local_slack.host import Change
from bot.local_slack.method import Call, Method, invalid_argument
from bot.local_slack.options import BOT_USER_ID
from bot.local_slack.shapes import Json, Refusal
from bot.local_slack.world import Channel

SESSION_STATUSES = ("active", "processing", "suspended", "closed")
_NO_STOP_EVENT = "missing_agent_session_stopped_event_subscription"


def _thread(call: Call) -> tuple[Channel, str]:
    """The thread that a call is about; its root must exist and the app be in the channel."""
    if not call.world.options.agent_app:
        raise Refusal("not_authorized")
    channel = call.channel("channel_id")
    if BOT_USER_ID not in channel.members:
        raise Refusal("not_in_channel")
    thread_ts = call.required("thread_ts")
    root = channel.messages.get(thread_ts)
    if root is None or root.get("thread_ts", thread_ts) != thread_ts:
        raise Refusal("invalid_thread_ts")
    return channel, thread_ts


def _set_status(call: Call) -> Json:
    if not {"chat:write", "assistant:write"} & call.world.options.scopes:
        call.need("chat:write")
    channel, thread_ts = _thread(call)
    if call.args.get("status") is None:
        raise invalid_argument("missing required field: status")
    loading = call.json("loading_messages")
    if loading is not None and (not isinstance(loading, list) or len(loading) > 10):
        raise invalid_argument("no more than 10 items allowed [json-pointer:/loading_messages]")
    call.world.sessions.set_status(channel.id, thread_ts, call.text("status"))
    return {"ok": True}


def _set_title(call: Call) -> Json:
    channel, thread_ts = _thread(call)
    title = call.required("title")
    if not call.world.sessions.rename(channel.id, thread_ts, title):
        call.world.sessions.set_session(channel.id, thread_ts, "active", title)
    return {"ok": True}


def _set_prompts(call: Call) -> Json:
    if not call.world.options.agent_app:
        raise Refusal("not_authorized")
    channel = call.channel("channel_id")
    prompts = call.json("prompts")
    if not isinstance(prompts, list) or not 1 <= len(prompts) <= 4:
        raise invalid_argument("must have between 1 and 4 items [json-pointer:/prompts]")
    if not all(isinstance(p, dict) and p.get("title") and p.get("message") for p in prompts):
        raise invalid_argument("each prompt needs a title and a message [json-pointer:/prompts]")
    if not call.text("thread_ts"):
        # With a thread_ts an agent app's call "succeeds" and shows nothing, as in Slack.
        call.world.prompts = list(prompts)
        shown = {"prompts": prompts, "channel": channel.id}
        call.world.notify(Change("prompts", shown, user=channel.user, channel=channel.id))
    return {"ok": True}


def _session_status(call: Call) -> Json:
    channel, thread_ts = _thread(call)
    status, title = call.text("status"), call.text("title")
    if status not in SESSION_STATUSES:
        raise Refusal("invalid_status")
    if len(title) > 200:
        raise invalid_argument("must be less than 201 characters [json-pointer:/title]")
    session = call.world.sessions.set_session(channel.id, thread_ts, status, title)
    answer: Json = {"ok": True, "status": session.status, "title": session.title}
    answer["agent_status"] = session.status
    stop_event = "agent_session_stopped" in call.world.options.subscriptions
    if status == "processing" and not stop_event:
        answer |= {"warning": _NO_STOP_EVENT, "response_metadata": {"warnings": [_NO_STOP_EVENT]}}
    return answer


def _rename(call: Call) -> Json:
    channel, thread_ts = _thread(call)
    title = call.text("title")
    if not 1 <= len(title) <= 200:
        raise invalid_argument("must have between 1 and 200 characters [json-pointer:/title]")
    if not call.world.sessions.rename(channel.id, thread_ts, title):
        raise Refusal("session_not_found")
    event = {"type": "agent_session_title_changed", "channel": channel.id, "title": title,
             "thread_ts": thread_ts, "event_ts": call.world.clock.ts()}  # fmt: skip
    emit(call.world, event, channel)
    return {"ok": True, "title": title}


METHODS = (
    Method("assistant.threads.setStatus", _set_status, "", 600),
    Method("assistant.threads.setTitle", _set_title, "assistant:write", 100),
    Method("assistant.threads.setSuggestedPrompts", _set_prompts, "assistant:write", 100),
    Method("agents.sessions.setStatus", _session_status, "chat:write", 50),
    Method("agents.sessions.rename", _rename, "chat:write", 50),
)
