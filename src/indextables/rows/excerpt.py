"""An excerpt: a small Parquet file made of some pages of a larger one, so that Arrow decodes those and nothing else.

The pages are the same bytes; only the footer is new. A row group of the excerpt has the picked pages of one row group,
with the dictionary of each column before them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from indextables.rows.thrift import StructFields, binary_list, number, struct_list

_MAGIC: Final = b"PAR1"
_TYPES: Final = (
    "BOOLEAN",
    "INT32",
    "INT64",
    "INT96",
    "FLOAT",
    "DOUBLE",
    "BYTE_ARRAY",
    "FIXED_LEN_BYTE_ARRAY",
)
_CODECS: Final = ("UNCOMPRESSED", "SNAPPY", "GZIP", "LZO", "BROTLI", "", "ZSTD", "LZ4")
"""Both by their numbers in a footer. What pyarrow calls LZ4 are raw blocks, number 7."""


class LeafKind(NamedTuple):
    """A Parquet column: its path in the schema, and how its values are stored."""

    path: tuple[str, ...]
    physical_type: str
    codec: str


class LeafPages(NamedTuple):
    """What an excerpt takes of one column chunk.

    `num_values` may be larger than it is: Arrow reads pages until they end. Only a column with lists needs that.
    """

    kind: LeafKind
    num_values: int
    dictionary: memoryview | None
    pages: Sequence[memoryview]


@dataclass(frozen=True)
class GroupPages:
    """A row group of an excerpt: its rows, and the pages of each Parquet column."""

    num_rows: int
    leaves: Sequence[LeafPages]


def parquet_excerpt(schema: pa.Schema, groups: Sequence[GroupPages]) -> bytes:
    """Return the excerpt as a whole Parquet file; `schema` has the columns of the groups, in their order."""
    parts: list[bytes | memoryview] = [_MAGIC]
    at = len(_MAGIC)
    described = []
    for group in groups:
        chunks = []
        start = at
        for leaf in group.leaves:
            first = at
            if leaf.dictionary is not None:
                parts.append(leaf.dictionary)
                at += len(leaf.dictionary)
            data = at
            parts.extend(leaf.pages)
            at += sum(map(len, leaf.pages))
            chunks.append(_column_chunk(leaf, first, data, at))
        # 1: columns, 2: total_byte_size, 3: num_rows
        sizes = b"\x16" + number(at - start) + b"\x16" + number(group.num_rows)
        described.append(b"\x19" + struct_list(chunks) + sizes + b"\0")
    before, after = _footer_around_row_groups(schema)
    rows = sum(group.num_rows for group in groups)
    footer = before + b"\x16" + number(rows) + b"\x19" + struct_list(described) + after
    return b"".join([*parts, footer, len(footer).to_bytes(4, "little"), _MAGIC])


def _column_chunk(leaf: LeafPages, first: int, data: int, end: int) -> bytes:
    length, begin = number(end - first), number(first)
    # 5: num_values, 6 and 7: sizes, 9: first data page
    meta = b"".join(
        (b"\x16", number(leaf.num_values), b"\x16", length, b"\x16", length, b"\x26", number(data))
    )
    if data > first:
        meta += b"\x26" + begin  # 11: the dictionary
    # 2: file_offset, 3: meta_data
    return b"".join((b"\x26", begin, b"\x1c", _leaf_fields(leaf.kind), meta, b"\0\0"))


@lru_cache(maxsize=4096)
def _leaf_fields(kind: LeafKind) -> bytes:
    """Return the fields 1: type, 2: encodings (pages name their own), 3: path, 4: codec."""
    path = binary_list([name.encode() for name in kind.path])
    kind_and_encodings = b"\x15" + number(_TYPES.index(kind.physical_type)) + b"\x19\x15\x00"
    return kind_and_encodings + b"\x19" + path + b"\x15" + number(_CODECS.index(kind.codec))


def parquet_schema(schema: pa.Schema) -> pq.ParquetSchema:
    """Return the Parquet schema that an excerpt of these columns has."""
    return pq.read_metadata(pa.BufferReader(_empty_file(schema))).schema


@lru_cache(maxsize=256)
def _footer_around_row_groups(schema: pa.Schema) -> tuple[bytes, bytes]:
    """Return the footer of a file without rows, cut where the number of rows and the row groups belong."""
    raw = _empty_file(schema)
    length = int.from_bytes(raw[-8:-4], "little")
    footer = raw[-8 - length : -8]
    fields = StructFields(footer, 0)
    ends = {field_id: fields.skip(kind) for field_id, kind in fields}
    return footer[: ends[2]], footer[ends[4] :]  # 2: schema, 3: num_rows, 4: row_groups


def _empty_file(schema: pa.Schema) -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_metadata(schema, sink)
    raw: bytes = sink.getvalue().to_pybytes()
    return raw
