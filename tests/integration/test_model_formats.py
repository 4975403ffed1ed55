"""One model port for every kind of endpoint: what it refuses, ignores or writes its own way."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest

from bot.agent.dialects.base import NO_END, ONLY_REASONING
from bot.agent.entries import Entry, ModelReply, Observation, User
from bot.agent.prompt import Facts
from bot.agent.records import dump, load
from bot.agent.shown import Answer, Piece, Thought
from bot.errors import ModelRefused, ModelUnavailable
from bot.model import ChatModel, Endpoint, Remembered
from tests.doubles.model_endpoint import ModelEndpoint, Raw, Refuse, Reply, Request, Say
from tests.doubles.specs import SPECS

FACTS = Facts("a test")
QUESTION = User("what is 1+1?", "U1", "Alice", "1700000000.000100")
XML_CALL = '<thought>I add.</thought>\n<action>calculate("1+1")</action>'
STEP_READ = ("calculate", {"expression": "1+1"})
STEP = ("calculate", '{"expression": "1+1"}')


@asynccontextmanager
async def model_of(
    script: Sequence[Reply] | Any, knowledge: Remembered | None = None, **settings: Any
) -> AsyncIterator[tuple[ChatModel, ModelEndpoint]]:
    endpoint = ModelEndpoint(script)
    await endpoint.start()
    name = settings.pop("name", "m")
    model = ChatModel(Endpoint(name, "a-key-for-tests", endpoint.base_url, **settings), knowledge)
    try:
        yield model, endpoint
    finally:
        await model.close()
        await endpoint.stop()


async def one(script: Sequence[Reply] | Any, **settings: Any) -> ModelReply:
    """The model's reply to one question."""
    async with model_of(script, **settings) as (model, _):
        return await model.reply(FACTS, [QUESTION], SPECS)


def stream(*deltas: dict[str, Any], finish: str = "tool_calls") -> Raw:
    choices = [{"index": 0, "delta": delta} for delta in deltas]
    choices.append({"index": 0, "delta": {}, "finish_reason": finish})
    bodies = [{"id": "c", "created": 1, "model": "m", "choices": [choice]} for choice in choices]
    return Raw("".join(f"data: {json.dumps(body)}\n\n" for body in bodies) + "data: [DONE]\n\n")


def calls_of(reply: ModelReply) -> list[tuple[str, Any]]:
    return [(call.name, json.loads(call.arguments)) for call in reply.calls]


NO_TOOLS: list[tuple[int, dict[str, Any]]] = [
    (400, {"error": {"message": "registry/library/gemma:2b does not support tools"}}),
    (400, {"error": {"message": '"auto" tool choice requires --enable-auto-tool-choice'}}),
    (400, {"error": {"message": "deepseek-reasoner does not support Function Calling"}}),
    (400, {"error": {"message": "Unsupported parameter: 'tools'", "param": "tools"}}),
    (400, {"error": {"message": "`tool calling` is not supported with this model"}}),
    (404, {"error": {"message": "No endpoints found that support tool use."}}),
    (422, {"detail": [{"loc": ["body", "tools"], "msg": "Extra inputs are not permitted"}]}),
    (500, {"error": {"code": 500, "message": "tools param requires --jinja flag"}}),
]


@pytest.mark.parametrize(("status", "body"), NO_TOOLS)
async def test_an_endpoint_that_takes_no_tools_is_spoken_to_in_xml(
    status: int, body: dict[str, Any]
) -> None:
    """And from then on without asking again."""

    def script(request: Request) -> Reply:
        return Refuse(status, body) if "tools" in request else Say(XML_CALL)

    async with model_of(script, retries=0) as (model, endpoint):
        first = await model.reply(FACTS, [QUESTION], SPECS)
        await model.reply(FACTS, [QUESTION], SPECS)

    assert (calls_of(first), first.thought, first.dialect) == (
        [("calculate", {"expression": "1+1"})],
        "I add.",
        "xml",
    )
    assert ["tools" in request for request in endpoint.requests] == [True, False, False]
    assert endpoint.requests[1]["messages"][1]["content"].startswith("<question>")


async def test_an_endpoint_that_takes_no_tools_is_not_changed_if_native_was_chosen() -> None:
    with pytest.raises(ModelRefused, match="does not support tools"):
        await one([Refuse(*NO_TOOLS[0])], dialect="native")


async def test_a_bad_request_that_names_nothing_of_ours_is_no_refusal() -> None:
    refusal = Refuse(400, {"error": {"message": "the tool results are malformed"}})

    with pytest.raises(ModelRefused, match="malformed"):
        await one([refusal])


MORE_NO_TOOLS: list[tuple[int, dict[str, Any]]] = [
    (400, {"error": {"message": "Unrecognized request argument supplied: tools"}}),
    (400, {"error": {"message": 'json: unknown field "tools"'}}),
    (400, {"error": {"message": "property 'tools' is unsupported"}}),
    (400, {"error": {"message": "Unknown parameter: 'tools'.", "param": "tools"}}),
    (400, {"error": {"message": "This model doesn't support function calling."}}),
    (400, {"error": {"message": "Function calling is not enabled for this model"}}),
    (400, {"message": "Tools are not supported in streaming mode."}),
    (404, {"error": {"message": "m does not currently support tool use"}}),
    (422, {"detail": [{"type": "extra_forbidden", "loc": ["body", "tools"], "msg": "No."}]}),
    (501, {"error": {"message": "tool calls are not implemented"}}),
]
PASSING: list[tuple[int, str]] = [
    (500, "error parsing tool call: raw='{\"a\": ', err=unexpected end of JSON input"),
    (500, "Failed to parse tool call arguments as JSON: syntax error: unexpected end of input"),
    (500, "Internal error: unexpected failure in function dispatch"),
    (500, "the backend does not support tools"),
    (400, "messages with role 'tool' must follow: unexpected `tool_use_id` in `tool_result`"),
    (400, "messages[2].role does not support 'tool' with this model"),
    (400, "Invalid schema for function 'my_tool': extra fields not permitted"),
    (400, "An assistant message with 'tool_calls' must be followed by tools; unexpected role"),
    (400, "Your account cannot use this tool"),
    (400, "Unknown parameter: 'tools[0].function.strict'."),
    (400, "tools.0.custom.name: Extra inputs are not permitted"),
    (400, "This model does not support tools of type 'web_search'"),
    (400, "parallel tool calls are not supported"),
    (400, "the model does not support tool 'x'"),
    (400, "Invalid 'tools': array too long. Expected an array with maximum length 128"),
]


@pytest.mark.parametrize(("status", "body"), [*NO_TOOLS, *MORE_NO_TOOLS])
async def test_plain_words_that_there_are_no_tools_are_believed(
    status: int, body: dict[str, Any]
) -> None:
    knowledge = Remembered()

    def script(request: Request) -> Reply:
        return Refuse(status, body) if "tools" in request else Say(XML_CALL)

    async with model_of(script, knowledge, retries=0) as (model, _):
        assert (await model.reply(FACTS, [QUESTION], SPECS)).dialect == "xml"

    assert list(knowledge.facts.values()) == [{"dialect": "xml"}]


@pytest.mark.parametrize(("status", "message"), PASSING)
async def test_trouble_with_one_tool_or_call_does_not_make_a_model_one_without_tools(
    status: int, message: str
) -> None:
    knowledge = Remembered()
    script = [Refuse(status, {"error": {"message": message, "param": "tools"}}), Say("2")]

    async with model_of(script, knowledge, retries=0) as (model, endpoint):
        with pytest.raises(ModelRefused if status == 400 else ModelUnavailable):
            await model.reply(FACTS, [QUESTION], SPECS)

    assert knowledge.facts == {}
    assert len(endpoint.requests) == 1


BAD_VALUES = [
    ("max_tokens", "max_tokens is too large: 99999. This model supports at most 16384 tokens"),
    ("max_tokens", "Invalid value: max_tokens is too large"),
    ("max_tokens", "max_tokens must be at least 1; 0 is not allowed"),
    ("temperature", "Invalid 'temperature': decimal above maximum value. Expected a value <= 2"),
    ("temperature", "temperature 3 is not permitted, it must be between 0 and 2"),
    ("temperature", "Invalid type for 'temperature'"),
]


@pytest.mark.parametrize(("name", "message"), BAD_VALUES)
async def test_a_setting_with_a_bad_value_is_said_and_not_left_out(name: str, message: str) -> None:
    knowledge = Remembered()
    refusal = Refuse(400, {"error": {"message": message, "param": name}})

    async with model_of([refusal, Say("2")], knowledge, options={name: 99_999}) as (model, end):
        with pytest.raises(ModelRefused) as caught:
            await model.reply(FACTS, [QUESTION], SPECS)

    assert message[:40] in str(caught.value)
    assert knowledge.facts == {}
    assert len(end.requests) == 1


REFUSED = [
    ("stop", {"error": {"message": "Unsupported parameter: 'stop'", "param": "stop"}}, {}),
    (
        "stream_options",
        {"detail": [{"loc": ["body", "stream_options"], "msg": "Extra inputs are not permitted"}]},
        {},
    ),
    (
        "parallel_tool_calls",
        {"error": {"message": "parallel_tool_calls is not supported with this model"}},
        {"parallel_tool_calls": False},
    ),
    (
        "temperature",
        {
            "error": {
                "message": "Unsupported value: 'temperature' does not support 0.2 with this model.",
                "param": "temperature",
            }
        },
        {"temperature": 0.2},
    ),
    ("max_tokens", {"error": {"message": "max_tokens is unknown here"}}, {"max_tokens": 500}),
]


@pytest.mark.parametrize(("name", "body", "options"), REFUSED)
async def test_a_refused_parameter_is_left_out_and_that_is_remembered(
    name: str, body: dict[str, Any], options: dict[str, Any]
) -> None:
    def script(request: Request) -> Reply:
        return Refuse(400, body) if name in request else Say("Answer: 2")

    knowledge = Remembered()
    settings = {"options": options, "dialect": "text" if name == "stop" else "auto"}
    async with model_of(script, knowledge, **settings) as (model, endpoint):
        reply = await model.reply(FACTS, [QUESTION], SPECS)
        await model.reply(FACTS, [QUESTION], SPECS)

    assert (reply.answer or "").endswith("2")
    assert [name in request for request in endpoint.requests] == [True, False, False]
    assert list(knowledge.facts.values()) == [{f"refuses:{name}": "yes"}]


async def test_max_tokens_goes_on_under_its_other_name() -> None:
    body = {
        "error": {
            "message": "Unsupported parameter: 'max_tokens' is not supported with this model. "
            "Use 'max_completion_tokens' instead.",
            "param": "max_tokens",
        }
    }

    def script(request: Request) -> Reply:
        return Refuse(400, body) if "max_tokens" in request else Say("2")

    async with model_of(script, options={"max_tokens": 500}) as (model, endpoint):
        await model.reply(FACTS, [QUESTION], SPECS)

    assert endpoint.requests[1]["max_completion_tokens"] == 500


async def test_several_refusals_are_learned_one_after_the_other() -> None:
    def script(request: Request) -> Reply:
        for name in ("stream_options", "temperature"):
            if name in request:
                return Refuse(400, {"error": {"message": f"unknown field {name}"}})
        return Refuse(*NO_TOOLS[0]) if "tools" in request else Say(XML_CALL)

    async with model_of(script, options={"temperature": 0}) as (model, endpoint):
        reply = await model.reply(FACTS, [QUESTION], SPECS)

    assert len(endpoint.requests) == 4
    assert reply.dialect == "xml"


async def test_the_same_refusal_twice_is_an_error() -> None:
    """An endpoint that names a parameter which is not sent any more must not be asked for ever."""
    refusal = Refuse(400, {"error": {"message": "unknown field stop", "param": "stop"}})

    with pytest.raises(ModelRefused, match="unknown field stop"):
        await one(lambda _: refusal, dialect="text")


WRITTEN = [
    (XML_CALL, "xml"),
    ("Thought: I add.\nAction: calculate: 1+1\nPAUSE", "text"),
    (
        'Action:\n{"function_name": "calculate", "function_parms": {"expression": "1+1"}}\nPAUSE',
        "json",
    ),
    ('{"tool_name": "calculate", "tool_args": {"expression": "1+1"}}', "bare-json"),
    (
        '<tool_call>\n{"name": "calculate", "arguments": {"expression": "1+1"}}\n</tool_call>',
        "bare-json",
    ),
    ('<tool_call>{"name": "calculate", "arguments": {"expression": "1+1"}}', "bare-json"),
    ('```json\n{"name": "calculate", "arguments": {"expression": "1+1"}}\n```', "bare-json"),
    (
        '{"type": "function", "function": {"name": "calculate", "arguments": '
        '"{\\"expression\\": \\"1+1\\"}"}}',
        "bare-json",
    ),
]


@pytest.mark.parametrize(("text", "dialect"), WRITTEN)
async def test_a_call_that_a_model_writes_out_is_run_and_never_shown(
    text: str, dialect: str
) -> None:
    reply = await one([Say(text)])

    assert calls_of(reply) == [("calculate", {"expression": "1+1"})]
    assert (reply.answer, reply.dialect) == (None, dialect)
    assert reply.calls[0].id


@pytest.mark.parametrize(
    "text",
    [
        f"For example:\n{XML_CALL}",
        "Action: Bob: calls the printer",
        '{"name": "Bob", "arguments": {"a": 1}}',
        '```json\n{"name": "Bob", "age": 3}\n```',
        '<tool_call>{"name": "calculate"</tool_call>',
        "I wrote `Action: calculate: 1+1` above.",
    ],
)
async def test_an_answer_that_only_looks_like_a_call_is_an_answer(text: str) -> None:
    reply = await one([Say(text)])

    assert (reply.answer, reply.calls) == (text, ())


@pytest.mark.parametrize(
    "text",
    [
        "<thought>Easy.</thought>\n<final_answer>It is 2.</final_answer>",
        "Thought: Easy.\nAnswer: It is 2.",
    ],
)
async def test_an_answer_in_the_marks_of_another_dialect_is_shown_without_them(text: str) -> None:
    reply = await one([Say(text)])

    assert (reply.thought, reply.answer) == ("Easy.", "It is 2.")


async def test_text_may_come_as_a_list_of_parts() -> None:
    reply = await one([stream({"content": [{"type": "text", "text": "It is 2."}]}, finish="stop")])

    assert reply.answer == "It is 2."


@pytest.mark.parametrize(("text", "dialect"), WRITTEN[:4])
async def test_after_the_second_written_call_the_thread_goes_on_in_that_dialect(
    text: str, dialect: str
) -> None:
    entries: list[Entry] = [QUESTION]
    async with model_of(lambda _: Say(text)) as (model, endpoint):
        for _ in range(3):
            reply = await model.reply(FACTS, entries, SPECS)
            entries += [reply, Observation(reply.calls[0].id, "2")]

    assert ["tools" in request for request in endpoint.requests] == [True, True, False]
    sent = [m for m in endpoint.requests[2]["messages"] if m["role"] == "assistant"]
    assert [message["content"] for message in sent] == [text, text]


async def written_before(model: str, dialect: str, asked_in: str) -> list[Entry]:
    """A turn in which a model called a tool in text, under the `asked_in` of the settings."""
    entries: list[Entry] = [QUESTION]
    text = next(text for text, name in WRITTEN if name == dialect)
    async with model_of([Say(text)], dialect=asked_in, name=model) as (other, _):
        reply = await other.reply(FACTS, entries, SPECS)
    return [*entries, reply, Observation(reply.calls[0].id, "2")]


@pytest.mark.parametrize(
    ("model", "asked_in", "learned"),
    [
        ("m", "auto", ["xml"]),
        ("another", "auto", []),
        ("m", "xml", []),
        ("m", "native", []),
    ],
)
async def test_only_what_this_model_wrote_in_place_of_native_calls_counts(
    model: str, asked_in: str, learned: list[str]
) -> None:
    knowledge = Remembered()
    entries = await written_before(model, "xml", asked_in)
    async with model_of([Say(XML_CALL)], knowledge) as (here, _):
        await here.reply(FACTS, [load(dump(entry)) for entry in entries], SPECS)

    assert [facts["dialect"] for facts in knowledge.facts.values()] == learned


async def test_written_calls_do_not_change_a_dialect_that_was_chosen() -> None:
    entries: list[Entry] = [QUESTION]
    async with model_of(lambda _: Say(XML_CALL), dialect="native") as (model, endpoint):
        for _ in range(3):
            reply = await model.reply(FACTS, entries, SPECS)
            entries += [reply, Observation(reply.calls[0].id, "2")]

    assert ["tools" in request for request in endpoint.requests] == [True, True, True]
    roles = [message["role"] for message in endpoint.requests[1]["messages"]]
    assert roles == ["system", "user", "assistant", "tool"]


def function(arguments: object, **more: object) -> dict[str, Any]:
    return {"tool_calls": [{"function": {"name": "calculate", "arguments": arguments}, **more}]}


@pytest.mark.parametrize(
    ("arguments", "read"),
    [
        ({"expression": "1+1"}, {"expression": "1+1"}),
        ("", {}),
        (None, {}),
        ("null", {}),
        ('{"expression": "1+1"}', {"expression": "1+1"}),
    ],
)
async def test_arguments_may_come_as_an_object_empty_or_null(
    arguments: object, read: dict[str, str]
) -> None:
    reply = await one([stream(function(arguments, index=0, id="c1"))])

    assert calls_of(reply) == [("calculate", read)]


def part(**function: object) -> dict[str, Any]:
    return {"tool_calls": [{"function": function}]}


async def test_calls_may_be_streamed_without_an_index() -> None:
    reply = await one(
        [
            stream(
                part(name="calculate", arguments='{"expression":'),
                part(arguments=' "1+1"}'),
                part(name="list_dir", arguments="{}"),
            )
        ]
    )

    assert calls_of(reply) == [("calculate", {"expression": "1+1"}), ("list_dir", {})]


async def test_several_calls_may_share_an_index_if_their_ids_differ() -> None:
    reply = await one([stream(*[function("{}", index=0, id=f"c{at}") for at in range(2)])])

    assert [call.id for call in reply.calls] == ["c0", "c1"]


async def test_a_name_may_be_repeated_in_each_chunk() -> None:
    parts = [function('{"expression":', index=0, id="c1"), function(' "2"}', index=0, id="c1")]

    assert calls_of(await one([stream(*parts)])) == [("calculate", {"expression": "2"})]


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
async def test_thinking_that_comes_apart_is_kept_and_sent_back_with_its_call(field: str) -> None:
    first = stream({field: "Two ones."}, function("{}", index=0, id="c1"))
    async with model_of([first, Say("2")]) as (model, endpoint):
        reply = await model.reply(FACTS, [QUESTION], SPECS)
        await model.reply(FACTS, [QUESTION, reply, Observation("c1", "2")], SPECS)

    assert (reply.reasoning, reply.reasoning_field, reply.thought) == ("Two ones.", field, "")
    assert endpoint.requests[1]["messages"][2][field] == "Two ones."


async def test_thinking_that_an_endpoint_does_not_take_back_is_left_out() -> None:
    def script(request: Request) -> Reply:
        if any("reasoning_content" in message for message in request["messages"]):
            return Refuse(400, {"error": {"message": "reasoning_content is not allowed here"}})
        return Say("2")

    reply = await one([stream({"reasoning_content": "Hm."}, function("{}", index=0, id="c1"))])
    async with model_of(script) as (model, endpoint):
        answer = await model.reply(FACTS, [QUESTION, reply, Observation("c1", "2")], SPECS)

    assert answer.answer == "2"
    assert len(endpoint.requests) == 2


@pytest.mark.parametrize(
    ("text", "reasoning", "answer"),
    [
        ("<think>One and one.</think>\n\nIt is 2.", "One and one.", "It is 2."),
        ("<thinking>Hm.</thinking>It is 2.", "Hm.", "It is 2."),
        ("One and one.\n</think>\n\nIt is 2.", "One and one.", "It is 2."),
        ("Write `</think>` at its end.", "", "Write `</think>` at its end."),
        ("Use <think> tags.", "", "Use <think> tags."),
    ],
)
async def test_thinking_inside_the_text_is_taken_apart(
    text: str, reasoning: str, answer: str
) -> None:
    reply = await one([Say(text)])

    assert (reply.reasoning, reply.answer) == (reasoning, answer)


async def test_an_action_inside_thinking_is_not_run() -> None:
    reply = await one([Say(f"<think>Maybe\n{XML_CALL}\n</think>\nIt is 2.")], dialect="xml")

    assert (reply.calls, reply.problem) == ((), NO_END)


async def test_a_written_call_after_thinking_is_run() -> None:
    reply = await one([Say(f"<think>Hm.</think>\n{XML_CALL}")], dialect="xml")

    assert (calls_of(reply), reply.reasoning) == ([("calculate", {"expression": "1+1"})], "Hm.")
    assert reply.raw == XML_CALL


@pytest.mark.parametrize("text", ["<think>I never stop", "<think>Done.</think>"])
async def test_a_reply_that_only_thinks_is_a_problem(text: str) -> None:
    assert (await one([Say(text)])).problem == ONLY_REASONING


async def test_a_thought_without_an_end_is_taken_as_the_answer_the_second_time() -> None:
    async with model_of(lambda _: Say("<thought>It is 2.</thought>"), dialect="xml") as (model, _):
        first = await model.reply(FACTS, [QUESTION], SPECS)
        second = await model.reply(FACTS, [QUESTION, first], SPECS)

    assert (first.problem, first.answer) == (NO_END, None)
    assert (second.problem, second.answer) == ("", "It is 2.")


@pytest.mark.parametrize("dialect", ["xml", "text", "json", "bare-json"])
async def test_a_text_dialect_sends_no_tools_and_its_reply_goes_back_byte_for_byte(
    dialect: str,
) -> None:
    text = next(text for text, name in WRITTEN if name == dialect)
    async with model_of([Say(text + "\n\n"), Say("Done.")], dialect=dialect) as (model, endpoint):
        reply = await model.reply(FACTS, [QUESTION], SPECS)
        await model.reply(FACTS, [QUESTION, reply, Observation(reply.calls[0].id, "2")], SPECS)

    first, second = endpoint.requests
    assert "tools" not in first
    assert second["messages"][: len(first["messages"])] == first["messages"]
    assert second["messages"][2] == {"role": "assistant", "content": text}


async def test_stop_sequences_are_not_sent_again_right_after_a_reply_that_they_may_have_cut() -> (
    None
):
    async with model_of(lambda _: Say('<action>write_file("a", "'), dialect="xml") as (m, endpoint):
        first = await m.reply(FACTS, [QUESTION], SPECS)
        await m.reply(FACTS, [QUESTION, first], SPECS)

    assert first.problem
    assert ["stop" in request for request in endpoint.requests] == [True, False]


ODD_ENDS = ["network_error", "insufficient_system_resource", "error", "abort", "cancelled"]


@pytest.mark.parametrize("finish", ODD_ENDS)
@pytest.mark.parametrize(
    "half", [{"content": XML_CALL}, function('{"expression": "1+1"}', index=0, id="c1")]
)
async def test_a_reply_that_ended_in_trouble_is_asked_for_again_and_never_run(
    finish: str, half: dict[str, Any]
) -> None:
    seen: list[Piece | None] = []
    async with model_of([stream(half, finish=finish), Say("It is 2.")]) as (model, endpoint):
        reply = await model.watched(seen.append).reply(FACTS, [QUESTION], SPECS)

    assert (reply.answer, reply.calls) == ("It is 2.", ())
    assert len(endpoint.requests) == 2
    assert seen[-1] == Answer("It is 2.")


async def test_a_reply_that_always_ends_in_trouble_is_a_sentence() -> None:
    with pytest.raises(ModelUnavailable, match="broke off several times"):
        await one(lambda _: stream(function("{}", index=0, id="c1"), finish="network_error"))


ENDS = ["stop", "STOP", "tool_calls", "function_call", "eos_token", "stop_sequence"]
ENDS += ["end_turn", "tool_use"]


@pytest.mark.parametrize("finish", ENDS)
async def test_a_reply_that_ended_well_is_run(finish: str) -> None:
    call = function('{"expression": "1+1"}', index=0, id="c1")

    assert calls_of(await one([stream(call, finish=finish)])) == [STEP_READ]


@pytest.mark.parametrize("finish", ["length", "max_tokens", "model_context_window_exceeded"])
async def test_a_call_at_the_length_limit_is_not_run_whatever_the_word_for_it(finish: str) -> None:
    with pytest.raises(ModelRefused, match="length limit"):
        await one([stream(function("{}", index=0, id="c1"), finish=finish)])


@pytest.mark.parametrize("text", ["<action>calculate(", '{"tool_name": "calc', "Action: calc"])
async def test_a_written_call_that_was_cut_off_is_never_shown_or_run(text: str) -> None:
    with pytest.raises(ModelRefused, match="length limit"):
        await one([Say(text, finish="length")])


async def test_a_cut_reply_in_a_text_dialect_is_a_problem_and_an_answer_says_that_it_is_cut() -> (
    None
):
    call = await one([Say('<action>calculate("1', finish="length")], dialect="xml")
    answer = await one([Say("<final_answer>It is", finish="length")], dialect="xml")

    assert "length limit" in call.problem
    assert (answer.answer, answer.cut_off) == ("It is", True)


async def watched(script: Sequence[Reply], dialect: str) -> list[Piece | None]:
    seen: list[Piece | None] = []
    async with model_of(script, dialect=dialect) as (model, _):
        await model.watched(seen.append).reply(FACTS, [QUESTION], SPECS)
    return seen


async def test_a_reply_is_shown_as_it_arrives_and_none_of_its_action() -> None:
    seen = await watched([Say(XML_CALL, reasoning="Hm.", chunk=3)], "xml")

    assert len(seen) > 2
    assert "".join(p.text for p in seen if isinstance(p, Thought)) == "Hm.I add."
    assert not [p for p in seen if isinstance(p, Answer) or p is None]


async def test_a_retry_after_a_cut_stream_replaces_what_was_shown() -> None:
    seen = await watched(
        [Say("It is three, I think.", cut=True, chunk=4), Say("It is 2.")], "native"
    )

    again = seen.index(None)
    assert seen[again + 1 :] == [Answer("It is 2.")]


async def test_thinking_in_the_text_is_shown_as_thought() -> None:
    seen = await watched([Say("<think>One and one.</think>\nIt is surely 2.", chunk=2)], "native")

    for kind, text in ((Thought, "One and one."), (Answer, "It is surely 2.")):
        assert "".join(p.text for p in seen if isinstance(p, kind)) == text


async def test_a_reply_without_anything_is_no_reply() -> None:
    with pytest.raises(ModelUnavailable, match="empty reply"):
        await one([Say("")])


async def test_arguments_that_are_no_json_go_back_as_json() -> None:
    """Servers that read the history's arguments again fail on anything else."""
    async with model_of([Say(calls=(("calculate", "{oops"),)), Say("2")]) as (model, endpoint):
        reply = await model.reply(FACTS, [QUESTION], SPECS)
        await model.reply(FACTS, [QUESTION, reply, Observation(reply.calls[0].id, "no")], SPECS)

    assert reply.calls[0].arguments == "{oops"
    (call,) = endpoint.requests[1]["messages"][2]["tool_calls"]
    assert json.loads(call["function"]["arguments"]) == {"unreadable": "{oops"}
