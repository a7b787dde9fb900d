"""Questions to tables and datasets that an earlier release wrote, asked through the public API alone.

The archive `tests/data/earlier.zip` holds those tables and datasets and, as Arrow files under `answers/`, what the
release that wrote them answered. Change a question only together with an archive that the older release has answered.
"""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

import indextables as it
from indextables import columns

TABLES = ("partitioned", "plain", "json_checkpoint", "bloom")
DATASETS = ("dataset_parquet", "dataset_vortex")

CONDITIONS = (
    "level = 'ERROR'",
    "level IS NULL AND ms > 3",
    "day = '2026-03-01' AND id BETWEEN 10 AND 90",
    "message LIKE '%cache%' OR small < -40",
    "NOT (message TEXTSEARCH 'timeout')",
    "message TEXTSEARCH 'db AND (cache OR disk)' AND ok",
    "at >= TIMESTAMP'2026-03-01 01:00:00Z' AND d < DATE'2026-03-20'",
    "level IN ('WARN', 'FATAL')",
)
QUERIES = (
    "timeout",
    'message:"db disk"',
    "message:(disk OR full) AND NOT message:login",
    "a489c868*",
    "超时",
    'message:"C:\\Windows\\winsxs"',
    "id:[10 TO 20]",
    "ok:true AND message:timeot~1",
)


def table_answers(path: Path) -> dict[str, pa.Table]:
    """Return what the newest and every older version of a table answers to each question."""
    newest = it.open(str(path))
    answers = {"files": newest.files().select(["path", "size"])}
    answers |= {f"where-{n}": newest.to_arrow(where=where) for n, where in enumerate(CONDITIONS)}
    for n, query in enumerate(QUERIES):
        answers[f"search-{n}"] = newest.search(query, limit=20, snippet="message")
        answers[f"count-{n}"] = pa.table({"count": [newest.count(query=query)]})
    for version in range(newest.version + 1):
        answers[f"version-{version}"] = it.open(str(path), version=version).to_arrow(
            columns=["id", "message"]
        )
    return answers


def dataset_answers(path: Path) -> dict[str, pa.Table]:
    """Return what a dataset of column groups answers, with and without its deleted rows, in every version."""
    newest = columns.open(str(path))
    asked = {
        "all": newest.to_arrow(),
        "kept": newest.to_arrow(apply_deltas=True),
        "where": newest.to_arrow(where="level = 'ERROR' AND ms > 3"),
        "take": newest.take([84, 0, 17, 17, 61]),
        "take-kept": newest.take([5, 1], ["id", "stock"], apply_deltas=True),
    }
    for version in range(1, 6):
        asked[f"version-{version}"] = columns.open(str(path), version=version).to_arrow()
    return asked


def answers(home: Path) -> dict[str, pa.Table]:
    """Return every answer by its name, `<table or dataset>/<question>`."""
    asked = {name: table_answers(home / name) for name in TABLES}
    asked |= {name: dataset_answers(home / name) for name in DATASETS}
    return {f"{name}/{question}": table for name, given in asked.items() for question, table in given.items()}
