"""Parsers of values: from the text that a user wrote, or a ValueError that says what is expected."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

_SIZE: Final = re.compile(r"(\d+)\s*([kmgt]?)i?b?", re.IGNORECASE)
_UNITS: Final = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}


def size(text: str) -> int:
    """Parse a number of bytes, with an optional unit of 1024s.

    >>> size("100M"), size("4096"), size("1GiB")
    (104857600, 4096, 1073741824)
    """
    match = _SIZE.fullmatch(text.strip())
    if not match:
        raise ValueError("a size such as 4096, 64K, 100M or 2G")
    return int(match[1]) * _UNITS[match[2].lower()]


def positive_size(text: str) -> int:
    if (value := size(text)) <= 0:
        raise ValueError("a size above zero")
    return value


def size_or(default: int) -> Callable[[str], int]:
    """Return a parser of sizes that takes 0 for the default."""

    def parse_size(text: str) -> int:
        return size(text) or default

    return parse_size


def size_up_to(high: int) -> Callable[[str], int]:
    """Return a parser of sizes above zero, up to a maximum."""

    def parse_size(text: str) -> int:
        if not 0 < (value := size(text)) <= high:
            raise ValueError(f"a size above zero, at most {high >> 20}M")
        return value

    return parse_size


def size_from(low: int) -> Callable[[str], int]:
    """Return a parser of sizes from a minimum, which is a number of megabytes, on."""

    def parse_size(text: str) -> int:
        if (value := size(text)) < low:
            raise ValueError(f"a size of at least {low >> 20}M")
        return value

    return parse_size


def boolean(text: str) -> bool:
    try:
        return {"true": True, "false": False}[text.strip().lower()]
    except KeyError:
        raise ValueError("true or false") from None


def whole(text: str) -> int:
    """Parse a whole number, zero or more."""
    if not text.strip().isdecimal():
        raise ValueError("a whole number, zero or more")
    return int(text)


def whole_or_all(text: str) -> int:
    """Parse a whole number, or -1 for all."""
    return -1 if text.strip() == "-1" else whole(text)


def probability(text: str) -> float:
    """Parse a number above 0 and below 1."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < 1:
        raise ValueError("a number above 0 and below 1")
    return value


def positive(text: str) -> int:
    if (value := whole(text)) <= 0:
        raise ValueError("a whole number above zero")
    return value


def between(low: int, high: int) -> Callable[[str], int]:
    """Return a parser of whole numbers in a range, both ends included."""

    def parse(text: str) -> int:
        if not text.strip().isdecimal() or not low <= int(text) <= high:
            raise ValueError(f"a whole number from {low} to {high}")
        return int(text)

    return parse


def ratio(text: str) -> float:
    """Parse a share, such as 0.1."""
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        raise ValueError("a number from 0 to 1")
    return value


def factor(text: str) -> float:
    """Parse a factor from 0.01 to 100."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0.01 <= value <= 100:
        raise ValueError("a number from 0.01 to 100")
    return value


def one_of(*words: str) -> Callable[[str], str]:
    """Return a parser of one of some words, in any case."""

    def parse(text: str) -> str:
        if text.strip().lower() not in words:
            raise ValueError(f"{', '.join(words[:-1])} or {words[-1]}")
        return text.strip().lower()

    return parse


def names(text: str) -> tuple[str, ...]:
    """Parse names that are separated by commas.

    >>> names("a, b,,c")
    ('a', 'b', 'c')
    """
    return tuple(part.strip() for part in text.split(",") if part.strip())


def text(value: str) -> str:
    return value


def local_path(value: str) -> str:
    """Return a path on this machine's disk. An address is rejected: it would name a directory `s3:`."""
    if "\0" in value or "://" in value:
        raise ValueError("a path on a local disk, without a scheme")
    return value
