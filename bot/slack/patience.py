"""How long Slack is waited for, in one value, so that a test can have less of it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Patience:
    """Seconds. The defaults are what a running Treadle uses."""

    look_up: float = 10.0
    """A post whose outcome is unknown is looked for in its thread no sooner than this."""
    person: float = 30.0
    """How long a failing look-up of a person is tried again."""
    hello: float = 30.0
    """A socket that has not said hello by then is given up."""
    heartbeat: float = 10.0
    """A silent socket is pinged this often; half of it later it counts as lost."""
    silent: float = 5.0
    """After a post Slack takes the status away; so long later it is shown again."""
    stream: float = 240.0
    """A live message is begun anew after this long: Slack closes a stream after five minutes."""
    sweep: float = 30.0
    """How often questions that nobody answered in time are looked for."""
    pace: float = 1.0
    """How many times faster than Slack's own its limits are: not more than 1 outside of tests."""
    reconnect: float = 1.0
    """The first wait before a refused connection is tried again; then twice as long."""
