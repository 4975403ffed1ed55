"""docs/audit.md and docs/security.md say what there is."""

from __future__ import annotations

import re
from pathlib import Path

from bot.audit.chain import FORMAT
from bot.audit.records import Kind
from tests.doubles.injections import INJECTIONS

DOCS = Path(__file__).parents[2] / "docs"
AUDIT = (DOCS / "audit.md").read_text("utf-8")


def test_every_kind_of_record_is_explained_and_none_that_there_is_not() -> None:
    rows = [line.split("|")[1] for line in AUDIT.splitlines() if line.startswith("| `")]
    assert sorted(re.findall("`([a-z_]+)`", "".join(rows))) == sorted(Kind)


def test_the_sealed_bytes_are_named_as_the_code_names_them() -> None:
    assert f"`{FORMAT}`" in AUDIT


def test_the_number_of_injections_is_right() -> None:
    text = (DOCS / "security.md").read_text("utf-8")
    assert f"every one of {len(INJECTIONS)} published kinds" in text
