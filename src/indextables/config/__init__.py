"""Every setting, defined once, with its type, default and meaning."""

from indextables.config import keys
from indextables.config.definitions import Family, Setting
from indextables.config.durations import HOUR_MS, in_hours, parse_duration
from indextables.config.parsers import boolean, names, whole
from indextables.config.parsers import size as parse_size
from indextables.config.settings import Settings, layered, of_options
from indextables.config.unread import UNREAD

__all__ = [
    "HOUR_MS",
    "UNREAD",
    "Family",
    "Setting",
    "Settings",
    "boolean",
    "in_hours",
    "keys",
    "layered",
    "names",
    "of_options",
    "parse_duration",
    "parse_size",
    "whole",
]
