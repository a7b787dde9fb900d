"""A Parquet file put together of some pages of another one, so that Arrow decodes those and nothing else.

The pages are the same bytes; only the footer is written anew. A row group of the excerpt has the wanted pages of one
row group, with the dictionary of each column before them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

from indextables.thrift import number, read_field, skip, struct_list, varint

_MAGIC: Final = b"PAR1"
_TYPES: Final = {"BOOLEAN": 0, "INT32": 1, "INT64": 2, "FLOAT": 4, "DOUBLE": 5, "BYTE_ARRAY": 6}
_CODECS: Final = {"UNCOMPRESSED": 0, "SNAPPY": 1, "GZIP": 2, "ZSTD": 6, "LZ4": 7}  # of LZ4, the raw blocks


@dataclass(frozen=True)
class ColumnPages:
    """What an excerpt takes of one column chunk."""

    name: str
    physical_type: str
    codec: str
    dictionary: memoryview | None
    pages: Sequence[memoryview]


@dataclass(frozen=True)
class GroupPages:
    rows: int
    columns: Sequence[ColumnPages]


def parquet_of(schema: pa.Schema, groups: Sequence[GroupPages]) -> bytes:
    """The excerpt as a whole Parquet file. `schema` has the columns of the groups, in their order."""
    parts: list[bytes | memoryview] = [_MAGIC]
    at = len(_MAGIC)
    described = []
    for group in groups:
        columns = []
        start, group_rows = at, number(group.rows)
        for column in group.columns:
            first = at
            if column.dictionary is not None:
                parts.append(column.dictionary)
                at += len(column.dictionary)
            data = at
            parts.extend(column.pages)
            at += sum(map(len, column.pages))
            columns.append(_column_chunk(column, group_rows, first, data, at))
        # 1: columns, 2: total_byte_size, 3: num_rows
        described.append(
            b"".join((b"\x19", struct_list(columns), b"\x16", number(at - start), b"\x16", group_rows, b"\0"))
        )
    before, after = _footer_around_row_groups(schema)
    rows = sum(group.rows for group in groups)
    footer = before + b"\x16" + number(rows) + b"\x19" + struct_list(described) + after
    return b"".join([*parts, footer, len(footer).to_bytes(4, "little"), _MAGIC])


def _column_chunk(column: ColumnPages, rows: bytes, first: int, data: int, end: int) -> bytes:
    length, begin = number(end - first), number(first)
    # 5: values, 6 and 7: sizes, 9: first data page
    meta = b"".join((b"\x16", rows, b"\x16", length, b"\x16", length, b"\x26", number(data)))
    if data > first:
        meta += b"\x26" + begin  # 11: the dictionary
    # 2: file_offset, 3: meta_data
    of_column = _column_kind(column.name, column.physical_type, column.codec)
    return b"".join((b"\x26", begin, b"\x1c", of_column, meta, b"\0\0"))


@lru_cache(maxsize=4096)
def _column_kind(name: str, physical_type: str, codec: str) -> bytes:
    """1: type, 2: encodings (pages name their own), 3: path, 4: codec."""
    path = name.encode()
    return b"".join(
        (
            b"\x15",
            number(_TYPES[physical_type]),
            b"\x19\x15\x00\x19\x18",
            varint(len(path)),
            path,
            b"\x15",
            number(_CODECS[codec]),
        )
    )


@lru_cache(maxsize=256)
def _footer_around_row_groups(schema: pa.Schema) -> tuple[bytes, bytes]:
    """The footer of a file without rows, cut where the number of rows and the row groups belong."""
    sink = pa.BufferOutputStream()
    pq.write_metadata(schema, sink)
    raw = sink.getvalue().to_pybytes()
    length = int.from_bytes(raw[-8:-4], "little")
    footer = raw[-8 - length : -8]
    at = field_id = cut = 0
    while field_id < 4:  # 1: version, 2: schema, 3: num_rows, 4: row_groups
        if field_id == 2:
            cut = at
        field_id, kind, at = read_field(footer, at, field_id)
        at = skip(footer, at, kind)
    return footer[:cut], footer[at:]
