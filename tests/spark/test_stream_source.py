"""Streaming reads: every row of a table once, in batches, and alerts on a search."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import AnalysisException, StreamingQueryException

import indextables as it

_REFUSED = (AnalysisException, StreamingQueryException)


class Copy:
    """A table, a stream that copies it to another table, and its checkpoint."""

    def __init__(self, spark, directory: Path) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self.directory = Path(tempfile.mkdtemp(dir=directory))
        self.spark = spark
        self.path, self.copy = str(self.directory / "table"), str(self.directory / "copy")
        self.written = 0

    def write(self, *days: str) -> None:
        numbers = range(self.written, self.written + len(days))
        rows = {
            "n": numbers,
            "day": days,
            "message": [f"disk {n} full" if n % 2 else "login" for n in numbers],
        }
        it.write(self.path, pa.table(rows), partition_by=["day"], text=["message"])
        self.written += len(days)

    def frame(self, **options: str):
        return self.spark.readStream.format("indextables").options(**options).load(self.path)

    def run(self, frame=None, **options: str) -> int:
        """Copy what is there now; return the number of batches."""
        frame = self.frame(**options) if frame is None else frame
        before = self._batches()
        stream = frame.writeStream.format("indextables").trigger(availableNow=True)
        query = stream.option("checkpointLocation", str(self.directory / "checkpoint")).start(self.copy)
        query.awaitTermination()
        return self._batches() - before

    def _batches(self) -> int:
        return len(list((self.directory / "checkpoint" / "commits").glob("[0-9]*")))

    def copied(self, column: str = "n") -> list[Any]:
        return sorted(it.open(self.copy).to_arrow().column(column).to_pylist())


def a_stream_reads_the_table_and_then_what_is_added(spark, directory: Path) -> None:
    copy = Copy(spark, directory)
    copy.write("mon", "tue", "wed")
    copy.write("mon")
    assert copy.run(maxFilesPerTrigger="2") == 2
    assert copy.copied() == [0, 1, 2, 3]
    copy.write("mon", "thu")
    it.open(copy.path).merge_splits()
    copy.write("tue")
    assert copy.run(maxFilesPerTrigger="2", maxBytesPerTrigger="1g") == 2
    assert copy.copied() == list(range(7))
    assert it.open(copy.copy).to_arrow().sort_by("n") == it.open(copy.path).to_arrow().sort_by("n")
    assert copy.run() == 0


def a_batch_that_is_run_again_has_the_same_rows(spark, directory: Path) -> None:
    copy = Copy(spark, directory)
    copy.write("mon", "tue")
    copy.run()
    for name in ("0", ".0.crc"):
        (copy.directory / "checkpoint" / "commits" / name).unlink(missing_ok=True)
    copy.write("wed")
    other = copy.copy
    copy.copy = str(copy.directory / "other")  # it does not have the first batch
    copy.run()
    assert copy.copied() == [0, 1, 2]
    assert it.open(other).count() == 2


def options_choose_rows_and_columns_as_in_a_scan(spark, directory: Path) -> None:
    copy = Copy(spark, directory)
    copy.write("mon", "tue", "wed")
    copy.run(query="message:disk", columns="message, n", startingVersion="0")
    assert it.open(copy.copy).to_arrow().to_pylist() == [{"message": "disk 1 full", "n": 1}]
    copy.write("mon", "tue")
    with pytest.raises(_REFUSED, match="option where was not given when"):
        copy.run(query="message:disk", columns="message, n", startingVersion="0", where="n > 1")
    copy.run(query="message:disk", columns="message, n", startingVersion="0")
    assert copy.copied() == [1, 3]
    scored = Copy(spark, directory)
    scored.path = copy.path
    with pytest.raises(_REFUSED, match="only if the option columns names them"):
        scored.run(scored.frame(query="disk").selectExpr("n", "_score AS score"))
    (scored.directory / "checkpoint").rename(scored.directory / "refused")
    scored.run(scored.frame(query="disk", columns="n, _score").selectExpr("n", "_score AS score"))
    assert scored.copied() == [1, 3]
    assert min(scored.copied("score")) > 0
    named = Copy(spark, directory)
    named.path = copy.path
    named.run(spark.readStream.option("startingVersion", "1").table(f"indextables.`{copy.path}`"))
    assert named.copied() == [3, 4]


def errors_say_what_to_do(spark, directory: Path) -> None:
    copy = Copy(spark, directory)
    copy.write("mon", "tue")
    for options, message in (
        (
            {"startingVersion": "soon"},
            "(?i)startingVersion is 'soon'; it takes the number of a version, or latest",
        ),
        ({"maxFilesPerTriger": "1"}, "(?i)unknown setting 'maxFilesPerTriger'"),
        ({"versionAsOf": "0"}, "use startingVersion"),
        ({"columns": "nope"}, "no column 'nope'"),
        ({"query": "message:("}, "message:\\("),
    ):
        with pytest.raises(_REFUSED, match=message):
            copy.run(**options)
    batch = spark.read.format("indextables").option("startingVersion", "0").load(copy.path)
    with pytest.raises(_REFUSED, match="(?i)option startingVersion is one of streams"):
        batch.collect()
    with pytest.raises(_REFUSED, match="could not be handed to the index"):
        copy.run(copy.frame().filter("indextables.textsearch(message, 'disk')"))
    assert not Path(copy.copy).exists()
    fresh = Copy(spark, directory)
    fresh.path = copy.path
    fresh.run()
    it.open(copy.path).drop_partitions("day = 'mon'")
    with pytest.raises(
        _REFUSED, match="removes rows that the stream may have read; start it with ignoreDeletes=true"
    ):
        fresh.run()
    copy.write("wed")
    fresh.run(ignoreDeletes="true")
    assert fresh.copied() == [0, 1, 2]


CASES: dict[str, Callable[..., None]] = {
    case.__name__: case
    for case in (
        a_stream_reads_the_table_and_then_what_is_added,
        a_batch_that_is_run_again_has_the_same_rows,
        options_choose_rows_and_columns_as_in_a_scan,
        errors_say_what_to_do,
    )
}


def prepare(spark, directory: Path) -> Path:
    return directory


@pytest.mark.parametrize("case", CASES)
def test_streaming_reads(spark, tmp_path, case):
    CASES[case](spark, tmp_path)


@pytest.mark.parametrize("case", CASES)
def test_streaming_reads_on_connect(connect_report, case):
    assert connect_report[case] is None, connect_report[case]


def test_a_stream_has_the_columns_of_now_over_overwrites_and_restores(spark, tmp_path: Path):
    copy = Copy(spark, tmp_path)
    it.write(copy.path, [{"a": 1, "n": 2}, {"a": 3, "n": 4}])
    it.open(copy.path).alter(rename={"a": "n", "n": "a"})
    it.write(copy.path, [{"n": 5, "p": "x"}], mode="overwrite", partition_by=["p"])
    it.write(copy.path, [{"n": 6, "p": "y"}, {"n": 7, "p": "y"}])
    it.open(copy.path).delete("n = 7")
    it.open(copy.path).restore(3)
    options = {"startingVersion": "0", "skipChangeCommits": "true"}
    copy.run(**options)
    assert copy.copied() == [1, 3, 6, 7, 7]  # 7 is there again
    assert it.open(copy.copy).count(where="p IS NULL") == 2
