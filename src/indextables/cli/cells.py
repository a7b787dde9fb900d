"""Cells of a table for people: their text, the hits in it, and their width on a terminal."""

from __future__ import annotations

import html
import json
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final

from indextables.cli.text import printable, size, width

_MARK: Final = re.compile(r"<b>(.*?)</b>", re.DOTALL)
_TIME: Final = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)\.(\d+)(Z?)")
_MORE_DIGITS: Final = re.compile(r"(\.\d{3})\d+")
_BEFORE: Final = 0.4
"""The share of a cell before its first hit, if the text is longer than the cell."""
PLAIN_MARKS: Final = ("**", "**")
MARKS: Final = ("\x1b[1m", "\x1b[0m")


@dataclass(frozen=True)
class Cell:
    """Printable text in parts, of which every second one is a hit. `is_number` aligns it to the right."""

    parts: tuple[str, ...]
    is_number: bool = False
    is_time: bool = False

    @property
    def text(self) -> str:
        """The text without marks."""
        return "".join(self.parts)

    def shown(self, marks: tuple[str, str], most: int | None = None) -> str:
        """Return the text with its hits marked, cut to `most` columns of a terminal; marks of a terminal take none.

        >>> Cell(("the ", "disk", " is full")).shown(PLAIN_MARKS)
        'the **disk** is full'
        >>> Cell(("it has been said that the ", "disk", " is full")).shown(PLAIN_MARKS, 18)
        '… the **disk** is…'
        """
        parts = self.parts
        if most is not None and self.width(marks) > most:
            taken = 0 if marks == MARKS else sum(map(len, marks)) * (len(parts) // 2)
            parts = _cut(parts, max(most - taken, 1))
        return "".join(
            f"{marks[0]}{part}{marks[1]}" if n % 2 and part else part for n, part in enumerate(parts)
        )

    def width(self, marks: tuple[str, str]) -> int:
        """Return the number of columns that the text takes with these marks."""
        taken = 0 if marks == MARKS else sum(map(len, marks)) * (len(self.parts) // 2)
        return width(self.text) + taken

    def to_milliseconds(self) -> Cell:
        """Return a time without the digits after its milliseconds."""
        return replace(self, parts=(_MORE_DIGITS.sub(r"\1", self.text),)) if self.is_time else self


def to_cell(value: object, *, is_size: bool = False) -> Cell:
    """Return the cell of a value as JSON has it; times lose the zeros at the end of their seconds."""
    if value is None:
        return Cell(("-",))
    if is_size:
        return Cell((size(value),), is_number=True)
    if isinstance(value, bool):
        return Cell((str(value).lower(),))
    if isinstance(value, str):
        time = _TIME.fullmatch(value)
        if time is None:
            return Cell((printable(value),))
        fraction = time[2].rstrip("0")
        return Cell((f"{time[1]}{'.' if fraction else ''}{fraction}{time[3]}",), is_time=True)
    if isinstance(value, dict | list | tuple):
        return Cell((printable(json.dumps(value, ensure_ascii=False, default=str)),))
    return Cell((printable(str(value)),), is_number=isinstance(value, int | float))


def to_snippet(value: object) -> Cell:
    """Return the cell of a snippet, which is HTML.

    >>> to_snippet("a &lt;i&gt; <b>disk</b>").parts
    ('a <i> ', 'disk', '')
    """
    if value is None:
        return Cell(("-",))
    return Cell(tuple(printable(html.unescape(part)) for part in _MARK.split(str(value))))


def to_score(value: object) -> Cell:
    """Return the cell of a score: scripts get all digits."""
    return Cell((f"{value:.2f}" if isinstance(value, float) else "-",), is_number=True)


def _cut(parts: Sequence[str], most: int) -> tuple[str, ...]:
    """Return the parts of a window of `most` columns, which holds the first hit."""
    text = "".join(parts)
    first = len(parts[0]) if len(parts) > 1 else 0
    start = 0
    if width(text[: first + len(parts[1] if len(parts) > 1 else "")]) + 1 > most:
        start = max(0, first - int(most * _BEFORE))
    inside = most - (start > 0)
    end = start + _length(text[start:], inside)
    if end < len(text):
        end = start + _length(text[start:], inside - 1)
    cut, place = [], 0
    for part in parts:
        low, high = max(start - place, 0), max(end - place, 0)
        cut.append(part[low:high])
        place += len(part)
    if start > 0:
        cut[0] = f"…{cut[0]}"
    if end < len(text):
        cut[-1] = f"{cut[-1]}…"
    return tuple(cut)


def _length(text: str, most: int) -> int:
    """Return how many characters of a text fit into so many columns of a terminal."""
    if text.isascii():
        return min(len(text), most)
    taken = 0
    for place, char in enumerate(text):
        taken += 0 if unicodedata.combining(char) else 1 + (unicodedata.east_asian_width(char) in "WF")
        if taken > most:
            return place
    return len(text)
