"""Tests that would disturb each other stay in one process."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.sharing import ALONE, TOGETHER, group_of

FILES = {
    "test_one.py": "import os\nimport pytest\n"
    "@pytest.mark.parametrize('n', range(20))\n"
    "def test(n): open(f'one-{os.getpid()}', 'w').close()\n",
    "test_other.py": "def test(): pass\n",
}


@pytest.mark.parametrize("start", [*ALONE, *TOGETHER])
def test_each_name_is_that_of_a_test(repository: Path, start: str) -> None:
    assert list(repository.glob(f"{start}*.py"))


def test_a_test_of_no_group_is_its_own() -> None:
    assert group_of("tests/unit/test_sharing.py::test_it") == "tests/unit/test_sharing.py::test_it"
    assert group_of("tests/hostile/test_attempts.py::a") == group_of(
        "tests/integration/test_sandbox_bwrap.py::b"
    )


def test_one_process_does_a_whole_group(repository: Path, tmp_path: Path) -> None:
    (tmp_path / "tests" / "browser").mkdir(parents=True)
    (tmp_path / "conftest.py").write_text((repository / "tests" / "conftest.py").read_text())
    for name, text in FILES.items():
        (tmp_path / "tests" / "browser" / name).write_text(text)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-n", "2", "--rootdir", str(tmp_path)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=50,
    )

    assert "21 passed" in done.stdout, done.stdout + done.stderr
    assert len(list(tmp_path.glob("one-*"))) == 1
