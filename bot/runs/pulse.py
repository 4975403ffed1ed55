"""How processes on one database keep an eye on each other."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Pulse:
    """Seconds. The defaults are what a running Treadle uses; tests have less patience."""

    beat: float = 5.0
    """How often a process says that it lives."""
    stall: float = 20.0
    """One that has not said so for this long is dead, and its threads go to others."""
    sweep: float = 3.0
    """How often threads are looked for that have work and nobody at them."""
    look: float = 1.0
    """How often a process looks at its threads by itself, should a ring be lost."""
    proof: float = 5.0
    """How long shared storage may take to show a file that another host has just written."""
