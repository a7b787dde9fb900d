"""The manifest of a column-group store: column groups, delta logs and statistics of one version of a data set.

The rows inside a split are column groups described by the same `Manifest`. `codec` encodes it.
Everything here is an immutable value: a method that changes a manifest returns another one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from enum import IntEnum

from indextables.columns import display
from indextables.errors import InputError


class DeltaLogType(IntEnum):
    """What the rows of a delta log name: deleted primary keys, deleted positions, or values to delete by."""

    PRIMARY_KEY = 0
    POSITIONAL = 1
    EQUALITY = 2


@dataclass(frozen=True)
class ColumnGroupFile:
    """Rows `start_index` (included) to `end_index` (excluded) of one file.

    `metadata` is what versions 1 to 3 of the format keep of a file, `properties` what later ones do.
    """

    path: str
    start_index: int = 0
    end_index: int = 0
    metadata: bytes = b""
    properties: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class ColumnGroup:
    """Columns that are stored together, in files that follow one another."""

    columns: tuple[str, ...]
    format: str = "parquet"
    files: tuple[ColumnGroupFile, ...] = ()

    @property
    def num_rows(self) -> int:
        return sum(file.end_index - file.start_index for file in self.files)

    def slice(self, start: int, stop: int) -> ColumnGroup:
        """Return the rows from `start` (included) to `stop` (excluded) as a group: the files that hold some of them.

        >>> group = ColumnGroup(("id",), "parquet", (ColumnGroupFile("a", 5, 15), ColumnGroupFile("b", 0, 10)))
        >>> [(file.path, file.start_index, file.end_index) for file in group.slice(8, 12).files]
        [('a', 13, 15), ('b', 0, 2)]
        """
        files: list[ColumnGroupFile] = []
        at = 0
        for file in self.files:
            rows = file.end_index - file.start_index
            low, high = max(start - at, 0), min(stop - at, rows)
            if low < high:
                first = file.start_index
                files.append(replace(file, start_index=first + low, end_index=first + high))
            at += rows
        return replace(self, files=tuple(files))


@dataclass(frozen=True)
class DeltaLog:
    path: str
    num_entries: int
    type: DeltaLogType = DeltaLogType.PRIMARY_KEY


@dataclass(frozen=True)
class Statistics:
    """The files of one statistic. Version 1 of the format has no room for `metadata`."""

    paths: tuple[str, ...]
    metadata: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Index:
    """An index over one column. Versions 2 to 5 of the format know its first three fields and `properties`."""

    column_name: str
    index_type: str
    path: str
    index_name: str = ""
    field_id: int = 0
    index_id: int = 0
    build_id: int = 0
    index_version: int = 0
    num_rows: int = 0
    serialized_size: int = 0
    mem_size: int = 0
    current_index_version: int = 0
    current_scalar_index_version: int = 0
    index_store_path_version: int = 0
    index_file_keys: tuple[str, ...] = ()
    properties: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class LobFile:
    """A file of large values of one field, kept outside the column groups (version 5 of the format and later)."""

    path: str
    field_id: int
    total_rows: int
    valid_rows: int
    file_size_bytes: int


@dataclass(frozen=True, repr=False)
class Manifest:
    """One version of a column-group store.

    >>> group = ColumnGroup(("id",), "parquet", (ColumnGroupFile("a.parquet", 0, 10),))
    >>> manifest = Manifest((group,)).with_delta_log("d1", 3).with_stat("bm25", ["s1"])
    >>> manifest
    Manifest(10 rows: [id] in 1 parquet file; 1 delta log of 3 entries; stats bm25)
    >>> Manifest.from_bytes(manifest.to_bytes(version=6)) == manifest
    True
    """

    column_groups: tuple[ColumnGroup, ...] = ()
    delta_logs: tuple[DeltaLog, ...] = ()
    stats: Mapping[str, Statistics] = field(default_factory=dict)
    indexes: tuple[Index, ...] = ()
    lob_files: tuple[LobFile, ...] = ()

    @property
    def num_rows(self) -> int:
        """The rows of the first column group, as many as every other has."""
        return self.column_groups[0].num_rows if self.column_groups else 0

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of all groups.

        >>> Manifest((ColumnGroup(("id", "day")), ColumnGroup(("text",)))).columns
        ('id', 'day', 'text')
        """
        return tuple(column for group in self.column_groups for column in group.columns)

    def column_group(self, index: int) -> ColumnGroup:
        """Return a column group by its number. Raises InputError if there is none.

        >>> Manifest().column_group(0)
        Traceback (most recent call last):
            ...
        indextables.errors.InputError: there is no column group 0: the manifest has 0
        """
        if not 0 <= index < len(self.column_groups):
            raise InputError(f"there is no column group {index}: the manifest has {len(self.column_groups)}")
        return self.column_groups[index]

    def column_group_for(self, column: str) -> ColumnGroup | None:
        """Return the column group that holds a column, or None.

        >>> Manifest((ColumnGroup(("id",)), ColumnGroup(("text",)))).column_group_for("text").columns
        ('text',)
        """
        return next((group for group in self.column_groups if column in group.columns), None)

    def get_delta_logs(self) -> list[DeltaLog]:
        """Return the delta logs in the order in which they were added.

        >>> [log.path for log in Manifest().with_delta_log("d1", 3).with_delta_log("d2", 1).get_delta_logs()]
        ['d1', 'd2']
        """
        return list(self.delta_logs)

    def delta_logs_size(self) -> int:
        """Return the number of delta logs.

        >>> Manifest().with_delta_log("d1", 3).delta_logs_size()
        1
        """
        return len(self.delta_logs)

    def get_delta_logs_by_type(self, type: DeltaLogType) -> list[DeltaLog]:  # noqa: A002 - the field's name
        """Return the delta logs of one type.

        >>> manifest = Manifest().with_delta_log("d1", 3).with_delta_log("p1", 1, DeltaLogType.POSITIONAL)
        >>> [log.path for log in manifest.get_delta_logs_by_type(DeltaLogType.POSITIONAL)]
        ['p1']
        """
        return [log for log in self.delta_logs if log.type == type]

    def get_stat(self, key: str) -> list[str]:
        """Return the files of a statistic. Raises InputError if there is none of that name.

        >>> Manifest().with_stat("bm25", ["s1", "s2"]).get_stat("bm25")
        ['s1', 's2']
        """
        if key not in self.stats:
            names = ", ".join(sorted(map(repr, self.stats))) or "none"
            raise InputError(f"there is no statistic {key!r} in the manifest; there are {names}")
        return list(self.stats[key].paths)

    def get_all_stats(self) -> dict[str, list[str]]:
        """Return the files of every statistic; `stats` has their metadata too.

        >>> Manifest().with_stat("bm25", ["s1"]).get_all_stats()
        {'bm25': ['s1']}
        """
        return {key: list(statistics.paths) for key, statistics in self.stats.items()}

    def stats_size(self) -> int:
        """Return the number of statistics, however many files each has.

        >>> Manifest().with_stat("bm25", ["s1", "s2"]).stats_size()
        1
        """
        return len(self.stats)

    def with_column_group(self, group: ColumnGroup) -> Manifest:
        """Return this manifest with one more column group.

        >>> Manifest().with_column_group(ColumnGroup(("id",))).columns
        ('id',)
        """
        return replace(self, column_groups=(*self.column_groups, group))

    def with_delta_log(
        self,
        path: str,
        num_entries: int,
        type: DeltaLogType = DeltaLogType.PRIMARY_KEY,  # noqa: A002 - the field's name
    ) -> Manifest:
        """Return this manifest with one more delta log.

        >>> Manifest().with_delta_log("d1", 3).delta_logs
        (DeltaLog(path='d1', num_entries=3, type=<DeltaLogType.PRIMARY_KEY: 0>),)
        """
        return replace(self, delta_logs=(*self.delta_logs, DeltaLog(path, num_entries, type)))

    def with_stat(
        self, key: str, paths: Iterable[str], metadata: Mapping[str, str] | None = None
    ) -> Manifest:
        """Return this manifest with a statistic, in place of an older one of that name.

        >>> Manifest().with_stat("bm25", ["s1"]).with_stat("bm25", ["s2"]).get_stat("bm25")
        ['s2']
        """
        return replace(self, stats={**self.stats, key: Statistics(tuple(paths), dict(metadata or {}))})

    def with_index(self, index: Index) -> Manifest:
        """Return this manifest with one more index.

        >>> Manifest().with_index(Index("vec", "hnsw", "i1")).indexes[0].path
        'i1'
        """
        return replace(self, indexes=(*self.indexes, index))

    def with_lob_file(self, lob: LobFile) -> Manifest:
        """Return this manifest with one more file of large values.

        >>> Manifest().with_lob_file(LobFile("101/x", 101, 10, 9, 99)).lob_files[0].valid_rows
        9
        """
        return replace(self, lob_files=(*self.lob_files, lob))

    def to_bytes(self, version: int = 1, *, sync: bytes | None = None, tag: bytes | None = None) -> bytes:
        """Encode the manifest in a version of the format, 1 to 6; splits hold version 1, datasets version 6.

        Versions from 3 on are Avro containers. `sync` is the 16-byte marker of one. By default it has a checksum of the
        rest, and ends with `tag`, 8 bytes, or with some that are made from the content.

        >>> Manifest().to_bytes().hex(" ")
        'ac b1 ca d4 09 02 00 00 00'
        """
        from indextables.columns import codec  # noqa: PLC0415 - the codec is made for this class

        return codec.encode(self, version, sync=sync, tag=tag)

    @classmethod
    def from_bytes(cls, raw: bytes) -> Manifest:
        """Decode a manifest of any version. Raises CorruptTableError for other or damaged bytes.

        >>> Manifest.from_bytes(bytes.fromhex("acb1cad409 02 00 00 00"))
        Manifest()
        """
        from indextables.columns import codec  # noqa: PLC0415 - the codec is made for this class

        return codec.decode(raw)

    def __repr__(self) -> str:
        return display.in_a_line(self)

    def _repr_html_(self) -> str:
        return display.as_html(self)
