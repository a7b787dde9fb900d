"""The planning bench's files in an Iceberg table, its manifests sorted by partition, through `pyiceberg`."""

from __future__ import annotations

import multiprocessing
import struct
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np
from pyiceberg.catalog.noop import NoopCatalog
from pyiceberg.expressions import And, BooleanExpression, EqualTo, GreaterThanOrEqual, LessThanOrEqual
from pyiceberg.io import load_file_io
from pyiceberg.manifest import (
    DataFile,
    DataFileContent,
    FileFormat,
    ManifestEntry,
    ManifestEntryStatus,
    ManifestFile,
    clear_manifest_cache,
    write_manifest,
    write_manifest_list,
)
from pyiceberg.partitioning import PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.serializers import ToOutputFile
from pyiceberg.table import CommitTableResponse, StaticTable, Table
from pyiceberg.table.metadata import TableMetadata, new_table_metadata
from pyiceberg.table.snapshots import Operation, Snapshot, Summary
from pyiceberg.table.sorting import UNSORTED_SORT_ORDER
from pyiceberg.table.update import AddSnapshotUpdate, SetSnapshotRefUpdate, TableUpdate, update_table_metadata
from pyiceberg.transforms import IdentityTransform
from pyiceberg.typedef import Record
from pyiceberg.types import (
    DateType,
    DoubleType,
    LongType,
    NestedField,
    StringType,
    TimestamptzType,
)

from bench.states import drawn_files as drawn
from bench.states.drawn_files import CHOSEN_DAY, NEW_FILES, PARTITIONED_BY, Files

ENTRIES_A_MANIFEST: Final = 50_000
FIRST_SNAPSHOT: Final = 1
TYPES: Final = {
    "day": DateType(),
    "timestamp": TimestamptzType(),
    "event_id": LongType(),
    "latency": DoubleType(),
    "service": StringType(),
    "message": StringType(),
}
IDS: Final = {name: number for number, name in enumerate(TYPES, start=1)}
SCHEMA: Final = Schema(*(NestedField(IDS[name], name, kind) for name, kind in TYPES.items()))
SPEC: Final = PartitionSpec(
    PartitionField(IDS[PARTITIONED_BY], 1000, IdentityTransform(), PARTITIONED_BY), spec_id=0
)
MERGE_ALL: Final = {
    "commit.manifest-merge.enabled": "true",
    "commit.manifest.min-count-to-merge": "2",
    "commit.manifest.target-size-bytes": str(1 << 30),
}


class FileCatalog(NoopCatalog):  # type: ignore[misc]
    """Commits by writing the next metadata file: less than what any real catalog does."""

    def commit_table(
        self, table: Table, requirements: tuple[Any, ...], updates: tuple[TableUpdate, ...]
    ) -> CommitTableResponse:
        for requirement in requirements:
            requirement.validate(table.metadata)
        metadata = update_table_metadata(table.metadata, updates)
        place = _write_metadata(metadata)
        return CommitTableResponse(metadata=metadata, metadata_location=place)


def build(files: Files, home: Path) -> None:
    (home / "metadata").mkdir(parents=True)
    order = np.argsort(files.day, kind="stable")
    parts = [
        (str(home), number, _taken(files, order[start : start + ENTRIES_A_MANIFEST]))
        for number, start in enumerate(range(0, len(files), ENTRIES_A_MANIFEST))
    ]
    if len(parts) == 1:
        manifests = [_manifest(*parts[0])]
    else:
        with multiprocessing.get_context("forkserver").Pool() as pool:
            manifests = pool.starmap(_manifest, parts, chunksize=1)
    io = load_file_io(location=str(home))
    listed = str(home / "metadata/snap-1.avro")
    with write_manifest_list(2, io.new_output(listed), FIRST_SNAPSHOT, None, 1, "zstandard") as writer:
        writer.add_manifests(manifests)
    snapshot = Snapshot(
        snapshot_id=FIRST_SNAPSHOT,
        sequence_number=1,
        timestamp_ms=time.time_ns() // 1_000_000,
        manifest_list=listed,
        summary=Summary(Operation.APPEND),
        schema_id=0,
    )
    metadata = new_table_metadata(SCHEMA, SPEC, UNSORTED_SORT_ORDER, str(home), MERGE_ALL)
    main = SetSnapshotRefUpdate(ref_name="main", type="branch", snapshot_id=FIRST_SNAPSHOT)
    _write_metadata(update_table_metadata(metadata, (AddSnapshotUpdate(snapshot=snapshot), main)))


def read_all(home: Path, _: int) -> Callable[[], int]:
    return lambda: _planned(home, None)


def plan_partition(home: Path, _: int) -> Callable[[], int]:
    return lambda: _planned(home, EqualTo(PARTITIONED_BY, drawn.day_text(CHOSEN_DAY)))


def plan_following(home: Path, _: int) -> Callable[[], int]:
    low, high = (drawn.moment(n).isoformat() for n in drawn.chosen_range("timestamp"))
    return lambda: _planned(
        home, And(GreaterThanOrEqual("timestamp", low), LessThanOrEqual("timestamp", high))
    )


def plan_across(home: Path, _: int) -> Callable[[], int]:
    low, high = drawn.chosen_range("event_id")
    return lambda: _planned(home, And(GreaterThanOrEqual("event_id", low), LessThanOrEqual("event_id", high)))


def append(home: Path, run: int) -> Callable[[], int]:
    files = list(_data_files(drawn.draw(NEW_FILES, first=run * NEW_FILES)))

    def run_it() -> int:
        with _opened(home).transaction() as transaction, transaction.update_snapshot().fast_append() as added:
            for file in files:
                added.append_data_file(file)
        return 1

    return run_it


def compact(home: Path, run: int) -> Callable[[], int]:
    """It has no rewriting of manifests by itself: an append that merges all of them is what comes nearest."""
    append(home, run)()
    files = list(_data_files(drawn.draw(NEW_FILES, first=(run + 1) * NEW_FILES)))

    def run_it() -> int:
        with (
            _opened(home).transaction() as transaction,
            transaction.update_snapshot().merge_append() as added,
        ):
            for file in files:
                added.append_data_file(file)
        return 1

    return run_it


def _opened(home: Path) -> Table:
    clear_manifest_cache()
    table = StaticTable.from_metadata(str(home))
    return Table(table.name(), table.metadata, table.metadata_location, table.io, FileCatalog("bench"))


def _planned(home: Path, condition: BooleanExpression | None) -> int:
    table = _opened(home)
    scan = table.scan() if condition is None else table.scan(row_filter=condition)
    return len(list(scan.plan_files()))


def _write_metadata(metadata: TableMetadata) -> str:
    folder = Path(metadata.location) / "metadata"
    number = len(metadata.snapshots)
    place = folder / f"v{number}.metadata.json"
    ToOutputFile.table_metadata(metadata, load_file_io(location=str(place)).new_output(str(place)))
    (folder / "version-hint.text").write_text(str(number))
    return str(place)


def _manifest(home: str, number: int, files: Files) -> ManifestFile:
    place = f"{home}/metadata/manifest-{number}.avro"
    output = load_file_io(location=place).new_output(place)
    with write_manifest(2, SPEC, SCHEMA, output, FIRST_SNAPSHOT, "zstandard") as writer:
        for file in _data_files(files):
            writer.add(
                ManifestEntry.from_args(
                    status=ManifestEntryStatus.ADDED, snapshot_id=FIRST_SNAPSHOT, data_file=file
                )
            )
    return writer.to_manifest_file()


def _data_files(files: Files) -> Iterator[DataFile]:
    for i, path in enumerate(files.path):
        low, high = (
            {
                IDS["timestamp"]: struct.pack("<q", files.timestamp[side][i]),
                IDS["event_id"]: struct.pack("<q", files.event_id[side][i]),
                IDS["latency"]: struct.pack("<d", files.latency[side][i]),
                IDS["service"]: files.service[side][i].encode(),
                IDS["message"]: files.message[side][i].encode(),
            }
            for side in (0, 1)
        )
        file = DataFile.from_args(
            content=DataFileContent.DATA,
            file_path=path,
            file_format=FileFormat.PARQUET,
            partition=Record(drawn.day_number(int(files.day[i]))),
            record_count=int(files.rows[i]),
            file_size_in_bytes=int(files.size[i]),
            lower_bounds=low,
            upper_bounds=high,
        )
        file.spec_id = 0
        yield file


def _taken(files: Files, rows: Any) -> Files:
    """The files in these rows."""

    def pick(values: Any) -> Any:
        if isinstance(values, tuple):
            return tuple(pick(side) for side in values)
        return [values[row] for row in rows] if isinstance(values, list) else values[rows]

    return Files(**{name: pick(values) for name, values in vars(files).items()})
