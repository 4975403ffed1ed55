"""What a workspace takes on disk: nothing in it escapes the count."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tools.usage import AT_LEAST, DEEPEST, UNCOUNTABLE, disk_usage


@pytest.fixture
def top(tmp_path: Path) -> Iterator[int]:
    fd = os.open(tmp_path, os.O_RDONLY)
    yield fd
    os.close(fd)


def open_files() -> int:
    return len(os.listdir("/proc/self/fd"))


def test_files_count_by_their_blocks_at_any_depth(tmp_path: Path, top: int) -> None:
    assert disk_usage(top) == 0
    deep = tmp_path / "a" / "b"
    deep.mkdir(parents=True)
    (deep / "f").write_bytes(b"x" * 500_000)

    assert 500_000 <= disk_usage(top) < 600_000


def test_a_file_with_holes_counts_what_it_takes(tmp_path: Path, top: int) -> None:
    with open(tmp_path / "sparse", "wb") as file:
        file.truncate(50 * 1024**3)

    assert disk_usage(top) < 100_000


def test_many_empty_names_count_as_well(tmp_path: Path, top: int) -> None:
    for number in range(300):
        (tmp_path / f"f{number}").touch()

    assert disk_usage(top) >= 300 * AT_LEAST


def test_a_second_name_of_a_file_counts_nothing(tmp_path: Path, top: int) -> None:
    (tmp_path / "one").write_bytes(b"x" * 100_000)
    before = disk_usage(top)
    os.link(tmp_path / "one", tmp_path / "two")

    assert disk_usage(top) == before


def test_a_link_is_not_followed(tmp_path: Path, top: int) -> None:
    (tmp_path / "all").symlink_to("/")

    assert disk_usage(top) <= 4096


def test_counting_ends_when_it_is_enough(tmp_path: Path, top: int) -> None:
    for number in range(50):
        (tmp_path / f"f{number}").write_bytes(b"x" * 10_000)

    assert 30_000 < disk_usage(top, enough=30_000) < 60_000


def test_what_is_too_deep_to_look_at_counts_as_too_much(tmp_path: Path, top: int) -> None:
    deep = tmp_path.joinpath(*["d"] * DEEPEST)
    deep.mkdir(parents=True)
    before = open_files()
    assert disk_usage(top) < UNCOUNTABLE
    (deep / "e").mkdir()

    assert disk_usage(top) == UNCOUNTABLE
    assert open_files() == before


@pytest.mark.skipif(os.geteuid() == 0, reason="permissions do not bind root")
def test_what_may_not_be_looked_into_counts_as_too_much(tmp_path: Path, top: int) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0)
    found = disk_usage(top)
    closed.chmod(0o700)

    assert found == UNCOUNTABLE
    assert disk_usage(top) < UNCOUNTABLE
