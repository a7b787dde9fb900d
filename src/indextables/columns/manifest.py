"""The manifest of a column-group store: column groups, delta logs and statistics of one version of a data set.

The rows inside a split are column groups described by the same `Manifest`. Its bytes are `milv`'s business.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from types import MappingProxyType

from indextables.columns.milv import Decoder, Encoder
from indextables.errors import CorruptTableError, InputError


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
    properties: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True)
class ColumnGroup:
    """Columns that are stored together, in files that follow one another."""

    columns: tuple[str, ...]
    format: str = "parquet"
    files: tuple[ColumnGroupFile, ...] = ()

    @property
    def num_rows(self) -> int:
        return sum(file.end_index - file.start_index for file in self.files)


@dataclass(frozen=True)
class DeltaLog:
    path: str
    num_entries: int
    type: DeltaLogType = DeltaLogType.PRIMARY_KEY


@dataclass(frozen=True)
class Statistics:
    """The files of one statistic. Version 1 of the format has no room for `metadata`."""

    paths: tuple[str, ...]
    metadata: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))


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
    properties: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True)
class LobFile:
    """A file of large values of one field, kept outside the column groups (version 5 of the format and later)."""

    path: str
    field_id: int
    total_rows: int
    valid_rows: int
    file_size_bytes: int


@dataclass(frozen=True)
class Manifest:
    """One version of a column-group store.

    >>> group = ColumnGroup(("id",), "parquet", (ColumnGroupFile("a.pq", 0, 10),))
    >>> raw = Manifest(column_groups=(group,)).to_bytes(version=1)
    >>> Manifest.from_bytes(raw).column_groups[0].files[0].end_index
    10
    """

    column_groups: tuple[ColumnGroup, ...] = ()
    delta_logs: tuple[DeltaLog, ...] = ()
    stats: Mapping[str, Statistics] = field(default_factory=lambda: MappingProxyType({}))
    indexes: tuple[Index, ...] = ()
    lob_files: tuple[LobFile, ...] = ()

    def to_bytes(self, version: int = 1) -> bytes:
        if version != 1:
            raise InputError(f"manifest version {version} cannot be written; version 1 can")
        out = Encoder()
        out.header(version)
        out.array(self.column_groups, _write_group)
        out.array(self.delta_logs, _write_delta_log)
        by_key = sorted(self.stats.items(), key=lambda item: item[0].encode("utf-8", "surrogateescape"))
        out.array(by_key, _write_statistics)
        return out.to_bytes()

    @classmethod
    def from_bytes(cls, raw: bytes) -> Manifest:
        """Decode a manifest; what is not one, or not whole, is a `CorruptTableError`."""
        source = Decoder(raw)
        version = source.header()
        if version != 1:
            raise CorruptTableError(f"the manifest has version {version}; this release reads version 1")
        return cls(
            column_groups=tuple(source.array(_read_group)),
            delta_logs=tuple(source.array(_read_delta_log)),
            stats=dict(source.array(_read_statistics)),
        )


def _write_group(out: Encoder, group: ColumnGroup) -> None:
    out.array(group.columns, Encoder.string)
    out.array(group.files, _write_file)
    out.string(group.format)


def _read_group(source: Decoder) -> ColumnGroup:
    columns = tuple(source.array(Decoder.string))
    files = tuple(source.array(_read_file))
    return ColumnGroup(columns, source.string(), files)


def _write_file(out: Encoder, file: ColumnGroupFile) -> None:
    out.string(file.path)
    out.long(file.start_index)
    out.long(file.end_index)
    out.blob(file.metadata)


def _read_file(source: Decoder) -> ColumnGroupFile:
    return ColumnGroupFile(source.string(), source.long(), source.long(), source.blob())


def _write_delta_log(out: Encoder, log: DeltaLog) -> None:
    out.string(log.path)
    out.long(log.type)
    out.long(log.num_entries)


def _read_delta_log(source: Decoder) -> DeltaLog:
    path, kind, num_entries = source.string(), source.long(), source.long()
    try:
        return DeltaLog(path, num_entries, DeltaLogType(kind))
    except ValueError:
        raise CorruptTableError(f"the manifest has a delta log of unknown type {kind} ({path!r})") from None


def _write_statistics(out: Encoder, entry: tuple[str, Statistics]) -> None:
    key, statistics = entry
    if statistics.metadata:
        raise InputError(f"statistic {key!r} has metadata, which manifest version 1 cannot hold")
    out.string(key)
    out.array(statistics.paths, Encoder.string)


def _read_statistics(source: Decoder) -> tuple[str, Statistics]:
    return source.string(), Statistics(tuple(source.array(Decoder.string)))
