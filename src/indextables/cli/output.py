"""What commands print: one interface, for people and for scripts.

Results go to stdout; notes, progress and errors go to stderr.
"""

from __future__ import annotations

import csv
import html
import json
import os
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Any, Final, Protocol, TextIO

from indextables.cli.text import printable, printable_message, width

Row = Mapping[str, Any]

SNIPPET: Final = "_snippet"
SCORE: Final = "_score"
_CELL: Final = 120
_LAID_OUT: Final = 200
"""Rows after which a table for people starts again with its head: columns are as wide as these rows need."""
_NOT_PLAIN: Final = re.compile("[\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
_MARK: Final = re.compile(r"<b>(.*?)</b>", re.DOTALL)


class Output(Protocol):
    """Where a command puts its results."""

    def rows(self, names: Sequence[str], rows: Iterable[Row]) -> int:
        """Print rows with these columns, and return how many there were."""

    def record(self, values: Row, text: str) -> None:
        """Print one result: `values` for scripts, `text` for people."""

    def note(self, text: str) -> None:
        """Tell people something that is not part of the result."""

    def warn(self, text: str) -> None:
        """Tell people and scripts, on stderr, how the command has understood its input."""


class PeopleOutput:
    """A table, or lines of a log, with the hits of a search in bold."""

    def __init__(self, out: TextIO, err: TextIO, *, lines: bool = False, color: bool = False) -> None:
        self._out, self._err, self._lines, self._color = out, err, lines, color

    def rows(self, names: Sequence[str], rows: Iterable[Row]) -> int:
        count, remaining = 0, iter(rows)
        while part := list(islice(remaining, _LAID_OUT)):
            count += len(part)
            if self._lines:
                for row in part:
                    print("  ".join(self._cell(row.get(name), name) for name in names), file=self._out)
            else:
                self._table(names, part)
        return count

    def record(self, values: Row, text: str) -> None:
        print(printable_message(text), file=self._out)

    def note(self, text: str) -> None:
        print(printable_message(text), file=self._err)

    def warn(self, text: str) -> None:
        self.note(text)

    def _table(self, names: Sequence[str], rows: Sequence[Row]) -> None:
        cells = [[self._cell(row.get(name), name, _CELL) for name in names] for row in rows]
        if self._color and _print_rich(names, cells, self._out):
            return
        heads = [printable(name) for name in names]
        widths = [max(map(width, column)) for column in zip(heads, *cells, strict=True)]
        for line in (heads, ["-" * size for size in widths], *cells):
            padded = [cell + " " * (size - width(cell)) for cell, size in zip(line, widths, strict=True)]
            print("  ".join(padded).rstrip(), file=self._out)

    def _cell(self, value: object, name: str, most: int | None = None) -> str:
        if value is None:
            return "-"
        if name == SNIPPET:
            return self._marked(str(value))
        if name == SCORE and isinstance(value, float):
            return f"{value:.2f}"  # scripts get all digits
        text = printable(_as_text(value))
        return text if most is None or len(text) <= most else f"{text[: most - 1]}…"

    def _marked(self, snippet: str) -> str:
        """Return a snippet, which is HTML, as text with the hits marked."""
        parts = [printable(html.unescape(part)) for part in _MARK.split(snippet)]
        start, end = ("\x1b[1m", "\x1b[0m") if self._color and self._lines else ("**", "**")
        return "".join(f"{start}{part}{end}" if n % 2 else part for n, part in enumerate(parts))


class ScriptOutput:
    """One JSON object a line, one JSON array, or CSV."""

    def __init__(self, out: TextIO, err: TextIO, form: str, *, terminal: bool = False) -> None:
        self._out, self._err, self._form, self._terminal = out, err, form, terminal

    def rows(self, names: Sequence[str], rows: Iterable[Row]) -> int:
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
        return PeopleOutput(sys.stdout, sys.stderr, lines=form == "log", color=color)
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


def _print_rich(names: Sequence[str], cells: Sequence[Sequence[str]], out: TextIO) -> bool:
    """Print a table with rich; return False where rich is not installed."""
    try:
        from rich.console import Console  # noqa: PLC0415 - optional, and slow to import
        from rich.table import Table  # noqa: PLC0415
        from rich.text import Text  # noqa: PLC0415
    except ImportError:
        return False
    table = Table(box=None, header_style="bold", pad_edge=False)
    for name in names:
        table.add_column(Text(printable(name)), overflow="fold")
    for row in cells:
        table.add_row(*(Text(cell) for cell in row))
    Console(file=out).print(table)
    return True
