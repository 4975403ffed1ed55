"""docs/settings.md names every setting there is, with its default, and none that there is not."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from bot.config.environment import OTHER_NAME, Environment
from bot.config.model import File
from bot.config.problems import section_of, toml

TEXT = (Path(__file__).parents[2] / "docs" / "settings.md").read_text()
ROWS = [
    [cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
    for line in TEXT.splitlines()
    if line.startswith("| `")
]
TABLE = {row[0].strip("`"): row for row in ROWS}


def leaves(model: type[BaseModel], prefix: str = "") -> Iterator[tuple[str, FieldInfo]]:
    """Every key of a section and of those in it; NAME stands for a key that the operator makes."""
    for name, info in model.model_fields.items():
        inner = section_of(info)
        if inner is None:
            yield prefix + name, info
        else:
            step = f"{name}.NAME." if name == "prices" else f"{name}."
            yield from leaves(inner, prefix + step)


KEYS = dict(leaves(File))
VARIABLES = {info.alias: info for info in Environment.model_fields.values() if info.alias}


def test_the_table_names_every_setting_and_no_other() -> None:
    assert sorted(TABLE) == sorted([*KEYS, *VARIABLES, OTHER_NAME[0]])
    assert len(TABLE) == len(ROWS)


def test_every_row_has_a_meaning_and_an_example() -> None:
    for name, default, meaning, example in ROWS:
        assert default
        assert meaning.endswith((".", "?"))
        assert example.startswith(f"`{name.strip('`').split('.')[-1]}")


@pytest.mark.parametrize("name", sorted(KEYS))
def test_the_default_in_the_table_is_the_default(name: str) -> None:
    info, shown = KEYS[name], TABLE[name][1]
    default = info.get_default(call_default_factory=True)
    if info.is_required():
        assert shown == "required"
    elif default is None or (name == "policy.match" and not default):
        assert "`" not in shown.replace("`[slack]`", "")
    else:
        assert shown == f"`{toml(default)}`"


@pytest.mark.parametrize("name", sorted(VARIABLES))
def test_the_default_of_a_variable_in_the_table_is_the_default(name: str) -> None:
    default = VARIABLES[name].default
    assert TABLE[name][1] == ("not set" if default is None else f"`{default}`")


@pytest.mark.parametrize("name", sorted(KEYS))
def test_the_example_in_the_table_is_a_right_value(name: str) -> None:
    value = tomllib.loads(TABLE[name][3].strip("`"))
    *sections, _ = name.split(".")
    required: dict[str, dict[str, object]] = {
        "policy": {"tool": "*", "decision": "deny"},
        "channel": {"id": "C0OPS"},
        "NAME": {"input": 1, "output": 1},
    }
    data: object = {**required.get(sections[-1], {}), **value}
    for section in reversed(sections):
        data = {section: [data] if section in ("policy", "channel") else data}
    File.model_validate(data)


@pytest.mark.parametrize("name", sorted([*VARIABLES, OTHER_NAME[0]]))
def test_the_example_of_a_variable_in_the_table_is_a_right_value(name: str) -> None:
    written, _, value = TABLE[name][3].strip("`").partition("=")
    assert written == name
    Environment.model_validate({OTHER_NAME[1] if name == OTHER_NAME[0] else name: value})


def test_the_policy_in_the_text_is_valid() -> None:
    (block,) = re.findall(r"```toml\n(.*?)```", TEXT, re.DOTALL)
    assert len(File.model_validate(tomllib.loads(block)).policy) == 2


def test_secrets_are_marked_as_secrets() -> None:
    for name, info in VARIABLES.items():
        assert TABLE[name][2].startswith("Secret") == ("SecretStr" in str(info.annotation)), name
