"""A call as people are shown it: command, diff or arguments; whole, and without secrets."""

from __future__ import annotations

import base64
import time

from hypothesis import given
from hypothesis import strategies as st

from bot.agent.preview import REMOVED_SHOWN, diff, preview
from bot.redact import Redactor
from tests.doubles.yardstick import slowness
from tools.changes import ABSENT, Change, Found

SECRET = "xoxb-not-a-real-secret-1234567890"


def changed(before: str | None, after: str | None, note: str = "", problem: str = "") -> Change:
    digest = ABSENT if before is None else "d"
    return Change("n.txt", Found(before, digest, note), after, problem)


def test_a_command_is_shown_as_it_is_and_its_other_arguments_beside_it() -> None:
    seen = preview("run_command", {"command": "a \\\n  b", "timeout_s": 60}, None)

    assert (seen.head, seen.text) == ("timeout_s: 60", "a \\\n  b")


def test_another_tool_is_shown_by_all_its_arguments() -> None:
    seen = preview("wikipedia", {"query": "Ü", "n": 2}, None)

    assert seen.text == '{\n  "query": "Ü",\n  "n": 2\n}'


def test_a_new_file_and_a_file_that_is_replaced_say_so() -> None:
    assert preview("write_file", {}, changed(None, "x\n")).head == "n.txt (a new file)"
    assert preview("write_file", {}, changed("y\n", "x\n")).text == "@@ -1,1 +1,1 @@\n-y\n+x"
    binary = changed(None, "x\n", note="n.txt is not UTF-8 text (3 bytes).")
    assert "replaces what is there: n.txt is not UTF-8" in preview("write_file", {}, binary).head


def test_a_call_that_would_fail_shows_its_arguments_and_why() -> None:
    seen = preview("edit_file", {"path": "n.txt"}, changed("y", None, problem="old is not there"))

    assert "as things are, this call would fail: old is not there" in seen.head
    assert '"path": "n.txt"' in seen.text
    assert seen.before == "d"


def test_what_has_no_line_to_show_says_so() -> None:
    assert preview("write_file", {}, changed("x\n", "x\n")).text == "(Nothing would change.)"
    assert preview("write_file", {}, changed(None, "")).text == "(It will be empty.)"


def test_a_missing_end_of_line_is_a_difference() -> None:
    assert list(diff("a\n", "a")) == [
        *("@@ -1,1 +1,1 @@", "-a", "+a\n\\ No newline at the end of the file")
    ]


def test_no_secret_is_shown_not_even_one_that_the_marks_of_a_diff_would_break_up() -> None:
    redact = Redactor([SECRET]).text
    wrapped = base64.encodebytes(b"x" * 40 + SECRET.encode()).decode()
    seen = preview("write_file", {}, changed(f"key={SECRET}\n", wrapped), redact)

    assert SECRET not in seen.text
    inner = base64.b64encode(SECRET.encode()).decode()[4:-6]
    assert inner not in seen.text.replace("\n+", "")
    assert "[redacted]" in seen.text


def test_a_change_of_nothing_but_a_secret_says_that_it_is_hidden() -> None:
    redact = Redactor([SECRET]).text
    seen = preview("write_file", {}, changed(f"{SECRET}\n", "[redacted]\n"), redact)

    assert seen.text == "(What differs holds a secret, so it cannot be shown.)"


def test_a_small_change_of_a_long_file_shows_little_of_it() -> None:
    old = "".join(f"{n}\n" for n in range(100_000))
    found = list(diff(old, old.replace("\n50000\n", "\nx\n")))

    assert found[0] == "@@ -49998,7 +49998,7 @@"
    assert len(found) == 9


def test_all_that_is_added_is_shown_and_what_is_removed_is_counted() -> None:
    old, new = "".join(f"o{n}\n" for n in range(5000)), "".join(f"n{n}\n" for n in range(5000))
    found = list(diff(old, new))

    assert [line for line in found if line.startswith("+")] == [f"+n{n}" for n in range(5000)]
    removed = sum(line.startswith("-") for line in found)
    assert sum(len(line) for line in found if line.startswith("-")) <= REMOVED_SHOWN
    assert found[-1].startswith(f"[{5000 - removed:,} more removed lines are not shown")


def test_lines_made_to_be_hard_to_compare_take_no_time() -> None:
    began = time.process_time()
    list(diff("".join("ab"[n % 2] + "\n" for n in range(999)), "b\n" * 500 + "a\n" * 499))
    list(diff("a\n" * 199 + "x\n", "y\n" + "a\n" * 150 + "z\n"))

    assert (time.process_time() - began) / slowness() < 3.0


texts = st.lists(st.sampled_from(["a", "b", "c", "", "d "]), max_size=30).map("\n".join)


@given(texts, texts)
def test_a_diff_is_empty_only_where_nothing_differs(old: str, new: str) -> None:
    assert (old == new) == (not list(diff(old, new)))


def applied(old: list[str], found: list[str]) -> list[str]:
    """The lines that come of a diff, by the line numbers that it gives."""
    result: list[str] = []
    at = 0
    for line in found:
        if line.startswith("@@"):
            start = int(line.split(",")[0].split("-")[1]) - 1
            result, at = result + old[at:start], start
            continue
        if not line.startswith("+"):
            assert old[at] == line[1:]
            at += 1
        if not line.startswith("-"):
            result.append(line[1:])
    return result + old[at:]


@given(texts, texts)
def test_a_diff_applied_to_the_one_gives_the_other(old: str, new: str) -> None:
    found = list(diff(f"{old}\n", f"{new}\n"))

    assert applied(old.split("\n"), found) == new.split("\n")
