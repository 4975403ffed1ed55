"""A yardstick for limits on processor time: machines differ, and each differs by the hour."""

from __future__ import annotations

import json
import time

REFERENCE = 0.0048
"""Seconds that the yardstick takes on the machine on which the limits were set."""


def slowness() -> float:
    """How many times as long as on that machine our kind of work takes here and now, at least 1."""
    return max(1.0, min(_measured() for _ in range(5)) / REFERENCE)


def _measured() -> float:
    began = time.thread_time()
    for number in range(2_000):
        json.loads(json.dumps({"a": [number] * 10, "b": {"c": "x" * 50}}))
    return time.thread_time() - began
