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


@dataclass(frozen=True, slots=True)
class WasThought:
    """Everything that was shown of this reply so far was thinking; that is known only now.

    Local models' templates open the thinking before the reply begins, so that only its end comes.
    """


Piece: TypeAlias = Thought | Answer | WasThought
Show: TypeAlias = Callable[[Piece | None], None]
"""Shows a piece; None says that the pieces of this reply so far are void."""
