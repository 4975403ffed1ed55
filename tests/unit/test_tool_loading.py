"""Tools of one's own, named in the configuration."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tools.base import ToolDefinitionError
from tools.loading import load_tools

DOGS = '''
from __future__ import annotations

from dataclasses import dataclass

from tools.base import ToolContext, tool


@dataclass
class Breed:
    name: str


@tool()
def average_dog_weight(context: ToolContext, breed: str) -> str:
    """The average weight of a breed of dogs.

    Args:
        breed: for example Border Collie
    """
    return f"{Breed(breed).name}s average 37 lbs"


@tool(changes=True)
def feed(breed: str) -> str:
    """Feed."""
    return "fed"
'''


@pytest.fixture
def forbidden(tmp_path: Path) -> Path:
    path = tmp_path / "workspace"
    path.mkdir()
    return path


def test_a_file_beside_the_configuration_gives_its_tools(tmp_path: Path, forbidden: Path) -> None:
    (tmp_path / "dogs.py").write_text(DOGS)

    loaded = load_tools(["dogs.py"], tmp_path, forbidden)

    assert [tool.name for tool in loaded] == ["average_dog_weight", "feed"]
    assert loaded[0].description == "The average weight of a breed of dogs."


def test_a_file_is_executed_once(tmp_path: Path, forbidden: Path) -> None:
    (tmp_path / "dogs.py").write_text(DOGS)

    first, second = (load_tools(["dogs.py"], tmp_path, forbidden) for _ in range(2))

    assert [a is b for a, b in zip(first, second, strict=True)] == [True, True]


def test_an_importable_module_gives_its_tools(
    tmp_path: Path, forbidden: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "site" / "kennel_for_test"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "dogs.py").write_text(DOGS)
    monkeypatch.syspath_prepend(package.parent)

    loaded = load_tools(["kennel_for_test.dogs"], tmp_path, forbidden)

    assert [tool.name for tool in loaded] == ["average_dog_weight", "feed"]


@pytest.mark.parametrize("way", ["direct", "link"])
def test_nothing_is_loaded_from_where_agents_write(
    tmp_path: Path, forbidden: Path, way: str
) -> None:
    planted = forbidden / "T1-C1" / "planted.py"
    planted.parent.mkdir()
    planted.write_text("raise SystemExit('executed')")
    (tmp_path / "link.py").symlink_to(planted)
    name = str(planted) if way == "direct" else "link.py"

    with pytest.raises(ToolDefinitionError, match="stands in a workspace"):
        load_tools([name], tmp_path, forbidden)


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("x = 1", "holds no tool"),
        ("import not_there_at_all", "ModuleNotFoundError: No module named 'not_there_at_all'"),
        ("1/0", "ZeroDivisionError"),
        ("raise SystemExit", "SystemExit"),
        ("def (", "SyntaxError"),
        ("from tools.base import tool\n@tool()\ndef f(x: str):\n  pass", "f has no docstring"),
    ],
)
def test_a_module_that_cannot_be_used_is_named_with_the_reason(
    tmp_path: Path, forbidden: Path, source: str, words: str
) -> None:
    (tmp_path / "mine.py").write_text(source)
    before = set(sys.modules)

    with pytest.raises(ToolDefinitionError) as caught:
        load_tools(["mine.py"], tmp_path, forbidden)

    assert words in str(caught.value)
    assert "holds no tool" in words or not {m for m in set(sys.modules) - before if "mine" in m}


@pytest.mark.parametrize("name", ["missing.py", "missing_module", "missing.module", "", "..x"])
def test_a_module_that_is_not_there_is_named(tmp_path: Path, forbidden: Path, name: str) -> None:
    with pytest.raises(ToolDefinitionError, match=r"\[tools\] modules"):
        load_tools([name], tmp_path, forbidden)
