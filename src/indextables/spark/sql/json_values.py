"""Values of JSON documents that may come from anybody: each check returns the value, or raises TypeError."""

from __future__ import annotations

from typing import Any


def as_text(value: Any) -> str:
    """Return a string.

    >>> as_text("a")
    'a'
    """
    if not isinstance(value, str):
        raise TypeError("a value in it is not a string")
    return value


def as_texts(values: Any) -> dict[str, str]:
    """Return an object whose keys and values are strings."""
    return {as_text(key): as_text(value) for key, value in values.items()}


def as_whole(value: Any) -> int:
    """Return a whole number.

    >>> as_whole(True)
    Traceback (most recent call last):
        ...
    TypeError: a value in it is not a whole number
    """
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError("a value in it is not a whole number")
    return value
