"""A reply in the terminal, as it arrives."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from bot.agent.entries import Answered, Entry, ModelReply, Observation, ToolCall, User
from bot.agent.shown import Answer, Piece, Thought, WasThought
from bot.live_text import LiveText
from bot.redact import Redactor
from bot.terminal import TerminalView

SECRET = "sk-a-long-secret-0123"


def typed(pieces: Sequence[Piece | None], *entries: ModelReply) -> str:
    """What stands in the terminal after the pieces and then the entries."""
    out: list[str] = []
    live = LiveText(out.append, Redactor([SECRET]).stream)
    view = TerminalView(lambda line: out.append(line + "\n"), lambda call: call.arguments, live)
    view.begin([User("hi", "U1", "You", "1.0")], "1.0")
    for piece in pieces:
        view.live(piece)
    view.look([User("hi", "U1", "You", "1.0"), *entries])
    return "".join(out)


def test_a_thought_is_indented_and_an_answer_stands_apart() -> None:
    shown = typed([Thought("I a"), Thought("dd.\nThen"), Answer("It "), Answer("is 2.")])

    assert shown == "  I add.\n  Then\n\nIt is 2."


def test_what_was_shown_live_is_not_shown_again() -> None:
    reply = ModelReply("m", thought="I add.", calls=(ToolCall("c1", "calculate", "1+1"),))

    assert typed([Thought("I a"), Thought("dd.\n")], reply).count("I add.") == 1
    assert typed([Answer("It is "), Answer("2.")], ModelReply("m", answer="It is 2.")) == (
        "\nIt is 2.\n"
    )


def test_an_answer_that_was_shown_as_a_thought_is_not_shown_again() -> None:
    assert typed([Thought("It is 2.")], ModelReply("m", answer="It is 2.")) == "  It is 2.\n"


def test_what_was_not_shown_live_is_shown_whole() -> None:
    reply = ModelReply("m", thought="I add.", calls=(ToolCall("c1", "calculate", "1+1"),))

    assert "I add." in typed([], reply)
    assert typed([Answer("It is thr")], ModelReply("m", answer="It is 2.")).endswith("\nIt is 2.\n")


def test_a_reply_that_begins_again_says_so_and_starts_on_a_new_line() -> None:
    shown = typed(
        [Answer("It is thr"), None, Answer("It is 2.")], ModelReply("m", answer="It is 2.")
    )

    assert shown == "\nIt is thr\n(The reply broke off; it begins again.)\n\nIt is 2.\n"


def test_what_turns_out_to_have_been_thinking_is_called_so_and_not_shown_again() -> None:
    reply = ModelReply("m", answer="It is 2.", reasoning="One and one.")

    shown = typed([Answer("One and "), Answer("one."), WasThought(), Answer("It is 2.")], reply)

    assert shown == "\nOne and one.\n  (That was thinking; the answer follows.)\n\nIt is 2.\n"


def test_a_secret_that_is_split_over_pieces_is_not_shown() -> None:
    shown = typed([Answer(f"key {SECRET[:9]}"), Answer(f"{SECRET[9:]} end")])

    assert SECRET[:9] not in shown
    assert shown.startswith("\nkey ")


HOSTILE = "a\x1b[2J\x1b]0;owned\x07b\x9b31mc\u202ed\re\x08f\u200b"


@pytest.mark.parametrize("size", range(1, len(HOSTILE) + 1))
def test_terminal_escapes_are_not_shown_wherever_a_piece_ends(size: int) -> None:
    pieces = [Answer(HOSTILE[at : at + size]) for at in range(0, len(HOSTILE), size)]

    assert typed(pieces, ModelReply("m", answer=HOSTILE)) == "\nabcd\nef\n"


def test_a_secret_that_is_split_by_what_cannot_be_seen_is_not_shown() -> None:
    first, rest = f"key {SECRET[:9]}\u200b{SECRET[9:12]}\x1b[0m", SECRET[12:]

    shown = typed([Answer(first), Answer(rest)], ModelReply("m", answer=first + rest))

    assert shown == "\nkey [redacted]\n"


def test_each_reply_is_compared_with_its_own_pieces_only() -> None:
    out: list[str] = []
    view = TerminalView(
        lambda line: out.append(line),
        lambda call: call.arguments,
        LiveText(lambda text: None, Redactor([]).stream),
    )
    question = User("hi", "U1", "You", "1.0")
    call = ModelReply("m", thought="I add.", calls=(ToolCall("c1", "calculate", "1+1"),))
    view.begin([question], question.at)
    view.live(Thought("I add."))
    first: list[Entry] = [question, call, Observation("c1", "2")]
    view.look(first)
    view.look([*first, ModelReply("m", answer="I add."), Answered(("1.0",))])

    assert "\nI add." in out
