"""`python -m bench [part ...]`: one run, one table a part, and bench-data/results.json."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Final

from rich.console import Console

from bench.measure import Comparison, machine, not_met, one_core, record, show, show_goals

HOME: Final = Path(__file__).resolve().parent.parent / "bench-data"
FULL_SIZE: Final = 5_000_000
"""Below this a search is mostly the fixed cost of a Spark job, and no goal is set for it."""

GROUPED_SIZE: Final = 1_000_000
"""From this size on, GROUP BY after a search has a goal."""

Say = Callable[[str], None]
Part = Callable[[argparse.Namespace, Say], tuple[str, list[Comparison]]]


def tables_part(chosen: argparse.Namespace, say: Say) -> tuple[str, list[Comparison]]:
    """Writing, searching and scanning through Spark, against Parquet."""
    from pyspark import StorageLevel  # noqa: PLC0415 - only this part needs Spark

    from bench import tables  # noqa: PLC0415
    from indextables.demo import CHUNK_ROWS, local_session, log_batch, log_dataframe  # noqa: PLC0415

    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") >> 30
    spark = local_session("indextables bench", HOME, memory_gb=max(2, min(8, memory // 3)))
    say(f"drawing {chosen.rows:,} rows and keeping them in memory")
    rows = log_dataframe(spark, chosen.rows).persist(StorageLevel.MEMORY_AND_DISK)
    rows.count()
    megabytes = log_batch(0, chosen.rows).nbytes / min(CHUNK_ROWS, chosen.rows) * chosen.rows / 1e6
    pair = tables.Pair(spark, HOME / "table", HOME / "parquet")

    say("writing")
    sample = log_dataframe(spark, min(100_000, chosen.rows))
    found = tables.write(pair, rows, sample, count=chosen.rows, mb=megabytes, repeat=chosen.write_repeat)
    rows.unpersist()
    say("searching")
    found += tables.search(pair, repeat=chosen.repeat, judged=chosen.rows >= FULL_SIZE)
    say("aggregating")
    found += tables.aggregate(pair, repeat=chosen.repeat, judged=chosen.rows >= GROUPED_SIZE)
    say("scanning")
    found += tables.scan(pair, repeat=chosen.repeat)
    spark.stop()
    return f"{chosen.rows:,} rows, {megabytes:,.0f} MB as Arrow", found


def commits_part(chosen: argparse.Namespace, say: Say) -> tuple[str, list[Comparison]]:
    """Commits under 1, 4 and 16 writers, and opening without a state, against deltalake."""
    from bench.log import commits, opening  # noqa: PLC0415

    found = commits.measure(HOME, say) + opening.measure(HOME, say, repeat=chosen.repeat)
    found += opening.measure_adds(HOME, say, repeat=chosen.repeat)
    return "commits and opening", found


def merges_part(chosen: argparse.Namespace, say: Say) -> tuple[str, list[Comparison]]:
    """What a merge costs against indexing its rows, and searches of many small appends before and after one."""
    from bench import merges  # noqa: PLC0415

    return "merging", merges.measure(HOME, say, repeat=chosen.repeat)


def columns_part(chosen: argparse.Namespace, say: Say) -> tuple[str, list[Comparison]]:
    """The column-group store: its manifests, against fastavro."""
    from bench import columns  # noqa: PLC0415

    return "column groups", columns.measure(HOME, say, repeat=chosen.repeat)


def states_part(chosen: argparse.Namespace, say: Say) -> tuple[str, list[Comparison]]:
    """Planning on tables of up to a million files, against deltalake, pyiceberg and Parquet; what states cost."""
    from bench.states import comparison as states  # noqa: PLC0415
    from bench.states import growth as state_growth  # noqa: PLC0415

    results = states.measure(HOME, say, repeat=chosen.repeat, sizes=chosen.files)
    goals = states.goals(results)
    growth = state_growth.measure(say)
    console = _console()
    states.show(console, f"planning, {os.cpu_count()} cores", results)
    show_goals(console, "planning", goals)
    chosen.not_met.extend(goal.line for goal in goals if not goal.met)
    state_growth.show(console, growth)
    (HOME / "states.json").write_text(json.dumps(states.as_document(results, goals), indent=2) + "\n")
    return "planning", states.comparisons(results)


def remote_part(chosen: argparse.Namespace, say: Say) -> tuple[str, list[Comparison]]:
    """Requests and rounds of waiting of searches in an object store that answers 20 ms late."""
    from bench import remote  # noqa: PLC0415

    results = remote.measure(HOME, say)
    goals = remote.goals(results)
    remote.show(_console(), results)
    show_goals(_console(), "an object store", goals)
    chosen.not_met.extend(goal.line for goal in goals if not goal.met)
    document = {"asked": [asdict(asked) for asked in results]}
    document["goals"] = [asdict(goal) | {"met": goal.met} for goal in goals]
    (HOME / "remote.json").write_text(json.dumps(document, indent=2) + "\n")
    return "searches of an object store", []


def deletes_part(chosen: argparse.Namespace, say: Say) -> tuple[str, list[Comparison]]:
    """Deleting 1% of a million rows by a word, against deltalake; searches before and after it."""
    from bench import deletes  # noqa: PLC0415

    return "deletes", deletes.measure(HOME, say, count=min(chosen.rows, 1_000_000), repeat=chosen.repeat)


def upkeep_part(_: argparse.Namespace, say: Say) -> tuple[str, list[Comparison]]:
    """One append a minute for 30 simulated days, with automatic merges and purges: the curves of its growth."""
    from bench import upkeep  # noqa: PLC0415

    return upkeep.measure(_console(), say), []


def discover_part(chosen: argparse.Namespace, say: Say) -> tuple[str, list[Comparison]]:
    """A query of the web UI, against the search alone."""
    from bench import discover  # noqa: PLC0415

    rows = chosen.rows if chosen.rows_are_given else 1_000_000
    return f"web UI, {rows:,} rows", discover.measure(HOME, say, rows=rows, repeat=chosen.repeat)


def engine_part(chosen: argparse.Namespace, say: Say) -> tuple[str, list[Comparison]]:
    """On one core: indexing and counts against Tantivy alone, searches against an earlier commit, Lance and DuckDB."""
    from bench.engine import cold, indexing, peers, searches  # noqa: PLC0415

    rows, repeat = min(chosen.rows, 200_000), chosen.repeat
    with one_core():
        found = indexing.measure(HOME / "engine", say, rows=rows, repeat=min(repeat, 3))
        found += searches.measure(HOME / "engine-searches", say, repeat=repeat)
        found += cold.measure(HOME / "engine-cold", say, repeat=min(repeat, 3))
        found += peers.measure(HOME / "engine-peers", say, rows=rows, repeat=repeat)
    return "engine, on one core", found


def before_part(_: argparse.Namespace, say: Say) -> tuple[str, list[Comparison]]:
    """The same operations by the commit before the packages were regrouped and by this tree."""
    from bench import before  # noqa: PLC0415

    return "an earlier commit", before.measure(HOME / "before", say)


def original_part(chosen: argparse.Namespace, say: Say) -> tuple[str, list[Comparison]]:
    """The same operations by IndexTables for Spark, if its jar (ORIGINAL_JAR=path) and PySpark 3.5 can be had."""
    from bench import original  # noqa: PLC0415

    rows = chosen.rows if chosen.rows_are_given else original.ROWS
    return "beside the original", original.measure(
        HOME / "original", say, rows=rows, repeat=min(chosen.repeat, 3)
    )


PARTS: Final[dict[str, Part]] = {
    "tables": tables_part,
    "commits": commits_part,
    "merges": merges_part,
    "columns": columns_part,
    "deletes": deletes_part,
    "states": states_part,
    "remote": remote_part,
    "upkeep": upkeep_part,
    "discover": discover_part,
    "engine": engine_part,
    "before": before_part,
    "original": original_part,
}


def _console() -> Console:
    return Console(width=None if sys.stdout.isatty() else 140, highlight=False)


def main() -> None:
    arguments = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parts = "; ".join(f"{name}: {part.__doc__}" for name, part in PARTS.items())
    arguments.add_argument("parts", nargs="*", metavar="part", help=f"{parts} All of them by default.")
    arguments.add_argument("--rows", type=int, help="size of the data set (5000000; of the web UI, 1000000)")
    arguments.add_argument("--repeat", type=int, default=5, help="runs of each search, scan and opening (5)")
    arguments.add_argument("--write-repeat", type=int, default=2, help="runs of each write (2)")
    arguments.add_argument(
        "--files",
        type=lambda text: [int(size) for size in text.split(",")],
        default=[70_000, 100_000, 1_000_000],
        help="sizes of the tables that are planned on (70000,100000,1000000)",
    )
    arguments.add_argument(
        "--strict", action="store_true", help="exit with 1 if a goal is not met: for a quiet machine"
    )
    arguments.set_defaults(not_met=[])  # goals that a part judges by itself
    chosen = arguments.parse_args()
    chosen.rows_are_given = chosen.rows is not None
    chosen.rows = chosen.rows or FULL_SIZE
    unknown = [name for name in chosen.parts if name not in PARTS]
    if unknown:
        arguments.error(f"no part is named {unknown[0]!r}; there are {', '.join(PARTS)}")

    console = _console()
    facts = machine()
    for name, value in facts.items():
        console.print(f"[dim]{name:12} {value}")
    shutil.rmtree(HOME, ignore_errors=True)
    HOME.mkdir()
    started = time.perf_counter()

    def say(text: str) -> None:
        console.print(f"[dim]{time.perf_counter() - started:6.0f} s[/]  {text}")

    found: list[Comparison] = []
    titles = []
    for name in chosen.parts or PARTS:
        title, measured = PARTS[name](chosen, say)
        if measured:
            show(console, f"{title}; a machine of {os.cpu_count()} cores", measured)
        titles.append(title)
        found += measured
    say("done")
    record(HOME / "results.json", {"machine": facts, "parts": titles}, found)
    console.print(f"[dim]every run is in {HOME / 'results.json'}")
    missed = [*chosen.not_met, *not_met(found)]
    if chosen.strict and missed:
        for goal in missed:
            console.print(f"[red]not met[/]  {goal}")
        sys.exit(1)


if __name__ == "__main__":
    main()
