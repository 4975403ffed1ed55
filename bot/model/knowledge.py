"""What is found out about an endpoint's model, so that it need not be found out again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

DIALECT = "dialect"
"""The fact that names the dialect in which a model calls tools under `auto`."""
REFUSES = "refuses:"
"""A fact of this kind and the name of a request's parameter: it must not be sent."""


class Knowledge(Protocol):
    """Facts by name, remembered for a time for each (address, model)."""

    async def read(self, address: str, model: str) -> Mapping[str, str]:
        """The facts that have not grown old."""
        ...

    async def learn(self, address: str, model: str, fact: str, value: str) -> None:
        """Remember a fact from now on."""
        ...


@dataclass(slots=True)
class Remembered:
    """`Knowledge` in memory: until the process ends."""

    facts: dict[tuple[str, str], dict[str, str]] = field(default_factory=dict)

    async def read(self, address: str, model: str) -> Mapping[str, str]:
        return dict(self.facts.get((address, model), {}))

    async def learn(self, address: str, model: str, fact: str, value: str) -> None:
        self.facts.setdefault((address, model), {})[fact] = value
