"""Values of JSON documents that may come from anybody.

Each check returns the value, or raises TypeError or ValueError.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeVar

T = TypeVar("T")

_COUNTS_END: Final = 1 << 62
"""Sums of two counts fit into 64 bits."""


def as_text(value: Any) -> str:
    """Return a string.

    >>> as_text("a")
    'a'
    """
    if not isinstance(value, str):
        raise TypeError("a value in it is not a string")
    return value


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


def as_count(value: Any, end: int = _COUNTS_END) -> int:
    """Return a whole number from 0 to before `end`.

    >>> as_count(-1)
    Traceback (most recent call last):
        ...
    ValueError: a value in it is not a number of this size
    """
    if not 0 <= as_whole(value) < end:
        raise ValueError("a value in it is not a number of this size")
    return int(value)


def as_list(value: Any) -> list[Any]:
    """Return a list of anything."""
    if not isinstance(value, list):
        raise TypeError("a value in it is not a list")
    return value


def as_object(value: Any) -> dict[str, Any]:
    """Return an object with anything in it."""
    if not isinstance(value, dict):
        raise TypeError("a value in it is not an object")
    return value


def as_texts(value: Any) -> dict[str, str]:
    """Return an object whose keys and values are strings."""
    return {as_text(key): as_text(text) for key, text in as_object(value).items()}


def as_all(check: Callable[[Any], T], value: Any) -> tuple[T, ...]:
    """Return the values of a list, each checked.

    >>> as_all(as_whole, [1, 2])
    (1, 2)
    """
    return tuple(map(check, as_list(value)))


def as_optional(check: Callable[[Any], T], value: Any) -> T | None:
    """Return a checked value; None for null."""
    return None if value is None else check(value)


def as_one_of(choices: Sequence[T], value: Any) -> T:
    """Return the choice that is equal to a value.

    >>> as_one_of(("a", "b"), "b")
    'b'
    """
    if value not in choices:
        raise ValueError("a value in it is none of those that there are")
    return choices[choices.index(value)]
