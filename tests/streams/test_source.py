"""A table as a stream, without Spark: every row once, whatever other processes do to the table."""

from __future__ import annotations

import contextlib
import random
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa
import pytest

import indextables as it
from indextables.config import Settings, keys
from indextables.errors import (
    CommitConflictError,
    ConfigError,
    InputError,
    SchemaError,
    TableError,
    VersionNotFoundError,
)
from indextables.log.cleanup import reachable_files
from indextables.log.snapshots import invalidate_cache
from indextables.log.versions import advance_watermark, list_log
from indextables.streams import Limits, Offset, StreamOptions, StreamSource, plan_batch, stream_columns
from indextables.table import run_scan_task

ALL = Limits()


def source(path: Path, **options: str) -> StreamSource:
    return StreamSource(str(path), Settings(), StreamOptions.parse(options))


def write(path: Path, *numbers: int, **more: object) -> int:
    return it.write(path, pa.table({"n": pa.array(numbers, pa.int64())}), **more)


def rows(stream: StreamSource, start: Offset, end: Offset, column: str = "n") -> list[int]:
    plan = plan_batch(stream, start, end)
    return sorted(
        value
        for task in plan.tasks
        for batch in run_scan_task(task)
        for value in batch.column(column).to_pylist()
    )


def read_all(
    stream: StreamSource, start: Offset | None = None, limits: Limits | None = None
) -> list[list[int]]:
    """The rows of each batch, until nothing is left."""
    position = start or stream.initial_offset()
    batches = []
    while (end := stream.latest_offset(position, limits or stream.options.limits)) != position:
        batches.append(rows(stream, position, end))
        position = Offset.parse(end.to_json())
    return batches


def test_a_stream_begins_with_the_table_and_continues_with_versions(tmp_path: Path):
    for n in range(3):
        write(tmp_path, n)
    stream = source(tmp_path, maxFilesPerTrigger="2")
    start = stream.initial_offset()
    assert read_all(stream) == [[0, 1], [2]]
    write(tmp_path, 3)
    write(tmp_path, 4, 5)
    assert read_all(stream, start) == [[0, 1], [2, 3], [4, 5]]
    assert read_all(stream, limits=ALL) == [[0, 1, 2, 3, 4, 5]]


def test_deleted_rows_are_not_in_the_beginning_of_a_stream(tmp_path: Path):
    write(tmp_path, 1, 2, 3)
    it.open(tmp_path).delete(where="n = 2")
    assert read_all(source(tmp_path)) == [[1, 3]]


def test_deleted_rows_stop_a_stream_unless_it_ignores_them(tmp_path: Path):
    write(tmp_path, 1, 2, 3)
    start = source(tmp_path).initial_offset()
    it.open(tmp_path).delete(where="n = 2")
    write(tmp_path, 4)
    with pytest.raises(TableError, match=r"version 1 .*DELETE.* removes rows.*ignoreDeletes=true"):
        read_all(source(tmp_path, startingVersion="1"))
    for option in ("ignoreDeletes", "skipChangeCommits"):
        assert read_all(source(tmp_path, startingVersion="1", **{option: "true"})) == [[4]]
        assert read_all(source(tmp_path, **{option: "true"}), start) == [[1, 2, 3, 4]]


def test_replaced_rows_stop_a_stream_unless_it_skips_them(tmp_path: Path):
    write(tmp_path, 1, 2, 3)
    it.open(tmp_path).upsert(pa.table({"n": [2]}), on=["n"])
    write(tmp_path, 4)
    for options in ({}, {"ignoreDeletes": "true"}):
        with pytest.raises(TableError, match=r"version 1 .* replaces rows.*skipChangeCommits=true"):
            read_all(source(tmp_path, startingVersion="1", **options))
    assert read_all(source(tmp_path, startingVersion="1", skipChangeCommits="true")) == [[4]]


def test_limits_cut_inside_a_version(tmp_path: Path):
    data = pa.table({"n": range(5), "p": [str(i) for i in range(5)]})
    it.write(tmp_path, data, partition_by=["p"])
    it.write(tmp_path, data, partition_by=["p"])
    assert [len(batch) for batch in read_all(source(tmp_path, maxFilesPerTrigger="2"))] == [2, 2, 2, 2, 2]
    later = source(tmp_path, maxFilesPerTrigger="2", startingVersion="1")
    assert [len(batch) for batch in read_all(later)] == [2, 2, 1]
    size = max(it.open(tmp_path).files().column("size").to_pylist())
    assert [len(batch) for batch in read_all(source(tmp_path, maxBytesPerTrigger=str(3 * size)))] == [
        3,
        3,
        3,
        1,
    ]
    assert {len(batch) for batch in read_all(source(tmp_path, maxBytesPerTrigger="1"))} == {1}
    both = source(tmp_path, maxBytesPerTrigger=str(3 * size), maxFilesPerTrigger="1")
    assert {len(batch) for batch in read_all(both)} == {1}


def test_where_a_stream_begins(tmp_path: Path):
    for n in range(4):
        write(tmp_path, n)
    assert read_all(source(tmp_path, startingVersion="2")) == [[2, 3]]
    latest = source(tmp_path, startingVersion="latest")
    start = latest.initial_offset()
    write(tmp_path, 4)
    assert read_all(latest, start) == [[4]]
    times = [row["timestamp"] for row in it.open(tmp_path).history().to_pylist()][::-1]
    at = source(tmp_path, startingTimestamp=times[2].isoformat())
    assert read_all(at)[0][-1] == 4
    assert {n for batch in read_all(at) for n in batch} >= {2, 3, 4}
    assert read_all(source(tmp_path, startingTimestamp="2000-01-01")) == [[0, 1, 2, 3, 4]]
    with pytest.raises(InputError, match="after the newest version"):
        source(tmp_path, startingTimestamp="2100-01-01 00:00:00").initial_offset()
    with pytest.raises(InputError, match="startingVersion is 9, and the newest version"):
        source(tmp_path, startingVersion="9").initial_offset()


def test_the_first_batch_is_the_same_when_it_is_run_again(tmp_path: Path):
    write(tmp_path, 0)
    stream = source(tmp_path)
    end = stream.latest_offset(stream.initial_offset(), ALL)
    write(tmp_path, 1)
    again = stream.initial_offset()
    assert again.origin != end.origin
    assert rows(stream, again, end) == [0]
    assert read_all(stream, end) == [[1]]


def test_merges_are_no_changes(tmp_path: Path):
    stream = source(tmp_path)
    for n in range(3):
        write(tmp_path, n)
    start = stream.initial_offset()
    end = stream.latest_offset(start, ALL)
    write(tmp_path, 3)
    it.open(tmp_path).merge_splits()
    it.open(tmp_path).checkpoint()
    write(tmp_path, 4)
    assert rows(stream, start, end) == [0, 1, 2]
    assert read_all(stream, end) == [[3, 4]]
    assert sorted(n for batch in read_all(stream) for n in batch) == [0, 1, 2, 3, 4]


def test_removed_rows_are_an_error_unless_they_are_ignored(tmp_path: Path):
    data = pa.table({"n": [1, 2], "p": ["a", "b"]})
    it.write(tmp_path, data, partition_by=["p"])
    start = source(tmp_path).initial_offset()
    it.write(tmp_path, data.slice(0, 1))
    it.open(tmp_path).drop_partitions("p = 'a'")
    it.write(tmp_path, data.slice(1))
    assert read_all(source(tmp_path, ignoreDeletes="true"), start) == [[1, 1, 2, 2]]
    assert read_all(source(tmp_path, skipChangeCommits="true"), start) == [[1, 1, 2, 2]]
    strict = source(tmp_path)
    before = strict.latest_offset(start, ALL)
    assert rows(strict, start, before) == [1, 1, 2]  # what comes before the change is read first
    with pytest.raises(TableError, match=r"version 2 .*DROP PARTITIONS.* removes rows.*ignoreDeletes=true"):
        strict.latest_offset(before, ALL)


def test_an_overwrite_is_an_error_unless_it_is_skipped(tmp_path: Path):
    write(tmp_path, 1)
    start = source(tmp_path).initial_offset()
    write(tmp_path, 2, mode="overwrite")
    write(tmp_path, 3)
    end = source(tmp_path).latest_offset(start, ALL)
    for options in ({}, {"ignoreDeletes": "true"}):
        with pytest.raises(TableError, match=r"version 1 .* replaces rows .*skipChangeCommits=true"):
            source(tmp_path, **options).latest_offset(end, ALL)
    assert read_all(source(tmp_path, skipChangeCommits="true"), start) == [[1, 3]]


def test_a_file_that_is_restored_is_new_again(tmp_path: Path):
    data = pa.table({"n": [1, 2], "p": ["a", "b"]})
    it.write(tmp_path, data, partition_by=["p"])
    start = source(tmp_path).initial_offset()
    it.open(tmp_path).drop_partitions("p = 'a'")
    it.open(tmp_path).restore(0)
    assert read_all(source(tmp_path, ignoreDeletes="true"), start) == [[1, 1, 2]]


@pytest.mark.parametrize("options", [{}, {"ignoreDeletes": "true"}, {"skipChangeCommits": "true"}])
def test_deleted_rows_that_are_restored_are_new_again(tmp_path: Path, options: dict[str, str]):
    write(tmp_path, *range(10))
    for where in ("n < 3", "n > 7"):
        it.open(tmp_path).delete(where=where)
    it.open(tmp_path).restore(1)
    assert read_all(source(tmp_path, startingVersion="3", **options)) == [[8, 9]]
    it.open(tmp_path).restore(0)
    assert read_all(source(tmp_path, startingVersion="3", **options)) == [[0, 1, 2, 8, 9]]
    where = source(tmp_path, startingVersion="4", where="n = 1 OR n = 5", **options)
    assert read_all(where) == [[1]]


def test_a_restore_that_deletes_and_brings_back_rows_replaces_them(tmp_path: Path):
    write(tmp_path, *range(10))
    it.open(tmp_path).delete(where="n < 3")
    it.open(tmp_path).restore(0)
    it.open(tmp_path).delete(where="n > 1")
    it.open(tmp_path).restore(1)  # 0 and 1 are deleted, and 3 to 9 are there again
    with pytest.raises(TableError, match=r"version 4 .*RESTORE.* replaces rows"):
        read_all(source(tmp_path, startingVersion="4", ignoreDeletes="true"))
    assert read_all(source(tmp_path, startingVersion="4", skipChangeCommits="true")) == [[]]
    it.open(tmp_path).restore(3)
    it.open(tmp_path).delete(where="n = 0")
    it.open(tmp_path).restore(3)
    assert read_all(source(tmp_path, startingVersion="7")) == [[0]]
    with pytest.raises(TableError, match=r"version 6 .*DELETE.* removes rows"):
        read_all(source(tmp_path, startingVersion="6"))


def test_versions_that_were_cleaned_up_are_an_error_unless_losses_are_accepted(tmp_path: Path):
    for n in range(3):
        write(tmp_path, n)
    stream = source(tmp_path, startingVersion="0")
    start = stream.initial_offset()
    first = source(tmp_path).initial_offset()
    write(tmp_path, 3)
    it.open(tmp_path).checkpoint()
    it.open(tmp_path).truncate_time_travel()
    write(tmp_path, 4)
    with pytest.raises(VersionNotFoundError, match="failOnDataLoss=false"):
        stream.latest_offset(start, ALL)
    with pytest.raises(VersionNotFoundError, match="failOnDataLoss=false"):
        source(tmp_path).latest_offset(first, ALL)
    with pytest.raises(VersionNotFoundError, match="has been cleaned up; the first that can be read is 3"):
        stream.initial_offset()
    assert read_all(source(tmp_path, startingVersion="0", failOnDataLoss="false"), start) == [[3, 4]]
    assert read_all(source(tmp_path, failOnDataLoss="false"), first) == [[3, 4]]
    assert read_all(source(tmp_path, failOnDataLoss="false", startingVersion="0")) == [[3, 4]]


def test_a_purge_keeps_what_a_stream_that_is_behind_reads_next(tmp_path: Path):
    write(tmp_path, 0)
    stream = source(tmp_path, startingVersion="1")
    write(tmp_path, 1)
    start = stream.initial_offset()
    it.open(tmp_path).merge_splits()
    it.open(tmp_path).checkpoint()
    store = stream.store
    advance_watermark(store, 0, lambda _: None)  # a clean-up of version 0: version 1 has no base any more
    (tmp_path / "_transaction_log" / f"{0:020d}.json").unlink()
    reachable = reachable_files(store, stream.newest(), list_log(store), Settings())
    (key,) = (new.key for _, new in stream.files(stream.newest(), start, stream.latest_offset(start, ALL)))
    assert key not in stream.newest().files
    assert key in reachable


def test_another_table_and_other_options_are_noticed(tmp_path: Path):
    write(tmp_path / "a", 1)
    write(tmp_path / "b", 1)
    start = source(tmp_path / "a").initial_offset()
    with pytest.raises(TableError, match="the table was replaced"):
        source(tmp_path / "b").latest_offset(start, ALL)
    with pytest.raises(ConfigError, match="option where was not given when .* first started, and is 'n > 1'"):
        source(tmp_path / "a", where="n > 1").latest_offset(start, ALL)
    source(tmp_path / "a", maxFilesPerTrigger="3", ignoreDeletes="true").latest_offset(start, ALL)


def test_a_change_of_columns_stops_the_stream(tmp_path: Path):
    write(tmp_path, 1)
    stream = source(tmp_path, skipChangeCommits="true")
    columns = stream_columns(stream.newest(), stream.options)
    start = stream.initial_offset()
    it.write(tmp_path, pa.table({"n": [1], "m": [2]}), mode="overwrite")
    with pytest.raises(SchemaError, match="start the query again"):
        plan_batch(stream, start, stream.latest_offset(start, ALL), columns)


def test_query_where_and_columns_are_planned_like_a_scan(tmp_path: Path):
    data = pa.table({"n": [1, 2, 3], "message": ["disk full", "disk slow", "login ok"]})
    it.write(tmp_path, data, text=["message"])
    assert read_all(source(tmp_path, query="message:disk")) == [[1, 2]]
    assert read_all(source(tmp_path, query="disk", where="n > 1")) == [[2]]
    assert read_all(source(tmp_path, where="message TEXTSEARCH 'login'", columns="n,_score")) == [[3]]
    assert read_all(source(tmp_path, where="n > 99", columns='["n"]')) == [[]]
    plan_of = source(tmp_path, where="n > 99")
    start = plan_of.initial_offset()
    assert plan_batch(plan_of, start, plan_of.latest_offset(start, ALL)).splits_read == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"startingVersion": "-1"}, "startingVersion is '-1'"),
        ({"startingVersion": "1", "startingTimestamp": "2026-01-01"}, "exclude each other"),
        ({"startingTimestamp": "soon"}, "startingTimestamp is 'soon'; it takes a time"),
        ({"maxFilesPerTrigger": "0"}, "maxFilesPerTrigger is '0'"),
        ({"maxBytesPerTrigger": "much"}, "maxBytesPerTrigger is 'much'"),
        ({"ignoreDeletes": "yes"}, "ignoreDeletes is 'yes'; it takes true or false"),
        ({"columns": "a,,b"}, "columns is 'a,,b'"),
    ],
)
def test_an_option_that_is_none_is_refused(options: dict[str, str], message: str):
    with pytest.raises(ConfigError, match=message):
        StreamOptions.parse(options)


@pytest.mark.parametrize(
    "batches", [30, pytest.param(1000, marks=[pytest.mark.soak, pytest.mark.timeout(10_800)])]
)
def test_every_row_is_read_once_while_the_table_is_maintained(tmp_path: Path, batches: int):
    seed = random.randrange(10**9)
    print(f"seed {seed}")
    rng = random.Random(seed)
    settings = {
        keys.PURGE_RETENTION_CHECK.key: "false",
    }
    written, read = 0, Counter[int]()

    def append() -> None:
        nonlocal written
        count = rng.randint(1, 5)
        data = pa.table(
            {"n": range(written, written + count), "p": [str(rng.randint(0, 2)) for _ in range(count)]}
        )
        it.write(tmp_path, data, partition_by=["p"])
        written += count

    for _ in range(3):
        append()
    position = source(tmp_path).initial_offset()
    done = 0
    planned: tuple[Offset, list[int]] | None = None
    while done < batches:
        for _ in range(rng.randint(0, 2)):
            append()
        table = it.open(tmp_path, settings=settings)
        is_reading_first = position.position.is_starting_version
        match rng.randrange(5):
            case 0:
                table.merge_splits()
            case 1:
                table.checkpoint()
            case 2 if not is_reading_first and position.position.version > table.version:
                table.clean_versions("0 hours")  # the stream has read everything
            case 3:
                table.purge(older_than="0 hours")
        limits = Limits(rng.choice([None, 1, 2, 5]), rng.choice([None, 1, 20_000]))
        stream = source(tmp_path)
        end = planned[0] if planned else stream.latest_offset(position, limits)
        if end == position:
            append()
            continue
        batch = rows(stream, position, end)
        assert not planned or planned[1] == batch, "a batch that is run again has other rows"
        planned = None
        if rng.random() < 0.2:
            planned = (end, batch)  # the query died before it stored that the batch is done
        else:
            read.update(batch)
            position = Offset.parse(end.to_json())
            done += 1
    while (end := planned[0] if planned else source(tmp_path).latest_offset(position, ALL)) != position:
        planned = None
        read.update(rows(source(tmp_path), position, end))
        position = end
    assert read == dict.fromkeys(range(written), 1)


@pytest.mark.parametrize(
    "batches", [30, pytest.param(1000, marks=[pytest.mark.soak, pytest.mark.timeout(10_800)])]
)
def test_every_row_is_read_once_while_others_merge_and_purge_at_the_same_time(tmp_path: Path, batches: int):
    """A thread appends, merges, writes states and purges all the time; the source reads batch by batch."""
    seed = random.randrange(10**9)
    print(f"seed {seed}")
    rng = random.Random(seed)
    settings = {keys.PURGE_RETENTION_CHECK.key: "false", keys.CHECKPOINT_INTERVAL.key: "3"}
    read = Counter[int]()
    write(tmp_path, 0)
    stop = threading.Event()

    def maintain() -> int:
        """Return how many rows the table has at the end. What conflicts is done another time."""
        chance, count = random.Random(seed + 1), 1
        while not stop.is_set():
            write(tmp_path, *range(count, count + 3))
            count += 3
            table = it.open(tmp_path, settings=settings)
            with contextlib.suppress(CommitConflictError):
                match chance.randrange(3):
                    case 0:
                        table.merge_splits()
                    case 1:
                        table.checkpoint()
                    case 2:
                        table.purge(older_than="0 hours")
        return count

    position = source(tmp_path).initial_offset()
    done = 0
    with ThreadPoolExecutor(1) as pool:
        maintenance = pool.submit(maintain)
        try:
            while done < batches and not maintenance.done():
                limits = Limits(rng.choice([None, 1, 2, 5]), rng.choice([None, 1, 20_000]))
                stream = source(tmp_path)
                end = stream.latest_offset(position, limits)
                if end != position:
                    read.update(rows(stream, position, end))
                    position = Offset.parse(end.to_json())
                    done += 1
        finally:
            stop.set()
        written = maintenance.result()
    while (end := source(tmp_path).latest_offset(position, ALL)) != position:
        read.update(rows(source(tmp_path), position, end))
        position = end
    assert read == dict.fromkeys(range(written), 1)


def test_a_stream_continues_over_a_renamed_column_only_when_it_is_started_again(tmp_path: Path):
    write(tmp_path, 1, 2)
    stream = source(tmp_path)
    start = stream.initial_offset()
    columns = stream_columns(it.open(tmp_path).snapshot, stream.options)
    it.open(tmp_path).alter(rename={"n": "number"}, add={"n": "long"}, default={"n": 7})
    end = stream.latest_offset(start, ALL)
    with pytest.raises(SchemaError, match="start the query again"):
        plan_batch(stream, start, end, columns)
    again = source(tmp_path)
    assert rows(again, start, end, "number") == [1, 2]
    assert rows(again, start, end, "n") == [7, 7]


def shown(stream: StreamSource) -> list[dict[str, object]]:
    start = stream.initial_offset()
    plan = plan_batch(stream, start, stream.latest_offset(start, ALL))
    return [row for task in plan.tasks for batch in run_scan_task(task) for row in batch.to_pylist()]


def test_rows_before_an_overwrite_have_the_columns_of_now_by_identity(tmp_path: Path):
    it.write(tmp_path, [{"a": 1, "b": 2}])
    it.open(tmp_path).alter(rename={"a": "b", "b": "a"})
    it.write(tmp_path, [{"a": 3, "b": 4}])
    it.write(tmp_path, [{"a": 9, "c": 8}], mode="overwrite")
    it.write(tmp_path, [{"a": 7, "c": 6}])
    rows = [{"a": 2, "c": None}, {"a": 3, "c": None}, {"a": 7, "c": 6}]
    skipping = {"skipChangeCommits": "true"}
    assert shown(source(tmp_path, startingVersion="0", **skipping)) == rows
    assert shown(source(tmp_path, startingVersion="0", where="c IS NULL AND a > 2", **skipping)) == rows[1:2]
    assert [
        row["a"] for row in shown(source(tmp_path, startingVersion="0", where="NOT c = 8", **skipping))
    ] == [7]


def test_a_stream_over_a_changed_partitioning_has_the_values_of_all_columns(tmp_path: Path):
    it.write(tmp_path, [{"n": 1, "p": "x"}, {"n": 2, "p": None}])
    start = source(tmp_path).initial_offset()
    it.write(tmp_path, [{"n": 3, "p": "z"}], mode="overwrite", partition_by=["p"])
    it.write(tmp_path, [{"n": 4, "p": "w"}], mode="append")
    rows = [(1, "x"), (2, None), (4, "w")]
    stream = source(tmp_path, skipChangeCommits="true")
    plan = plan_batch(stream, start, stream.latest_offset(start, ALL))
    batches = [batch for task in plan.tasks for batch in run_scan_task(task)]
    assert [(row["n"], row["p"]) for batch in batches for row in batch.to_pylist()] == rows
    where = source(tmp_path, skipChangeCommits="true", startingVersion="0", where="p = 'x' OR p = 'w'")
    assert [row["n"] for row in shown(where)] == [1, 4]


def test_a_stream_says_what_it_cannot_show(tmp_path: Path):
    it.write(tmp_path, [{"n": 1, "m": "disk full"}], text=["m"])
    kinds = {"spark.indextables.indexing.typemap.m": "string"}
    it.write(tmp_path, [{"n": "x", "m": "disk slow"}], mode="overwrite", settings=kinds)
    options = {"startingVersion": "0", "skipChangeCommits": "true"}
    with pytest.raises(
        SchemaError, match=r"'n' is string now and was long in version 0 .*new checkpointLocation"
    ):
        shown(source(tmp_path, **options))
    assert shown(source(tmp_path, columns="m", **options)) == [{"m": "disk full"}]
    assert shown(source(tmp_path, columns="m", where="m = 'disk full'", **options)) == [{"m": "disk full"}]
    with pytest.raises(
        SchemaError, match="index of column 'm' is another one now, and it was text in version 0"
    ):
        shown(source(tmp_path, columns="m", query="m:disk", **options))
    assert shown(source(tmp_path, columns="m", startingVersion="2")) == []


def test_columns_that_were_lost_with_their_version_are_an_error(tmp_path: Path):
    it.write(tmp_path, [{"a": 1}])
    it.write(tmp_path, [{"a": 2}])
    it.write(tmp_path, [{"b": 3}], mode="overwrite")
    it.open(tmp_path).checkpoint()
    advance_watermark(source(tmp_path).store, 0, lambda _: None)
    (tmp_path / "_transaction_log" / f"{0:020d}.json").unlink()
    invalidate_cache()
    with pytest.raises(VersionNotFoundError, match="columns that .* had in version 1 are not known any more"):
        shown(source(tmp_path, startingVersion="1", skipChangeCommits="true"))
