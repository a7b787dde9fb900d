"""Every setting, defined once, with its type, default and meaning."""

from indextables.config import keys
from indextables.config._settings import Setting, Settings, layered, of_options
from indextables.config.durations import in_hours, parse_duration

__all__ = ["Setting", "Settings", "in_hours", "keys", "layered", "of_options", "parse_duration"]
