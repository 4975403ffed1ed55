"""A Slack stand-in on 127.0.0.1: the demo, the tests and the benchmarks use the same one."""

from bot.local_slack.faults import Effect, FaultRule
from bot.local_slack.options import Options
from bot.local_slack.server import LocalSlack

__all__ = ["Effect", "FaultRule", "LocalSlack", "Options"]
