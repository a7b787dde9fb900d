"""The check of a Parquet footer that has no checksum, before Arrow parses it.

Arrow ends the process for some footers that contradict themselves, such as one with a column chunk of another type than
its column. A footer with a verified CRC-32 is safe. Of every other one this module reads the parts that Arrow uses, and
raises ValueError if they contradict each other or point outside the file.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from indextables.rows.thrift import (
    BINARY,
    I32,
    I64,
    LISTS,
    STRUCT,
    StructFields,
    read_binary,
    read_list,
    read_number,
)

MAGIC: Final = b"PAR1"
TRAILER_BYTES: Final = 8
"""The footer's length and the magic number."""

_DEEPEST: Final = 64
_MOST_NODES: Final = 1 << 16
_REQUIRED: Final = 0
_REPEATED: Final = 2

Value: TypeAlias = int | bytes | list["Value"] | dict[int, "Value"]
Shape: TypeAlias = dict[int, object]
"""Which fields of a struct are read, by id: their types, a shape for a struct, a list of one of these for a list."""

_SIZES: Final[Shape] = {2: [I64], 3: [I64]}
_COLUMN: Final[Shape] = {1: I32, 3: [BINARY], 5: I64, 6: I64, 7: I64, 9: I64, 11: I64, 16: _SIZES}
_CHUNK: Final[Shape] = {1: BINARY, 3: _COLUMN}
_GROUP: Final[Shape] = {1: [_CHUNK], 2: I64, 3: I64}
_NODE: Final[Shape] = {1: I32, 3: I32, 4: BINARY, 5: I32}
_FOOTER: Final[Shape] = {1: I32, 2: [_NODE], 3: I64, 4: [_GROUP]}


@dataclass(frozen=True)
class _Leaf:
    """A column of the file: its name from the root on, its physical type, and how deep its values nest.

    `repeated` is the number of lists around a value, `optional` the number of lists and of what can be null.
    """

    path: tuple[bytes, ...]
    kind: int
    repeated: int
    optional: int


def footer_size(trailer: bytes, file_size: int) -> int:
    """Return the length of the footer with its trailer, which are the last bytes of the file."""
    if len(trailer) < TRAILER_BYTES or trailer[-4:] != MAGIC:
        raise ValueError("it does not end as a Parquet file does")
    size = int.from_bytes(trailer[-TRAILER_BYTES:-4], "little") + TRAILER_BYTES
    if size > file_size - len(MAGIC):
        raise ValueError(f"its trailer declares a footer of {size} bytes, but the file has {file_size}")
    return size


def check_footer(footer: bytes, file_size: int) -> None:
    """Raise ValueError or IndexError for a footer, given with its trailer, that is not that of a file of this size."""
    read, end = _read_struct(footer, 0, _FOOTER)
    if end > len(footer) - TRAILER_BYTES:
        raise ValueError("its footer is longer than its trailer declares")
    leaves = list(_leaves(_structs(read, 2)))
    rows = 0
    for group in _structs(read, 4):
        count = _number(group, 3)
        if count < 0:
            raise ValueError(f"a row group of {count} rows")
        rows += count
        chunks = _structs(group, 1)
        if len(chunks) != len(leaves):
            raise ValueError(f"a row group has {len(chunks)} columns, but the schema has {len(leaves)}")
        for chunk, leaf in zip(chunks, leaves, strict=True):
            _check_chunk(chunk, leaf, count, file_size - len(footer))
    if rows != _number(read, 3):
        raise ValueError(f"its row groups have {rows} rows, but its footer declares {_number(read, 3)}")


def _check_chunk(chunk: dict[int, Value], leaf: _Leaf, rows: int, end: int) -> None:
    column = chunk.get(3)
    if 1 in chunk or not isinstance(column, dict):
        raise ValueError("a column that is in another file")
    name = b".".join(leaf.path).decode(errors="replace")
    if column.get(3) != list(leaf.path) or _number(column, 1) != leaf.kind:
        raise ValueError(f"column {name!r} has one type in the schema and another in a row group")
    values = _number(column, 5)
    if values < 0 or (not leaf.repeated and values != rows):
        raise ValueError(f"column {name!r} has {values} values in a row group of {rows} rows")
    size, start = _number(column, 7), _number(column, 9)
    if 11 in column and 0 < _number(column, 11) < start:
        start = _number(column, 11)
    first = len(MAGIC) if values else 0  # of no values there is no page to point to
    if size < 0 or _number(column, 6) < 0 or start < first or start + size > end:
        raise ValueError(f"column {name!r} has {size} bytes from byte {start}, but rows end at byte {end}")
    sizes = column.get(16, {})
    if isinstance(sizes, dict):
        for field_id, levels in ((2, leaf.repeated), (3, leaf.optional)):
            counts = sizes.get(field_id, [])
            if not isinstance(counts, list) or len(counts) not in (0, levels + 1):
                raise ValueError(f"column {name!r} has statistics of another number of levels")


def _leaves(nodes: Sequence[dict[int, Value]]) -> Iterator[_Leaf]:
    """Yield the columns of a schema, which is a tree in depth-first order; the first node is the root."""
    if not nodes or len(nodes) > _MOST_NODES:
        raise ValueError(f"a schema of {len(nodes)} nodes")
    above = [_Leaf((), 0, 0, 0)]
    remaining = [_number(nodes[0], 5)]
    for node in nodes[1:]:
        while remaining and not remaining[-1]:
            remaining.pop()
            above.pop()
        if not remaining or len(remaining) > _DEEPEST:
            raise ValueError("a schema that is not a tree")
        remaining[-1] -= 1
        name, repetition = node.get(4), _number(node, 3)
        if not isinstance(name, bytes):
            raise ValueError("a column without a name")  # noqa: TRY004 - the bytes are wrong, not an argument
        name.decode()
        if not _REQUIRED <= repetition <= _REPEATED:
            raise ValueError(f"column {name!r} is neither required nor optional nor repeated")
        children = _number(node, 5) if 5 in node else 0
        if children < 0 or bool(children) == (1 in node):
            raise ValueError(f"column {name!r} has a type and {children} columns inside")
        column = _Leaf(
            (*above[-1].path, name),
            0 if children else _number(node, 1),
            above[-1].repeated + (repetition == _REPEATED),
            above[-1].optional + (repetition != _REQUIRED),
        )
        if children:
            remaining.append(children)
            above.append(column)
        else:
            yield column
    if any(remaining):
        raise ValueError("a schema that ends before its last column")


def _read_struct(data: bytes, at: int, shape: Shape) -> tuple[dict[int, Value], int]:
    values: dict[int, Value] = {}
    fields = StructFields(data, at)
    for field_id, kind in fields:
        if field_id in shape:
            values[field_id], fields.at = _read(data, fields.at, kind, shape[field_id])
    return values, fields.at


def _read(data: bytes, at: int, kind: int, shape: object) -> tuple[Value, int]:
    if isinstance(shape, dict) and kind == STRUCT:
        return _read_struct(data, at, shape)
    if isinstance(shape, list) and kind in LISTS:
        count, of, at = read_list(data, at)
        items: list[Value] = []
        for _ in range(count):
            item, at = _read(data, at, of, shape[0])
            items.append(item)
        return items, at
    if kind != shape:  # Arrow would pass over the field, and take it for absent
        raise ValueError(f"a value of type {kind} where its footer has another")
    if kind == BINARY:
        return read_binary(data, at)
    value, at = read_number(data, at)
    bits = 31 if kind == I32 else 63
    if not -(1 << bits) <= value < 1 << bits:
        raise ValueError("a number of more bits than its type has")
    return value, at


def _structs(of: dict[int, Value], field_id: int) -> list[dict[int, Value]]:
    items = of.get(field_id, [])
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        raise ValueError(f"field {field_id} of its footer is not a list of structs")
    return [item for item in items if isinstance(item, dict)]


def _number(of: dict[int, Value], field_id: int) -> int:
    value = of.get(field_id)
    if not isinstance(value, int):
        raise ValueError(f"field {field_id} of its footer is not a number")  # noqa: TRY004 - as above
    return value
