"""Runs the attempts; `python -m tests.hostile.runs` writes the table of docs/security.md."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from tests.hostile.cases_proxy import perform_with_network
from tests.hostile.stage import Result, perform
from tests.hostile.suite import (
    BY_SLACK,
    DOCUMENT,
    HOST_PROC,
    MODES,
    NO_NETWORK,
    QUICK,
    WITH_NETWORK,
    table,
    written,
)


class Runs:
    """The results of each confinement, each run once, also where it fails."""

    def __init__(self) -> None:
        self._found: dict[str, Mapping[str, Result] | Exception] = {}

    def of(self, mode: str) -> Mapping[str, Result]:
        """Results by case, of the attempts by Slack; `network` for those by the proxy.

        Raises whatever kept the bot from running them, each time it is asked.
        """
        if mode not in self._found:
            self._found[mode] = self._run(mode)
        found = self._found[mode]
        if isinstance(found, Exception):
            raise found
        return found

    def _run(self, mode: str) -> Mapping[str, Result] | Exception:
        cases = QUICK if mode == HOST_PROC else BY_SLACK
        try:
            return asyncio.run(
                perform_with_network() if mode == "network" else perform(mode, cases)
            )
        except (AssertionError, OSError, TimeoutError) as error:
            return error

    def table(self) -> str:
        """The table, all run."""
        results: dict[str, dict[str, str]] = {
            mode: {i: r.result for i, r in self.of(mode).items()} for mode in MODES
        }
        results["bwrap"] |= {i: r.result for i, r in self.of("network").items()}
        results["landlock"] |= {case.id: NO_NETWORK for case in WITH_NETWORK}
        return table(results)


if __name__ == "__main__":
    DOCUMENT.write_text(written(DOCUMENT.read_text("utf-8"), Runs().table()), "utf-8")
