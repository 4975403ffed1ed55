"""What a card says: what others wrote stays in its line, and nothing of a call is left out."""

from __future__ import annotations

import json
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from bot.agent import card_text
from bot.agent.approvals import Card, card_at
from bot.agent.consent import Answer, ApprovalAnswered, ApprovalAsked, Grant
from bot.agent.entries import Decided, Entry, ModelReply, ToolCall, User
from bot.agent.exact import exact_line
from bot.policy import Verdict
from bot.slack.blocks import units, visible_text
from bot.slack.card import PAGE, card_message, question_messages
from bot.slack.markdown import RenderedMessage

GRANT = Grant("run_command", "f", ("command matches git .*",), "U1", "T-C", 86_400.0)
QUESTION = ApprovalAsked("a", "d", 1.0, 86_400.0, shown="ls")


def card(
    name: str = "Ann",
    thought: str = "I look.",
    reason: str = "a rule asks",
    answer: ApprovalAnswered | None = None,
    asked: ApprovalAsked = QUESTION,
) -> tuple[list[Entry], Card]:
    entries: list[Entry] = [
        User("hi", "U1", name, "1.0"),
        ModelReply("m", thought, (ToolCall("a", "run_command", "{}"),)),
        Decided("a", Verdict.ASK, reason, "treadle.toml policy[1]", "d"),
        asked,
        *([answer] if answer else ()),
    ]
    return entries, card_at(entries, 3)


@given(st.text(), st.text(), st.text(), st.text())
def test_what_others_wrote_takes_one_line_each(
    name: str, thought: str, reason: str, why: str
) -> None:
    denied = ApprovalAnswered("a", Answer.DENIED, "U9", name, why, 60.0)
    _, seen = card(name, thought, reason, denied)

    assert len("\n".join(card_text.circumstances(seen)).splitlines()) <= 3
    assert len(card_text.outcome(seen.lines[0]).splitlines()) == 1


def test_a_yes_for_the_thread_names_every_limit_of_it() -> None:
    _, seen = card(asked=ApprovalAsked("a", "d", 1.0, 86_400.0, shown="ls", offer=GRANT))

    assert card_text.coverage(seen) == [
        "“Approve for this thread” covers, until 1970-01-02 00:00 UTC, every further Run in this "
        "thread where command matches git .* that treadle.toml policy[1] asks about "
        "because Ann wants it, in the workspace T-C. It covers nothing else and nobody else."
    ]


def test_an_answer_of_an_older_journal_has_no_time() -> None:
    _, seen = card(answer=ApprovalAnswered("a", Answer.ALLOWED, "U9", "Ada"))

    assert card_text.outcome(seen.lines[0]) == "✅ Approved by Ada"


def test_a_question_of_an_older_journal_shows_the_arguments() -> None:
    entries, seen = card(asked=ApprovalAsked("a", "d", 1.0, 2.0))

    assert card_text.whole(seen.lines[0]) == "{}"
    assert "{}" in visible_text(question_messages(entries, 3, "An admin")[-1].blocks)


@given(st.integers(200, 400).map(lambda n: "deep/" * n), st.text(max_size=20))
def test_a_long_head_stands_whole_above_the_call(path: str, end: str) -> None:
    _, seen = card(asked=ApprovalAsked("a", "d", 1.0, 2.0, head=path + end, shown="+x"))

    assert exact_line(path + end) in card_text.whole(seen.lines[0])


def boxes_of(message: RenderedMessage) -> list[str]:
    """The preformatted texts of a message."""
    return [
        part["elements"][0]["text"]
        for block in json.loads(json.dumps(message.blocks))
        for part in block.get("elements", ())
        if part["type"] == "rich_text_preformatted"
    ]


@given(st.text(alphabet="ab \n\U0001f600\u202e`*<&", min_size=1, max_size=60), st.integers(1, 400))
def test_the_parts_of_a_call_fit_and_hold_all_of_it(piece: str, times: int) -> None:
    entries, seen = card(asked=ApprovalAsked("a", "d", 1.0, 2.0, shown=piece * times))
    *pages, last = question_messages(entries, 3, "An admin")

    boxes = [box for message in (*pages, last) for box in boxes_of(message)]
    assert "".join(boxes) == (card_text.whole(seen.lines[0]) or " ")
    assert all(units(box) <= PAGE for box in boxes)
    assert all(block["type"] != "actions" for page in pages for block in page.blocks)


def test_a_card_that_is_decided_has_no_button() -> None:
    entries, open_card = card()
    yes = ApprovalAnswered("a", Answer.ALLOWED, "U9", "Ada", at=60.0)

    def kinds(seen: Card) -> set[object]:
        return {block["type"] for block in card_message(seen, "An admin").blocks}

    assert "actions" in kinds(open_card)
    assert "actions" not in kinds(card_at([*entries, yes], 3))
    assert "actions" not in kinds(replace(open_card, over=True))
