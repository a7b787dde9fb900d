"""What commands print: one interface, for people and for scripts.

Results go to stdout; notes, progress and errors go to stderr.
"""

from __future__ import annotations

import csv
import json
import os
import re
import shutil
import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import islice
from types import MappingProxyType
from typing import Any, Final, Protocol, TextIO

from indextables.cli.cells import MARKS, PLAIN_MARKS, Cell, to_cell, to_score, to_snippet
from indextables.cli.layout import GAP, Column, LogLayout, fitting, short_fields, taken_by
from indextables.cli.text import printable, printable_message

Row = Mapping[str, Any]

SNIPPET: Final = "_snippet"
SCORE: Final = "_score"
_CELL: Final = 120
_LAID_OUT: Final = 200
"""Rows after which a table for people starts again with its head: columns are as wide as these rows need."""
_NOT_PLAIN: Final = re.compile("[\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_NO_HEADS: Final[Mapping[str, str]] = MappingProxyType({})
_LEAST_TEXT: Final = 38
"""Columns of the terminal that short fields leave to the text."""
_NARROW: Final = 10
_LEVELS: Final = {
    "\x1b[31m": ("ERROR", "ERR", "FATAL", "CRITICAL", "CRIT", "ALERT", "EMERG"),
    "\x1b[33m": ("WARN", "WARNING"),
}


class Output(Protocol):
    """Where a command puts its results."""

    def rows(
        self,
        names: Sequence[str],
        rows: Iterable[Row],
        *,
        layout: LogLayout | None = None,
        sizes: Collection[str] = (),
        heads: Mapping[str, str] = _NO_HEADS,
    ) -> int:
        """Print rows with these columns, and return how many there were.

        For people, the `layout` makes lines of a log of them, `sizes` are columns of bytes, and `heads` are
        shorter names of columns.
        """

    def record(self, values: Row, text: str) -> None:
        """Print one result: `values` for scripts, `text` for people."""

    def note(self, text: str) -> None:
        """Tell people something that is not part of the result."""

    def warn(self, text: str) -> None:
        """Tell people and scripts, on stderr, how the command has understood its input."""


class PeopleOutput:
    """A table, or lines of a log, with the hits of a search in bold, in the width of the terminal."""

    def __init__(
        self,
        out: TextIO,
        err: TextIO,
        *,
        lines: bool = False,
        color: bool = False,
        columns: int | None = None,
    ) -> None:
        self._out, self._err, self._lines, self._color, self._columns = out, err, lines, color, columns
        self._marks = MARKS if color else PLAIN_MARKS
        self._told = False

    def rows(
        self,
        names: Sequence[str],
        rows: Iterable[Row],
        *,
        layout: LogLayout | None = None,
        sizes: Collection[str] = (),
        heads: Mapping[str, str] = _NO_HEADS,
    ) -> int:
        count, remaining = 0, iter(rows)
        while part := list(islice(remaining, _LAID_OUT)):
            count += len(part)
            cells = {name: [_cell(row.get(name), name, name in sizes) for row in part] for name in names}
            if self._lines and layout is not None:
                left = self._log(cells, layout)
            else:
                left = self._table(cells, heads)
            self._tell(left)
        return count

    def record(self, values: Row, text: str) -> None:
        print(printable_message(text), file=self._out)

    def note(self, text: str) -> None:
        print(printable_message(text), file=self._err)

    def warn(self, text: str) -> None:
        self.note(text)

    def _table(self, cells: Mapping[str, Sequence[Cell]], labels: Mapping[str, str]) -> int:
        """Print a table; return how many columns are left out."""
        heads = {name: Cell((printable(labels.get(name, name)),)) for name in cells}
        natural = {
            name: max(cell.width(self._marks) for cell in (heads[name], *column))
            for name, column in cells.items()
        }
        limit = {name: min(size, _CELL) for name, size in natural.items()}
        columns = [
            Column(
                limit[name],
                may_shrink=not any(cell.is_number or cell.is_time for cell in column),
                must=name in (SNIPPET, SCORE),
            )
            for name, column in cells.items()
        ]
        widths = fitting(columns, self._columns)
        names = list(cells)
        shown = [(names[place], size) for place, size in widths.items()]
        right = {name for name, column in cells.items() if all(c.is_number or c.text == "-" for c in column)}
        self._line([self._padded(heads[name], size, right=name in right) for name, size in shown], bold=True)
        self._line(["-" * size for _, size in shown])
        for number in range(len(cells[names[0]]) if names else 0):
            self._line([self._padded(cells[name][number], size, right=name in right) for name, size in shown])
        return len(names) - len(shown)

    def _log(self, cells: Mapping[str, Sequence[Cell]], layout: LogLayout) -> int:
        """Print lines of a log; return how many columns are left out."""
        text = SNIPPET if SNIPPET in cells else layout.text
        cells = dict(cells)
        if layout.time is not None:
            cells[layout.time] = [cell.to_milliseconds() for cell in cells[layout.time]]
        sizes = {name: max(cell.width(self._marks) for cell in column) for name, column in cells.items()}
        always = [name for name in (layout.time, layout.level, SCORE) if name in cells]
        left = None if self._columns is None else self._columns - _LEAST_TEXT - taken_by(sizes, always)
        short = short_fields([(name, sizes[name]) for name in layout.fields if name in cells], left)
        first = [name for name in (layout.time, layout.level, *short, SCORE) if name in cells]
        taken = taken_by(sizes, first)
        most = None if self._columns is None else max(self._columns - taken, _NARROW)
        for number in range(len(cells[text])):
            parts = [
                self._level(cells[name][number], sizes[name])
                if name == layout.level
                else self._padded(cells[name][number], sizes[name], right=name == SCORE)
                for name in first
            ]
            self._line([*parts, cells[text][number].shown(self._marks, most)])
        return len(cells.keys() - {*first, text, layout.text})

    def _level(self, cell: Cell, size: int) -> str:
        color = next((code for code, levels in _LEVELS.items() if cell.text.upper() in levels), None)
        text = self._padded(cell, size)
        return f"{color}{text}\x1b[0m" if self._color and color is not None else text

    def _padded(self, cell: Cell, size: int, *, right: bool = False) -> str:
        text, space = cell.shown(self._marks, size), " " * (size - cell.width(self._marks))
        return f"{space}{text}" if right else f"{text}{space}"

    def _line(self, texts: Sequence[str], *, bold: bool = False) -> None:
        line = (" " * GAP).join(texts).rstrip()
        print(f"\x1b[1m{line}\x1b[0m" if bold and self._color else line, file=self._out)

    def _tell(self, left: int) -> None:
        """Say once how many columns are not shown."""
        if left and not self._told:
            self._told = True
            columns = "1 column is" if left == 1 else f"{left} columns are"
            self.note(
                f"{columns} not shown; -c A,B chooses, --json prints all"
                if self._lines
                else f"{columns} not shown; --json prints all"
            )


class ScriptOutput:
    """One JSON object a line, one JSON array, or CSV."""

    def __init__(self, out: TextIO, err: TextIO, form: str, *, terminal: bool = False) -> None:
        self._out, self._err, self._form, self._terminal = out, err, form, terminal

    def rows(
        self,
        names: Sequence[str],
        rows: Iterable[Row],
        *,
        layout: LogLayout | None = None,
        sizes: Collection[str] = (),
        heads: Mapping[str, str] = _NO_HEADS,
    ) -> int:
        count = 0
        if self._form == "csv":
            writer = csv.writer(self._out, lineterminator="\n")
            writer.writerow([self._field(name) for name in names])
            for row in rows:
                writer.writerow([self._field(row.get(name)) for name in names])
                count += 1
            return count
        if self._form == "ndjson":
            for row in rows:
                print(to_json({name: row.get(name) for name in names}), file=self._out)
                count += 1
            return count
        print("[", end="", file=self._out)
        for row in rows:
            print(
                ",\n " if count else "",
                to_json({n: row.get(n) for n in names}),
                sep="",
                end="",
                file=self._out,
            )
            count += 1
        print("]", file=self._out)
        return count

    def record(self, values: Row, text: str) -> None:
        if self._form == "csv":
            self.rows(list(values), [values])
        else:
            print(to_json(values), file=self._out)

    def note(self, text: str) -> None:
        """Say nothing: a script reads results, and errors are raised."""

    def warn(self, text: str) -> None:
        print(printable_message(text), file=self._err)

    def _field(self, value: object) -> str:
        text = "" if value is None else _as_text(value)
        return printable(text) if self._terminal else text


def make_output(form: str | None, *, lines: bool, no_color: bool) -> Output:
    """Return the output for a format; without one, for people on a terminal and for scripts elsewhere."""
    terminal = sys.stdout.isatty()
    if form is None:
        form = ("log" if lines else "table") if terminal else "ndjson"
    if form in ("table", "log"):
        color = terminal and not no_color and not os.environ.get("NO_COLOR")
        columns = shutil.get_terminal_size().columns if terminal else None
        return PeopleOutput(sys.stdout, sys.stderr, lines=form == "log", color=color, columns=columns)
    return ScriptOutput(sys.stdout, sys.stderr, form, terminal=terminal)


def to_json(value: object) -> str:
    r"""Return JSON on one line in which no control character is raw.

    >>> print(to_json({"a": "\x9b1m"}))
    {"a": "\u009b1m"}
    """
    text = json.dumps(value, ensure_ascii=False, default=str)
    return _NOT_PLAIN.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _as_text(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return to_json(value) if isinstance(value, dict | list | tuple) else str(value)


def _cell(value: object, name: str, is_size: bool) -> Cell:
    if name == SNIPPET:
        return to_snippet(value)
    return to_score(value) if name == SCORE else to_cell(value, is_size=is_size)
