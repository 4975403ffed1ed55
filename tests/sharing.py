"""Which tests share the host with which others when several processes run them."""

from __future__ import annotations

from xdist.scheduler import LoadScopeScheduling

ALONE = (
    "tests/chaos/test_chaos",
    "tests/hostile/test_attempts",
    "tests/hostile/test_between_runs",
    "tests/integration/test_sandbox",
    "tests/scenario/test_cluster",
    "tests/scenario/test_load",
)
"""What goes by short times, or looks at what is left on the host, beside all that is wall_clock."""

TOGETHER = {
    "tests/browser/": "browser",
    "tests/chaos/test_chaos": "chaos",
    "tests/hostile/test_attempts": "sandbox",
    "tests/hostile/test_between_runs": "sandbox",
    "tests/integration/test_manifest": "manifest",
    "tests/integration/test_packaging": "packaging",
    "tests/integration/test_sandbox": "sandbox",
    "tests/scenario/test_cluster": "cluster",
    "tests/unit/test_architecture": "architecture",
}
"""What one process does: its tests share what is costly, or would disturb each other."""


def group_of(nodeid: str) -> str:
    """The tests that stay in one process with this one; its own id where there are none."""
    found = (group for start, group in TOGETHER.items() if nodeid.startswith(start))
    return next(found, nodeid)


class Grouped(LoadScopeScheduling):  # type: ignore[misc]  # xdist has no types
    """Gives a process one test at a time, or a group; the largest groups first.

    `--dist loadgroup` would do so by marks, but not with this pytest.
    """

    def _split_scope(self, nodeid: str) -> str:
        return group_of(nodeid)
