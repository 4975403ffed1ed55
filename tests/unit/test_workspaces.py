"""Workspaces: which directory belongs to which thread."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from tools.errors import WorkspaceUnavailable
from tools.workspaces import Scope, Workspaces

THREAD = ("T01", "C0OPS", "1700000000.000100")


@pytest.mark.parametrize(
    ("scope", "name"),
    [
        (Scope.SHARED, "shared"),
        (Scope.CHANNEL, "T01-C0OPS"),
        (Scope.THREAD, "T01-C0OPS-1700000000.000100"),
    ],
)
def test_the_directory_is_named_by_scope_and_made_when_first_opened(
    tmp_path: Path, scope: Scope, name: str
) -> None:
    workspaces = Workspaces(tmp_path / "deep" / "root", scope)
    assert list(workspaces.root.iterdir()) == []

    with workspaces.open(*THREAD) as first:
        first.write_text("f", "x")
    with workspaces.open(*THREAD) as again:
        assert again.read_text("f") == "x"

    workspaces.close()
    assert again.path == workspaces.root / name
    assert [path.name for path in workspaces.root.iterdir()] == [name]
    assert stat.S_IMODE(again.path.stat().st_mode) == 0o700


def test_an_open_workspace_outlives_the_root(tmp_path: Path) -> None:
    workspaces = Workspaces(tmp_path)
    with workspaces.open(*THREAD) as workspace:
        workspaces.close()
        workspace.write_text("f", "x")

    assert (tmp_path / "T01-C0OPS" / "f").read_text() == "x"


@pytest.mark.parametrize(
    ("team", "channel", "root_ts"),
    [
        ("../T01", "C1", "1.0"),
        ("T01", "C1/../C2", "1.0"),
        ("T01", "C1", "1.0/.."),
        ("", "C1", "1.0"),
        ("T01", "", "1.0"),
        ("t01", "C1", "1.0"),
        ("T-01", "C1", "1.0"),
        ("T01\n", "C1", "1.0"),
        ("T01", "C1", "1.0\n"),
        ("T01", "C1", "1"),
        ("T01", "C1", "١.٠"),
        ("T" * 33, "C1", "1.0"),
        ("T01", "C1\0", "1.0"),
    ],
)
def test_what_slack_cannot_send_names_no_directory(
    tmp_path: Path, team: str, channel: str, root_ts: str
) -> None:
    with pytest.raises(WorkspaceUnavailable, match="not an id or a time of Slack"):
        Workspaces(tmp_path, Scope.THREAD).open(team, channel, root_ts)

    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("kind", ["link", "dangling link", "file"])
def test_a_child_that_is_no_real_directory_is_refused(tmp_path: Path, kind: str) -> None:
    root, other = tmp_path / "root", tmp_path / "other"
    root.mkdir()
    child = root / "T01-C0OPS"
    if kind == "file":
        child.touch()
    else:
        child.symlink_to(other)
    if kind == "link":
        other.mkdir()

    with pytest.raises(WorkspaceUnavailable, match="T01-C0OPS cannot be used"):
        Workspaces(root).open(*THREAD)
    assert other.exists() is (kind == "link")


def test_a_root_that_cannot_be_a_directory_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "loop").symlink_to("loop")

    for name in ("file", "file/below", "loop"):
        with pytest.raises(WorkspaceUnavailable, match=r"cannot be used \("):
            Workspaces(tmp_path / name)


def test_a_root_named_by_a_link_is_its_real_directory(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")

    assert Workspaces(tmp_path / "link").root == (tmp_path / "real").resolve()


@pytest.mark.skipif(os.geteuid() != 0, reason="giving directories away needs root")
def test_a_directory_made_by_root_belongs_to_the_owner_also_if_it_was_there_before(
    tmp_path: Path,
) -> None:
    (tmp_path / "T01-C0OPS").mkdir()
    workspaces = Workspaces(tmp_path, owner=(10001, 10002))

    for channel in ("C0OPS", "C1"):
        with workspaces.open("T01", channel, "1.0") as workspace:
            found = workspace.path.stat()
            workspace.write_text("f", "x")

            assert (found.st_uid, found.st_gid) == (10001, 10002)
            assert (workspace.path / "f").stat().st_uid == 10001
