"""Which columns fit into the width of a terminal, and how wide each is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

GAP: Final = 2
_LEAST: Final = 20
_MOST_FIELDS: Final = 3
_FIELD: Final = 20


@dataclass(frozen=True)
class Column:
    """A column by the width that it needs: its cells may be cut (`may_shrink`), it is not left out (`must`)."""

    width: int
    may_shrink: bool = False
    must: bool = False

    @property
    def least(self) -> int:
        """The width below which the column is left out."""
        return min(self.width, _LEAST) if self.may_shrink else self.width


@dataclass(frozen=True)
class LogLayout:
    """The columns of a line of a log: the time, the level, short fields to choose from, and the text."""

    time: str | None
    level: str | None
    fields: tuple[str, ...]
    text: str


def fitting(columns: Sequence[Column], total: int | None) -> dict[int, int]:
    """Return the width of each column that is shown, by its place. Without a total width all are.

    >>> fitting([Column(5), Column(60, may_shrink=True), Column(30)], 70)
    {0: 5, 1: 31, 2: 30}
    >>> fitting([Column(30), Column(30), Column(30, must=True)], 70)
    {0: 30, 2: 30}
    """
    if total is None:
        return {place: column.width for place, column in enumerate(columns)}
    left = total + GAP
    taken: set[int] = set()
    for wanted in (True, False):
        for place, column in enumerate(columns):
            if column.must is wanted and (column.least + GAP <= left or not taken):
                taken.add(place)
                left -= column.least + GAP
    widths = {place: columns[place].least for place in sorted(taken)}
    for place in sorted(taken, key=lambda place: columns[place].width):  # the nearest to its full width first
        more = min(columns[place].width - widths[place], max(left, 0))
        widths[place] += more
        left -= more
    if left < 0:  # one column that is wider than the terminal
        first = min(widths)
        widths[first] = max(widths[first] + left, 1)
    return widths


def short_fields(candidates: Sequence[tuple[str, int]], total: int | None) -> list[str]:
    """Return the fields of a log line, of names and the widths of their values, that fit into a width.

    >>> short_fields([("service", 8), ("url", 90), ("host", 5), ("pid", 5)], 20)
    ['service', 'host']
    """
    fields: list[str] = []
    for name, size in candidates:
        if size > _FIELD or len(fields) == _MOST_FIELDS:
            continue
        if total is not None:
            total -= size + GAP
            if total < 0:
                break
        fields.append(name)
    return fields


def taken_by(sizes: Mapping[str, int], names: Sequence[str]) -> int:
    """Return the width of columns with the gaps after them."""
    return sum(sizes[name] + GAP for name in names)
