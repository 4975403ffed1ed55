"""The settings: read once, checked whole, frozen."""

from bot.config.checks import MARKER
from bot.config.loading import Need, OwnTools, load_settings
from bot.config.model import Settings

__all__ = ["MARKER", "Need", "OwnTools", "Settings", "load_settings"]
