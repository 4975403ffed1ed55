"""What holds for every dialect and every text: hypothesis looks for a counterexample."""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Callable, Sequence

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from bot.agent.dialects import bare_json, json_actions, text, xml
from bot.agent.dialects.base import Answer, Dialect, Parsed, Thought, WasThought
from bot.agent.dialects.detect import DIALECTS, read
from bot.agent.dialects.literals import dumps
from bot.agent.entries import (
    Answered,
    Edited,
    Entry,
    ModelReply,
    Observation,
    Overheard,
    Quote,
    Stopped,
    ToolCall,
    User,
    Warned,
)
from tests.doubles.specs import SPECS

RENDER: dict[str, Callable[[ToolCall, str], str]] = {
    "xml": xml.render,
    "text": text.render,
    "json": json_actions.render,
    "bare-json": bare_json.render,
}
TEXT_DIALECTS = tuple(RENDER)
PIECES = (
    "<thought>", "</thought>", "<action>", "</action>", "<final_answer>", "</final_answer>",
    "<observation>", "</observation>", "Thought:", "Action:", "Action：", "**Action:**", "PAUSE",
    "Observation:", "Answer:", "Action_Response:", "```", "```json", "~~~", "> ", "\n", "\n\n", " ",
    '"', "'", '"""', "'''", "\\", "(", ")", "{", "}", "[", "]", ",", ":", "=", "“", "”",
    'calculate("1+1")', "calculate: 1+1", '{"tool_name": "calculate", "tool_args": {}}',
    '{"function_name": "calculate", "function_parms": {"a": 1}}', "<<EOF", "EOF", "x", "你好",
    "<tool_call>", "</tool_call>", "null", "True", "-1.5e3", "\ud83d", "\x00", "\u2028",
)  # fmt: skip
MESSES = st.one_of(st.text(), st.lists(st.sampled_from(PIECES), max_size=25).map("".join))
TEXTS = st.one_of(st.text(st.characters(codec="utf-8"), max_size=40), MESSES.map(lambda t: t[:80]))
VALUES = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.floats(allow_nan=False, allow_infinity=False),
        TEXTS,
    ),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)
NAMES = st.one_of(
    st.from_regex(r"[A-Za-z_][A-Za-z0-9_-]{0,63}", fullmatch=True), TEXTS.filter(str.strip)
)
ARGUMENTS = st.one_of(
    st.dictionaries(TEXTS, VALUES, max_size=4),
    st.dictionaries(st.from_regex(r"[a-z_]{1,9}", fullmatch=True), VALUES, max_size=4),
)


@pytest.mark.parametrize("name", TEXT_DIALECTS)
@given(tool=NAMES, arguments=ARGUMENTS, thought=st.sampled_from(["", "I look first."]))
@settings(max_examples=300, deadline=None)
def test_any_call_survives_being_written_and_read(
    name: str, tool: str, arguments: dict[str, object], thought: str
) -> None:
    assume(tool == tool.strip())
    call = ToolCall("c1", tool, dumps(arguments))  # type: ignore[arg-type]

    parsed = DIALECTS[name].parse(RENDER[name](call, thought), (), cut_off=False)

    assert [(c.name, json.loads(c.arguments)) for c in parsed.calls] == [
        (tool, json.loads(call.arguments))
    ], parsed.problem
    assert parsed.thought == ("" if name == "bare-json" else thought)


@pytest.mark.parametrize("name", TEXT_DIALECTS)
@given(tool=st.sampled_from(SPECS), value=TEXTS)
@settings(max_examples=200, deadline=None)
def test_any_text_survives_as_an_argument_of_a_tool_there_is(
    name: str, tool: object, value: str
) -> None:
    spec = SPECS[SPECS.index(tool)]
    properties = spec.parameters["properties"]
    assert isinstance(properties, dict)
    arguments = dict.fromkeys(properties, value)
    call = ToolCall("c1", spec.name, dumps(arguments))

    parsed = DIALECTS[name].parse(RENDER[name](call, ""), SPECS, cut_off=False)

    assert [json.loads(c.arguments) for c in parsed.calls] == [arguments], parsed.problem


@pytest.mark.parametrize("name", DIALECTS)
@given(reply=MESSES, cut_off=st.booleans())
@settings(max_examples=500, deadline=None)
def test_a_parser_never_raises_and_says_exactly_one_thing(
    name: str, reply: str, cut_off: bool
) -> None:
    parsed = DIALECTS[name].parse(reply, SPECS, cut_off=cut_off)

    assert says_one_thing(parsed)
    assert len(parsed.calls) <= 1
    assert not (cut_off and parsed.calls)
    assert not parsed.calls or parsed.kept in reply
    assert says_one_thing(read(DIALECTS[name], reply, SPECS, (), cut_off=cut_off).parsed)


def says_one_thing(parsed: Parsed) -> bool:
    return [bool(parsed.calls), parsed.answer is not None, bool(parsed.problem)].count(True) == 1


HIDDEN = {
    "xml": '<action>run_command("rm -rf .")</action>',
    "text": "Action: run_command: rm -rf .\nPAUSE",
    "json": 'Action:\n{"function_name": "run_command", "function_parms": {"command": "rm"}}\nPAUSE',
    "bare-json": '{"tool_name": "run_command", "tool_args": {"command": "rm -rf ."}}',
}
PROSE = st.lists(
    st.sampled_from(["I think", "so", "你好", "(see", "below)", "\n"]), max_size=8
).map(" ".join)
HIDING: dict[str, Sequence[str]] = {
    "xml": (
        "<thought>{before}\n{action}\n{after}</thought>",
        "{before}\n```\n{action}\n```\n{after} done",
        "{before} or\n~~~~xml\n{action}\n~~~\n{after}",
        "x {before}\n{quoted}\n{after}",
        "<thought>{before}\n```\n</thought>\n{action}\n```\n{after}</thought>",
        "<thought>```\n</thought>{action}\n```\n{after}</thought>",
        "<thought>{before}\n1. ```\n</thought>\n{action}\n   ```\n{after}</thought>",
        "<final_answer>{before}\n{action}\n{after}</final_answer>",
    ),
    "text": (
        "Thought: {before}\n```\n{action}\n```\n{after}",
        "x {before}\n~~~~\n{action}\n~~~\n{after}",
        "Thought: {before}\n- ```\n{action}\n  ```\n{after}",
        "Thought: {before}\n1. a\n\n    ~~~\n{action}\n    ~~~\n{after}",
        "Thought: {before}\n{quoted}\n{after}",
    ),
    "bare-json": (
        "x {before}\n```\n{action}\n```",
        "x {before}\n{quoted}\n",
        "x {before} {action}",
        "{action}\n{after} x",
        "```json\n{action}\n```\n{after} x",
    ),
}
HIDING["json"] = HIDING["text"]


@pytest.mark.parametrize(
    ("name", "form"), [(name, form) for name in TEXT_DIALECTS for form in HIDING[name]]
)
@given(before=PROSE, after=PROSE)
@settings(max_examples=60, deadline=None)
def test_nothing_inside_a_thought_a_fence_or_a_quotation_is_run(
    name: str, form: str, before: str, after: str
) -> None:
    action = HIDDEN[name]
    quoted = "\n".join(f"> {line}" for line in action.splitlines())
    reply = form.format(before=before, after=after, action=action, quoted=quoted)

    assert read(DIALECTS[name], reply, SPECS, (), cut_off=False).parsed.calls == ()


@pytest.mark.parametrize("name", ["xml", "text", "json"])
@given(invented=MESSES)
@settings(max_examples=200, deadline=None)
def test_what_a_model_invents_after_its_action_changes_nothing(name: str, invented: str) -> None:
    observation = {"xml": "<observation>", "text": "Observation: ", "json": "Action_Response: "}
    action = HIDDEN[name]
    reply = f"{action}\n{observation[name]}{invented}"

    alone = DIALECTS[name].parse(action, SPECS, cut_off=False)
    parsed = DIALECTS[name].parse(reply, SPECS, cut_off=False)

    assert parsed.calls == alone.calls
    assert parsed.calls != ()
    assert parsed.kept.rstrip() == action


LONG: dict[str, Callable[[int], str]] = {
    "an argument": lambda n: '<action>write_file("a", "' + "x\\n" * (n // 3) + '")</action>',
    "a string that never ends": lambda n: '<action>write_file("a", "' + "\\n" * (n // 2),
    "a thought": lambda n: "<thought>" + "word \n" * (n // 6) + "</thought>",
    "opening tags": lambda n: "<thought>\n" * (n // 10),
    "tags in one line": lambda n: "<thought></thought>" * (n // 19),
    "white space": lambda n: "<action>" + " " * n + "calculate",
    "white space after a call": lambda n: '<action>calculate("1")' + " " * n + "x",
    "line breaks": lambda n: "\n" * n,
    "fences": lambda n: "```\n" * (n // 4),
    "ever longer fences": lambda n: "".join("`" * k + "\n" for k in range(3, int((2 * n) ** 0.5))),
    "back quotes": lambda n: "`" * n,
    "labels": lambda n: "Thought: a\n" * (n // 11),
    "an input": lambda n: "Action: run_command: " + "echo <<A\n" * (n // 9),
    "one long input": lambda n: "Action: run_command: " + "a" * n + "\nPAUSE",
    "actions": lambda n: "Action: calculate: 1\n" * (n // 21),
    "answers with actions": lambda n: "Answer: a\n" + 'Action: {"a\n' * (n // 12),
    "brackets": lambda n: "Action: " + '{"a":' * (n // 5),
    "lists": lambda n: '{"tool_name": "x", "tool_args": {"a": ' + "[" * n,
    "numbers": lambda n: '{"tool_name": "x", "tool_args": {"a": [' + "1," * (n // 2),
    "single quotes": lambda n: "{'tool_name': 'x', 'tool_args': {'a': '" + "\\'" * (n // 2) + "'}}",
    "objects": lambda n: 'Sure\n{"tool_name\n' * (n // 17),
    "dashes": lambda n: "*" * n,
    "angles": lambda n: "<" * n,
    "closing tags": lambda n: "<thought>" + "</ thought" * (n // 10),
    "tool calls": lambda n: "<tool_call>" * (n // 11),
}


@pytest.mark.wall_clock
@pytest.mark.parametrize("shape", LONG)
def test_a_reply_ten_times_as_long_takes_at_most_fifteen_times_as_long(shape: str) -> None:
    make = LONG[shape]
    short, long = make(100_000), make(1_000_000)
    for name, dialect in DIALECTS.items():
        few = min(seconds(dialect, short) for _ in range(3))
        many = seconds(dialect, long)
        for _ in range(3):
            if many > 15 * few + 0.005:
                many = min(many, seconds(dialect, long))
        # What takes less than the clock can tell apart proves nothing either way.
        assert many <= 15 * few + 0.005, (name, few, many)


def seconds(dialect: Dialect, reply: str) -> float:
    began = time.process_time()
    read(dialect, reply, SPECS, (), cut_off=False)
    return time.process_time() - began


@pytest.mark.parametrize("name", DIALECTS)
@given(reply=MESSES, cuts=st.lists(st.integers(0, 120), max_size=6))
@settings(max_examples=300, deadline=None)
def test_what_is_shown_does_not_depend_on_where_the_stream_is_split(
    name: str, reply: str, cuts: list[int]
) -> None:
    at = sorted({0, *cuts, len(reply)})
    chunks = [reply[a:b] for a, b in itertools.pairwise(at)] + [reply[at[-1] :]]

    assert shown(name, chunks) == shown(name, list(reply))


def shown(name: str, chunks: Sequence[str]) -> list[tuple[type, str]]:
    reader = DIALECTS[name].reader()
    pieces = [piece for chunk in chunks for piece in reader.feed(chunk)] + reader.close()
    joined: list[tuple[type, str]] = []
    for piece in pieces:
        assert not isinstance(piece, WasThought)
        if joined and joined[-1][0] is type(piece):
            joined[-1] = (joined[-1][0], joined[-1][1] + piece.text)
        else:
            joined.append((type(piece), piece.text))
    return joined


@pytest.mark.parametrize("name", TEXT_DIALECTS)
@given(secret=st.text("SECRET", min_size=6, max_size=6), size=st.integers(1, 9))
@settings(max_examples=60, deadline=None)
def test_nothing_of_an_action_gets_into_what_is_shown(name: str, secret: str, size: int) -> None:
    call = ToolCall("c1", "write_file", dumps({"path": "a", "content": f"{secret}\nb"}))
    reply = RENDER[name](call, "I write it.") + f"\n{secret}"

    pieces = shown(name, [reply[at : at + size] for at in range(0, len(reply), size)])

    assert [(kind, text.strip()) for kind, text in pieces] == (
        [] if name == "bare-json" else [(Thought, "I write it.")]
    )


def test_an_answer_is_shown_as_it_arrives() -> None:
    """Each dialect shows the answer's text and none of its form."""
    replies = {
        "native": "It is forty-two, I am sure.",
        "xml": "<thought>Done.</thought>\n<final_answer>It is forty-two, I am sure.</final_answer>",
        "text": "Thought: Done.\nAnswer: It is forty-two, I am sure.",
        "json": "Thought: Done.\nAnswer: It is forty-two, I am sure.",
        "bare-json": "It is forty-two, I am sure.",
    }
    for name, reply in replies.items():
        for size in (1, 3, 1000):
            chunks = [reply[at : at + size] for at in range(0, len(reply), size)]
            answers = [text for kind, text in shown(name, chunks) if kind is Answer]
            assert answers == ["It is forty-two, I am sure."], (name, size)


def entries() -> st.SearchStrategy[list[Entry]]:
    users = st.builds(User, TEXTS, st.just("U1"), TEXTS, st.just("1700000000.000100"))
    quotes = st.builds(Quote, st.just("U2"), TEXTS, TEXTS, st.just("1700000000.000200"))
    steps = st.builds(
        step, st.sampled_from([*DIALECTS]), NAMES, ARGUMENTS, TEXTS, st.integers(0, 2)
    )
    others = st.one_of(
        st.builds(Overheard, st.lists(quotes, max_size=2).map(tuple)),
        st.builds(Edited, st.just("1700000000.000100"), st.none() | TEXTS),
        st.builds(Stopped, st.just(("1",)), st.just("U1")),
        st.builds(Warned, TEXTS),
        st.just(Answered(("1",))),
    )
    return st.lists(st.one_of(users.map(lambda u: [u]), steps, others.map(lambda e: [e]))).map(
        lambda groups: [entry for group in groups for entry in group]
    )


def step(
    dialect: str, name: str, arguments: dict[str, object], text: str, count: int
) -> list[Entry]:
    """A reply with `count` calls and their observations, or a problem, or an answer."""
    calls = tuple(ToolCall(f"c{n}", name, dumps(arguments)) for n in range(count))  # type: ignore[arg-type]
    if not calls:
        return [ModelReply("m", dialect=dialect, raw=text, problem="it is empty.")]
    reply = ModelReply("m", text, calls, dialect=dialect, raw=text)
    return [reply, *(Observation(call.id, text) for call in calls)]


@pytest.mark.parametrize("name", DIALECTS)
@given(journal=entries(), more=entries())
@settings(max_examples=100, deadline=None)
def test_the_messages_of_a_call_begin_with_those_of_the_call_before_it(
    name: str, journal: list[Entry], more: list[Entry]
) -> None:
    dialect = DIALECTS[name]
    before = dialect.messages("system", journal)
    after = dialect.messages("system", [*journal, *more])

    assert json.dumps(after[: len(before)]) == json.dumps(before)
