"""The rehearsal model: understands a few phrases, really uses the tools, and says what it is."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bot.agent.consent import Preview
from bot.agent.entries import (
    Answered,
    Decided,
    Edited,
    Entry,
    Failed,
    ModelReply,
    Observation,
    ToolCall,
    User,
)
from bot.agent.guard import Limits
from bot.agent.loop import run_turn
from bot.agent.prompt import Facts
from bot.policy import Verdict
from bot.rehearsal import LABEL, RehearsalModel
from tests.doubles.specs import spec
from tools.base import ToolContext
from tools.catalog import builtin_tools
from tools.toolset import Toolset
from tools.workspace import Workspace


@dataclass
class Notebook:
    """A journal in memory to which nothing arrives."""

    entries: list[Entry] = field(default_factory=list)

    closing = False

    def safe(self, entry: Entry) -> Entry:
        return entry

    async def append(self, *entries: Entry) -> None:
        self.entries.extend(entries)

    async def take_inbox(self) -> bool:
        return False


class Clock:
    def now(self) -> float:
        return 0.0


FACTS = Facts("a test")


def allow(call: ToolCall) -> Decided:
    return Decided(call.id, Verdict.ALLOW)


class Unasked(Toolset):
    """The real tools, where no rule asks a person."""

    async def preview(self, name: str, raw: str) -> Preview:
        raise AssertionError(f"nobody is asked about {name}")


@dataclass
class Rehearsal:
    """One thread with the real tools on a workspace of its own."""

    root: Path
    journal: Notebook = field(default_factory=Notebook)

    async def say(self, text: str) -> str:
        """What the model answers in the end."""
        at = f"{len(self.journal.entries)}.0"
        self.journal.entries.append(User(text, "U1", "Ann", at))
        with Workspace.at(self.root) as workspace:
            off = {"run_command": "There is no sandbox here."}
            tools = Unasked(builtin_tools(), ToolContext(workspace), off=off)
            limits, clock = Limits(max_steps=12, repeat=99, cycle=99, stall=99), Clock()
            model = RehearsalModel()
            await run_turn(self.journal, model, tools, allow, FACTS, limits, clock, lambda: None)
        reply, ending = self.journal.entries[-2:]
        assert isinstance(ending, Answered), ending
        assert isinstance(reply, ModelReply)
        assert reply.answer is not None
        return reply.answer

    def calls(self) -> list[tuple[str, dict[str, str]]]:
        replies = [entry for entry in self.journal.entries if isinstance(entry, ModelReply)]
        return [(c.name, json.loads(c.arguments)) for reply in replies for c in reply.calls]


@pytest.fixture
def rehearsal(tmp_path: Path) -> Rehearsal:
    (tmp_path / "notes.txt").write_text("milk\n")
    return Rehearsal(tmp_path)


ONE_CALL: list[tuple[str, str, dict[str, str], str]] = [
    ("what is 17 * 23?", "calculate", {"expression": "17 * 23"}, "17 * 23 = **391**"),
    ("What's (2+3) * 4", "calculate", {"expression": "(2+3) * 4"}, "= **20**"),
    ("6 × 7 =", "calculate", {"expression": "6 * 7"}, "6 * 7 = **42**"),
    ("list", "list_dir", {"path": "."}, "notes.txt"),
    ("please list the files", "list_dir", {"path": "."}, "notes.txt"),
    ("read notes.txt", "read_file", {"path": "notes.txt"}, "milk"),
    ("show `notes.txt`", "read_file", {"path": "notes.txt"}, "milk"),
    (
        "write plan.md: two\nlines",
        "write_file",
        {"path": "plan.md", "content": "two\nlines\n"},
        "I wrote `plan.md`.",
    ),
]


@pytest.mark.parametrize(
    ("text", "tool", "arguments", "said"), ONE_CALL, ids=[row[0] for row in ONE_CALL]
)
async def test_a_phrase_becomes_a_thought_a_call_and_an_answer(
    rehearsal: Rehearsal, text: str, tool: str, arguments: dict[str, str], said: str
) -> None:
    answer = await rehearsal.say(text)

    assert rehearsal.calls() == [(tool, arguments)]
    assert said in answer
    thought = next(e.thought for e in rehearsal.journal.entries if isinstance(e, ModelReply))
    assert thought.endswith(".")


async def test_phrases_joined_with_then_are_done_in_order(rehearsal: Rehearsal) -> None:
    answer = await rehearsal.say("list, then write a.txt: eggs and then read a.txt")

    assert [name for name, _ in rehearsal.calls()] == ["list_dir", "write_file", "read_file"]
    assert "`a.txt` says:" in answer
    assert "eggs" in answer
    assert (rehearsal.root / "a.txt").read_text() == "eggs\n"


async def test_after_a_failure_the_rest_is_not_tried(rehearsal: Rehearsal) -> None:
    answer = await rehearsal.say("read nowhere.txt then write a.txt: x")

    assert [name for name, _ in rehearsal.calls()] == ["read_file"]
    assert answer.startswith("That did not work: ")
    assert "nowhere.txt" in answer
    assert not (rehearsal.root / "a.txt").exists()


async def test_a_tool_that_is_not_there_is_named_and_not_called(rehearsal: Rehearsal) -> None:
    answer = await rehearsal.say("run ls -l")

    assert rehearsal.calls() == []
    assert "I would use `run_command`" in answer


async def test_what_it_does_not_understand_is_answered_with_what_it_can(
    rehearsal: Rehearsal,
) -> None:
    for text in ("why is the sky blue?", "", "then", "list then dance"):
        answer = await rehearsal.say(text)
        assert "I am only a rehearsal" in answer
        assert "`what is 17 * 23?`" in answer
    assert rehearsal.calls() == []


async def test_it_remembers_the_thread(rehearsal: Rehearsal) -> None:
    await rehearsal.say("what is 6 * 7?")

    assert "“what is 6 * 7?”" in await rehearsal.say("what did I ask earlier?")


async def test_each_question_of_a_thread_is_answered_on_its_own(rehearsal: Rehearsal) -> None:
    assert "**42**" in await rehearsal.say("6 * 7")
    assert "**56**" in await rehearsal.say("7 * 8")
    assert len(rehearsal.calls()) == 2


@pytest.mark.parametrize("text", ["what is 1 + 1?", "run ls", "hello", "read nowhere", "list"])
async def test_every_answer_says_that_it_is_a_rehearsal(rehearsal: Rehearsal, text: str) -> None:
    answer = await rehearsal.say(text)

    assert answer.endswith(LABEL)
    assert "OPENAI_API_KEY" in LABEL


PHRASES = st.sampled_from(
    ["list", "list src", "read a", "write a: b", "run x", "1+1", "2 *", "then", "hi", "√4", "((("]
)


@given(st.lists(PHRASES, max_size=5).map(" then ".join) | st.text(max_size=30))
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
async def test_whatever_is_said_it_comes_to_an_answer(rehearsal: Rehearsal, text: str) -> None:
    """At most one call for each phrase, so it cannot loop."""
    before = len(rehearsal.calls())

    answer = await rehearsal.say(text)

    assert answer.endswith(LABEL)
    assert len(rehearsal.calls()) - before <= text.count("then") + 1


def turn(*entries: Entry) -> Sequence[Entry]:
    return [User("what is 6 * 7?", "U1", "Ann", "1.0"), *entries]


CALCULATED = (
    ModelReply("m", calls=(ToolCall("c", "calculate", '{"expression": "6 * 7"}'),)),
    Observation("c", "42"),
)


async def reply_to(entries: Sequence[Entry]) -> ModelReply:
    return await RehearsalModel().reply(
        Facts("a test"), entries, [spec("calculate", "Calculate.", expression="string")]
    )


async def test_an_edited_question_is_worked_on_as_it_now_reads() -> None:
    """Also when the call for the question as it was has come back already."""
    edit = Edited("1.0", "what is 7 * 8?", "U1")

    for entries in (turn(edit), turn(*CALCULATED, edit)):
        (call,) = (await reply_to(entries)).calls
        assert json.loads(call.arguments) == {"expression": "7 * 8"}

    again = ModelReply("m", calls=(ToolCall("d", "calculate", '{"expression": "7 * 8"}'),))
    done = await reply_to(turn(*CALCULATED, edit, again, Observation("d", "56")))
    assert done.answer is not None
    assert done.answer.startswith("7 * 8 = **56**")


async def test_an_edit_of_an_earlier_message_does_not_begin_the_question_anew() -> None:
    entries = [
        User("hello", "U1", "Ann", "0.5"),
        ModelReply("m", answer="Hello."),
        Answered(("0.5",)),
        *turn(*CALCULATED, Edited("0.5", "good evening", "U1")),
    ]

    assert (await reply_to(entries)).answer == f"6 * 7 = **42**\n\n{LABEL}"

    asked = [*entries, Answered(("1.0",)), User("what did I say first?", "U1", "Ann", "2.0")]
    remembered = (await reply_to(asked)).answer
    assert remembered is not None
    assert "“good evening”" in remembered


async def test_of_a_command_it_says_how_it_ended_and_shows_what_it_printed() -> None:
    entries: Sequence[Entry] = [
        User("run cat x", "U1", "Ann", "1.0"),
        ModelReply("m", calls=(ToolCall("c", "run_command", '{"command": "cat x"}'),)),
        Observation("c", "Exit code 1 after 0.1 s\n```\nnot the end\n```\n"),
    ]

    assert (await reply_to(entries)).answer == (
        f"Exit code 1 after 0.1 s\n\n````\n```\nnot the end\n```\n````\n\n{LABEL}"
    )


async def test_a_deleted_message_is_neither_worked_on_nor_remembered() -> None:
    entries = [*turn(User("what is 1 + 1?", "U1", "Ann", "2.0")), Edited("2.0", None)]

    (call,) = (await reply_to(entries)).calls
    assert json.loads(call.arguments) == {"expression": "6 * 7"}


async def test_a_failed_turn_before_does_not_confuse_it() -> None:
    entries: Sequence[Entry] = [
        User("list", "U1", "Ann", "1.0"),
        ModelReply("m", calls=(ToolCall("c", "list_dir", "{}"),)),
        Observation("c", "x"),
        Failed(("1.0",), "It broke."),
        User("hello", "U1", "Ann", "2.0"),
    ]

    reply = await RehearsalModel().reply(FACTS, entries, ())

    assert reply.answer is not None
    assert reply.answer.startswith("I am only a rehearsal")
