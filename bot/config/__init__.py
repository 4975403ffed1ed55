"""The settings: read once, checked whole, frozen."""

from bot.config.loading import Need, OwnTools, load_settings
from bot.config.model import Settings

__all__ = ["Need", "OwnTools", "Settings", "load_settings"]
