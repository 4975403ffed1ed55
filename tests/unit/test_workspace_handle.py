"""DirectoryHandle: closing a directory that a thread is still using."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tools.openat import DIRECTORY, DirectoryHandle


@pytest.fixture
def fd(tmp_path: Path) -> int:
    return os.open(tmp_path, DIRECTORY)


def is_open(fd: int) -> bool:
    return Path(f"/proc/self/fd/{fd}").exists()


def test_the_number_stays_taken_until_the_last_user_is_done(fd: int) -> None:
    handle = DirectoryHandle(fd)
    first, second = handle.hold(), handle.hold()
    assert first.__enter__() == second.__enter__() == fd

    handle.close()
    first.__exit__(None, None, None)
    assert is_open(fd)

    second.__exit__(None, None, None)
    assert not is_open(fd)


def test_once_closed_it_has_no_new_users(fd: int) -> None:
    handle = DirectoryHandle(fd)
    with handle.hold():
        handle.close()
        with pytest.raises(OSError, match="the workspace is closed"):
            handle.hold().__enter__()
        assert is_open(fd)
    assert not is_open(fd)


def test_closing_twice_does_not_close_somebody_elses_descriptor(fd: int, tmp_path: Path) -> None:
    handle = DirectoryHandle(fd)
    handle.close()
    other = os.open(tmp_path, DIRECTORY)
    try:
        assert other == fd
        handle.close()

        assert is_open(other)
    finally:
        os.close(other)
