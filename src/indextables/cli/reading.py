"""Commands that read rows: search, count, head and tail."""

from __future__ import annotations

import html
import time
from argparse import Namespace
from collections import Counter
from collections.abc import Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from indextables.cli.appended_rows import appended_rows
from indextables.cli.exit_codes import DONE, NOTHING_FOUND
from indextables.cli.layout import LogLayout
from indextables.cli.nothing_found import nothing_found
from indextables.cli.opening import open_at, split_names
from indextables.cli.output import SNIPPET, Output, PeopleOutput, to_json
from indextables.cli.parser import VALUES
from indextables.cli.text import counted
from indextables.errors import InputError
from indextables.table import EXPLANATION, Table, plain_rows, score_text, text_columns

_BAR = 40
_LEVELS = ("level", "severity", "loglevel", "log_level")
_USUAL = ("service", "host", "process", "status", "client", "logger", "source")


def search(args: Namespace, output: Output) -> int:
    """Print the best matches; exit code 1 if there is none."""
    if (args.query is None) == (args.like is None):
        raise InputError("search takes either a QUERY or --like TEXT")
    if args.like is not None and args.explain:
        raise InputError("--explain is for a QUERY; leave it out with --like")
    table = open_at(args)
    columns, snippet = split_names(args.columns), args.snippet
    shown = columns or table.schema.names
    replaced = None
    if snippet is None and isinstance(output, PeopleOutput):  # people see the hits in the text itself
        snippet = replaced = next((name for name in text_columns(table) if name in shown), None)
    limit = None if args.all else args.limit
    started = time.monotonic()
    if args.like is not None:
        rows = table.more_like(args.like, limit=limit, columns=columns, where=args.where, snippet=snippet)
    else:
        rows = table.search(
            args.query, limit=limit, columns=columns, where=args.where, snippet=snippet, explain=args.explain
        )
    seconds = time.monotonic() - started
    names = rows.column_names
    if replaced is not None:
        rows = _with_text(rows, replaced)
        names = [name for name in names if name != replaced]
    explained = args.explain and isinstance(output, PeopleOutput)
    if explained:
        names.remove(EXPLANATION)
    heads = {} if replaced is None else {SNIPPET: replaced}
    count = output.rows(names, plain_rows(rows), layout=_log_layout(table, columns), heads=heads)
    if explained:
        for number, parts in enumerate(rows.column(EXPLANATION).to_pylist(), start=1):
            output.record({}, f"row {number}: {score_text(parts)}")
    if isinstance(output, PeopleOutput):
        if not count:
            output.note(nothing_found(table, args.query, args.where))
        output.note(_footer(table, args, count, seconds))
    return DONE if count else NOTHING_FOUND


def _footer(table: Table, args: Namespace, count: int, seconds: float) -> str:
    """Return how many rows were found, where, and in what time."""
    took = f"{1000 * seconds:,.0f} ms, version {table.version}"
    more = not args.all and count == args.limit
    if args.like is not None:
        return f"{counted(count, 'row')}, {took}"
    every = table.count(args.query, where=args.where) if more else count
    plan = table.explain(args.query, where=args.where)
    hits = counted(every, "hit") if every == count else f"the best {count:,} of {counted(every, 'hit')}"
    rest = "" if every == count else "; --all prints every match"
    skipped = "" if plan.splits == plan.splits_read else f" of {plan.splits:,}"
    return (
        f"{hits} in {plan.splits_read:,}{skipped} {'split' if plan.splits == 1 else 'splits'}, {took}{rest}"
    )


def count(args: Namespace, output: Output) -> int:
    """Print a number, or one for each value of a column."""
    if args.limit is not None and (args.by is None or args.every is not None):
        raise InputError("-n is for the values of --by, without --every")
    table = open_at(args)
    if args.every is not None:
        return _intervals(table, args, output)
    if args.on is not None:
        raise InputError("--on is the column of --every, which is not given")
    if args.by is None:
        number = table.count(args.query, where=args.where)
        if not args.quiet:
            output.record({"count": number}, str(number))
        return NOTHING_FOUND if args.quiet and not number else DONE
    found: Counter[str] = Counter()
    values: dict[str, object] = {}
    if args.query is None:
        batches = iter(table.to_batches([args.by], where=args.where))
    else:
        batches = iter(table.search(args.query, limit=None, columns=[args.by], where=args.where).to_batches())
    name = args.by
    for batch in batches:
        name = batch.schema.names[0]
        for row in plain_rows([batch.select([0])]):
            key = to_json(row[name])  # lists and structures cannot be keys
            values[key] = row[name]
            found[key] += 1
    ordered = sorted(found.items(), key=lambda item: (-item[1], str(values[item[0]])))
    if not args.quiet:
        people = isinstance(output, PeopleOutput)
        limit = args.limit if args.limit is not None or not people else VALUES
        shown = [{"value": values[key], "count": number} for key, number in ordered[:limit]]
        names, rows = _with_bars(["value", "count"], shown) if people else (["value", "count"], shown)
        output.rows(names, rows, heads={"value": name})
        if people and not ordered:
            output.note(nothing_found(table, args.query, args.where))
        elif len(shown) < len(ordered):
            output.note(f"{len(shown):,} of {counted(len(ordered), 'value')}; -n N prints more")
    return NOTHING_FOUND if args.quiet and not ordered else DONE


def _intervals(table: Table, args: Namespace, output: Output) -> int:
    """Print the number of rows of each interval; for people with a bar."""
    column = _time_column(table, args.on)
    field = table.snapshot.schema.field(column)
    every: str | float = args.every
    if field.type not in ("timestamp", "date"):
        if field.type in ("string", "binary", "boolean") or pa.types.is_nested(field.arrow_type):
            raise InputError(
                f"--every takes a column of times or numbers, and {column!r} is {field.type_name}; "
                f"--by {column} counts its values"
            )
        try:
            every = int(args.every) if args.every.lstrip("-").isdigit() else float(args.every)
        except ValueError:
            raise InputError(f"--every is {args.every!r}; the intervals of {column!r} are numbers") from None
    found = table.histogram(column, every=every, query=args.query, where=args.where, by=args.by)
    if args.quiet:
        return DONE if found.num_rows else NOTHING_FOUND
    rows = list(plain_rows(found))
    names = found.column_names
    if isinstance(output, PeopleOutput):
        names, rows = _with_bars(names, rows)
        if not rows:
            output.note(nothing_found(table, args.query, args.where))
    output.rows(names, rows)
    return DONE


def _with_bars(
    names: Sequence[str], rows: Sequence[Mapping[str, object]]
) -> tuple[list[str], list[dict[str, object]]]:
    """Return the columns and the rows with a bar for the count of each."""
    counts = [number if isinstance(number := row["count"], int) else 0 for row in rows]
    most = max(counts, default=1)
    bars = ["█" * max(1, round(_BAR * number / most)) for number in counts]
    return [*names, ""], [{**row, "": bar} for row, bar in zip(rows, bars, strict=True)]


def head(args: Namespace, output: Output) -> int:
    """Print some rows."""
    table = open_at(args)
    limit = None if args.all else args.limit
    batches = table.to_batches(split_names(args.columns), where=args.where, limit=limit)
    layout = _log_layout(table, split_names(args.columns))
    count = output.rows(batches.schema.names, plain_rows(batches), layout=layout)
    if not count and limit != 0 and isinstance(output, PeopleOutput):
        output.note(nothing_found(table, None, args.where))
    return DONE


def tail(args: Namespace, output: Output) -> int:
    """Print the newest rows, oldest first, and then those that are appended."""
    if args.follow and (args.version is not None or args.as_of is not None):
        raise InputError("--follow goes on from the newest version; leave out --version and --as-of")
    table = open_at(args)
    columns = split_names(args.columns)
    rows = _newest(table, args)
    names = [table.snapshot.schema.field(name).name for name in columns or table.schema.names]
    layout = _log_layout(table, columns)
    count = output.rows(names, plain_rows(rows.select(names)), layout=layout)
    if not count and args.limit != 0 and isinstance(output, PeopleOutput):
        output.note(nothing_found(table, args.query, args.where))
    while args.follow:
        pause(args.interval)
        newest = table.refresh()
        for added in appended_rows(newest, table.version, names, args.query, args.where):
            output.rows(names, plain_rows(added), layout=layout)
        table = newest
    return DONE


def pause(seconds: float) -> None:
    """Wait between two looks at a table."""
    time.sleep(seconds)


def _newest(table: Table, args: Namespace) -> pa.Table:
    """Return the newest rows by the time column. Memory does not grow with the table."""
    times = _time_column(table, args.by)
    if pa.types.is_nested(table.schema.field(times).type):
        raise InputError(f"rows have no order by {times!r}, which is a {table.schema.field(times).type}")
    if args.query is None:
        batches = iter(table.to_batches(where=args.where))
    else:
        batches = iter(table.search(args.query, limit=None, where=args.where).to_batches())
    best = table.schema.empty_table()
    for batch in batches:
        rows = pa.Table.from_batches([batch]).select(table.schema.names)
        rows = rows.filter(pc.is_valid(rows.column(times)))
        both = pa.concat_tables([best, rows.cast(table.schema)])
        order = pc.sort_indices(both, sort_keys=[(times, "ascending")])
        best = both.take(order[max(0, len(order) - args.limit) :])
    return best


def _time_column(table: Table, name: str | None) -> str:
    if name is not None:
        return str(table.snapshot.schema.field(name).name)
    times = (field.name for field in table.schema if pa.types.is_timestamp(field.type))
    first = next(times, None)
    if first is None:
        raise InputError(f"{table.uri} has no column of times; name a column with --by, or --on for --every")
    return str(first)


def _log_layout(table: Table, columns: list[str] | None) -> LogLayout | None:
    """Return the columns that make a line of a log; None if there is no text, or columns are chosen."""
    text = next(iter(text_columns(table)), None)
    if text is None or columns is not None:
        return None
    names = table.schema.names
    time = next((field.name for field in table.schema if pa.types.is_timestamp(field.type)), None)
    level = next((name for name in names if name.lower() in _LEVELS), None)
    used = {time, level, text}
    strings = [f.name for f in table.schema if pa.types.is_string(f.type) and f.name not in used]
    usual = [name for name in names if name.lower() in _USUAL and name not in used]
    fields = dict.fromkeys([*sorted(usual, key=lambda name: _USUAL.index(name.lower())), *strings])
    return LogLayout(time, level, tuple(fields), text)


def _with_text(rows: pa.Table, column: str) -> pa.Table:
    """Return the rows with the whole text, as HTML like a snippet, where no word of it matches."""
    texts = [None if text is None else html.escape(text) for text in rows.column(column).to_pylist()]
    snippets = pc.coalesce(rows.column(SNIPPET).combine_chunks(), pa.array(texts, pa.string()))
    return rows.set_column(rows.column_names.index(SNIPPET), SNIPPET, snippets)
