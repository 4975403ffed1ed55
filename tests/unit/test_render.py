"""What stands in a thread, computed from its journal."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot import words
from bot.agent.entries import (
    Answered,
    Decided,
    Entry,
    Failed,
    ModelReply,
    Observation,
    Refused,
    Stopped,
    ToolCall,
    ToolStarted,
    User,
)
from bot.policy import Verdict
from bot.slack.blocks import visible_text
from bot.slack.markdown import to_messages
from bot.slack.pieces import STEPS_LIMIT, PieceKind, Verbosity, pieces
from bot.slack.render import as_text, final_covers, final_messages
from bot.slack.steps import gist, steps_message

ASKED = User("go", "U1", "alice", "1.0")


def step(*names: str, thought: str = "I think.") -> list[Entry]:
    """A reply with calls; each call's journal records follow, up to its observation."""
    calls = tuple(ToolCall(f"k{n}", name, f'{{"n": {n}}}') for n, name in enumerate(names))
    entries: list[Entry] = [ModelReply("m", thought=thought, calls=calls)]
    for call in calls:
        entries += [Decided(call.id, Verdict.ALLOW), ToolStarted(call.id)]
        entries.append(Observation(call.id, f"{call.name} is done"))
    return entries


def text_of(entries: Sequence[Entry], verbosity: Verbosity = Verbosity.STEPS) -> str:
    """All steps as one message."""
    wanted = [p for p in pieces(entries, verbosity) if p.kind is not PieceKind.FINAL]
    message, keys = steps_message(entries, wanted, verbosity, lambda call: call.arguments)
    assert set(keys) == {piece.key for piece in wanted}
    return visible_text(message.blocks)


def test_calls_observations_and_endings_are_pieces_and_bookkeeping_is_not() -> None:
    entries = [ASKED, *step("calculate"), ModelReply("m", answer="42"), Answered(("1.0",))]
    found = [(piece.key, piece.kind) for piece in pieces(entries, Verbosity.STEPS)]
    assert found == [
        ("c1", PieceKind.CALL),
        ("o4", PieceKind.OBSERVATION),
        ("f6", PieceKind.FINAL),
    ]


def test_quiet_shows_endings_only() -> None:
    endings: list[Entry] = [Answered(("1.0",)), Failed(("1.0",), "It broke."), Stopped((), "alice")]
    entries = [ASKED, *step("calculate"), ModelReply("m", answer="42"), *endings]
    kinds = [piece.kind for piece in pieces(entries, Verbosity.QUIET)]
    assert kinds == [PieceKind.FINAL] * 3


def test_a_refusal_in_silence_is_not_shown() -> None:
    entries = [Refused(("1.0",), ""), Refused(("2.0",), "No guests.")]
    assert [piece.key for piece in pieces(entries, Verbosity.STEPS)] == ["f1"]


def test_a_call_is_whole_once_all_its_observations_are_there() -> None:
    entries = step("read_file", "calculate")
    whole = [pieces(entries[:n], Verbosity.STEPS)[0].whole for n in range(1, len(entries) + 1)]
    assert whole == [False] * 6 + [True]


def test_pieces_can_be_had_from_a_position_on_with_the_same_keys() -> None:
    entries = [ASKED, *step("calculate"), ModelReply("m", answer="42"), Answered(("1.0",))]
    everything = pieces(entries, Verbosity.STEPS)
    assert pieces(entries, Verbosity.STEPS, 2) == everything[1:]


def test_a_step_is_a_thought_a_call_and_a_result() -> None:
    shown = text_of([ASKED, *step("calculate", thought="I  think\nhard.")])
    assert shown.splitlines() == [
        "I think hard.",
        '🔧 Calculate {"n": 0}',
        "→ calculate is done",
    ]


def test_reasoning_stands_for_a_thought_that_was_not_said() -> None:
    reply = ModelReply("m", reasoning="Because.", calls=(ToolCall("k0", "calculate", "{}"),))
    assert text_of([reply]).startswith("Because.\n")


def test_of_two_calls_each_result_stands_under_its_call() -> None:
    assert text_of(step("read_file", "own_tool")).splitlines()[1:] == [
        '🔧 Read {"n": 0}',
        "→ read_file is done",
        '🔧 own_tool {"n": 1}',
        "→ own_tool is done",
    ]


def test_an_observation_alone_names_its_call_and_repeats_no_thought() -> None:
    entries = step("read_file")
    (late,) = [p for p in pieces(entries, Verbosity.STEPS) if p.kind is PieceKind.OBSERVATION]
    message, keys = steps_message(entries, [late], Verbosity.STEPS, lambda _: "a.txt")
    assert keys == (late.key,)
    assert visible_text(message.blocks).splitlines() == ["🔧 Read a.txt", "→ read_file is done"]


def test_more_than_fits_into_one_message_is_left_for_the_next() -> None:
    entries = [entry for _ in range(30) for entry in step("calculate", thought="word " * 100)]
    wanted = pieces(entries, Verbosity.STEPS)
    seen: list[str] = []
    while left := [piece for piece in wanted if piece.key not in seen]:
        message, keys = steps_message(entries, left, Verbosity.STEPS, lambda _: "")
        assert len(visible_text(message.blocks)) <= STEPS_LIMIT * 1.5
        assert len(message.blocks) <= 50
        assert keys
        seen += keys
    assert sorted(seen) == sorted(piece.key for piece in wanted)
    assert len(seen) == len(set(seen))


@pytest.mark.parametrize("verbosity", [Verbosity.STEPS, Verbosity.FULL])
@pytest.mark.parametrize("length", [10, 400, 2000, 6000])
def test_a_reply_with_many_calls_is_shown_whole_in_several_messages(
    verbosity: Verbosity, length: int
) -> None:
    text = "word " * (length // 5)
    names = [f"f{n:02}.txt" for n in range(40)]
    calls = tuple(
        ToolCall(name, "write_file", json.dumps({"path": name, "content": text})) for name in names
    )
    seen = [Observation(name, f"{name} was written; {text}") for name in names]
    entries: list[Entry] = [ModelReply("m", thought="Many.", calls=calls), *seen]
    wanted = pieces(entries, verbosity)

    shown: list[str] = []
    keys: list[str] = []
    while left := [piece for piece in wanted if piece.key not in keys]:
        message, posted = steps_message(entries, left, verbosity, lambda call: call.id)
        assert len(message.blocks) <= 50
        shown.append(visible_text(message.blocks))
        assert len(shown[-1]) <= STEPS_LIMIT + 500
        keys += posted

    together = "\n".join(shown)
    assert sorted(keys) == sorted(piece.key for piece in wanted)
    assert together.count("Many.") == 1
    for name in names:
        assert f"→ {name} was written" in together
        assert f"Write {name}" in together
        if verbosity is Verbosity.FULL:
            assert f'"path": "{name}"' in together
    if length <= 2000 and verbosity is Verbosity.FULL:
        assert together.count("word ") >= 40 * 2 * (length // 5)


def test_which_parts_a_reply_has_does_not_hang_on_what_has_come_back() -> None:
    calls = tuple(ToolCall(f"k{n}", "own", json.dumps({"text": "x" * 2000})) for n in range(9))
    reply = ModelReply("m", calls=calls)
    results = [Observation(call.id, "y" * 2500) for call in calls]
    keys = [
        [piece.key for piece in pieces([reply, *results[:n]], Verbosity.FULL) if piece.calls]
        for n in range(10)
    ]
    assert keys == [["c0", "c0.1", "c0.2", "c0.3", "c0.4"]] * 10


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("391", "391"),
        ("  one\n\n two ", "one ⏎ two"),
        ("", words.empty_observation()),
        (" \n ", words.empty_observation()),
    ],
)
def test_the_gist_of_a_short_observation_is_all_of_it(text: str, shown: str) -> None:
    assert gist(text) == shown


def test_the_gist_of_a_long_one_is_its_beginning_and_its_size() -> None:
    text = "\n".join(f"line {n}" for n in range(100))
    assert gist(text) == "line 0 ⏎ line 1 ⏎ line 2 (100 lines, 789 characters)"
    assert gist("x" * 500).endswith("… (1 lines, 500 characters)")


@given(st.text(max_size=2000))
def test_a_gist_is_one_short_line(text: str) -> None:
    shown = gist(text)
    assert shown
    assert len(shown.splitlines()) <= 1
    assert len(shown) < 260


def test_an_answer_that_was_cut_off_says_so() -> None:
    entries: list[Entry] = [ModelReply("m", answer="Half", cut_off=True), Answered(("1.0",))]
    (message,) = final_messages(entries, 1)
    assert "length limit" in visible_text(message.blocks)


def test_an_answer_with_nothing_to_see_becomes_a_sentence() -> None:
    entries: list[Entry] = [ModelReply("m", answer="\u200b"), Answered(("1.0",))]
    (message,) = final_messages(entries, 1)
    assert words.nothing_visible() in visible_text(message.blocks)


def test_notices_say_their_sentence_and_what_they_cover() -> None:
    for entry in (Failed(("1.0",), "It <broke>."), Refused(("1.0",), "It <broke>.")):
        (message,) = final_messages([entry], 0)
        assert visible_text(message.blocks) == "⚠️ It <broke>."
        assert message.text == "It &lt;broke&gt;."
        assert final_covers(entry) == ("1.0",)
    (stopped,) = final_messages([Stopped(("1.0",), "alice")], 0)
    assert "Stopped by alice" in visible_text(stopped.blocks)


@given(st.text(max_size=400), st.text(max_size=40), st.text(max_size=400))
def test_what_others_wrote_is_inert_in_blocks_and_text(thought: str, name: str, seen: str) -> None:
    bad = "<!channel>\x1b[31m\u202e"
    call = ToolCall("k0", f"{bad}{name}", f"{bad}{seen}")
    reply = ModelReply("m", thought=bad + thought, calls=(call,))
    entries: list[Entry] = [reply, Observation("k0", bad + seen)]
    wanted = pieces(entries, Verbosity.FULL)
    message, _ = steps_message(entries, wanted, Verbosity.FULL, lambda c: c.arguments)
    everything = message.text + visible_text(message.blocks)
    assert "<!" not in message.text
    assert "\x1b" not in everything
    assert "\u202e" not in everything
    assert len(message.text) <= 3000


@given(st.text(alphabet="ab &<\n\U0001f600", max_size=900), st.integers(5, 200))
def test_plain_text_keeps_every_character_in_short_pieces(text: str, limit: int) -> None:
    for message in to_messages(text):
        parts = as_text(message, limit)
        assert not any(part.blocks for part in parts)
        assert "".join(part.text for part in parts) == escaped(visible_text(message.blocks))


def escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
