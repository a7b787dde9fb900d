"""The Parquet members of a split that is being written: which columns each has, and how they are encoded."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from indextables.config import Settings, keys
from indextables.errors import SchemaError
from indextables.rows import PageSize, RowWriter
from indextables.schema import FieldMapping, TableSchema
from indextables.split.assembly import RowsPart
from indextables.split.container import CHUNK_CHECKSUMS, PAGE_DIRECTORY, rows_member

_PAGES: Final = PageSize(bytes=64 << 10, max_rows=256)
"""A page is what one hit costs a search: this much of the widest column, but no more rows than this."""

_DICTIONARY_BYTES: Final = 16 << 10
"""A dictionary is read with any page of its row group, so it stays small; beyond this, values are written plainly."""

_ROW_GROUP_BYTES: Final = 64 << 20
"""A row group ends at this many bytes even if it has few rows, so that the buffer is bounded."""

_STATISTICS_BYTES: Final = 256
"""Parquet keeps the least and the greatest value of every page in memory until the file ends, and in its footer. Of
columns with longer values than this, that would be a share of the rows themselves, so they have no statistics."""

_DICTIONARY_TYPES: Final = ("string", "byte", "short", "integer", "date")
_ZSTD_LEVEL: Final = 1
AUTO: Final = "auto"
"""zstd for texts, which saves a fifth of the rows' bytes, and lz4 for the others, which zstd hardly shrinks: every page
that a search fetches costs zstd ten microseconds, whatever its size."""


class RowsWriter:
    """Writes the rows of a split to its Parquet members, in row groups that begin at the same rows in all of them."""

    def __init__(self, work: Path, schema: TableSchema, mapping: FieldMapping, settings: Settings) -> None:
        self._schema = schema
        texts = {field.name for field in mapping.of_kind("text")}
        compression = settings.get(keys.ROW_COMPRESSION)
        groups = column_groups(schema.names, settings.get(keys.COLUMN_GROUPS))
        self._members = [
            RowsMemberWriter(
                work / rows_member(n), TableSchema(tuple(map(schema.field, names))), texts, compression
            )
            for n, names in enumerate(groups)
        ]
        self._group_rows = settings.get(keys.ROW_GROUP_ROWS)
        self._pending: list[pa.RecordBatch] = []
        self._pending_rows = 0
        self._pending_bytes = 0

    def pieces(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a batch in pieces of at most a row group."""
        for start in range(0, batch.num_rows, self._group_rows):
            yield batch.slice(start, self._group_rows)

    def write(self, batch: pa.RecordBatch) -> None:
        """Add rows, which must have the columns of the schema."""
        while batch.num_rows:
            taken = batch.slice(0, self._group_rows - self._pending_rows)
            self._pending.append(taken)
            self._pending_rows += taken.num_rows
            self._pending_bytes += taken.nbytes
            batch = batch.slice(taken.num_rows)
            if self._pending_rows >= self._group_rows or self._pending_bytes >= _ROW_GROUP_BYTES:
                self._flush()

    def finish(self) -> list[RowsPart]:
        """Close the files, and return the members of the split."""
        self._flush()
        return [RowsPart(member.path, member.columns, member.finish()) for member in self._members]

    def abort(self) -> None:
        """Close the files, which are about to be deleted."""
        for member in self._members:
            member.abort()

    def _flush(self) -> None:
        if self._pending_rows:
            rows = pa.Table.from_batches(self._pending, self._schema.arrow)
            for member in self._members:
                member.write_group(rows)
        self._pending, self._pending_rows, self._pending_bytes = [], 0, 0


class RowsMemberWriter:
    """Writes the columns of `schema` to a Parquet file; `texts` are those among them that are tokenised."""

    def __init__(
        self, path: Path, schema: TableSchema, texts: Collection[str], compression: str = AUTO
    ) -> None:
        self.path = path
        self.columns = tuple(schema.names)
        dictionaries = [column.name for column in schema if column.type in _DICTIONARY_TYPES]
        codecs = _codecs(schema.arrow, texts, compression)
        levels = {path: _ZSTD_LEVEL for path, codec in codecs.items() if codec == "zstd"}

        def options(first_rows: pa.Table, _page_rows: int) -> Mapping[str, Any]:
            return {
                "compression": codecs,
                "compression_level": levels or None,
                "write_statistics": [
                    name for name in self.columns if name not in texts and _is_short(first_rows.column(name))
                ],
                "use_dictionary": [name for name in dictionaries if name not in texts],
                "dictionary_pagesize_limit": _DICTIONARY_BYTES,
            }

        self._writer = RowWriter(path, schema.arrow, _PAGES, options)

    def write_group(self, rows: pa.Table) -> None:
        """Write these rows as one row group. They may have more columns than this member."""
        self._writer.write_group(rows)

    def finish(self) -> list[tuple[str, bytes]]:
        """Close the file; return the small members that go with it."""
        checksums, pages = self._writer.finish()
        documents = [(self.path.name + CHUNK_CHECKSUMS, checksums)]
        return documents if pages is None else [*documents, (self.path.name + PAGE_DIRECTORY, pages)]

    def abort(self) -> None:
        self._writer.abort()


def _codecs(schema: pa.Schema, texts: Collection[str], compression: str) -> dict[str, str]:
    """Return the codec of each Parquet column, by its path.

    It is the same in all splits of a table, because merges copy column chunks into one file.
    """
    codecs: dict[str, str] = {}
    for field in schema:
        for path in _leaf_paths(field.name, field.type):
            is_text = field.name in texts or path in texts
            codecs[path] = compression if compression != AUTO else "zstd" if is_text else "lz4"
    return codecs


def _leaf_paths(path: str, kind: pa.DataType) -> Iterator[str]:
    """Yield the paths of the Parquet columns that a column of this type becomes."""
    if pa.types.is_struct(kind):
        for field in kind:
            yield from _leaf_paths(f"{path}.{field.name}", field.type)
    elif pa.types.is_map(kind):
        yield from _leaf_paths(f"{path}.key_value.key", kind.key_type)
        yield from _leaf_paths(f"{path}.key_value.value", kind.item_type)
    elif pa.types.is_list(kind) or pa.types.is_fixed_size_list(kind):
        yield from _leaf_paths(f"{path}.list.element", kind.value_type)
    else:
        yield path


def _is_short(values: pa.ChunkedArray) -> bool:
    """Return True if the values take few bytes each."""
    return bool(values.nbytes <= _STATISTICS_BYTES * max(1, len(values)))


def column_groups(columns: Sequence[str], setting: str) -> list[list[str]]:
    """Return the columns of each member: first those that the setting does not name, then the groups that it names.

    Columns that the table does not have are ignored: the setting may be for many tables.

    >>> column_groups(["id", "title", "body", "vector"], "body; vector")
    [['id', 'title'], ['body'], ['vector']]
    >>> column_groups(["id", "body"], "")
    [['id', 'body']]
    """
    named = [
        [name.strip().lower() for name in group.split(",") if name.strip()] for group in setting.split(";")
    ]
    every = [name for group in named for name in group]
    repeated = sorted({name for name in every if every.count(name) > 1})
    if repeated:
        raise SchemaError(f"column {repeated[0]!r} is in two column groups; a column is stored once")
    others = [name for name in columns if name.lower() not in every]
    groups = [others, *([name for name in columns if name.lower() in group] for group in named)]
    return [group for group in groups if group] or [[]]
