"""Every command in SQL, with its columns, and a table to run it on: the same list for each kind of session."""

from __future__ import annotations

import itertools
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa

import indextables as it
from indextables.log.snapshots import cache
from indextables.maintenance import COMPONENT_SCHEMA, LOG_SCHEMA, MERGE_JOBS_SCHEMA
from indextables.spark.sql import running, versions
from indextables.spark.sql.jobs import MERGE_COLUMNS, PREWARM_COLUMNS, PURGE_COLUMNS
from indextables.spark.sql.process_rows import SCHEMAS
from indextables.table import SKIPPING_SCHEMA
from indextables.table.history.listing import HISTORY_SCHEMA

ROWS = 60
STATEMENTS: dict[str, list[str]] = {
    "DESCRIBE INDEXTABLES TRANSACTION LOG {table}": LOG_SCHEMA.names,
    "DESC INDEXTABLES TRANSACTION LOG {table} INCLUDE ALL": LOG_SCHEMA.names,
    "DESCRIBE INDEXTABLES STATE {table}": running.STATE_COLUMNS.names,
    "DESCRIBE INDEXTABLES COMPONENT SIZES {table}": COMPONENT_SCHEMA.names,
    "DESCRIBE INDEXTABLES COMPONENT SIZES {table} WHERE day = 1 AND id > 3": COMPONENT_SCHEMA.names,
    "DESCRIBE INDEXTABLES DATA SKIPPING STATS": SKIPPING_SCHEMA.names,
    "DESCRIBE INDEXTABLES DATA SKIPPING STATS FOR {table}": SKIPPING_SCHEMA.names,
    "DESCRIBE INDEXTABLES ENVIRONMENT": SCHEMAS["ENVIRONMENT"].names,
    "DESCRIBE INDEXTABLES STORAGE STATS": SCHEMAS["STORAGE STATS"].names,
    "DESCRIBE INDEXTABLES DISK CACHE": SCHEMAS["DISK CACHE"].names,
    "PREWARM INDEXTABLES CACHE {table}": PREWARM_COLUMNS.names,
    "PREWARM INDEXTABLES CACHE {table} FOR SEGMENTS (TERM_DICT, POSTINGS) ON FIELDS (message, id) "
    "WITH PERWORKER PARALLELISM OF 2 WHERE day = 1": PREWARM_COLUMNS.names,
    "FLUSH INDEXTABLES SEARCHER CACHE": SCHEMAS["FLUSH SEARCHER CACHE"].names,
    "FLUSH INDEXTABLES DISK CACHE": SCHEMAS["FLUSH DISK CACHE"].names,
    "MERGE SPLITS {table}": MERGE_COLUMNS.names,
    "MERGE SPLITS {table} WHERE day = 1 TARGET SIZE 100M MAX DEST SPLITS 2 MAX SOURCE SPLITS PER MERGE 2": (
        MERGE_COLUMNS.names
    ),
    "REORG TABLE {table} APPLY (PURGE)": MERGE_COLUMNS.names,
    "DESCRIBE INDEXTABLES MERGE JOBS": MERGE_JOBS_SCHEMA.names,
    "OPTIMIZE {table}": MERGE_COLUMNS.names,
    "OPTIMIZE indextables.`{path}` WHERE day = 1": MERGE_COLUMNS.names,
    "PURGE INDEXTABLE {table} DRY RUN": PURGE_COLUMNS.names,
    "PURGE INDEXTABLE {table} OLDER THAN 7 DAYS TRANSACTION LOG RETENTION 30 DAYS": (PURGE_COLUMNS.names),
    "REPAIR INDEXFILES TRANSACTION LOG '{path}/_transaction_log' AT LOCATION '{path}-2/_transaction_log'": (
        running.REPAIR_COLUMNS.names
    ),
    "TRUNCATE INDEXTABLES TIME TRAVEL {table} DRY RUN": running.TRUNCATE_COLUMNS.names,
    "TRUNCATE INDEXTABLES TIME TRAVEL {table}": running.TRUNCATE_COLUMNS.names,
    "CHECKPOINT INDEXTABLES {table}": running.CHECKPOINT_COLUMNS.names,
    "COMPACT INDEXTABLES {table}": running.CHECKPOINT_COLUMNS.names,
    "INVALIDATE INDEXTABLES TRANSACTION LOG CACHE": running.CACHE_COLUMNS.names,
    "INVALIDATE INDEXTABLES TRANSACTION LOG CACHE FOR {table}": running.CACHE_COLUMNS.names,
    "DROP INDEXTABLES PARTITIONS FROM {table} WHERE day = 0": running.DROP_COLUMNS.names,
    "DESCRIBE HISTORY {table} LIMIT 2": HISTORY_SCHEMA.names,
    "RESTORE TABLE {table} TO VERSION AS OF 2": versions.RESTORE_COLUMNS.names,
}
_numbers = itertools.count()


def write_table(path: Path) -> None:
    """Write three versions of a table with two partitions."""
    for n in range(0, ROWS, 20):
        rows = pa.table(
            {
                "id": range(n, n + 20),
                "day": [0] * 10 + [1] * 10,
                "message": [f"disk {i} is full" if i % 2 else "all is well" for i in range(20)],
            }
        )
        it.write(path, rows, partition_by=["day"], text=["message"])


def run_statement(spark: Any, original: Path, statement: str) -> None:
    """Run a command on a copy of a table. It has its columns and at least a row, and the table its other rows."""
    path = original.with_name(f"{original.name}-{next(_numbers)}")
    shutil.copytree(original, path)
    by_tasks = spark.read.format("indextables").option("spark.indextables.read.answerOnDriver.maxRows", 0)
    searched = by_tasks.load(str(path)).filter("message TEXTSEARCH 'disk'")
    assert len(searched.collect()) == ROWS / 2
    frame = spark.sql(statement.format(table=f"'{path}'", path=path))
    assert frame.columns == STATEMENTS[statement]
    assert len(frame.collect()) > 0 or statement.endswith("MERGE JOBS")  # no job may have run
    rows = ROWS / 2 if statement.startswith("DROP") else ROWS
    cache.forget()
    assert it.open(path).count() == rows
