"""The settings: read once, checked whole, frozen."""

from bot.config.checks import MARKER
from bot.config.loading import Need, OtherTools, load_settings
from bot.config.model import Settings

__all__ = ["MARKER", "Need", "OtherTools", "Settings", "load_settings"]
