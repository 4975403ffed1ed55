"""Patterns for tool arguments in policy rules: RE2, full match, and honest about doubt. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any


class Match(IntEnum):
    """Whether a rule is about a call."""

    NO = 0
    PERHAPS = 1
    YES = 2


@dataclass(frozen=True, slots=True)
class Pattern:
    """An RE2 pattern that one argument must match in full. Raises ValueError for a bad pattern.

    Whether `.` means a newline too is left open on purpose: `git log.*` must not allow
    "git log\\nrm x", and `rm .*` must not miss "rm x\\n".
    """

    argument: str
    text: str
    _strict: Any = field(init=False, repr=False, compare=False)
    _dotall: Any = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_strict", _compile(self.text, dot_nl=False))
        object.__setattr__(self, "_dotall", _compile(self.text, dot_nl=True))

    def check(self, arguments: Mapping[str, object]) -> Match:
        """Text is matched as it is, any other value as its compact JSON text."""
        value = arguments.get(self.argument)
        if value is None:
            # The tool's default will be used, and that is not known here.
            return Match.PERHAPS
        text = value if isinstance(value, str) else _json_text(value)
        try:
            data = text.encode()
        except UnicodeEncodeError:
            return Match.PERHAPS
        if self._strict.fullmatch(data):
            return Match.YES
        return Match.PERHAPS if self._dotall.fullmatch(data) else Match.NO


def _json_text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), sort_keys=True, default=str)


def _compile(text: str, *, dot_nl: bool) -> Any:
    import re2  # only where a rule has a pattern

    options = re2.Options()
    options.dot_nl = dot_nl
    options.log_errors = False
    try:
        return re2.compile(text.encode(), options)
    except (re2.error, UnicodeEncodeError) as error:
        detail = error.args[0] if error.args else error
        words = detail.decode(errors="replace") if isinstance(detail, bytes) else str(detail)
        raise ValueError(f"is not a pattern that RE2 understands ({words})") from None
