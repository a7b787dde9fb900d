"""Checks of what callers pass: a wrong argument is an `InputError` that names it and says what it takes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from operator import index
from os import PathLike
from typing import Any, Final

from indextables.config import Settings, in_hours, parse_duration, parse_size
from indextables.errors import InputError, PredicateError, QueryError
from indextables.schema import TableSchema
from indextables.storage import table_uri

MAX_ROWS: Final = 1 << 62
"""More than any table has, and few enough for Arrow's arithmetic."""


def to_uri(path: str | PathLike[str]) -> str:
    """Return the URI of the table at `path`."""
    if not isinstance(path, str | PathLike):
        raise InputError(
            f"path is a {_kind(path)}; it takes the path or URI of a table, as a string or a pathlib.Path"
        )
    return table_uri(path)


def to_seconds(seconds: float | None, name: str) -> float | None:
    """Return a number of seconds, or None for no limit. InputError for anything else."""
    if seconds is None:
        return None
    is_number = isinstance(seconds, int | float) and not isinstance(seconds, bool)
    if not is_number or not 0 <= seconds < float("inf"):
        raise InputError(f"{name} is {seconds!r}; it takes a number of seconds, zero or more, or None")
    return float(seconds)


def to_settings(settings: Mapping[str, str] | Settings | None) -> Settings:
    """Return checked settings.

    >>> to_settings(["spark.indextables.write.compression"])
    Traceback (most recent call last):
        ...
    indextables.errors.InputError: settings is a list; it takes a dictionary of keys and values
    """
    if isinstance(settings, Settings):
        return settings
    if settings is not None and not isinstance(settings, Mapping):
        raise InputError(f"settings is a {_kind(settings)}; it takes a dictionary of keys and values")
    for key in settings or ():
        if not isinstance(key, str):
            raise InputError(f"settings has the key {key!r}; keys are strings")
    return Settings(settings)


def to_mapping(value: Mapping[str, Any] | None, name: str) -> dict[str, Any]:
    """Return a dictionary by names of columns or properties. InputError for anything else.

    >>> to_mapping(["a"], "rename")
    Traceback (most recent call last):
        ...
    indextables.errors.InputError: rename is a list; it takes a dictionary by name
    """
    if value is None:
        return {}
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise InputError(f"{name} is a {_kind(value)}; it takes a dictionary by name")
    return dict(value)


def to_version(version: int, argument: str) -> int:
    """Return the number of a version.

    >>> to_version("7", "version")
    Traceback (most recent call last):
        ...
    indextables.errors.InputError: version is '7'; it takes the number of a version
    """
    if isinstance(version, bool) or not hasattr(version, "__index__"):
        raise InputError(f"{argument} is {version!r}; it takes the number of a version")
    return index(version)


def to_millis(timestamp: str | datetime, argument: str) -> int:
    """Return the milliseconds since 1970 of a datetime or of ISO text; UTC unless it has an offset.

    >>> to_millis("1970-01-01T00:00:01", "as_of"), to_millis("1970-01-01T01:00:01+01:00", "as_of")
    (1000, 1000)
    """
    if isinstance(timestamp, str):
        try:
            timestamp = datetime.fromisoformat(timestamp)
        except ValueError:
            raise InputError(
                f"{argument} is {timestamp!r}; it takes a time such as 2026-01-31T12:00:00Z"
            ) from None
    if not isinstance(timestamp, datetime):
        raise InputError(
            f"{argument} is {timestamp!r}; it takes a datetime or a time such as 2026-01-31T12:00:00Z"
        )
    if timestamp.tzinfo is None:
        timestamp = timestamp.replace(tzinfo=UTC)
    return int(timestamp.timestamp() * 1000)


def to_hours(duration: str | timedelta | None, argument: str) -> int | None:
    """Return a duration in whole hours; None for None.

    >>> to_hours("7 days", "older_than"), to_hours(timedelta(hours=36), "older_than")
    (168, 36)
    >>> to_hours("a week", "older_than")
    Traceback (most recent call last):
        ...
    indextables.errors.InputError: older_than is 'a week'; it takes whole hours or days, as in '36 hours' or '7 days'
    """
    if duration is None:
        return None
    try:
        if isinstance(duration, timedelta):
            return in_hours(duration)
        return in_hours(parse_duration(duration if isinstance(duration, str) else ""))
    except ValueError as expected:
        raise InputError(f"{argument} is {duration!r}; it takes {expected}") from None


def to_count(number: int | None, argument: str, unit: str) -> int | None:
    """Return a number of rows or hours, at most `MAX_ROWS`; None for None."""
    if number is None:
        return None
    if isinstance(number, bool) or not hasattr(number, "__index__") or number < 0:
        raise InputError(f"{argument} is {number!r}; it takes a whole number of {unit}, zero or more")
    return min(index(number), MAX_ROWS)


def to_size(size: str | int, argument: str) -> int:
    """Return a number of bytes.

    >>> to_size("100M", "target_size"), to_size(4096, "target_size")
    (104857600, 4096)
    >>> to_size("big", "target_size")
    Traceback (most recent call last):
        ...
    indextables.errors.InputError: target_size is 'big'; it takes a size such as 4096, 64K, 100M or 2G
    """
    if isinstance(size, str):
        try:
            return parse_size(size)
        except ValueError as expected:
            raise InputError(f"{argument} is {size!r}; it takes {expected}") from None
    if isinstance(size, bool) or not hasattr(size, "__index__"):
        raise InputError(f"{argument} is {size!r}; it takes a number of bytes, or text such as '100M'")
    return index(size)


def check_flag(flag: bool, argument: str) -> bool:
    """Return a flag that is True or False and not only true or false."""
    if not isinstance(flag, bool):
        raise InputError(f"{argument} is {flag!r}; it takes True or False")
    return flag


def check_query(query: str) -> str:
    """Return a search query that is a string."""
    if not isinstance(query, str):
        raise QueryError(f"a query is a string, not {_kind(query)}")
    return query


def check_condition(where: str) -> str:
    """Return a condition that is a string."""
    if not isinstance(where, str):
        raise PredicateError(f"a condition is a string, not {_kind(where)}")
    return where


def to_names(names: Sequence[str], argument: str) -> list[str]:
    """Return a list of column names."""
    if isinstance(names, str):
        raise InputError(f"{argument} is the string {names!r}; it takes a list of column names")
    if not isinstance(names, Iterable):
        raise InputError(f"{argument} is a {_kind(names)}; it takes a list of column names")
    checked = list(names)
    for name in checked:
        if not isinstance(name, str):
            raise InputError(f"{argument} has a {_kind(name)} in it; names of columns are strings")
    return checked


def to_columns(columns: Sequence[str] | None, schema: TableSchema) -> tuple[str, ...]:
    """Return the columns to read as the schema spells them; all of them for None."""
    if columns is None:
        return tuple(schema.names)
    names = to_names(columns, "columns")
    if not names:
        raise InputError("columns is empty; name at least one column, or use count() for the number of rows")
    resolved = tuple(schema.field(name).name for name in names)
    if repeated := [name for name in dict.fromkeys(resolved) if resolved.count(name) > 1]:
        raise InputError(f"columns names {', '.join(map(repr, repeated))} more than once")
    return resolved


def _kind(value: Any) -> str:
    return type(value).__name__
