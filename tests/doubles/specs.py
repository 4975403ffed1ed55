"""Tools as a dialect is told of them, for tests that run none."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from bot.agent.ports import Json


@dataclass(frozen=True)
class Spec:
    """`bot.agent.ports.ToolSpec`."""

    name: str
    description: str
    parameters: Mapping[str, Json]
    aliases: tuple[str, ...] = field(default=())


def spec(
    name: str,
    description: str,
    *aliases: str,
    optional: Mapping[str, Json] | None = None,
    **kinds: str,
) -> Spec:
    """A tool whose parameters have these JSON Schema types; `optional` maps those to defaults."""
    defaults = optional or {}
    properties: dict[str, Json] = {
        key: {"type": kind, **({"default": defaults[key]} if key in defaults else {})}
        for key, kind in kinds.items()
    }
    required: list[Json] = [key for key in kinds if key not in defaults]
    schema: dict[str, Json] = {
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": False,
    }
    return Spec(name, description, schema, aliases)


SPECS = (
    spec("calculate", "Compute an arithmetic expression.", expression="string"),
    spec("list_dir", "List a directory.", optional={"path": "."}, path="string"),
    spec(
        "read_file",
        "Read a text file.",
        optional={"start_line": 1, "max_lines": 200},
        path="string",
        start_line="integer",
        max_lines="integer",
    ),
    spec(
        "run_command",
        "Run a shell command.",
        "run_terminal_command",
        optional={"timeout_s": 60},
        command="string",
        timeout_s="integer",
    ),
    spec("wikipedia", "Look something up.", query="string"),
    spec("write_file", "Store a text file.", "write_to_file", path="string", content="string"),
)
