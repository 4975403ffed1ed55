"""docs/reliability.md: each test that it names exists."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_every_promise_names_tests_that_exist() -> None:
    text = (ROOT / "docs" / "reliability.md").read_text("utf-8")
    current, found = "", 0
    for path, test in re.findall(r"`([\w/]+\.py)?(?:::(\w+))?`", text):
        current = path or current
        if not (path or test):
            continue
        source = (ROOT / "tests" / current).read_text("utf-8")
        assert f"def {test}(" in source if test else source, f"{current}::{test}"
        found += 1

    assert found >= 20


def test_every_promise_stands_in_a_table_and_is_shown_by_something() -> None:
    lines = (ROOT / "docs" / "reliability.md").read_text("utf-8").splitlines()
    before = ""
    for line in lines:
        if line.startswith("|"):
            cells = re.split(r" ?(?<!\\)\| ?", line.strip("| "))
            begins = line.startswith("| Promise ")
            assert before.startswith("|") or begins, f"no table has this row: {line}"
            shown = (
                begins or line.startswith("|---") or re.search(r"`[\w/]*\.py|`::\w+`", cells[-1])
            )
            assert len(cells) == 3, line
            assert shown, line
        before = line
