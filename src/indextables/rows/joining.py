"""Joining Parquet files by copying their column chunks: the rows are not decoded, only the footer is written again.

The files must have the same schema and compression, which the readers of a file take to be the same in all of its row
groups. ValueError says what differs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np

from indextables.rows.chunks import Span, chunk_spans
from indextables.rows.footer import Footer
from indextables.rows.footer_check import MAGIC, TRAILER_BYTES
from indextables.rows.pages import page_directory
from indextables.rows.thrift import (
    I64,
    LISTS,
    STRUCT,
    StructFields,
    number,
    read_list,
    read_number,
    struct_list,
)

_VERSION, _SCHEMA, _NUM_ROWS, _ROW_GROUPS, _METADATA, _COLUMN_ORDERS = 1, 2, 3, 4, 5, 7
_SAME: Final = (_VERSION, _SCHEMA, _METADATA, _COLUMN_ORDERS)
_GROUP_COLUMNS, _GROUP_OFFSET, _GROUP_ORDINAL = 1, 5, 7
_CHUNK_FILE, _CHUNK_OFFSET, _CHUNK_METADATA, _CHUNK_INDEXES = 1, 2, 3, (4, 5, 6, 7)
_PAGE_OFFSETS: Final = (9, 10, 11)
_CHUNK_BLOOM: Final = 14


@dataclass(frozen=True)
class JoinedFile:
    """One of the files to join. `raw_footer` includes the trailer; `read` returns bytes and verifies their checksum."""

    footer: Footer
    raw_footer: bytes
    checksums: bytes
    read: Callable[[Span], bytes]


class _Field(NamedTuple):
    """A field of a Thrift struct, its value still encoded."""

    id: int
    kind: int
    raw: bytes


def join_files(files: Sequence[JoinedFile], target: Path) -> tuple[bytes, bytes]:
    """Write the rows of all files to `target`; return its checksums and its page directory."""
    _check_alike(files)
    groups: list[bytes] = []
    with target.open("wb") as out:
        out.write(MAGIC)
        for file in files:
            metadata = file.footer.metadata
            leaves = range(metadata.num_columns)
            for group, fields in enumerate(_row_groups(file.raw_footer)):
                moves = []
                for span in chunk_spans(metadata, file.checksums, [group], leaves):
                    moves.append(out.tell() - span.start)
                    out.write(file.read(span))
                groups.append(_moved_group(fields, moves, len(groups)))
        rows = sum(file.footer.metadata.num_rows for file in files)
        footer = _joined_footer(files[0].raw_footer, rows, groups)
        out.write(footer + len(footer).to_bytes(4, "little") + MAGIC)
    return b"".join(file.checksums for file in files), _joined_pages(files)


def _check_alike(files: Sequence[JoinedFile]) -> None:
    first = files[0]
    same = [field for field in _fields(first.raw_footer) if field.id in _SAME]
    for file in files:
        if file.footer.pages is None:
            raise ValueError("one of the files has no page directory")
        if [field for field in _fields(file.raw_footer) if field.id in _SAME] != same:
            raise ValueError("their Parquet schemas differ")
        if file.footer.kinds != first.footer.kinds:
            raise ValueError("their columns are compressed in different ways")


def _joined_pages(files: Sequence[JoinedFile]) -> bytes:
    """Return the page directory of all files."""
    directories = [file.footer.pages for file in files if file.footer.pages is not None]
    lengths, checksums = zip(*(directory.entries for directory in directories), strict=True)
    page_rows = np.concatenate([directory.page_rows for directory in directories])
    return page_directory(page_rows, np.concatenate(lengths), np.concatenate(checksums))


def _joined_footer(first: bytes, rows: int, groups: list[bytes]) -> bytes:
    values = {_NUM_ROWS: number(rows), _ROW_GROUPS: struct_list(groups)}
    return _struct([field._replace(raw=values.get(field.id, field.raw)) for field in _fields(first)])


def _row_groups(raw_footer: bytes) -> Iterator[list[_Field]]:
    for field in _fields(raw_footer):
        if field.id == _ROW_GROUPS:
            yield from _structs(field)


def _moved_group(group: list[_Field], moves: Sequence[int], ordinal: int) -> bytes:
    """Encode a row group whose column chunks were moved by these numbers of bytes."""
    fields = []
    for field in group:
        if field.id == _GROUP_COLUMNS:
            pairs = zip(_structs(field), moves, strict=True)
            chunks = [_moved_chunk(chunk, move) for chunk, move in pairs]
            fields.append(field._replace(raw=struct_list(chunks)))
        elif field.id == _GROUP_OFFSET:
            fields.append(_move(field, moves[0]))
        elif field.id == _GROUP_ORDINAL:
            fields.append(field._replace(raw=number(ordinal)))
        else:
            fields.append(field)
    return _struct(fields)


def _moved_chunk(chunk: list[_Field], move: int) -> bytes:
    fields = []
    for field in chunk:
        if field.id == _CHUNK_FILE:
            raise ValueError("a column chunk is in another file")
        if field.id in _CHUNK_INDEXES:
            continue  # they are optional, outside of the chunk, and the page directory says the same
        if field.id == _CHUNK_OFFSET:
            fields.append(_move(field, move))
        elif field.id == _CHUNK_METADATA:
            metadata, _ = _read_struct(field.raw, 0)
            if any(inner.id == _CHUNK_BLOOM for inner in metadata):
                raise ValueError("a column chunk has a Bloom filter of its own")
            moved = [_move(inner, move) if inner.id in _PAGE_OFFSETS else inner for inner in metadata]
            fields.append(field._replace(raw=_struct(moved)))
        else:
            fields.append(field)
    return _struct(fields)


def _move(field: _Field, move: int) -> _Field:
    """Move an offset. Zero stands for none."""
    offset, _ = read_number(field.raw, 0)
    if field.kind != I64:
        raise ValueError("an offset in its footer is not a number of 64 bits")
    return field._replace(raw=number(offset + move)) if offset else field


def _fields(raw_footer: bytes) -> list[_Field]:
    return _read_struct(raw_footer[:-TRAILER_BYTES], 0)[0]


def _structs(field: _Field) -> Iterator[list[_Field]]:
    """Yield the structs of a list."""
    count, kind, at = read_list(field.raw, 0)
    if field.kind not in LISTS or (count and kind != STRUCT):
        raise ValueError(f"field {field.id} of its footer is not a list of structs")
    for _ in range(count):
        fields, at = _read_struct(field.raw, at)
        yield fields


def _read_struct(data: bytes, at: int) -> tuple[list[_Field], int]:
    fields = StructFields(data, at)
    return [
        _Field(field_id, kind, data[fields.at : fields.skip(kind)]) for field_id, kind in fields
    ], fields.at


def _struct(fields: Sequence[_Field]) -> bytes:
    """Encode a struct, whose fields are in the order of their ids."""
    out, last = bytearray(), 0
    for field in fields:
        distance = field.id - last
        out += (
            bytes([distance << 4 | field.kind])
            if 0 < distance < 16
            else bytes([field.kind]) + number(field.id)
        )
        out += field.raw
        last = field.id
    return bytes(out) + b"\0"
