"""All attempts, what is expected of each, and the table of docs/security.md."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from tests.hostile import (
    cases_files,
    cases_kernel,
    cases_network,
    cases_processes,
    cases_proxy,
    further_files,
    further_kernel,
    further_processes,
)
from tests.hostile.attack import Case
from tools.sandbox.contract import Mode

MODES: tuple[Mode, ...] = ("bwrap", "landlock")
"""The columns of the table."""
HOST_PROC: Mode = "bwrap-hostproc"
DOCUMENT = Path(__file__).parents[2] / "docs/security.md"
BEGIN, END = "<!-- table: begin -->", "<!-- table: end -->"
NO_NETWORK = "no network"

BY_SLACK: tuple[Case, ...] = (
    *cases_files.CASES,
    *cases_network.CASES,
    *cases_processes.CASES,
    *cases_kernel.CASES,
    *further_kernel.CASES,
    *further_processes.CASES,
    *further_files.CASES,
)
QUICK: tuple[Case, ...] = tuple(case for case in BY_SLACK if not case.killed and case.id != "X54")
"""For a third confinement, which differs from the first in what of /proc can be seen."""
AGAINST_THE_BOT = tuple(
    case
    for case in BY_SLACK
    if case.id in "S02 S06 E02 E03 E04 P01 P03 P04 P05 P19 X06 X30 X41 X42".split()  # noqa: SIM905
)
"""What succeeds without a sandbox only while a bot is there."""
WITH_NETWORK: tuple[Case, ...] = cases_proxy.CASES

REACHED: Mapping[str, frozenset[str]] = {
    "bwrap": frozenset({"X02", "X29"}),
    "bwrap-hostproc": frozenset({"E04", "X29"}),
    "landlock": frozenset({"S16", "S17", "S20", "E04", "N11", "X27", "X28", "X29"}),
}
"""The known gaps, frozen: docs/security.md says of each what it means."""
FAILS: Mapping[str, frozenset[str]] = {"landlock": frozenset({"F03"})}


def expected(case: Case, mode: str) -> str:
    """The result that a case must have."""
    if case.works:
        return "fails" if case.id in FAILS.get(mode, ()) else "works"
    return "reached" if case.id in REACHED[mode] else "stopped"


def table(results: Mapping[str, Mapping[str, str]]) -> str:
    """The table of the document: results by mode and case, `not run` where one is missing."""
    return "\n".join(_rows(results))


def _rows(results: Mapping[str, Mapping[str, str]]) -> Iterator[str]:
    yield "| case | attempt | expected | bubblewrap | Landlock |"
    yield "|---|---|---|---|---|"
    for case in sorted((*BY_SLACK, *WITH_NETWORK), key=lambda case: case.id):
        found = [results[mode].get(case.id, "not run") for mode in MODES]
        yield f"| {case.id} | {case.attempt} | {_aims(case)} | {found[0]} | {found[1]} |"


def _aims(case: Case) -> str:
    bwrap, landlock = (expected(case, mode) for mode in MODES)
    if case in WITH_NETWORK or bwrap == landlock:
        return bwrap
    return f"{bwrap}; Landlock: {landlock}"


def written(document: str, new_table: str) -> str:
    """The document with its table replaced."""
    head, rest = document.split(BEGIN, 1)
    return f"{head}{BEGIN}\n{new_table}\n{END}{rest.split(END, 1)[1]}"
