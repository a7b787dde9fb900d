"""What callers pass: checks of arguments, and conditions that are given as text."""

from indextables.table.arguments.checks import (
    MAX_ROWS,
    check_condition,
    check_flag,
    check_query,
    to_columns,
    to_count,
    to_hours,
    to_mapping,
    to_millis,
    to_names,
    to_seconds,
    to_settings,
    to_size,
    to_uri,
    to_version,
)
from indextables.table.arguments.conditions import ANY_FIELDS, parse_condition

__all__ = [
    "ANY_FIELDS",
    "MAX_ROWS",
    "check_condition",
    "check_flag",
    "check_query",
    "parse_condition",
    "to_columns",
    "to_count",
    "to_hours",
    "to_mapping",
    "to_millis",
    "to_names",
    "to_seconds",
    "to_settings",
    "to_size",
    "to_uri",
    "to_version",
]
