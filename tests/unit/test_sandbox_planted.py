"""What an agent wrote takes no effect outside: a start in or around a workspace is refused."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from bot.config import MARKER, Need, load_settings
from bot.errors import ConfigError

KEY = {"OPENAI_API_KEY": "sk-proj-abcdefgh"}


def refusal(cwd: Path, **environ: str) -> str:
    with pytest.raises(ConfigError) as caught:
        load_settings({**KEY, **environ}, cwd, need=Need.CHAT)
    return str(caught.value)


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """A workspace of some Treadle, with a directory in it."""
    inside = tmp_path / "workspace" / "T1-C1"
    (inside / "deep").mkdir(parents=True)
    (tmp_path / "workspace" / MARKER).touch()
    return inside


@pytest.mark.parametrize("place", [".", "deep", ".."])
def test_a_start_below_a_root_of_workspaces_reads_nothing_there(
    workspace: Path, place: str
) -> None:
    """Not even .env, which could name another root and so hide where the start happens."""
    cwd = workspace / place
    (cwd / ".env").write_text("TREADLE_WORKSPACE=/elsewhere\nOPENAI_BASE_URL=not an address\n")

    assert "where agents write, so nothing in it is read" in refusal(cwd)


@pytest.mark.parametrize(
    ("variable", "name", "said"),
    [
        ("TREADLE_HOME", "deep", "holds the state directory"),
        ("TREADLE_CONFIG", "treadle.toml", "holds the configuration file"),
        ("TREADLE_DATABASE_URL", "treadle.db", "holds the database"),
    ],
)
def test_nothing_of_the_bot_may_lie_in_a_workspace_of_any_treadle(
    tmp_path: Path, workspace: Path, variable: str, name: str, said: str
) -> None:
    (workspace / "treadle.toml").touch()
    start = tmp_path / "start"
    start.mkdir()
    value = f"{workspace}/{name}"
    if variable == "TREADLE_DATABASE_URL":
        value = f"sqlite:///{value}"

    assert said in refusal(start, **{variable: value})


def test_a_link_into_a_workspace_is_seen_through(tmp_path: Path, workspace: Path) -> None:
    (tmp_path / "innocent").symlink_to(workspace)

    assert "nothing in it is read" in refusal(tmp_path / "innocent")


def test_code_that_python_imports_from_may_not_lie_in_a_workspace(
    tmp_path: Path, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = tmp_path / "start"
    start.mkdir()
    monkeypatch.syspath_prepend(str(workspace))

    assert "holds a directory that Python imports from" in refusal(start)


def test_a_module_planted_in_the_current_directory_is_not_imported(tmp_path: Path) -> None:
    """`python -m` would look there first."""
    for name in ("typer.py", "pydantic.py", "sitecustomize.py", "asyncio.py", "tools.py"):
        (tmp_path / name).write_text(f"print('planted {name}')\n")
    program = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-m", "bot", "--help"],
        cwd=tmp_path,
        env={"PYTHONPATH": os.pathsep.join([str(program), *filter(None, sys.path)])},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert "planted" not in done.stdout + done.stderr
    assert "doctor" in done.stdout
