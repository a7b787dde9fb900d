"""Commands that change a table and keep its rows: merge, checkpoint, restore, drop-partitions, purge, and the rest."""

from __future__ import annotations

import dataclasses
from argparse import Namespace
from typing import Any

from indextables.cli.asking import confirm
from indextables.cli.exit_codes import DAMAGED, DONE
from indextables.cli.opening import open_newest, open_version, to_settings
from indextables.cli.output import Output
from indextables.cli.terminal_progress import progress_of
from indextables.cli.text import counted, size
from indextables.config import parse_size
from indextables.errors import ConfigError, InputError
from indextables.log import DropPartitions, RemoveFile
from indextables.maintenance import (
    MergeOptions,
    Repaired,
    check_partition_condition,
    drop_partitions,
    plan_merge,
    repair,
)
from indextables.predicates import TRUE, Predicate, QueryLimits, parse_where
from indextables.runtime import now_ms
from indextables.storage import open_store
from indextables.table import Table

_LISTS = ("splits", "versions", "states", "manifests")


def merge(args: Namespace, output: Output) -> int:
    """Merge small splits."""
    table = _newest(args)
    if args.dry_run:
        try:
            options = MergeOptions(where=_condition(table, args.where), target_size=parse_size(args.target))
        except ValueError as reason:
            raise ConfigError(f"--target is {args.target!r}; it takes {reason}") from None
        tasks = plan_merge(table.snapshot, options, table.settings, now=now_ms())
        splits = sum(len(task.sources) for task in tasks)
        values = {"status": "dry_run", "merged_files": splits, "merge_groups": len(tasks)}
        output.record(values, f"would merge {counted(splits, 'split')} into {len(tasks)}")
        return DONE
    with progress_of(args, "merging splits") as progress:
        merged = table.merge_splits(where=args.where, target_size=args.target, progress=progress)
    output.record(_plain(merged), f"{merged.message}; the table is at version {merged.version}")
    return DAMAGED if merged.skipped_files or merged.failed_groups else DONE


def checkpoint(args: Namespace, output: Output) -> int:
    """Write the state of the newest version."""
    version = _newest(args).checkpoint()
    output.record({"version": version}, f"wrote the state of version {version}")
    return DONE


def restore(args: Namespace, output: Output) -> int:
    """Make the table what it was at an older version."""
    table = _newest(args)
    target = open_version(args, args.number)
    live, then = (_rows_by_split(handle) for handle in (table, target))
    back, gone = len(then.keys() - live), len(live.keys() - then)
    if args.dry_run:
        values = {"status": "dry_run", "files_added": back, "files_removed": gone}
        removed = sum(rows for path, rows in live.items() if path not in then)
        output.record(
            values,
            f"would bring back {counted(back, 'split')} and remove {gone} ({counted(removed, 'row')})",
        )
        return DONE
    confirm(
        f"Restore {table.uri} to version {args.number}? It removes {counted(gone, 'live split')}.",
        yes=args.yes,
    )
    version = table.restore(args.number)
    values = {"status": "success", "version": version, "files_added": back, "files_removed": gone}
    output.record(values, f"version {version} now has the rows of version {args.number}")
    return DONE


def _rows_by_split(table: Table) -> dict[str, int]:
    files = table.files()
    rows = (number or 0 for number in files.column("num_records").to_pylist())
    return dict(zip(files.column("path").to_pylist(), rows, strict=True))


def drop(args: Namespace, output: Output) -> int:
    """Remove the partitions that satisfy a condition."""
    table = _newest(args)
    predicate = _condition(table, args.where)
    check_partition_condition(table.snapshot, predicate, "dropping partitions")
    removed = [a for a in DropPartitions(predicate).actions(table.snapshot) if isinstance(a, RemoveFile)]
    partitions = {tuple(sorted((action.partition_values or {}).items())) for action in removed}
    amount = size(sum(action.size or 0 for action in removed))
    what = f"{counted(len(partitions), 'partition')}, {counted(len(removed), 'split')} of {amount}"
    if args.dry_run:
        values = {
            "status": "dry_run",
            "partitions_dropped": len(partitions),
            "splits_removed": len(removed),
            "total_size_bytes": sum(action.size or 0 for action in removed),
        }
        output.record(values, f"would drop {what}")
        return DONE
    confirm(f"Drop {what} of {table.uri}?", yes=args.yes)
    version, dropped = drop_partitions(
        open_store(table.uri, table.settings), table.snapshot, predicate, table.settings
    )
    output.record({**_plain(dropped), "version": version}, dropped.message)
    return DONE


def purge(args: Namespace, output: Output) -> int:
    """Delete what no readable version needs."""
    table = _newest(args)
    splits, log = _age(args.older_than), _age(args.log_retention)
    planned = table.purge(splits, log_retention=log, dry_run=True)
    if args.dry_run:
        output.record(_plain(planned), f"{planned.message} ({planned.size_mb_deleted:.1f} MiB)")
        return DONE
    confirm(
        f"{planned.message[:1].upper()}{planned.message[1:]} of {table.uri} "
        f"({planned.size_mb_deleted:.1f} MiB), for good. Do it?",
        yes=args.yes,
    )
    with progress_of(args, "deleting splits") as progress:
        purged = table.purge(splits, log_retention=log, progress=progress)
    output.record(_plain(purged), purged.message)
    return DONE


def truncate(args: Namespace, output: Output) -> int:
    """Delete the history before the newest version."""
    table = _newest(args)
    planned = table.truncate_time_travel(dry_run=True)
    if not args.dry_run:
        count = planned.versions_deleted
        confirm(f"Delete {counted(count, 'older version')} of {table.uri}, for good?", yes=args.yes)
        planned = table.truncate_time_travel()
    output.record(_plain(planned), planned.message)
    return DONE


def repair_log(args: Namespace, output: Output) -> int:
    """Write a new log from what can be read of a damaged one, or from the splits of a table that lost its log."""
    repaired: Repaired = repair(args.log, args.to, to_settings(args), dry_run=args.dry_run)
    text = (
        f"{repaired.status}\n{repaired.valid_splits} of {counted(repaired.total_splits, 'split')}, "
        f"{repaired.missing_splits} missing; the new log {'would be' if args.dry_run else 'is'} {repaired.target_path}"
    )
    output.record(_plain(repaired), text)
    return DONE


def _newest(args: Namespace) -> Table:
    return open_newest(args)


def _condition(table: Table, where: str | None) -> Predicate:
    if where is None:
        return TRUE
    return parse_where(where, table.snapshot.schema, limits=QueryLimits.of(table.settings))


def _age(text: str | None) -> str | None:
    """Return an age with the short units that people type as the library takes it.

    >>> _age("7d"), _age("36h"), _age("7 days")
    ('7 days', '36 hours', '7 days')
    """
    if text is None:
        return None
    units = {"h": "hours", "d": "days"}
    number, unit = text[:-1].strip(), text[-1:]
    if number.isdigit() and unit in units:
        return f"{number} {units[unit]}"
    if text.isdigit():
        raise InputError(f"{text} has no unit: write {text}h for hours or {text}d for days")
    return text


def _plain(result: Any) -> dict[str, Any]:
    """Return the fields of a result but its lists of names, which may be long."""
    return {key: value for key, value in dataclasses.asdict(result).items() if key not in _LISTS}
