"""A turn as tasks: what each shows, what is sent once, and that nothing in it is live."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.agent.entries import (
    Entry,
    Failed,
    ModelReply,
    Observation,
    Stopped,
    ToolCall,
    ToolStarted,
    User,
)
from bot.local_slack.blocks import BLOCKS_TEXT, check_blocks, text_length
from bot.local_slack.limits import check_chunks
from bot.slack.progress import MOST_TASKS, Progress, Task, tasks_message, tasks_of, updates

ASK = User("go", "U1", "alice", "1.0")
CALLS = (ToolCall("a", "calculate", "{}"), ToolCall("b", "read_file", "{}"))
REPLY = ModelReply("m", "I do both.", CALLS)


def shown(entries: list[Entry], start: int = 0) -> list[Progress]:
    return [task.progress for task in tasks_of(entries, start, lambda _: "")]


@pytest.mark.parametrize(
    ("more", "wanted"),
    [
        ([], [Progress.PENDING, Progress.PENDING]),
        ([ToolStarted("a")], [Progress.IN_PROGRESS, Progress.PENDING]),
        ([ToolStarted("a"), Observation("a", "1")], [Progress.COMPLETE, Progress.PENDING]),
        ([Observation("a", "no", is_error=True)], [Progress.ERROR, Progress.PENDING]),
        ([ToolStarted("a"), Stopped(("1.0",), "bob")], [Progress.ERROR, Progress.ERROR]),
        ([Failed(("1.0",), "It broke.")], [Progress.ERROR, Progress.ERROR]),
    ],
)
def test_how_far_each_call_has_come(more: list[Entry], wanted: list[Progress]) -> None:
    assert shown([ASK, REPLY, *more]) == wanted


def test_only_the_turn_that_is_asked_for() -> None:
    assert shown([ASK, REPLY, Failed(("1.0",), "no"), ASK, REPLY], 3) == [Progress.PENDING] * 2


def test_each_text_is_sent_once_and_what_has_not_changed_is_not_sent() -> None:
    task = Task("1.0", "Calculate", Progress.PENDING, "I count.")
    running = Task("1.0", "Calculate", Progress.IN_PROGRESS, "I count.")
    done = Task("1.0", "Calculate", Progress.COMPLETE, "I count.", "391")
    assert [list(c) for c in updates({}, [task])] == [["type", "id", "title", "status", "details"]]
    (chunk,) = updates({"1.0": task}, [running])
    assert "details" not in chunk
    (chunk,) = updates({"1.0": running}, [done])
    assert chunk["output"] == "391"
    assert updates({"1.0": done}, [done]) == []


@given(st.text(max_size=600), st.text(max_size=600), st.text(max_size=600))
def test_whatever_a_model_or_a_tool_says_slack_takes_it_and_nothing_is_live(
    thought: str, argument: str, result: str
) -> None:
    calls = tuple(ToolCall(str(n), argument or "x", "{}") for n in range(MOST_TASKS))
    seen = [Observation(call.id, result) for call in calls]
    tasks = tasks_of([ASK, ModelReply("m", thought, calls), *seen], 0, lambda _: argument)
    chunks = updates({}, tasks)
    assert check_chunks(chunks) == chunks
    texts = str([vars_of(task) for task in tasks])
    assert not [live for live in ("<", ">", "](", "://") if live in texts]
    message = tasks_message(tasks)
    assert text_length(check_blocks(list(message.blocks), 50)) <= BLOCKS_TEXT
    assert len(message.text.encode()) <= 4000


def test_what_cannot_be_seen_parts_nothing_that_is_live() -> None:
    reply = ModelReply("m", "[a]\u200b(https:\u2060//x.example)", CALLS[:1])
    (task,) = tasks_of([ASK, reply], 0, lambda _: "<\u200b!channel>")
    assert task.details == "[a] (https: //x.example)"
    assert "<" not in task.title


def vars_of(task: Task) -> tuple[str, str, str]:
    return task.title, task.details, task.output
