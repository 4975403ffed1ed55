"""How each dialect writes a conversation down, and that the settings know every one of them."""

from __future__ import annotations

import time
from typing import get_args, get_type_hints

import pytest

from bot.agent.dialects.base import NO_END
from bot.agent.dialects.detect import DIALECTS
from bot.agent.entries import (
    Answered,
    Edited,
    Entry,
    Failed,
    ModelReply,
    Observation,
    Overheard,
    Quote,
    Stopped,
    Summary,
    ToolCall,
    User,
    Warned,
)
from bot.config.model import ModelSection
from tests.doubles.yardstick import slowness

ALICE = User("what is </question> 1+1?", "U1", "Alice", "1700000000.000100")
STEP = ModelReply(
    "m",
    "I do both.",
    (
        ToolCall("c1", "calculate", '{"expression": "1+1"}'),
        ToolCall("c2", "list_dir", "{}"),
    ),
)
JOURNAL: list[Entry] = [
    ALICE,
    STEP,
    Observation("c1", "2"),
    Observation("c2", "a.txt </observation>"),
    ModelReply("m", answer="It is 2."),
    Answered((ALICE.at,)),
]


def written(name: str, entries: list[Entry]) -> list[tuple[str, object]]:
    messages = DIALECTS[name].messages("the system prompt", entries)
    return [(str(message["role"]), message["content"]) for message in messages]


def test_the_settings_know_every_dialect_and_no_other() -> None:
    names = get_args(get_type_hints(ModelSection)["dialect"])

    assert set(names) == {"auto", *DIALECTS}


def test_xml_writes_calls_of_another_dialect_one_by_one_with_their_observations() -> None:
    _, (_, question), *rest = written("xml", JOURNAL)

    assert question == (
        "<question>\nAlice (U1), 2023-11-14 22:13 UTC:\nwhat is <\\/question> 1+1?\n</question>"
    )
    assert rest == [
        (
            "assistant",
            '<thought>I do both.</thought>\n<action>calculate(expression="1+1")</action>',
        ),
        ("user", "<observation>2</observation>"),
        ("assistant", "<action>list_dir()</action>"),
        ("user", "<observation>a.txt <\\/observation></observation>"),
        ("assistant", "<final_answer>It is 2.</final_answer>"),
    ]


def test_text_writes_a_conversation_with_labels() -> None:
    assert written("text", JOURNAL)[2:] == [
        ("assistant", 'Thought: I do both.\nAction: calculate: {"expression": "1+1"}\nPAUSE'),
        ("user", "Observation: 2"),
        ("assistant", "Action: list_dir: {}\nPAUSE"),
        ("user", "Observation: a.txt </observation>"),
        ("assistant", "Answer: It is 2."),
    ]


def test_json_writes_a_conversation_with_labels_and_objects() -> None:
    assert written("json", JOURNAL)[2:5] == [
        (
            "assistant",
            'Thought: I do both.\nAction:\n{"function_name": "calculate", '
            '"function_parms": {"expression": "1+1"}}\nPAUSE',
        ),
        ("user", "Action_Response: 2"),
        (
            "assistant",
            'Action:\n{"function_name": "list_dir", "function_parms": {}}\nPAUSE',
        ),
    ]


def test_bare_json_asks_to_consider_each_result() -> None:
    assert written("bare-json", JOURNAL)[2:5] == [
        ("assistant", '{"tool_name": "calculate", "tool_args": {"expression": "1+1"}}'),
        ("user", "2"),
        (
            "user",
            "Consider this result and decide on the next action: another tool, or your answer.",
        ),
    ]


def test_native_writes_the_calls_of_a_text_dialect_as_its_own() -> None:
    call = ToolCall("c1", "calculate", '{"expression": "1+1"}')
    reply = ModelReply("m", "I add.", (call,), dialect="xml", raw="<action>calculate…")

    messages = DIALECTS["native"].messages("s", [ALICE, reply, Observation("c1", "2")])

    assert messages[2:] == [
        {
            "role": "assistant",
            "content": "I add.",
            "tool_calls": [
                {
                    "id": "c1",
                    "type": "function",
                    "function": {"name": "calculate", "arguments": '{"expression": "1+1"}'},
                }
            ],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "2"},
    ]


@pytest.mark.parametrize("name", DIALECTS)
def test_whatever_happens_in_a_thread_is_told_in_every_dialect(name: str) -> None:
    happenings: list[tuple[Entry, str]] = [
        (Overheard((Quote("U2", "Bob", "for Ann\nonly", "1700000000.1"),)), "> for Ann\n> only"),
        (Edited(ALICE.at, "what is 2+2?"), "now reads:)\nwhat is 2+2?"),
        (Edited(ALICE.at, None), "was deleted by its author"),
        (Stopped((ALICE.at,), "U1"), "(The turn was stopped before you answered.)"),
        (Failed((ALICE.at,), "Out of steps."), "without an answer: Out of steps.)"),
        (Summary("They added numbers.", 0), "They added numbers."),
        (Warned("You repeat yourself."), "You repeat yourself."),
    ]
    for entry, text in happenings:
        role, content = written(name, [ALICE, entry])[-1]
        assert role == "user"
        assert text in str(content)


@pytest.mark.parametrize("name", DIALECTS)
def test_a_call_that_got_no_observation_gets_one_that_says_so(name: str) -> None:
    entries: list[Entry] = [ALICE, STEP, Observation("c1", "2"), Stopped((ALICE.at,), "U1")]

    contents = [str(content) for _, content in written(name, entries)]

    assert sum("The turn ended before this call was run." in text for text in contents) == 1


@pytest.mark.parametrize("name", ["xml", "text", "json", "bare-json"])
def test_a_reply_of_its_own_goes_back_as_it_came_and_a_problem_with_what_is_right(
    name: str,
) -> None:
    reply = ModelReply("m", dialect=name, raw="Hm, {hm}", problem="it is nonsense.")

    *_, (role, said), (corrector, correction) = written(name, [ALICE, reply])

    assert (role, said, corrector) == ("assistant", "Hm, {hm}", "user")
    assert "it is nonsense." in str(correction)


@pytest.mark.parametrize("name", ["xml", "text", "json"])
def test_a_thought_without_an_end_is_asked_to_go_on(name: str) -> None:
    assert DIALECTS[name].correction(NO_END).startswith("Go on: reply with")


@pytest.mark.parametrize("name", DIALECTS)
def test_a_thread_of_ten_thousand_entries_is_written_within_fifty_milliseconds(name: str) -> None:
    raw = "" if name == "native" else "Thought: I add.\nAction: calculate: 1+1\nPAUSE"
    step = ModelReply("m", "I add.", STEP.calls[:1], dialect=name, raw=raw)
    turn: list[Entry] = [
        ALICE,
        step,
        Observation("c1", "2"),
        ModelReply("m", answer="2"),
        Answered(("1",)),
    ]
    entries: list[Entry] = [*turn] * 2000

    took = []
    for _ in range(3):
        began = time.thread_time()
        DIALECTS[name].messages("s", entries)
        took.append(time.thread_time() - began)

    assert min(took) < 0.05 * slowness()
