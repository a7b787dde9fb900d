"""`readChangeFeed` in Spark, in batch and as a stream: the rows that `Table.changes(...).to_arrow(feed=True)` has."""

from __future__ import annotations

import tempfile
import uuid
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import AnalysisException, StreamingQueryException

import indextables as it
from indextables.config import keys

_REFUSED = (AnalysisException, StreamingQueryException)
FEED = {"readChangeFeed": "true"}


def prepare(spark, directory: Path) -> Path:
    return directory


def new_table(directory: Path) -> str:
    """Return a table whose versions 0 to 5 insert, insert, delete, merge, update and insert."""
    path = str(directory / uuid.uuid4().hex)
    for ids in ([1, 2, 3], [4, 5]):
        it.write(
            path,
            pa.table({"id": ids, "day": ["mon"] * len(ids), "a": ["x"] * len(ids)}),
            partition_by=["day"],
        )
    it.open(path).delete(where="id = 2")
    it.open(path).merge_splits()
    it.open(path).upsert(pa.table({"id": [5], "day": ["mon"], "a": ["new"]}), on=["id"])
    it.write(path, pa.table({"id": [6], "day": ["tue"], "a": ["x"]}))
    assert it.open(path).version == 5
    return path


def feed(spark, path: str, **options: Any):
    return spark.read.format("indextables").options(**FEED, **options).load(path)


def rows_of(frame) -> list[tuple]:
    return sorted(map(repr, frame.toArrow().to_pylist()))


def expected(path: str, first: int, last: int | None = None) -> list[str]:
    rows = it.open(path, version=last).changes(first - 1).to_arrow(feed=True)
    return sorted(map(repr, rows.to_pylist()))


def a_batch_read_has_the_rows_of_the_feed(spark, directory: Path) -> None:
    path = new_table(directory)
    before = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    try:
        for first, last in ((0, None), (1, 2), (4, 4), (3, 3)):
            options = {"startingVersion": first} | ({} if last is None else {"endingVersion": last})
            assert rows_of(feed(spark, path, **options)) == expected(path, first, last), (first, last)
    finally:
        spark.conf.set("spark.sql.session.timeZone", before)
    changes = feed(spark, path, startingVersion=0)
    assert changes.columns == ["id", "day", "a", "_change_type", "_commit_version", "_commit_timestamp"]
    kinds = changes.filter("_commit_version = 4").select("_change_type", "a").collect()
    assert sorted(map(tuple, kinds)) == [("update_postimage", "new"), ("update_preimage", "x")]
    assert changes.count() == 9
    assert [row.id for row in changes.filter("_change_type = 'delete'").select("id").collect()] == [2]
    assert changes.groupBy("_commit_version").count().count() == 5
    it.write(path, pa.table({"id": [7], "day": ["tue"], "a": ["x"]}))
    assert changes.count() == 9, "the frame stays at its version"


def a_range_can_be_given_by_times(spark, directory: Path) -> None:
    path = new_table(directory)
    times = {row["version"]: row["timestamp"] for row in it.open(path).history().to_pylist()}
    start = times[4].isoformat()
    first = min(version for version, time in times.items() if time >= times[4])
    changes = feed(spark, path, startingTimestamp=start, endingTimestamp=times[5].isoformat())
    assert changes.count() == len(expected(path, first))
    older = spark.read.format("indextables").option("readChangeData", "true")
    assert older.option("startingVersion", 4).load(path).count() == len(expected(path, 4))


def what_cannot_be_read_is_named(spark, directory: Path) -> None:
    path = new_table(directory)
    refused = {
        "needs startingVersion or startingTimestamp": {},
        "startingVersion is after version 5": {"startingVersion": "6"},
        "endingVersion is 9, and the newest version": {"startingVersion": "0", "endingVersion": "9"},
        "endingVersion and endingTimestamp exclude": {"endingVersion": "1", "endingTimestamp": "2026-01-01"},
        "latest is for streams": {"startingVersion": "latest"},
        "instead of versionAsOf": {"startingVersion": "0", "versionAsOf": "1"},
        "option where and readChangeFeed exclude": {"startingVersion": "0", "where": "id = 1"},
        "option skipChangeCommits and readChangeFeed exclude": {"skipChangeCommits": "true"},
        "it takes true or false": {"readChangeData": "maybe"},
    }
    for message, options in refused.items():
        with pytest.raises(_REFUSED, match=message):
            feed(spark, path, **options).collect()
    with pytest.raises(_REFUSED, match="it needs readChangeFeed=true"):
        spark.read.format("indextables").option("endingVersion", 1).load(path).collect()
    with pytest.raises(_REFUSED, match="could not be handed to the index"):
        feed(spark, path, startingVersion=0).filter("a TEXTSEARCH 'x'").collect()


def a_purged_range_is_an_error(spark, directory: Path) -> None:
    path = str(directory / uuid.uuid4().hex)
    it.write(path, pa.table({"id": [1]}))
    it.write(path, pa.table({"id": [2]}), mode="overwrite")
    it.open(path).truncate_time_travel()
    with pytest.raises(_REFUSED, match="has been cleaned up"):
        feed(spark, path, startingVersion=0).collect()
    it.open(path, settings={keys.PURGE_RETENTION_CHECK.key: "false"}).purge(older_than="0 hours")
    with pytest.raises(Exception, match=r"version 1 .*purged; ask for changes since version 1"):
        feed(spark, path, startingVersion=1).collect()


class Copy:
    """A stream of the changes of a table that is written to another table, and its checkpoint."""

    def __init__(self, spark, directory: Path, path: str) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self.spark, self.path, self.directory = spark, path, Path(tempfile.mkdtemp(dir=directory))
        self.copy = str(self.directory / "copy")

    def run(self, **options: str) -> int:
        """Copy what is there now; return the number of batches."""
        before = self._batches()
        frame = self.spark.readStream.format("indextables").options(**FEED, **options).load(self.path)
        stream = frame.writeStream.format("indextables").trigger(availableNow=True)
        query = stream.option("checkpointLocation", str(self.directory / "checkpoint")).start(self.copy)
        query.awaitTermination()
        return self._batches() - before

    def _batches(self) -> int:
        return len(list((self.directory / "checkpoint" / "commits").glob("[0-9]*")))

    def copied(self) -> list[str]:
        return sorted(map(repr, it.open(self.copy).to_arrow().to_pylist()))


def a_stream_has_every_change_once(spark, directory: Path) -> None:
    path = new_table(directory)
    copy = Copy(spark, directory, path)
    assert copy.run(startingVersion="0", maxFilesPerTrigger="1") == 5, (
        "a batch for each version but the merge"
    )
    assert copy.copied() == expected(path, 0)
    it.open(path).delete(where="id = 6")
    it.open(path).upsert(pa.table({"id": [1], "day": ["mon"], "a": ["again"]}), on=["id"])
    assert copy.run(startingVersion="0") == 1
    assert copy.copied() == expected(path, 0)
    last = str(max(int(file.name) for file in (copy.directory / "checkpoint" / "commits").glob("[0-9]*")))
    for name in (last, f".{last}.crc"):
        (copy.directory / "checkpoint" / "commits" / name).unlink(missing_ok=True)
    copy.run(startingVersion="0")  # runs the batch again
    assert copy.copied() == expected(path, 0)
    with pytest.raises(_REFUSED, match="option startingVersion was '0' when the query was first started"):
        copy.run()


def a_stream_begins_with_the_rows_of_the_table(spark, directory: Path) -> None:
    path = new_table(directory)
    copy = Copy(spark, directory, path)
    copy.run(maxFilesPerTrigger="1")
    rows = it.open(copy.copy).to_arrow()
    assert sorted(rows.column("id").to_pylist()) == [1, 3, 4, 5, 6]
    assert set(rows.column("_change_type").to_pylist()) == {"insert"}
    assert set(rows.column("_commit_version").to_pylist()) == {5}
    it.open(path).delete(where="id >= 5")
    copy.run()
    rows = it.open(copy.copy).to_arrow().filter(pa.compute.field("_commit_version") == 6)
    assert sorted(rows.column("id").to_pylist()) == [5, 6]
    assert set(rows.column("_change_type").to_pylist()) == {"delete"}


def what_a_stream_cannot_do_is_named(spark, directory: Path) -> None:
    path = new_table(directory)
    with pytest.raises(_REFUSED, match="a stream does not end"):
        Copy(spark, directory, path).run(startingVersion="0", endingVersion="2")
    with pytest.raises(_REFUSED, match="option ignoreDeletes and readChangeFeed exclude each other"):
        Copy(spark, directory, path).run(ignoreDeletes="true")


CASES = {
    case.__name__: case
    for case in (
        a_batch_read_has_the_rows_of_the_feed,
        a_range_can_be_given_by_times,
        what_cannot_be_read_is_named,
        a_purged_range_is_an_error,
        a_stream_has_every_change_once,
        a_stream_begins_with_the_rows_of_the_table,
        what_a_stream_cannot_do_is_named,
    )
}


@pytest.mark.parametrize("case", CASES)
def test_on_classic(case, spark, tmp_path):
    CASES[case](spark, prepare(spark, tmp_path))


@pytest.mark.parametrize("case", CASES)
def test_on_connect(case, connect_report):
    assert connect_report[case] is None, connect_report[case]
