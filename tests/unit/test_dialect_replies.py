"""Every dialect reads its corpus of misbehaving replies as each reply must be read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from bot.agent.dialects.base import NO_END
from bot.agent.dialects.detect import DIALECTS, read
from tests.doubles.specs import SPECS

CORPORA = Path(__file__).parent / "replies"
NAMES = ("xml", "text", "json", "bare-json")


def corpus(name: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = yaml.safe_load((CORPORA / f"{name}.yml").read_text("utf-8"))
    return found


CASES = [(name, case) for name in NAMES for case in corpus(name)]


@pytest.mark.parametrize(
    ("name", "case"), CASES, ids=[f"{name}: {case['case']}" for name, case in CASES]
)
def test_a_reply_of_the_corpus_is_read_as_it_should_be(name: str, case: dict[str, Any]) -> None:
    cut_off = case.get("cut_off", False)

    parsed = DIALECTS[name].parse(case["reply"], SPECS, cut_off=cut_off)

    calls = [[call.name, json.loads(call.arguments)] for call in parsed.calls]
    if "call" in case:
        assert (calls, parsed.answer, parsed.problem) == ([case["call"]], None, "")
    elif "answer" in case:
        assert (calls, parsed.answer, parsed.problem) == ([], case["answer"], "")
    elif "go_on" in case:
        assert (calls, parsed.answer, parsed.problem) == ([], None, NO_END)
        assert parsed.thought == case["go_on"]
    else:
        assert (calls, parsed.answer) == ([], None)
        assert case["problem"] in parsed.problem
        assert parsed.problem != NO_END
    if "thought" in case:
        assert parsed.thought == case["thought"]
    assert parsed.kept == case["kept"] if "kept" in case else parsed.kept in case["reply"]


@pytest.mark.parametrize(
    ("name", "case"), CASES, ids=[f"{name}: {case['case']}" for name, case in CASES]
)
def test_a_reply_with_the_line_ends_of_windows_is_read_the_same(
    name: str, case: dict[str, Any]
) -> None:
    cut_off, plain = case.get("cut_off", False), case["reply"].replace("\r\n", "\n")

    ended = read(DIALECTS[name], plain.replace("\n", "\r\n"), SPECS, (), cut_off=cut_off)

    assert ended == read(DIALECTS[name], plain, SPECS, (), cut_off=cut_off)


@pytest.mark.parametrize("name", NAMES)
def test_a_corpus_holds_at_least_forty_different_replies(name: str) -> None:
    assert len({case["reply"] for case in corpus(name)}) >= 40
