"""A turn ends in time: limits, repeated calls, cycles and steps that bring nothing new."""

from __future__ import annotations

import itertools
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bot.agent.entries import (
    Decided,
    Entry,
    Failed,
    ModelReply,
    Observation,
    Summary,
    ToolCall,
    ToolStarted,
    Usage,
    User,
    Warned,
)
from bot.agent.guard import Halt, Limits, Warn, check
from bot.agent.loop import run_turn
from bot.agent.prompt import Facts
from bot.policy import Verdict
from tests.doubles.turn import ListJournal, Ran, ScriptedModel, ScriptedTools
from tools.truncate import truncate

ASKED = User("Go.", "U1", "Alice", "1.0")
HIGH = Limits(max_steps=10_000, stall=1_000)
_ids = itertools.count()

Did = tuple[str, str]
"""A call (tool and arguments in one) and its result; an error begins with "!"."""


def step(*did: Did) -> list[Entry]:
    """A reply with its calls and their observations, as the loop journals them."""
    ids = [f"c{next(_ids)}" for _ in did]
    calls = tuple(
        ToolCall(i, call[:1], f'{{"x": "{call[1:]}"}}')
        for i, (call, _) in zip(ids, did, strict=True)
    )
    entries: list[Entry] = [ModelReply("m", "I try.", calls)]
    for i, (_, result) in zip(ids, did, strict=True):
        entries += [Decided(i, Verdict.ALLOW), ToolStarted(i)]
        entries.append(Observation(i, result, is_error=result.startswith("!")))
    return entries


def work(steps: Iterable[Did | str], limits: Limits = HIGH) -> tuple[list[Entry], str]:
    """A turn of one-call steps until the guard ends it: its entries, and the sentence or ""."""
    turn: list[Entry] = [ASKED]
    for did in steps:
        turn += [User(did, "U1", "Alice", "2.0")] if isinstance(did, str) else step(did)
        match check(turn, limits):
            case Halt(text):
                return turn, text
            case Warn(text):
                turn.append(Warned(text))
    return turn, ""


def warnings(turn: Iterable[Entry]) -> list[str]:
    return [entry.text for entry in turn if isinstance(entry, Warned)]


def replies(turn: Iterable[Entry]) -> int:
    return sum(isinstance(entry, ModelReply) for entry in turn)


def test_the_same_call_with_the_same_result_is_warned_of_and_then_ended() -> None:
    turn, reason = work([("a", "1")] * 10)

    assert replies(turn) == 3
    assert reason == (
        "I stopped because I called a 3 times in a row and got the same result. "
        "Reply here with a hint to let me go on."
    )
    (warning,) = warnings(turn)
    assert warning.startswith("You have now called a 2 times in a row with the same arguments")


@pytest.mark.parametrize(("repeat", "ran"), [(2, 3), (3, 3), (4, 4), (7, 7)])
def test_a_repeat_is_ended_at_the_limit_and_never_without_a_warning_before(
    repeat: int, ran: int
) -> None:
    turn, reason = work([("a", "1")] * 20, Limits(max_steps=99, repeat=repeat, stall=99))

    assert (replies(turn), len(warnings(turn))) == (ran, 1)
    assert f"{ran} times" in reason


def test_the_same_call_with_a_new_result_each_time_is_progress() -> None:
    """Looking again until something is there is honest work."""
    turn, reason = work([("a", str(n)) for n in range(30)])

    assert (reason, warnings(turn)) == ("", [])


def test_the_same_arguments_written_in_another_way_are_the_same() -> None:
    turn: list[Entry] = [ASKED]
    for n, arguments in enumerate(['{"a": 1, "b": 2}', '{"b":2,"a":1}']):
        turn += [
            ModelReply("m", calls=(ToolCall(f"c{n}", "t", arguments),)),
            Observation(f"c{n}", "same"),
        ]

    assert isinstance(check(turn, HIGH), Warn)


@pytest.mark.parametrize(
    "round_of", [["a", "b"], ["a", "b", "c"], ["a", "b", "a", "c"], list("abcdefgh")]
)
def test_a_round_of_calls_with_the_same_results_is_warned_of_and_then_ended(
    round_of: list[str],
) -> None:
    turn, reason = work([(call, f"result of {call}") for call in round_of * 6])

    assert replies(turn) == 3 * len(round_of)
    assert reason.startswith("I stopped because I went round in circles: the same calls 3 times")
    assert len(warnings(turn)) == 1
    assert warnings(turn)[0].startswith("You have now made the same round of calls 2 times")


def test_a_cycle_is_found_whatever_came_before_it() -> None:
    before = [(f"x{n}", str(n)) for n in range(7)]
    turn, reason = work(before + [("a", "1"), ("b", "2")] * 6)

    assert "round in circles" in reason
    assert replies(turn) == 7 + 6


def test_a_cycle_whose_results_change_is_progress() -> None:
    steps = [(call, f"{call} {n}") for n in range(10) for call in ("a", "b")]

    assert work(steps)[1] == ""


def test_steps_that_fail_or_show_nothing_new_are_warned_of_and_then_ended() -> None:
    failing = [(f"a{n}", f"!no {n}") for n in range(20)]
    turn, reason = work(failing, Limits(stall=5))

    assert replies(turn) == 5
    assert reason == (
        "I stopped because my last 5 steps brought nothing new. "
        "Reply here with a hint to let me go on."
    )
    assert warnings(turn)[0].startswith("Your last 4 steps failed or showed nothing new.")


def test_one_step_with_something_new_begins_the_count_of_idle_steps_anew() -> None:
    steps = [(f"a{n}", "fresh" if n % 4 == 3 else f"!no {n}") for n in range(40)]
    fresh = [
        (call, f"{result} {n}" if result == "fresh" else result)
        for n, (call, result) in enumerate(steps)
    ]

    assert work(fresh, Limits(max_steps=99, stall=5))[1] == ""


def test_what_was_seen_before_is_not_new_even_in_another_order() -> None:
    seen = [(c, c) for c in "abcdefghijkl"]
    turn, reason = work(seen + seen[::-1] * 1, Limits(max_steps=99, stall=6, cycle=99, repeat=99))

    assert "brought nothing new" in reason
    assert replies(turn) == 12 + 6


def test_a_warning_that_helped_is_given_again_when_it_happens_again() -> None:
    stuck = [("a", "1"), ("a", "1")]
    turn, reason = work([*stuck, ("b", "2"), *stuck, ("c", "3"), *stuck])

    assert (len(warnings(turn)), reason) == (3, "")


def test_equal_calls_in_one_reply_are_warned_of_before_anything_is_ended() -> None:
    turn: list[Entry] = [ASKED, *step(*[("a", "1")] * 5)]

    assert isinstance(check(turn, HIGH), Warn)


@pytest.mark.parametrize("repeat", [2, 3, 5])
def test_after_a_crash_the_warned_model_still_gets_its_step(repeat: int) -> None:
    """What is resumed right after the warning asks the model; it does not end the turn."""
    limits = Limits(repeat=repeat)
    turn: list[Entry] = [ASKED]
    while not isinstance(verdict := check(turn, limits), Warn):
        turn += step(("a", "1"))
    turn.append(Warned(verdict.text))

    assert check(turn, limits) is None


def test_a_users_reply_renews_everything() -> None:
    turn, reason = work([("a", "1"), ("a", "1"), "go on", ("a", "1"), ("a", "1")])

    assert reason == ""
    assert len(warnings(turn)) == 2


@pytest.mark.parametrize(
    ("limits", "sentence"),
    [
        (Limits(max_steps=2), "I stopped after 2 steps without reaching an answer."),
        (Limits(max_seconds=7), "I stopped after 7 seconds of work without reaching an answer."),
        (Limits(max_tokens=60), "I stopped after using 60 tokens without reaching an answer."),
    ],
)
def test_steps_seconds_and_tokens_are_limited_and_renewed_by_a_message(
    limits: Limits, sentence: str
) -> None:
    used = Usage(20, 10)
    turn: list[Entry] = [ASKED]
    for n in range(2):
        turn += [
            ModelReply("m", calls=(ToolCall(f"c{n}", "t", f"{n}"),), usage=used, seconds=2.0),
            Observation(f"c{n}", str(n), seconds=1.5),
        ]

    assert isinstance(verdict := check(turn, limits), Halt)
    assert verdict.text.startswith(sentence)
    assert check([*turn, User("go on", "U1", "Alice", "2.0")], limits) is None


def test_making_a_summary_counts_as_time_and_tokens_of_the_turn() -> None:
    turn: list[Entry] = [ASKED, Summary("…", 1, (0,), "m", Usage(90, 10), 5.0)]

    assert isinstance(check(turn, Limits(max_tokens=100)), Halt)
    assert isinstance(check(turn, Limits(max_seconds=5)), Halt)
    assert check(turn, Limits(max_steps=1)) is None


def test_what_broken_off_streams_used_counts_as_tokens_of_the_turn() -> None:
    reply = ModelReply("m", calls=(ToolCall("c", "t", "{}"),), wasted=Usage(90, 10))

    assert isinstance(check([ASKED, reply, Observation("c", "1")], Limits(max_tokens=100)), Halt)


def test_three_unreadable_replies_in_a_row_end_the_turn() -> None:
    unreadable = ModelReply("m", "?", problem="it is no JSON")
    turn: list[Entry] = [ASKED, unreadable, unreadable]

    assert check(turn, HIGH) is None
    assert isinstance(check([*turn, unreadable], HIGH), Halt)
    assert check([*turn, *step(("a", "1")), unreadable], HIGH) is None


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from(["1", "2", "!no"])), max_size=40))
def test_nobody_is_stopped_who_was_not_warned_before_the_newest_call(steps: list[Did]) -> None:
    turn, reason = work(steps)

    if reason:
        newest = max(i for i, e in enumerate(turn) if isinstance(e, ModelReply))
        assert any(isinstance(e, Warned) for e in turn[:newest])


@given(st.lists(st.sampled_from("ab"), min_size=1, max_size=5))
def test_a_model_that_repeats_any_short_round_for_ever_is_ended(round_of: list[str]) -> None:
    _, reason = work([(call, call) for call in round_of * 40])

    assert reason


async def test_the_loop_journals_the_warning_asks_once_more_and_then_ends_the_turn() -> None:
    journal = ListJournal([ASKED])
    model = ScriptedModel(
        lambda _: ModelReply("m", "Again.", (ToolCall(f"c{next(_ids)}", "look", "{}"),))
    )
    tools = ScriptedTools(lambda *_: Ran("nothing"))

    await run_turn(
        journal, model, tools, lambda call: Decided(call.id, Verdict.ALLOW), Facts("a test"),
        Limits(), _Clock(), lambda: None,
    )  # fmt: skip

    assert len(tools.ran) == 3
    assert isinstance(model.sent[-1][-1], Warned)
    *_, last = journal.entries
    assert isinstance(last, Failed)
    assert last.covers == ("1.0",)
    assert "called look 3 times" in last.text


class _Clock:
    def now(self) -> float:
        return 0.0


def run(took: str, kept_in: str, *, long: bool = False) -> str:
    """What one run of the same command came to, as the model sees it."""
    text = f"Exit code 1 after {took} s\n" + "".join(
        f"line {n}\n" for n in range(300 if long else 3)
    )
    return truncate(text, 1_000, f"The whole is in {kept_in}: page it with read_file.")


@pytest.mark.parametrize("long", [False, True], ids=["short", "long"])
def test_time_and_the_name_of_the_file_that_keeps_a_long_output_make_no_new_result(
    long: bool,
) -> None:
    results = [
        run(f"{9 + n / 7:.1f}", f".outputs/{n}-run_command.txt", long=long) for n in range(9)
    ]
    alternating = [("ab"[n % 2], result) for n, result in enumerate(results)]

    assert replies(work([("a", result) for result in results])[0]) == 3
    assert "times" in work(alternating)[1]


@pytest.mark.parametrize(
    "head", ["Stopped", "Killed by SIGKILL", "Killed by a signal", "Exit code 0"]
)
def test_however_a_command_ended_its_time_is_no_part_of_the_result(head: str) -> None:
    results = [f"{head} after {n}.5 s: do less.\n(no output)" for n in range(9)]

    assert replies(work([("a", result) for result in results])[0]) == 3


@pytest.mark.parametrize(
    "results",
    [
        [f"Exit code {n} after 1.0 s\n(no output)" for n in range(9)],
        [f"Exit code 0 after 1.0 s\nit came after {n}.0 s" for n in range(9)],
        [f"the run came to Exit code 0 after {n}.0 s" for n in range(9)],
        [f"Exit code 0 after 1.0 s\n[… {n} more rows …]" for n in range(9)],
    ],
)
def test_what_a_command_itself_says_is_part_of_the_result(results: list[str]) -> None:
    _, reason = work([("a", result) for result in results])

    assert reason == ""


@pytest.mark.timeout(10)
@pytest.mark.parametrize("unit", ["\n[… 1 characters cut here.", "Killed by a ", "[… 1,", "\n"])
def test_a_result_that_only_looks_like_a_note_is_read_in_bounded_time(unit: str) -> None:
    turn, _ = work([("a", unit * (300_000 // len(unit)))] * 3)

    assert replies(turn) == 3
