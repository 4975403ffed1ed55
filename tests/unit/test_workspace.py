"""Workspace: reading, writing and listing what is inside."""

from __future__ import annotations

import hashlib
import os
import stat
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tools.errors import BadArguments, NotAllowed, NotFound, ToolError
from tools.listing import Entry, EntryKind
from tools.openat import open_beneath, open_by_kernel, open_by_walk
from tools.workspace import Workspace

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="giving files away needs root")
as_user = pytest.mark.skipif(os.geteuid() == 0, reason="permissions do not bind root")


@pytest.fixture(params=[open_by_kernel, open_by_walk, open_beneath], ids=lambda o: o.__name__)
def workspace(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Workspace]:
    with Workspace.at(tmp_path, opener=request.param) as opened:
        yield opened


def test_what_is_written_is_read_back_exactly(workspace: Workspace) -> None:
    text = "print('héllo')\r\n\n行\u2028 end without newline"

    assert workspace.write_text("a/b/c.py", text) is True
    assert workspace.read_text("a/b/c.py") == text
    assert (workspace.path / "a" / "b" / "c.py").read_bytes() == text.encode()
    assert workspace.write_text("a/b/c.py", "") is False
    assert workspace.read_text("a/b/c.py") == ""


def test_a_new_file_and_directory_have_the_usual_modes(workspace: Workspace) -> None:
    workspace.write_text("a/b", "x")

    assert stat.S_IMODE((workspace.path / "a" / "b").stat().st_mode) == 0o644
    assert stat.S_IMODE((workspace.path / "a").stat().st_mode) == 0o755


def test_replacing_keeps_permissions_but_no_set_uid_bit(workspace: Workspace) -> None:
    script = workspace.path / "run.sh"
    script.write_text("old")
    script.chmod(0o4750)

    workspace.write_text("run.sh", "new")

    assert stat.S_IMODE(script.stat().st_mode) == 0o750


def test_a_reader_sees_the_old_content_or_the_new_one_never_a_part(workspace: Workspace) -> None:
    contents = {letter * 300_000 for letter in "ab"}
    workspace.write_text("f", "a" * 300_000)
    stop = threading.Event()

    def write() -> None:
        while not stop.is_set():
            for content in contents:
                workspace.write_text("f", content)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        seen = [workspace.read_text("f") for _ in range(200)]
    finally:
        stop.set()
        writer.join()

    assert set(seen) <= contents


def test_a_failed_write_leaves_nothing_behind(workspace: Workspace) -> None:
    (workspace.path / "d" / "sub").mkdir(parents=True)

    with pytest.raises(NotAllowed, match="d/sub exists and is not a regular file"):
        workspace.write_text("d/sub", "x")
    with pytest.raises(BadArguments, match="half a character at position 1"):
        workspace.write_text("d/new", "a\ud800")
    assert [path.name for path in (workspace.path / "d").iterdir()] == ["sub"]


@as_user
def test_a_directory_without_permission_is_named(workspace: Workspace) -> None:
    (workspace.path / "closed").mkdir(mode=0o500)

    with pytest.raises(NotAllowed, match="The permissions of closed/f do not allow this"):
        workspace.write_text("closed/f", "x")


@as_root
def test_files_and_directories_made_by_root_belong_to_the_owner(tmp_path: Path) -> None:
    with Workspace.at(tmp_path, owner=(10001, 10002)) as workspace:
        workspace.write_text("a/b/c", "x")
        workspace.make_directory("d")
        (tmp_path / "theirs").mkdir()
        workspace.write_text("theirs/f", "x")

    owners = {
        str(path.relative_to(tmp_path)): (path.stat().st_uid, path.stat().st_gid)
        for path in tmp_path.rglob("*")
    }
    assert owners == {
        "theirs": (0, 0),
        **dict.fromkeys(["a", "a/b", "a/b/c", "d", "theirs/f"], (10001, 10002)),
    }


def test_a_listing_is_in_order_and_says_what_each_name_is(workspace: Workspace) -> None:
    (workspace.path / "z").mkdir()
    (workspace.path / "a.txt").write_text("12345")
    (workspace.path / "link").symlink_to("/etc/passwd")
    os.mkfifo(workspace.path / "pipe")

    listing = workspace.list_directory()

    disk = (workspace.path / "a.txt").stat().st_blocks * 512
    assert listing.entries == (
        Entry("a.txt", EntryKind.FILE, 5, disk),
        Entry("link", EntryKind.LINK, target="/etc/passwd"),
        Entry("pipe", EntryKind.OTHER),
        Entry("z", EntryKind.DIRECTORY),
    )
    assert (listing.more, listing.complete) == (0, True)


def test_a_listing_is_limited_and_says_how_many_are_left_out(workspace: Workspace) -> None:
    for number in range(30):
        (workspace.path / f"{number:02}").touch()

    listing = workspace.list_directory(".", limit=10)

    assert [entry.name for entry in listing.entries] == [f"{number:02}" for number in range(10)]
    assert listing.more == 20


def test_a_walk_gives_a_directorys_own_entries_before_what_is_deeper(
    workspace: Workspace,
) -> None:
    for name in ("b/x", "b/c/y", "a/z", "f", ".git/config"):
        workspace.write_text(name, "x")

    walked = [path for path, _ in workspace.walk(skip=frozenset({".git"}))]

    assert walked == [".git", "a", "b", "f", "a/z", "b/c", "b/x", "b/c/y"]
    assert [path for path, _ in workspace.walk("b")] == ["b/c", "b/x", "b/c/y"]
    with pytest.raises(NotFound):
        list(workspace.walk("nowhere"))


def test_a_walk_ends_in_a_tree_deeper_than_anybody_needs(workspace: Workspace) -> None:
    workspace.make_directory("/".join("d" * 100))

    assert 32 <= len(list(workspace.walk())) < 100


def test_the_quota_counts_what_is_on_disk_and_holds(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "old").write_bytes(b"x" * 600_000)
    with (tmp_path / "sparse").open("wb") as file:
        file.truncate(1 << 30)
    with Workspace.at(tmp_path, quota=1_000_000) as workspace:
        assert 600_000 <= workspace.usage() < 700_000
        workspace.write_bytes("small", b"x" * 100_000)
        with pytest.raises(NotAllowed, match=r"may hold 976\.6 kB and .* kB are used; delete"):
            workspace.write_bytes("large", b"x" * 500_000)
        workspace.delete_file("sub/old")

        assert workspace.write_bytes("large", b"x" * 500_000) is True


def test_the_digest_is_of_the_content_and_there_is_none_for_no_file(workspace: Workspace) -> None:
    workspace.write_text("f", "x")

    assert workspace.digest("f") == hashlib.sha256(b"x").hexdigest()
    assert workspace.digest("missing") is None
    with pytest.raises(ToolError):
        workspace.digest("../x")


def test_deleting_takes_files_only(workspace: Workspace) -> None:
    workspace.write_text("d/f", "x")

    with pytest.raises(NotAllowed, match="d is a directory"):
        workspace.delete_file("d")
    workspace.delete_file("d/f")
    with pytest.raises(NotFound, match="There is no d/f in the workspace; list_dir shows"):
        workspace.delete_file("d/f")


def test_a_closed_workspace_refuses_and_may_be_closed_again(tmp_path: Path) -> None:
    workspace = Workspace.at(tmp_path)
    workspace.close()
    workspace.close()

    with pytest.raises(NotAllowed, match="The workspace was closed before f could be used"):
        workspace.read_text("f")


def test_a_directory_that_is_not_there_is_no_workspace(tmp_path: Path) -> None:
    with pytest.raises(ToolError, match="The workspace missing cannot be opened"):
        Workspace.at(tmp_path / "missing")
