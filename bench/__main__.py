"""`python -m bench`: one run, one table, and bench-data/results.json."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import time
from pathlib import Path

from pyspark import StorageLevel
from rich.console import Console

from bench import tables
from bench.measure import machine, record, show
from indextables.demo import log_batch, log_dataframe
from indextables.demo.logs import CHUNK_ROWS
from indextables.demo.session import local_session

HOME = Path(__file__).resolve().parent.parent / "bench-data"
FULL_SIZE = 5_000_000
"""Below this a search is mostly the fixed cost of a Spark job, and no goal is set for it."""


def main() -> None:
    arguments = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    arguments.add_argument("--rows", type=int, default=FULL_SIZE, help="size of the data set (5000000)")
    arguments.add_argument("--repeat", type=int, default=5, help="runs of each search and scan (5)")
    arguments.add_argument("--write-repeat", type=int, default=2, help="runs of each write (2)")
    chosen = arguments.parse_args()

    console = Console(width=None if sys.stdout.isatty() else 140, highlight=False)
    facts = machine()
    for name, value in facts.items():
        console.print(f"[dim]{name:12} {value}")
    shutil.rmtree(HOME, ignore_errors=True)
    HOME.mkdir()
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") >> 30
    spark = local_session("indextables bench", HOME, memory_gb=max(2, min(8, memory // 3)))
    started = time.perf_counter()

    def say(text: str) -> None:
        console.print(f"[dim]{time.perf_counter() - started:6.0f} s[/]  {text}")

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
    say("scanning")
    found += tables.scan(pair, repeat=chosen.repeat)
    spark.stop()
    say("done")

    show(console, f"{chosen.rows:,} rows, {megabytes:,.0f} MB as Arrow, {os.cpu_count()} cores", found)
    record(
        HOME / "results.json", {"machine": facts, "rows": chosen.rows, "megabytes": round(megabytes)}, found
    )
    console.print(f"[dim]every run is in {HOME / 'results.json'}")


if __name__ == "__main__":
    main()
