"""EXPLAIN says how many splits of another program a scan reads: they are read more slowly until they are merged."""

from __future__ import annotations

import gzip
from pathlib import Path

import orjson
import pyarrow as pa

import indextables as it


def explained(spark, path: Path) -> str:
    reader = spark.read.format("indextables").option("spark.indextables.read.answerOnDriver.maxRows", "0")
    plan: str = reader.load(str(path)).filter("n = 1")._jdf.queryExecution().toString()
    return plan


def test_explain_counts_splits_of_another_program(spark, tmp_path: Path):
    for name in ("own", "foreign"):
        for _ in range(2):
            it.write(tmp_path / name, pa.table({"n": [1, 2]}))
    log = tmp_path / "foreign" / "_transaction_log" / f"{0:020}.json"
    actions = [orjson.loads(line) for line in gzip.decompress(log.read_bytes()).splitlines()]
    for action in actions:
        if "add" in action:
            action["add"]["docMappingRef"] = "of-another-program"
    lines = [orjson.dumps(action) for action in actions if "commitInfo" not in action]  # it has a checksum
    log.write_bytes(gzip.compress(b"\n".join(lines)))
    assert "another program" not in explained(spark, tmp_path / "own")
    assert ", 1 splits of another program, faster after MERGE SPLITS" in explained(
        spark, tmp_path / "foreign"
    )
