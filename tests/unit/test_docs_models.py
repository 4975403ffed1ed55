"""docs/models.md names every dialect and provider, and says what was tried of each."""

from __future__ import annotations

import re
from pathlib import Path

from bot.agent.dialects.detect import DIALECTS

DOC = (Path(__file__).parents[2] / "docs" / "models.md").read_text("utf-8")
PROVIDERS = (
    *("OpenAI", "Azure", "DeepSeek", "DashScope", "Zhipu"),
    *("Ollama", "vLLM", "llama.cpp", "LiteLLM"),
)


def rows(heading: str) -> list[list[str]]:
    section = DOC.split(f"## {heading}\n")[1].split("\n## ")[0]
    lines = [line for line in section.splitlines() if re.match(r"\| (?!-)", line)]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[1:]]


def test_every_dialect_has_its_row() -> None:
    assert {row[0].strip("`") for row in rows("How the model calls tools")} == {*DIALECTS, "auto"}


def test_every_provider_has_its_settings_and_says_what_was_tried_and_what_was_not() -> None:
    found = rows("Providers")

    assert [next(p for p in reversed(PROVIDERS) if p in row[0]) for row in found] == list(PROVIDERS)
    assert all(len(row) == 6 and all(row) for row in found)
