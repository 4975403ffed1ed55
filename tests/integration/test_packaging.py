"""The wheel holds both packages and everything beside their code; the locks hold hashes only."""

from __future__ import annotations

import configparser
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
LOCKS = [f"requirements{name}.lock" for name in ("", "-cluster", "-dev", "-build")]
NEEDED = [
    "bot/__main__.py",
    "bot/storage/migrations/env.py",
    "bot/storage/migrations/script.py.mako",
    "bot/local_slack/page/index.html",
    "bot/local_slack/page/app.js",
    "bot/local_slack/page/style.css",
    "bot/local_slack/page/icon.svg",
    "tools/catalog.py",
]


def python(*arguments: str, cwd: Path, **environ: str) -> str:
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=cwd,
        env={"PATH": "/usr/bin:/bin", "HOME": str(cwd), "PYTHONDONTWRITEBYTECODE": "1", **environ},
        capture_output=True,
        text=True,
        timeout=50,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built without network from a copy of the sources."""
    copy = tmp_path_factory.mktemp("sources")
    ignored = shutil.ignore_patterns("__pycache__", "*.pyc")
    for package in ("bot", "tools"):
        shutil.copytree(ROOT / package, copy / package, ignore=ignored)
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, copy)
    python("-m", "hatchling", "build", "-t", "wheel", cwd=copy)
    (built,) = (copy / "dist").glob("treadle-*.whl")
    return built


def names(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def sources() -> set[str]:
    """Every file of both packages that belongs to the product."""
    files = [p for package in ("bot", "tools") for p in (ROOT / package).rglob("*") if p.is_file()]
    return {str(path.relative_to(ROOT)) for path in files if "__pycache__" not in path.parts}


def test_the_wheel_holds_every_file_of_both_packages_and_nothing_else(wheel: Path) -> None:
    packed = {name for name in names(wheel) if ".dist-info/" not in name}

    assert packed == sources()
    assert set(NEEDED) <= packed


def test_the_wheel_brings_the_command_and_the_licence(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        (entry_points,) = [n for n in archive.namelist() if n.endswith("entry_points.txt")]
        points = configparser.ConfigParser()
        points.read_string(archive.read(entry_points).decode())

    assert dict(points["console_scripts"]) == {"treadle": "bot.cli:main"}
    assert any(name.endswith("licenses/LICENSE") for name in names(wheel))


def test_what_was_installed_from_the_wheel_runs_on_its_own(wheel: Path, tmp_path: Path) -> None:
    """Away from the checkout: only the installed files and the pinned dependencies are there."""
    place = tmp_path / "installed"
    pip = ["-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
    python(
        *pip, "--no-deps", "--no-index", "--no-compile", "--target", str(place), str(wheel),
        cwd=tmp_path,
    )  # fmt: skip
    script = (
        "import bot.main, tools.catalog, sys; from pathlib import Path;"
        "from bot.storage.database import open_database;"
        "open_database(Path('state/treadle.db').absolute()).close();"
        "from bot.local_slack.static_page import __file__ as page;"
        "print(bot.main.__file__); print(tools.catalog.__file__); print(page)"
    )

    files = python("-c", script, cwd=tmp_path, PYTHONPATH=str(place)).splitlines()

    assert all(Path(file).is_relative_to(place) for file in files), files
    assert (tmp_path / "state" / "treadle.db").stat().st_size > 0
    said = python("-m", "bot", "--help", cwd=tmp_path, PYTHONPATH=str(place))
    assert "demo" in said
    assert (place / "bin" / "treadle").exists()


def entries(lock: str) -> dict[str, str]:
    """Each pinned requirement of a lock file with all that belongs to it."""
    text = (ROOT / lock).read_text("utf-8").replace("\\\n", " ")
    lines = [line.strip() for line in text.splitlines()]
    return {line.split()[0]: line for line in lines if line and not line.startswith("#")}


@pytest.mark.parametrize("lock", LOCKS)
def test_each_line_of_a_lock_pins_one_version_with_its_hashes(lock: str) -> None:
    found = entries(lock)

    assert found
    for pinned, line in found.items():
        assert re.fullmatch(r"[a-z0-9._-]+==[A-Za-z0-9.+!-]+", pinned), line
        assert re.search(r"--hash=sha256:[0-9a-f]{64}", line), pinned


@pytest.mark.parametrize("lock", LOCKS)
def test_a_lock_names_no_address(lock: str) -> None:
    text = (ROOT / lock).read_text("utf-8")

    assert not re.search(r"https?:|://|--(extra-)?index-url|--find-links|--trusted-host| @ ", text)


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


@pytest.mark.parametrize(
    ("lock", "groups"), [("requirements.lock", []), ("requirements-dev.lock", ["dev"])]
)
def test_every_dependency_is_locked(lock: str, groups: list[str]) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    wanted = [*project["dependencies"]]
    for group in groups:
        wanted += project["optional-dependencies"][group]
    locked = {normal(pinned.split("==")[0]) for pinned in entries(lock)}

    assert {normal(re.split(r"[^\w.-]", line)[0]) for line in wanted} <= locked


def test_what_is_installed_here_is_what_is_locked() -> None:
    """Otherwise the tests say nothing of what a user gets."""
    from importlib.metadata import version

    for name in ("slack-bolt", "openai", "python-dotenv", "sqlalchemy", "aiohttp"):
        (pinned,) = [p for p in entries("requirements.lock") if p.startswith(f"{name}==")]
        assert version(name) == pinned.split("==")[1]
