"""`python -m bench`: one run, one table, and bench-data/results.json."""

from __future__ import annotations

import argparse
import logging
import os
import shutil
import sys
import time
from pathlib import Path

from pyspark import StorageLevel
from pyspark.sql import SparkSession
from rich.console import Console

from bench import tables
from bench.measure import machine, record, show
from indextables.demo import log_batch, log_dataframe
from indextables.demo.logs import CHUNK_ROWS
from indextables.spark import configure

HOME = Path(__file__).resolve().parent.parent / "bench-data"


def main() -> None:
    arguments = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    arguments.add_argument("--rows", type=int, default=5_000_000, help="size of the data set (5000000)")
    arguments.add_argument("--repeat", type=int, default=5, help="runs of each search and scan (5)")
    arguments.add_argument("--write-repeat", type=int, default=2, help="runs of each write (2)")
    chosen = arguments.parse_args()

    console = Console(width=None if sys.stdout.isatty() else 140, highlight=False)
    facts = machine()
    for name, value in facts.items():
        console.print(f"[dim]{name:12} {value}")
    shutil.rmtree(HOME, ignore_errors=True)
    HOME.mkdir()
    spark = session()
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
    found += tables.search(pair, repeat=chosen.repeat)
    say("scanning")
    found += tables.scan(pair, repeat=chosen.repeat)
    spark.stop()
    say("done")

    show(console, f"{chosen.rows:,} rows, {megabytes:,.0f} MB as Arrow, {os.cpu_count()} cores", found)
    record(
        HOME / "results.json", {"machine": facts, "rows": chosen.rows, "megabytes": round(megabytes)}, found
    )
    console.print(f"[dim]every run is in {HOME / 'results.json'}")


def session() -> SparkSession:
    logging.getLogger("py4j").setLevel(logging.ERROR)
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") >> 30
    builder = (
        SparkSession.builder.master("local[*]")
        .appName("indextables bench")
        .config("spark.driver.memory", f"{max(2, min(8, memory // 3))}g")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.ui.enabled", "false")
        .config("spark.sql.warehouse.dir", str(HOME / "spark-warehouse"))
        .config("spark.sql.session.timeZone", "UTC")
    )
    spark = configure(builder).getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    return spark


if __name__ == "__main__":
    main()
