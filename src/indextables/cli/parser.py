"""The arguments of every command. Nothing here imports Arrow: `--help` and completion are cheap."""

from __future__ import annotations

import argparse
import re
from difflib import get_close_matches
from typing import Any, Final, NoReturn

_DESCRIPTION: Final = "Search, look at and maintain IndexTables."
_EPILOG: Final = (
    "Exit codes: 0 done, 1 nothing found, 2 wrong usage or query, 3 no such table or version, 4 conflict with another "
    "writer, 5 damaged or unreadable table, 6 storage or credentials, 7 outcome of a commit unknown, 70 internal "
    "error, 130 interrupted."
)
VALUES: Final = 20
"""How many values `count --by` prints for people, if nothing else is asked for."""
_SOURCES: Final = ("csv", "tsv", "json", "ndjson", "parquet", "log")


class _Version(argparse.Action):
    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        print(f"indextables {program_version()}")  # noqa: T201 - the result
        parser.exit()


class _Program(argparse.ArgumentParser):
    """Says which command a wrong name is close to."""

    def error(self, message: str) -> NoReturn:
        """Print what is wrong, and exit."""
        wrong = re.match(r"argument COMMAND: invalid choice: '([^']*)' \(choose from (.*)\)", message)
        close = get_close_matches(wrong[1], re.findall(r"[\w-]+", wrong[2]), n=1) if wrong else []
        super().error(
            f"there is no command {wrong[1]!r}; did you mean {close[0]!r}?" if wrong and close else message
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
        common.add_argument("--debug", action="store_true", help="print the log of the library to stderr")
        common.add_argument("--set", action="append", metavar="KEY=VALUE", help="a setting; may be repeated")
        if at:
            moment = parser.add_mutually_exclusive_group()
            moment.add_argument("-v", "--version", type=_whole, metavar="N", help="read version N")
            moment.add_argument("--as-of", metavar="TIME", help="read the table as it was at a time")
        return parser


def make_parser() -> argparse.ArgumentParser:
    """Return the parser of the whole command line."""
    parser = _Program("indextables", description=_DESCRIPTION, epilog=_EPILOG, allow_abbrev=False)
    parser.add_argument("--version", action=_Version, nargs=0, help="print the version of the program")
    parser.set_defaults(run=None)
    commands = _Commands(parser)
    _add_reading(commands)
    _add_looking(commands)
    _add_moving(commands)
    _add_maintaining(commands)
    _add_program(commands)
    return parser


def program_version() -> str:
    """Return the version of the installed package."""
    from importlib.metadata import PackageNotFoundError, version  # noqa: PLC0415 - costs as much as all of --help

    try:
        return version("indextables")
    except PackageNotFoundError:
        return "(not installed)"


def _add_reading(commands: _Commands) -> None:
    search = commands.add("search", "reading:search", "the best matches of a query", at=True, lines=True)
    search.add_argument("query", metavar="QUERY", nargs="?")
    search.add_argument(
        "--like", metavar="TEXT", help="instead of a query: the rows that are most like a text"
    )
    _rows(search, 20)
    search.add_argument("--snippet", metavar="COL", help="add _snippet, the part of this text that matches")
    search.add_argument("--explain", action="store_true", help="show what each score is made of")
    count = commands.add("count", "reading:count", "count rows", at=True)
    count.add_argument("query", metavar="QUERY", nargs="?")
    count.add_argument("--where", metavar="SQL")
    count.add_argument("--by", metavar="COL", help="count for each value of a column, most frequent first")
    count.add_argument(
        "-n",
        "--limit",
        type=_count,
        metavar="N",
        help=f"values of --by at most (for people {VALUES}, else all)",
    )
    count.add_argument("--every", metavar="WIDTH", help="count for each interval: 15m, 1h, 1d, or a number")
    count.add_argument("--on", metavar="COL", help="the column of --every; the default is the first of times")
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
    show.add_argument(
        "number", metavar="VERSION", type=_count, nargs="?", help="may be written TABLE@VERSION too"
    )
    diff = commands.add("diff", "looking:diff", "the files or rows that differ between two versions")
    diff.add_argument("old", metavar="OLD", type=_count)
    diff.add_argument("new", metavar="NEW", type=_count)
    diff.add_argument(
        "--rows", action="store_true", help="the rows that were added and removed, instead of the files"
    )
    diff.add_argument("--exit-code", action="store_true", help="exit code 1 if there is no difference")
    du = commands.add("du", "looking:du", "bytes by part: index, rows and the rest", at=True)
    du.add_argument("--where", metavar="SQL")
    explain = commands.add("explain", "looking:explain", "which splits a query reads", at=True)
    explain.add_argument("query", metavar="QUERY", nargs="?")
    explain.add_argument("--where", metavar="SQL")


def _add_moving(commands: _Commands) -> None:
    load = commands.add("import", "importing:import_files", "rows of files into a table")
    load.add_argument("files", metavar="FILE", nargs="+", help="files; - is stdin")
    load.add_argument(
        "--from", dest="source", choices=_SOURCES, help="the format; the default is by the name"
    )
    load.add_argument(
        "--text", metavar="A,B", help="columns to search by words; the default is by the values"
    )
    load.add_argument("--partition-by", metavar="A,B", help="columns whose values name the partitions")
    load.add_argument("--types", metavar="A=TYPE,...", help="types of columns, where the values do not tell")
    load.add_argument(
        "--pattern",
        metavar="REGEX",
        help="of raw logs: syslog, access, iso, plain or an expression; the default is by the lines",
    )
    load.add_argument("--time-format", metavar="FORMAT", help="of the times of raw logs, as in strptime")
    load.add_argument(
        "--encoding", metavar="NAME", help="of text: latin-1, cp1252, utf-16; the default is utf-8"
    )
    load.add_argument("--delimiter", metavar="C", help="between the values of CSV, such as ';'")
    load.add_argument("--mode", choices=["append", "overwrite", "error"], default="append")
    load.add_argument("--commit-every", type=_above_zero, metavar="ROWS", help="a version for so many rows")
    load.add_argument(
        "--commit-seconds", type=_seconds, metavar="S", help="a version S seconds after rows have come"
    )
    _careful(load, "replace rows without asking", "print the columns and import nothing")
    store = commands.add("export", "exporting:export", "rows of a table into a file", at=True)
    store.add_argument("query", metavar="QUERY", nargs="?")
    store.add_argument("-o", "--output", metavar="FILE", required=True, help="the file; - is stdout")
    store.add_argument(
        "--to",
        choices=["parquet", "csv", "ndjson", "arrow"],
        help="the default is by the name, and ndjson for stdout",
    )
    store.add_argument("--where", metavar="SQL", help="a condition, as in SQL")
    store.add_argument("-c", "--columns", metavar="A,B", help="the columns to write")
    _careful(store, "replace the file without asking", "print what would be written")
    sql = commands.add("sql", "exporting:sql", "a SELECT of DuckDB over tables", path=False, at=True)
    sql.add_argument("statement", metavar="SELECT")
    sql.add_argument(
        "tables", metavar="[NAME=]TABLE", nargs="+", help="the default name is that of the directory"
    )


def _add_maintaining(commands: _Commands) -> None:
    merge = commands.add("merge", "maintaining:merge", "merge small splits into larger ones")
    merge.add_argument("--target", metavar="SIZE", default="5G", help="the size of the new splits (5G)")
    merge.add_argument("--where", metavar="SQL", help="a condition on partition columns")
    _careful(merge, None, "print what would be merged")
    commands.add("checkpoint", "maintaining:checkpoint", "write the state of the newest version")
    restore = commands.add("restore", "maintaining:restore", "make the table what it was at a version")
    restore.add_argument("number", metavar="VERSION", type=_count)
    _careful(restore, "do not ask", "print what would change")
    drop = commands.add("drop-partitions", "maintaining:drop", "remove whole partitions")
    drop.add_argument("--where", metavar="SQL", required=True, help="a condition on partition columns")
    _careful(drop, "do not ask", "print what would be removed")
    purge = commands.add("purge", "maintaining:purge", "delete what no readable version needs")
    purge.add_argument("--older-than", metavar="AGE", help="the least age of splits: 7d, 36h")
    purge.add_argument("--log-retention", metavar="AGE", help="the least age of version files and states")
    _careful(purge, "do not ask", "print what would be deleted")
    truncate = commands.add("truncate-history", "maintaining:truncate", "delete all older versions")
    _careful(truncate, "do not ask", "print what would be deleted")
    repair = commands.add(
        "repair", "maintaining:repair_log", "a new log in place of a damaged or lost one", path=False
    )
    repair.add_argument("log", metavar="LOG", help="the _transaction_log of the table")
    repair.add_argument(
        "--to", metavar="NEW_LOG", help="where to write it; without it, only a lost log is recovered"
    )
    repair.add_argument("--dry-run", action="store_true", help="print what can be read, and write nothing")
    doctor = commands.add("doctor", "doctor:doctor", "check this machine and a table", path=False)
    doctor.add_argument("path", metavar="TABLE", nargs="?")
    doctor.add_argument("--deep", action="store_true", help="read every split and verify its checksums")


def _add_program(commands: _Commands) -> None:
    settings = commands.add(
        "settings", "about:settings", "the settings, their defaults and meanings", path=False
    )
    settings.add_argument("key", metavar="TEXT", nargs="?", help="only keys that contain it")
    completion = commands.add(
        "completion", "about:completion", "a script that completes commands", path=False
    )
    completion.add_argument("shell", choices=["bash", "zsh", "fish"])
    ui = commands.add("ui", "about:ui", "look at tables in a browser on this machine", path=False)
    ui.add_argument("paths", metavar="TABLE", nargs="+")
    ui.add_argument("--port", type=_port, default=0, help="the default is a free one")
    ui.add_argument("--no-browser", action="store_true", help="only print the URL")
    ui.add_argument("--write", action="store_true", help="allow to merge, checkpoint and restore")
    ui.add_argument("--host", default="127.0.0.1", help="another address than the loopback needs --i-know")
    ui.add_argument("--i-know", action="store_true", help="serve to a network without encryption")
    demo = commands.add("demo", "about:demo", "write a table of sample logs")
    demo.add_argument("--rows", type=_above_zero, default=100_000, metavar="N", help="rows (100000)")
    demo.add_argument("--log", action="store_true", help="write a raw log file instead")


def _careful(parser: argparse.ArgumentParser, yes: str | None, dry_run: str) -> None:
    if yes is not None:
        parser.add_argument("--yes", action="store_true", help=yes)
    parser.add_argument("--dry-run", action="store_true", help=dry_run)
    parser.add_argument("-q", "--quiet", action="store_true", help="no progress")


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
    number = _whole(text)
    if number < 0:
        raise argparse.ArgumentTypeError(f"{text} is below zero")
    return number


def _above_zero(text: str) -> int:
    number = _whole(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is not above zero")
    return number


def _port(text: str) -> int:
    number = _whole(text)
    if not 0 <= number <= 65_535:
        raise argparse.ArgumentTypeError(f"{text} is not a port: a number from 0 to 65535")
    return number


def _seconds(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds") from None
    if not 0.1 <= number <= 86_400:
        raise argparse.ArgumentTypeError(f"{text} is not between 0.1 and 86400 seconds")
    return number


def _whole(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number") from None
