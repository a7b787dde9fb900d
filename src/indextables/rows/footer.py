"""The footer of a Parquet file, with what is worked out from it once: parsing it costs more than a search does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from indextables.predicates import Bounds
from indextables.rows.excerpt import LeafKind, parquet_schema
from indextables.rows.pages import PageDirectory, RowIds
from indextables.runtime import lazy_property


@dataclass(frozen=True)
class Footer:
    """A footer, and the page directory where the file has one."""

    metadata: pq.FileMetaData
    pages: PageDirectory | None = None

    @lazy_property
    def schema(self) -> pa.Schema:
        return pa.schema(list(self.metadata.schema.to_arrow_schema()))

    @lazy_property
    def starts(self) -> RowIds:
        """The first row of each row group, and one past the last row of all."""
        counts = [self.metadata.row_group(group).num_rows for group in range(self.metadata.num_row_groups)]
        return np.concatenate([[0], np.cumsum(counts, dtype=np.int64)]).astype(np.int64)

    @lazy_property
    def group_bytes(self) -> list[int]:
        """The size of each row group once it is decompressed."""
        groups = range(self.metadata.num_row_groups)
        return [int(self.metadata.row_group(group).total_byte_size) for group in groups]

    @lazy_property
    def leaves(self) -> dict[str, tuple[int, ...]]:
        """The Parquet columns of each column, by its name: several for a struct or a map."""
        leaves: dict[str, tuple[int, ...]] = {}
        counts = [(field.name, _count_leaves(field.type)) for field in self.schema]
        if sum(count for _, count in counts) == self.metadata.num_columns:
            # By their order and not by their paths: in a path, a dot may be a part of a name.
            first = 0
            for name, count in counts:
                leaves[name] = (*leaves.get(name, ()), *range(first, first + count))
                first += count
            return leaves
        for leaf in range(self.metadata.num_columns):
            path = self.metadata.schema.column(leaf).path
            name = path if path in self.schema.names else path.partition(".")[0]
            leaves[name] = (*leaves.get(name, ()), leaf)
        return leaves

    @lazy_property
    def kinds(self) -> list[LeafKind]:
        """How the Parquet columns are stored: the same in every row group of a file that has a page directory."""
        group = self.metadata.row_group(0)
        names = {leaf: name for name, leaves in self.leaves.items() for leaf in leaves}
        return [
            LeafKind(_path(chunk.path_in_schema, names[leaf]), chunk.physical_type, chunk.compression)
            for leaf, chunk in ((leaf, group.column(leaf)) for leaf in range(group.num_columns))
        ]

    @lazy_property
    def has_excerpts(self) -> bool:
        """Whether pages of this file can be decoded alone: the file must have the schema that an excerpt gets."""
        return self.pages is not None and parquet_schema(self.schema).equals(self.metadata.schema)

    def leaves_of(self, columns: Sequence[str]) -> list[int]:
        return [leaf for name in columns for leaf in self.leaves[name]]

    def is_flat(self, leaf: int) -> bool:
        """Whether the column has as many values as rows."""
        return int(self.metadata.schema.column(leaf).max_repetition_level) == 0

    def row_bytes(self, columns: Sequence[str]) -> float:
        """Return about how many bytes a row of these columns takes, by the first row group."""
        if not self.metadata.num_row_groups:
            return 0.0
        group = self.metadata.row_group(0)
        leaves = [leaf for name in columns for leaf in self.leaves.get(name, ())]
        size = sum(group.column(leaf).total_uncompressed_size for leaf in leaves)
        return float(size / max(1, group.num_rows))

    def bounds(self, group: int, columns: Sequence[str]) -> dict[str, Bounds]:
        """Return what the statistics of a row group say of these columns; nothing for some."""
        bounds_of: dict[str, Bounds] = {}
        for name in columns:
            leaves = self.leaves.get(name, ())
            if len(leaves) != 1 or not _is_compared(self.schema.field(name).type):
                continue
            statistics = self.metadata.row_group(group).column(leaves[0]).statistics
            if statistics is not None and statistics.has_min_max:
                bounds_of[name] = Bounds(low=statistics.min, high=statistics.max)
        return bounds_of


def _count_leaves(kind: pa.DataType) -> int:
    """Return how many Parquet columns a column of this type has."""
    if isinstance(kind, pa.BaseExtensionType):
        return _count_leaves(kind.storage_type)
    if not pa.types.is_nested(kind):
        return 1
    return sum(_count_leaves(kind.field(place).type) for place in range(kind.num_fields))


def _path(path: str, name: str) -> tuple[str, ...]:
    """Split a path in the schema after the name of its column, which may have dots."""
    return (name, *path[len(name) + 1 :].split(".")) if path != name else (name,)


def _is_compared(kind: pa.DataType) -> bool:
    """Return False for floats, whose statistics leave NaN out, which sorts above all; and for other types."""
    return bool(
        pa.types.is_integer(kind)
        or pa.types.is_string(kind)
        or pa.types.is_large_string(kind)
        or pa.types.is_boolean(kind)
        or pa.types.is_date32(kind)
        or pa.types.is_decimal128(kind)
        or (pa.types.is_timestamp(kind) and kind.unit in ("ms", "us"))
    )
