"""Each accepted path has exactly one spelling."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools.errors import NotAllowed, ToolError
from tools.paths import directory_path, file_path, shown

PIECES = st.sampled_from(
    ["a", "b.txt", "ä", " ", ".", "..", "/", "//", "~", "/workspace", "workspace", "\0", "...", "-"]
)


@pytest.mark.parametrize(
    ("path", "canonical"),
    [
        ("a/b", "a/b"),
        ("./a//b/.", "a/b"),
        ("a/b/", "a/b"),
        ("/workspace/a", "a"),
        ("/workspace//a/", "a"),
        ("/workspace", "."),
        ("/workspace/", "."),
        (".", "."),
        ("./", "."),
        ("workspace/a", "workspace/a"),
        (" a ", " a "),
        ("a/~", "a/~"),
        ("...", "..."),
        ("x" * 4096, "x" * 4096),
    ],
)
def test_spellings_of_one_path_become_one(path: str, canonical: str) -> None:
    assert directory_path(path) == canonical


def test_a_path_outside_is_refused_with_what_to_do() -> None:
    with pytest.raises(ToolError) as caught:
        directory_path("~/Downloads")

    assert str(caught.value) == ("Paths are relative to the workspace; ~/Downloads is outside it.")


@pytest.mark.parametrize("path", [".", "./", "a/", "a/.", "/workspace/"])
def test_a_directory_is_no_file_path(path: str) -> None:
    with pytest.raises(NotAllowed, match="names a directory"):
        file_path(path)


@given(st.lists(PIECES, max_size=6).map("".join) | st.text(max_size=40))
def test_a_canonical_path_is_relative_clean_and_its_own_canonical_path(path: str) -> None:
    try:
        canonical = directory_path(path)
    except ToolError as error:
        canonical = "."
        assert "\n" not in str(error)  # noqa: PT017 - either outcome is fine, each has its claim
    assert directory_path(canonical) == canonical
    assert canonical == "." or not {"", ".", ".."} & set(canonical.split("/"))


@given(st.text())
def test_a_shown_name_is_one_printable_line_of_bounded_length(name: str) -> None:
    text = shown(name, 50)

    assert len(text) <= 50
    assert not set(text) & set("\n\r\t\x1b\0\u2028\u202e\u200b")
    text.encode()


def test_a_name_that_would_turn_the_text_around_is_shown_with_its_marks() -> None:
    assert shown("a\u202egpj.exe\x1b[2J") == "a\\u202egpj.exe\\x1b[2J"
