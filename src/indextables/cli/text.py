"""Text for a terminal: control characters are shown as escapes, never sent."""

from __future__ import annotations

import re
import unicodedata
from typing import Final

_HOSTILE: Final = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_HOSTILE_IN_MESSAGE: Final = re.compile(
    "[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)


def printable(text: str) -> str:
    r"""Return one line without control characters and without marks that reorder text.

    >>> printable("a\x1b[31mb\nc")
    'a\\x1b[31mb\\nc'
    """
    return _HOSTILE.sub(_escape, text)


def printable_message(text: str) -> str:
    """Return text of several lines without control characters other than the ends of its lines."""
    return _HOSTILE_IN_MESSAGE.sub(_escape, text)


def width(text: str) -> int:
    """Return the number of terminal columns that printable text takes.

    >>> width("abc"), width("日本")
    (3, 4)
    """
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(char) else 1 + (unicodedata.east_asian_width(char) in "WF")
        for char in text
    )


def size(count: object) -> str:
    """Return a number of bytes for people.

    >>> size(512), size(5 << 20), size(None)
    ('512 B', '5.0 MiB', '?')
    """
    if not isinstance(count, int):
        return "?"
    if count < 1024:
        return f"{count} B"
    amount = float(count)
    for unit in ("KiB", "MiB", "GiB"):
        amount /= 1024
        if amount < 1024:
            return f"{amount:.1f} {unit}"
    return f"{amount / 1024:.1f} TiB"


def counted(count: int, noun: str) -> str:
    """Return a number with its noun.

    >>> counted(1, "split"), counted(2_000, "split")
    ('1 split', '2,000 splits')
    """
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def _escape(found: re.Match[str]) -> str:
    return found[0].encode("unicode_escape").decode()
