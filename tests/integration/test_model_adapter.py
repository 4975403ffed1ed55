"""The model behind a real endpoint: what it says is kept, what goes wrong has its sentence."""

from __future__ import annotations

import asyncio
import gzip
import json
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import httpx2
import openai
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot import words
from bot.agent.entries import ModelReply, Usage, User
from bot.agent.prompt import Facts, system_prompt
from bot.agent.records import dump, load
from bot.errors import ContextTooLong, ModelError, ModelRefused, ModelUnavailable
from bot.model import ChatModel, Endpoint
from bot.model.chat import CUT_STREAM_TRIES
from bot.model.collected import Collected
from bot.model.failures import translated
from tests.doubles.model_endpoint import ModelEndpoint, Raw, Refuse, Reply, Request, Say
from tests.doubles.specs import SPECS

FACTS = Facts("a test")
ASK = [User("what is 6 * 7?", "U1", "Ann", "1700000000.1")]
SOON = {"retry-after-ms": "1"}


@dataclass
class Line:
    """A model and the endpoint that it talks to."""

    model: ChatModel
    end: ModelEndpoint

    async def ask(self, *replies: Reply) -> ModelReply:
        """The model's reply; the endpoint gives its replies in turn and the last one for ever."""
        left = list(replies)
        self.end.play(lambda _: left.pop(0) if len(left) > 1 else left[0])
        return await self.model.reply(FACTS, ASK, ())

    async def error(self, *replies: Reply) -> ModelError:
        with pytest.raises(ModelError) as caught:
            await self.ask(*replies)
        return caught.value


@asynccontextmanager
async def opened(**settings: Any) -> AsyncIterator[Line]:
    end = ModelEndpoint()
    await end.start()
    model = ChatModel(Endpoint("scripted", "sk-test-key", end.base_url, **settings))
    try:
        yield Line(model, end)
    finally:
        await model.close()
        await end.stop()


@pytest.fixture
async def line() -> AsyncIterator[Line]:
    async with opened(retries=2, read_timeout=10.0) as line:
        yield line


def events(*chunks: object, done: bool = True) -> Raw:
    """A stream of server-sent events, each a chunk."""
    lines = [f"data: {json.dumps(chunk)}\n\n" for chunk in chunks]
    return Raw("".join([*lines, "data: [DONE]\n\n" if done else ""]).encode())


def delta(finish: str | None = None, **fields: object) -> object:
    return {"choices": [{"index": 0, "delta": fields, "finish_reason": finish}]}


def part(name: str = "", arguments: str = "", **fields: object) -> object:
    return {"function": {"name": name, "arguments": arguments}, **fields}


# What is kept of a reply


async def test_a_streamed_text_is_put_together(line: Line) -> None:
    reply = await line.ask(Say("It is **42**, naïve 🙂.", chunk=3, usage=(12, 7)))

    assert reply.answer == "It is **42**, naïve 🙂."
    assert reply.thought == ""
    assert reply.calls == ()
    assert reply.usage == Usage(12, 7)
    assert reply.model == "scripted"
    assert not reply.cut_off
    assert reply.seconds > 0


async def test_several_calls_in_one_reply_are_kept_in_order_with_the_thought(line: Line) -> None:
    calls = (("calculate", '{"expression": "6 * 7"}'), ("list_dir", "{}"), ("calculate", "{broken"))

    reply = await line.ask(Say("I look and multiply.", calls=calls))

    assert reply.thought == "I look and multiply."
    assert reply.answer is None
    assert [(call.name, call.arguments) for call in reply.calls] == list(calls)
    assert len({call.id for call in reply.calls}) == 3


@pytest.mark.parametrize("name", ["reasoning_content", "reasoning"])
async def test_reasoning_is_kept_with_the_field_it_came_in(line: Line, name: str) -> None:
    stream = events(
        delta(**{name: "6 * 7 "}), delta(**{name: "is 42"}), delta("stop", content="42")
    )

    reply = await line.ask(stream)

    assert (reply.reasoning, reply.reasoning_field) == ("6 * 7 is 42", name)
    assert reply.answer == "42"


async def test_the_whole_usage_is_kept(line: Line) -> None:
    usage = {
        "prompt_tokens": 100,
        "completion_tokens": 50,
        "prompt_tokens_details": {"cached_tokens": 80, "audio_tokens": None},
        "completion_tokens_details": {"reasoning_tokens": 30},
    }

    reply = await line.ask(events(delta("stop", content="42"), {"choices": [], "usage": usage}))

    assert reply.usage == Usage(100, 50, 80, 30)


@pytest.mark.parametrize("usage", [None, {}, {"prompt_tokens": None, "completion_tokens": "?"}])
async def test_a_reply_without_a_count_of_its_tokens_is_a_reply(line: Line, usage: object) -> None:
    reply = await line.ask(events(delta("stop", content="42"), {"choices": [], "usage": usage}))

    assert (reply.answer, reply.usage) == ("42", Usage())


async def test_the_request_holds_what_chat_completions_want(line: Line) -> None:
    await line.ask(Say("42"))

    (request,) = line.end.requests
    assert request == {
        "model": "scripted",
        "messages": [
            {"role": "system", "content": system_prompt(FACTS)},
            {"role": "user", "content": "Ann (U1), 2023-11-14 22:13 UTC:\nwhat is 6 * 7?"},
        ],
        "stream": True,
        "stream_options": {"include_usage": True},
    }


async def test_tools_are_offered_only_if_there_are_any(line: Line) -> None:
    line.end.play(lambda _: Say("42"))
    await line.model.reply(FACTS, ASK, ())
    await line.model.reply(FACTS, ASK, SPECS[:1])

    without, offered = line.end.requests
    assert "tools" not in without
    (tool,) = offered["tools"]
    assert tool["function"]["name"] == "calculate"


ODD_IDS: list[tuple[str, list[object]]] = [
    (
        "the same id twice",
        [part("a", "1", index=0, id="x"), part("b", "2", index=1, id="x")],
    ),
    ("no ids", [part("a", "1", index=0, id=None), part("b", "2", index=1)]),
    ("empty ids", [part("a", "1", index=0, id=""), part("b", "2", index=1, id="")]),
    ("no numbers", [part("a", "1", id="x"), part("b", "2", id="y")]),
    ("every call number 0", [part("a", "1", index=0, id="x"), part("b", "2", index=0, id="y")]),
    (
        "in pieces, the id in each",
        [
            part("a", "", index=0, id="x"),
            part("", "1", index=0, id="x"),
            part("b", "", index=1, id="y"),
            part("", "2", index=1, id="y"),
        ],
    ),
    (
        "in pieces, number 0 for all",
        [
            part("a", "", index=0, id="x"),
            part("", "1", index=0),
            part("b", "", index=0, id="y"),
            part("", "2", index=0),
        ],
    ),
]


@pytest.mark.parametrize("parts", [row[1] for row in ODD_IDS], ids=[row[0] for row in ODD_IDS])
@pytest.mark.parametrize("together", [True, False], ids=["one chunk", "a chunk each"])
async def test_calls_have_ids_of_their_own_whatever_the_endpoint_sends(
    line: Line, parts: list[object], together: bool
) -> None:
    chunks = [parts] if together else [[one] for one in parts]

    reply = await line.ask(
        events(*(delta(tool_calls=chunk) for chunk in chunks), delta("tool_calls"))
    )

    assert [(call.name, call.arguments) for call in reply.calls] == [("a", "1"), ("b", "2")]
    assert all(call.id for call in reply.calls)
    assert len({call.id for call in reply.calls}) == 2


async def test_half_characters_are_joined_or_replaced(line: Line) -> None:
    """An endpoint may cut between the halves of an emoji; half of one can be stored nowhere."""
    reply = await line.ask(
        events(
            delta(content="a \ud83d"), delta(content="\ude42 b"), delta("stop", content="\ud83d")
        )
    )

    assert reply.answer == "a 🙂 b\ufffd"


KEYS = (
    *("choices", "delta", "content", "tool_calls", "function", "name", "arguments", "index", "id"),
    *("usage", "prompt_tokens", "completion_tokens_details", "reasoning_tokens"),
    *("reasoning", "refusal", "text"),
)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=4)
    ),
    max_leaves=12,
)


@given(st.lists(json_values, max_size=4))
def test_chunks_of_any_shape_are_a_reply_that_can_be_stored_or_a_sentence(
    chunks: list[object],
) -> None:
    collected = Collected()
    for chunk in [*chunks, delta("stop")]:
        collected.add(chunk)
    try:
        whole = collected.whole()
    except ModelError:
        return
    assert whole.calls or whole.text or whole.reasoning
    reply = ModelReply(
        "m",
        calls=whole.calls,
        answer=whole.text,
        reasoning=whole.reasoning,
        reasoning_field=whole.reasoning_field,
        usage=whole.usage,
    )
    assert load(dump(reply).encode().decode()) == reply


def test_counts_that_are_no_numbers_are_not_stored_as_such() -> None:
    collected = Collected()
    collected.add({"usage": {"prompt_tokens": True, "completion_tokens": 1.5}})
    collected.add(delta("stop", content="42"))

    reply = ModelReply("m", answer="42", usage=collected.whole().usage)

    assert load(dump(reply)) == reply


# What goes wrong


def body(message: str, code: str | None = None) -> dict[str, Any]:
    return {"error": {"message": message, "code": code, "type": "invalid_request_error"}}


def where(line: Line) -> str:
    return line.end.base_url


LONG = "This model's maximum context length is 8192 tokens. However, you requested 9000."
REFUSALS: list[tuple[str, Refuse, type[ModelError], str]] = [
    ("401", Refuse(401, body("bad key")), ModelRefused, "refused the key"),
    ("403", Refuse(403, body("forbidden")), ModelRefused, "refused the key"),
    ("404", Refuse(404, body("no such model")), ModelRefused, "does not know the model 'scripted'"),
    ("a place without an API", Refuse(404), ModelRefused, "Check OPENAI_BASE_URL (it usually"),
    ("400", Refuse(400, body("tools?")), ModelRefused, "refused the request (HTTP 400): tools?"),
    ("422", Refuse(422, body("role")), ModelRefused, "refused the request (HTTP 422): role"),
    ("too long", Refuse(400, body("x", "context_length_exceeded")), ContextTooLong, "longer than"),
    ("too long, told in words", Refuse(400, body(LONG)), ContextTooLong, "longer than"),
    ("413", Refuse(413, body("context length")), ContextTooLong, "longer than"),
    ("no credit", Refuse(429, body("x", "insufficient_quota"), SOON), ModelRefused, "no credit"),
    ("an odd body", Refuse(400, {"detail": ["no"]}), ModelRefused, "(HTTP 400): "),
]


@pytest.mark.parametrize(
    ("refuse", "kind", "said"), [row[1:] for row in REFUSALS], ids=[row[0] for row in REFUSALS]
)
async def test_a_refusal_is_one_sentence_that_says_what_to_do(
    line: Line, refuse: Refuse, kind: type[ModelError], said: str
) -> None:
    error = await line.error(refuse)

    assert type(error) is kind
    assert said in str(error)
    assert "\n" not in str(error)
    assert "sk-test-key" not in str(error)


@pytest.mark.parametrize("refuse", [Refuse(401), Refuse(404), Refuse(400, body("x"))])
async def test_what_will_be_refused_again_is_not_asked_again(line: Line, refuse: Refuse) -> None:
    await line.error(refuse)

    assert len(line.end.requests) == 1


@pytest.mark.parametrize("status", [429, 500, 502, 503, 529, 408])
async def test_a_passing_trouble_is_asked_again(line: Line, status: int) -> None:
    refuse = Refuse(status, body("later"), SOON)

    assert (await line.ask(refuse, refuse, Say("42"))).answer == "42"
    assert len(line.end.requests) == 3


@pytest.mark.parametrize(
    ("status", "said"), [(429, "is limiting requests"), (503, "has trouble (HTTP 503)")]
)
async def test_a_trouble_that_stays_is_given_up_with_a_sentence(
    line: Line, status: int, said: str
) -> None:
    error = await line.error(Refuse(status, body("later"), SOON))

    assert type(error) is ModelUnavailable
    assert f"{where(line)} {said}" in str(error)
    assert len(line.end.requests) == 3, "the first and two retries"


@pytest.mark.wall_clock
async def test_retry_after_is_honoured(line: Line) -> None:
    asked: list[float] = []

    def script(_: Request) -> Reply:
        asked.append(time.monotonic())
        return Say("42") if len(asked) > 1 else Refuse(429, body("wait"), {"Retry-After": "1.2"})

    line.end.play(script)
    reply = await line.model.reply(FACTS, ASK, ())

    assert reply.answer == "42"
    assert 1.2 <= asked[1] - asked[0] < 2.5


async def test_nobody_listening_is_a_sentence_with_the_address() -> None:
    model = ChatModel(Endpoint("m", "k", "http://127.0.0.1:9/v1", retries=0))

    with pytest.raises(ModelUnavailable) as caught:
        await model.reply(FACTS, ASK, ())
    await model.close()

    assert str(caught.value) == words.model_unreachable("http://127.0.0.1:9/v1")


async def test_a_model_that_does_not_answer_in_time_is_a_sentence() -> None:
    async with opened(retries=0, read_timeout=0.1) as line:
        gate = asyncio.Event()
        error = await line.error(Say("late", gate=gate))
        gate.set()

        assert type(error) is ModelUnavailable
        assert str(error) == words.model_timed_out(where(line))


async def test_a_stream_that_breaks_off_is_asked_for_again(line: Line) -> None:
    reply = await line.ask(Say("half of", cut=True), Say("It is 42."))

    assert reply.answer == "It is 42."


@pytest.mark.parametrize(
    "cut",
    [Say("half of", cut=True), events(delta(content="half of"), done=False), events()],
    ids=["connection lost", "ended early", "nothing in it"],
)
async def test_a_stream_that_always_breaks_off_is_given_up(line: Line, cut: Reply) -> None:
    error = await line.error(cut)

    assert type(error) is ModelUnavailable
    assert str(error) == words.model_cut_stream()
    assert len(line.end.requests) == CUT_STREAM_TRIES


async def test_a_call_that_breaks_off_is_never_run(line: Line) -> None:
    call = part("write_file", '{"path": "a", "content": "half', index=0, id="x")

    error = await line.error(events(delta(tool_calls=[call]), done=False))

    assert str(error) == words.model_cut_stream()


CALL = delta(tool_calls=[part("calculate", "{}", index=0, id="x")])
UNUSABLE: list[tuple[str, Reply, type[ModelError], str]] = [
    ("empty", events(delta("stop", content=" \n")), ModelUnavailable, words.model_empty()),
    ("no choice", events({"choices": []}), ModelUnavailable, words.model_cut_stream()),
    (
        "filtered",
        events(delta("content_filter", content="x")),
        ModelRefused,
        words.model_filtered(),
    ),
    ("cut off in a call", events(CALL, delta("length")), ModelRefused, words.model_cut_off()),
    ("cut off before a word", events(delta("length")), ModelRefused, words.model_cut_off()),
]


@pytest.mark.parametrize(
    ("reply", "kind", "sentence"), [row[1:] for row in UNUSABLE], ids=[row[0] for row in UNUSABLE]
)
async def test_a_reply_that_is_none_is_a_sentence(
    line: Line, reply: Reply, kind: type[ModelError], sentence: str
) -> None:
    error = await line.error(reply)

    assert type(error) is kind
    assert str(error) == sentence


async def test_an_answer_that_reached_the_length_limit_is_an_answer_that_says_so(
    line: Line,
) -> None:
    reply = await line.ask(Say("It is a long st", finish="length"))

    assert reply.answer == "It is a long st"
    assert reply.cut_off


async def test_a_refusal_by_the_model_itself_is_its_answer(line: Line) -> None:
    reply = await line.ask(events(delta(refusal="I can't "), delta("stop", refusal="help.")))

    assert reply.answer == "I can't help."


PAGE = b"<!doctype html><title>Welcome to nginx</title>"
WRONG_BODIES: list[tuple[str, Reply, str]] = [
    ("a page", Raw(PAGE, "text/html"), "sent text/html where a streamed reply belongs"),
    ("a document", Raw(b'{"choices": []}', "application/json"), "sent application/json where"),
    ("a torn event", Raw(b"data: {not json\n\n"), "that I could not read (its reply is not valid"),
    ("an error", events({"error": {"message": "overloaded"}}), "could not read (overloaded)"),
    ("bare bytes", Raw(bytes(range(128, 256))), "that I could not read (its reply is not valid"),
    (
        "a broken compression",
        Raw(gzip.compress(b"data: {}")[:9] + b"?" * 40, headers={"Content-Encoding": "gzip"}),
        "broke off several times",
    ),
]


@pytest.mark.parametrize(
    ("reply", "said"), [row[1:] for row in WRONG_BODIES], ids=[row[0] for row in WRONG_BODIES]
)
async def test_a_body_that_is_no_reply_is_a_sentence(line: Line, reply: Reply, said: str) -> None:
    error = await line.error(reply)

    assert said in str(error)
    assert "\n" not in str(error)


async def test_a_cancelled_reply_ends_at_once_and_leaves_nothing_open(line: Line) -> None:
    line.end.play([Say("late", gate=asyncio.Event()), Say("42")])
    asking = asyncio.create_task(line.model.reply(FACTS, ASK, ()))
    await line.end.asked()

    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking

    assert (await line.model.reply(FACTS, ASK, ())).answer == "42"


async def test_whoever_asks_while_the_client_is_being_made_shares_it(line: Line) -> None:
    line.end.play(lambda _: Say("42"))

    replies = await asyncio.gather(
        line.model.warm(), *(line.model.reply(FACTS, ASK, ()) for _ in range(5)), line.model.warm()
    )

    assert [r.answer for r in replies if isinstance(r, ModelReply)] == ["42"] * 5


# Every foreign exception


def tree(kind: type[Exception]) -> Iterator[type[Exception]]:
    yield kind
    for child in kind.__subclasses__():
        yield from tree(child)


REQUEST = httpx2.Request("POST", "http://127.0.0.1:9/v1/chat/completions")
STATUS = {
    openai.BadRequestError: 400,
    openai.AuthenticationError: 401,
    openai.PermissionDeniedError: 403,
    openai.NotFoundError: 404,
    openai.ConflictError: 409,
    openai.UnprocessableEntityError: 422,
    openai.RateLimitError: 429,
    openai.InternalServerError: 500,
}


def made(kind: type[Exception]) -> Exception:
    """An exception of this kind, as the library makes it."""
    if issubclass(kind, openai.APIStatusError):
        response = httpx2.Response(STATUS.get(kind, 418), request=REQUEST)
        if issubclass(kind, openai.OAuthError):
            return kind(response=response, body=None)
        return kind("no", response=response, body=None)
    if issubclass(kind, openai.APIConnectionError):
        return kind(request=REQUEST)
    error = kind.__new__(kind)
    Exception.__init__(error, "no")
    return error


@pytest.mark.parametrize("kind", sorted(set(tree(openai.OpenAIError)), key=str))
def test_every_error_of_the_library_becomes_one_of_ours(kind: type[Exception]) -> None:
    ours = translated(made(kind), Endpoint("m"))

    assert isinstance(ours, ModelError)
    assert str(ours).endswith(".") or str(ours).endswith(": no")


def test_the_tree_that_was_walked_is_the_whole_library() -> None:
    public: Sequence[object] = [getattr(openai, name) for name in openai.__all__]
    errors = {e for e in public if isinstance(e, type) and issubclass(e, Exception)}
    errors.remove(openai.InvalidWebhookSignatureError)  # webhooks are not used here

    assert errors <= set(tree(openai.OpenAIError))
    assert len(errors) > 10


def test_a_bug_stays_what_it_is() -> None:
    bug = KeyError("ours")

    assert translated(bug, Endpoint("m")) is bug


def test_the_key_shows_in_no_repr() -> None:
    assert "sk-secret" not in repr(Endpoint("m", "sk-secret"))
