"""What every table of treadle.toml is made of."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, SerializerFunctionWrapHandler

Count: TypeAlias = Annotated[int, Field(ge=1)]
Amount: TypeAlias = Annotated[float, Field(gt=0, allow_inf_nan=False)]


def thawed(table: Mapping[str, object], write: SerializerFunctionWrapHandler) -> object:
    """A frozen table as pydantic can write it."""
    return write(dict(table))


class Section(BaseModel):
    """A table of treadle.toml: frozen, of exact types, and without unknown keys."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, hide_input_in_errors=True)
