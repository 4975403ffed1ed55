"""What can be shown of a reply while it arrives."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Thought:
    """A further piece of the thought."""

    text: str


@dataclass(frozen=True, slots=True)
class Answer:
    """A further piece of the answer."""

    text: str


Piece: TypeAlias = Thought | Answer
Show: TypeAlias = Callable[[Piece | None], None]
"""Shows a piece; None says that the pieces of this reply so far are void."""
