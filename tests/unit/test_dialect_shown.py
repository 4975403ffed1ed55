"""What of a reply is shown while it arrives, and what a reply that is no call must never do."""

from __future__ import annotations

import itertools
import time
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.agent.dialects.base import StreamReader
from bot.agent.dialects.detect import DIALECTS, read
from bot.agent.dialects.thinking import ThinkingReader, thinking_apart
from bot.agent.shown import Answer, Thought, WasThought
from tests.doubles.specs import SPECS

XML = '<action>run_command("SECRET")</action>'
TEXT = "Action: run_command: SECRET\nPAUSE"
JSON = 'Action:\n{"function_name": "run_command", "function_parms": {"command": "SECRET"}}\nPAUSE'
BARE = '{"tool_name": "run_command", "tool_args": {"command": "SECRET"}}'
CALLS = (
    XML,
    f"<thought>I run it.</thought>\n{XML}",
    TEXT,
    f"Thought: I run it.\n{TEXT}",
    f"Thought: see ```this``` and\n```that``` too\n{TEXT}",
    f"**Thought:** I run it.\n**Action:** {TEXT.removeprefix('Action: ')}",
    JSON,
    f"Thought: I run it.\n{JSON}",
    BARE,
    f"<tool_call>{BARE}</tool_call>",
)
ODD = (
    f"**{XML}",
    f"So I thought:\r```\n{TEXT}",
    f"So I thought:\rAnswer: none\n{JSON}",
)
WRAPPED = ("{}", "```\n{}\n```", "~~~text\n{}\n~~~", "\n\n {}", "Hm.\n</think>\n\n{}")


def chunks(text: str, cuts: Sequence[int]) -> list[str]:
    at = sorted({0, len(text), *(cut % (len(text) + 1) for cut in cuts)})
    return [text[a:b] for a, b in itertools.pairwise(at)]


def shown(reader: StreamReader, parts: Sequence[str]) -> tuple[str, str]:
    """The thought and the answer that stand there at the end."""
    thought = answer = ""
    for piece in [piece for part in parts for piece in reader.feed(part)] + reader.close():
        match piece:
            case Thought(text=text):
                thought += text
            case Answer(text=text):
                answer += text
            case WasThought():
                thought, answer = thought + answer, ""
    return thought, answer


@pytest.mark.parametrize("name", DIALECTS)
@given(
    call=st.sampled_from(CALLS + ODD),
    wrap=st.sampled_from(WRAPPED),
    cuts=st.lists(st.integers(0, 200), max_size=12),
)
@settings(max_examples=300, deadline=None)
def test_no_argument_of_a_call_is_shown_however_the_stream_is_split(
    name: str, call: str, wrap: str, cuts: list[int]
) -> None:
    reply = wrap.format(call)
    parts = chunks(reply, cuts)
    apart = thinking_apart(reply)

    if read(DIALECTS[name], apart.text, SPECS, (), cut_off=False).parsed.calls:
        seen = shown(ThinkingReader(DIALECTS[name].reader()), parts)
        assert "SECRET" not in "".join(seen), seen


@pytest.mark.wall_clock
@pytest.mark.parametrize("name", DIALECTS)
@pytest.mark.parametrize("piece", ["\n", " ", "a ", "```\n", "<", "<thought>", "*"])
def test_a_stream_of_ten_times_as_many_pieces_takes_at_most_fifteen_times_as_long(
    name: str, piece: str
) -> None:
    few = min(seconds(name, [piece] * 3_000) for _ in range(3))
    many = min(seconds(name, [piece] * 30_000) for _ in range(2))
    assert many <= 15 * few + 0.005


def seconds(name: str, parts: Sequence[str]) -> float:
    began = time.process_time()
    shown(ThinkingReader(DIALECTS[name].reader()), parts)
    return time.process_time() - began


THINKING = st.lists(
    st.sampled_from(
        ["Hm", " so", "\n", "<", "</", "think>", "</think>", "</thinking>", "<think>", "`", "```",
         "</think>\n", "</think> \r\n", "</think>x", "\n\nIt is 2.", " "]
    ),
    max_size=12,
).map("".join)  # fmt: skip


@given(reply=THINKING, cuts=st.lists(st.integers(0, 60), max_size=8))
@settings(max_examples=500, deadline=None)
def test_thinking_is_told_from_the_answer_as_in_the_whole_reply(
    reply: str, cuts: list[int]
) -> None:
    thought, answer = shown(ThinkingReader(_Plain()), chunks(reply, cuts))

    apart = thinking_apart(reply)
    assert (thought.strip(), answer.strip()) == (apart.reasoning, apart.text)


class _Plain:
    """A reader to which everything is the answer."""

    def feed(self, chunk: str) -> list[Thought | Answer | WasThought]:
        return [Answer(chunk)]

    def close(self) -> list[Thought | Answer | WasThought]:
        return []


def test_thinking_that_the_template_opened_is_taken_back_and_its_tag_never_shown() -> None:
    reply = "One and one, I would say.\n</think>\n\nIt is surely two, I am certain."

    for size in (1, 3, 1000):
        parts = [reply[at : at + size] for at in range(0, len(reply), size)]
        seen = shown(ThinkingReader(DIALECTS["native"].reader()), parts)
        assert (seen[0], seen[1].strip()) == (
            "One and one, I would say.\n",
            "It is surely two, I am certain.",
        )


SHAPES = (
    '{{"tool_name": "x", "tool_args": {{"a": {}}}}}',
    'Action:\n{{"function_name": "x", "function_parms": {{"a": {}}}}}\nPAUSE',
    'Action: x: {{"a": {}}}\nPAUSE',
    "<action>x(a={})</action>",
    '<action>{{"tool_name": "x", "tool_args": {{"a": {}}}}}</action>',
)


@pytest.mark.parametrize("name", DIALECTS)
@pytest.mark.parametrize(
    "depth", [0, 1, 60, 63, 64, 65, 500, 900, 970, 985, 989, 995, 1100, 20_000]
)
def test_no_nesting_makes_a_parser_raise(name: str, depth: int) -> None:
    for shape in SHAPES:
        for opened, closed in (("[", "]"), ('{"a":', "}")):
            value = opened * depth + "1" + closed * depth
            parsed = read(DIALECTS[name], shape.format(value), SPECS, (), cut_off=False).parsed
            assert depth <= 64 or not parsed.calls


QUOTED = (
    '<action>run_command("rm -rf build")</action>\n\nThat is what you would write. Shall I?',
    f"```html\n<p>hi</p>\n```\nA call looks like\n{XML}\nbut I have not run it.",
    f"<thought>a</thought>\nIt would be:\n{XML}",
    "Action items for you:\n1. Back up.\nAction: run_command: rm -rf build\n\nTell me when done.",
    "Thoughts on this: the log shows\nAction: run_command: rm -rf build\nPAUSE\nDo not run it.",
    "Thought: the log shows\nAction: run_command: rm -rf build\nPAUSE\nDo not run it.",
    "Action: list_dir\n\nis what the other bot wrote.",
    "Action: run_command: rm -rf build\n\nis what the other bot wrote.",
    f"{JSON}\nis what I would write.",
    f"{BARE}\nis what I would write.",
    f"As you asked:\n```json\n{BARE}\n```",
    f"<tool_call>{BARE}</tool_call>\nis what I would write.",
    '```json\n{"name": "list_dir", "description": "Lists a directory."}\n```',
    '{"name": "calculate", "version": "1.2", "input": "text"}',
    '{"name": "list_dir", "description": "d", "parameters": {"type": "object"}}',
)


@pytest.mark.parametrize("reply", QUOTED)
def test_a_native_answer_that_quotes_an_action_runs_nothing_and_is_shown_whole(reply: str) -> None:
    parsed = read(DIALECTS["native"], reply, SPECS, (), cut_off=False).parsed

    assert (parsed.calls, parsed.answer) == ((), reply)


@pytest.mark.parametrize("call", CALLS)
@given(after=st.text(min_size=1).filter(str.strip), before=st.text(min_size=1).filter(str.strip))
@settings(max_examples=60, deadline=None)
def test_any_text_around_a_written_call_makes_a_native_reply_an_answer(
    call: str, after: str, before: str
) -> None:
    for reply in (f"{call}\n{after} x", f"x {before}\n{call}", f"```\n{call}\n```\n{after} x"):
        parsed = read(DIALECTS["native"], reply, SPECS, (), cut_off=False).parsed
        assert parsed.calls == ()


@pytest.mark.parametrize("wrap", ["{}", "```\n{}\n```", "```json\n{}\n```\n", " \n{}\n "])
@pytest.mark.parametrize("call", CALLS)
def test_a_native_reply_that_is_one_written_call_is_run(call: str, wrap: str) -> None:
    if call.count("```") and "```" in wrap:
        wrap = wrap.replace("```", "~~~")
    parsed = read(DIALECTS["native"], wrap.format(call), SPECS, (), cut_off=False).parsed

    assert [found.name for found in parsed.calls] == ["run_command"]
