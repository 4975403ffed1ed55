"""`treadle doctor`: a list of checks, each of which says what was found and what to do."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from bot.errors import TreadleError


@dataclass(frozen=True, slots=True)
class Finding:
    """What one check found; a finding that is not ok says what to do."""

    subject: str
    ok: bool
    text: str

    def __str__(self) -> str:
        return f"{'ok  ' if self.ok else 'FAIL'}  {self.subject}: {self.text}"


@dataclass(frozen=True, slots=True)
class Check:
    """A check by its subject. It returns a sentence, or raises TreadleError with one."""

    subject: str
    look: Callable[[], Awaitable[str]]


async def examine(checks: Sequence[Check]) -> list[Finding]:
    """Run every check, also after one has failed."""
    findings = []
    for check in checks:
        try:
            findings.append(Finding(check.subject, True, await check.look()))
        except TreadleError as error:
            findings.append(Finding(check.subject, False, str(error)))
    return findings
