"""The arguments of every command. Nothing here imports Arrow: `--help` and completion are cheap."""

from __future__ import annotations

import argparse
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Final

_DESCRIPTION: Final = "Search, look at and maintain IndexTables."
_EPILOG: Final = (
    "Exit codes: 0 done, 1 nothing found, 2 wrong usage or query, 3 no such table or version, 4 conflict with another "
    "writer, 5 damaged or unreadable table, 6 storage or credentials, 7 outcome of a commit unknown, 70 internal "
    "error, 130 interrupted."
)


class _Commands:
    def __init__(self, parser: argparse.ArgumentParser) -> None:
        self._parsers = parser.add_subparsers(title="commands", metavar="COMMAND")

    def add(
        self, name: str, run: str, summary: str, *, path: bool = True, at: bool = False, lines: bool = False
    ) -> argparse.ArgumentParser:
        """Add a command: `path` takes a table, `at` a version to read, `lines` prints rows that may be a log."""
        parser = self._parsers.add_parser(name, help=summary, description=summary)
        parser.set_defaults(run=run, lines=lines, version=None, as_of=None, set=[])
        if path:
            parser.add_argument("path", metavar="TABLE", help="path or URI of the table")
        common = parser.add_argument_group("options of every command")
        forms = ["table", *(["log"] if lines else []), "ndjson", "json", "csv"]
        common.add_argument(
            "--format", choices=forms, help="the default is for people on a terminal, else ndjson"
        )
        common.add_argument("--json", action="store_true", help="the same as --format ndjson")
        common.add_argument("--no-color", action="store_true", help="plain text, as with NO_COLOR set")
        common.add_argument("--set", action="append", metavar="KEY=VALUE", help="a setting; may be repeated")
        if at:
            moment = parser.add_mutually_exclusive_group()
            moment.add_argument("-v", "--version", type=int, metavar="N", help="read version N")
            moment.add_argument("--as-of", metavar="TIME", help="read the table as it was at a time")
        return parser


def make_parser() -> argparse.ArgumentParser:
    """Return the parser of the whole command line."""
    parser = argparse.ArgumentParser(
        "indextables", description=_DESCRIPTION, epilog=_EPILOG, allow_abbrev=False
    )
    parser.add_argument("--version", action="version", version=f"indextables {program_version()}")
    parser.set_defaults(run=None)
    commands = _Commands(parser)
    _add_reading(commands)
    _add_looking(commands)
    return parser


def program_version() -> str:
    """Return the version of the installed package."""
    try:
        return version("indextables")
    except PackageNotFoundError:
        return "(not installed)"


def _add_reading(commands: _Commands) -> None:
    search = commands.add("search", "reading:search", "the best matches of a query", at=True, lines=True)
    search.add_argument("query", metavar="QUERY")
    _rows(search, 20)
    search.add_argument("--snippet", metavar="COL", help="add _snippet, the part of this text that matches")
    count = commands.add("count", "reading:count", "count rows", at=True)
    count.add_argument("query", metavar="QUERY", nargs="?")
    count.add_argument("--where", metavar="SQL")
    count.add_argument("--by", metavar="COL", help="count for each value of a column, most frequent first")
    count.add_argument(
        "-q", "--quiet", action="store_true", help="print nothing; exit code 1 if there is no row"
    )
    head = commands.add("head", "reading:head", "some rows", at=True, lines=True)
    _rows(head, 10)
    tail = commands.add("tail", "reading:tail", "the newest rows by a time column", at=True, lines=True)
    tail.add_argument("query", metavar="QUERY", nargs="?")
    _rows(tail, 10, every=False)
    tail.add_argument(
        "--by", metavar="COL", help="the column of times; the default is the first of that type"
    )
    tail.add_argument("-f", "--follow", action="store_true", help="go on with rows that are appended")
    tail.add_argument("--interval", type=_seconds, default=2.0, metavar="S", help="seconds between looks (2)")


def _add_looking(commands: _Commands) -> None:
    ls = commands.add("ls", "looking:ls", "the tables below a directory", path=False)
    ls.add_argument("path", metavar="DIRECTORY", nargs="?", default=".")
    commands.add("describe", "looking:describe", "columns, partitions, size and versions of a table", at=True)
    files = commands.add("files", "looking:files", "the live splits", at=True)
    files.add_argument("--where", metavar="SQL", help="only splits that may hold such a row")
    history = commands.add("history", "looking:history", "the versions, newest first", at=True)
    history.add_argument("-n", "--limit", type=_count, metavar="N")
    show = commands.add("show", "looking:show", "what one version changed")
    show.add_argument("number", metavar="VERSION", type=_count)
    diff = commands.add("diff", "looking:diff", "the files or rows that differ between two versions")
    diff.add_argument("old", metavar="OLD", type=_count)
    diff.add_argument("new", metavar="NEW", type=_count)
    diff.add_argument("--rows", action="store_true", help="the rows that were added, instead of the files")
    diff.add_argument("--exit-code", action="store_true", help="exit code 1 if there is no difference")
    du = commands.add("du", "looking:du", "bytes by part: index, rows and the rest", at=True)
    du.add_argument("--where", metavar="SQL")
    explain = commands.add("explain", "looking:explain", "which splits a query reads", at=True)
    explain.add_argument("query", metavar="QUERY", nargs="?")
    explain.add_argument("--where", metavar="SQL")


def _rows(parser: argparse.ArgumentParser, limit: int, *, every: bool = True) -> None:
    parser.add_argument("--where", metavar="SQL", help="a condition, as in SQL")
    parser.add_argument("-c", "--columns", metavar="A,B", help="the columns to print")
    number: Any = parser.add_mutually_exclusive_group()
    number.add_argument(
        "-n", "--limit", type=_count, default=limit, metavar="N", help=f"rows at most ({limit})"
    )
    if every:
        number.add_argument("--all", action="store_true", help="every row")


def _count(text: str) -> int:
    number = int(text)
    if number < 0:
        raise argparse.ArgumentTypeError(f"{text} is below zero")
    return number


def _seconds(text: str) -> float:
    number = float(text)
    if not 0.1 <= number <= 86_400:
        raise argparse.ArgumentTypeError(f"{text} is not between 0.1 and 86400")
    return number
