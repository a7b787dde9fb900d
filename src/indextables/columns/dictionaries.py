"""Which columns are worth a dictionary: those whose values repeat so often that numbers in their place take less room.

Parquet gives up on a dictionary that grows beyond a limit, but a row group of 1 MiB never gets there. A vector of
floats, whose values hardly ever repeat, would then be stored as a dictionary of all of them and a number for each.
"""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq


def worth_dictionary(rows: pa.Table) -> list[str]:
    """Return the Parquet columns, by their paths, for which a dictionary takes less room than the values of these rows.

    >>> worth_dictionary(pa.table({"word": ["a long word"] * 9, "vector": [[0.1 * n, 0.7 * n] for n in range(9)]}))
    ['word']
    """
    sink = pa.BufferOutputStream()
    pq.write_metadata(rows.schema, sink)
    schema = pq.read_metadata(pa.BufferReader(sink.getvalue())).schema
    leaves = [leaf for column in rows.columns for leaf in _leaves(column)]
    paths = [schema.column(place).path for place in range(len(schema))]
    return [path for path, leaf in zip(paths, leaves, strict=True) if _pays(leaf)]


def _leaves(column: pa.ChunkedArray) -> Iterator[pa.ChunkedArray]:
    """Yield the columns that Parquet makes of one, in its order."""
    kind = column.type
    if isinstance(kind, pa.BaseExtensionType):
        yield from _leaves(pa.chunked_array([chunk.storage for chunk in column.chunks], kind.storage_type))
    elif pa.types.is_struct(kind):
        flat = column.flatten()
        for child in flat:
            yield from _leaves(child)
    elif pa.types.is_map(kind):
        for place, child in ((0, kind.key_type), (1, kind.item_type)):
            values = [chunk.flatten().flatten()[place] for chunk in map(_entries, column.chunks)]
            yield from _leaves(pa.chunked_array(values, child))
    elif pa.types.is_nested(kind):
        yield from _leaves(pa.chunked_array([chunk.flatten() for chunk in column.chunks], kind.value_type))
    else:
        yield column


def _entries(chunk: pa.MapArray) -> pa.ListArray:
    """A map as the list of structs that it is."""
    kind = chunk.type
    return chunk.cast(pa.list_(pa.struct([("key", kind.key_type), ("value", kind.item_type)])))


def _pays(values: pa.ChunkedArray) -> bool:
    """Whether the distinct values, and for each value the bits that number it, are fewer bytes than the values."""
    kind = values.type
    if pa.types.is_dictionary(kind):
        return True
    if not len(values) or pa.types.is_null(kind) or pa.types.is_boolean(kind):
        return False
    try:
        distinct = pc.count_distinct(values).as_py()
    except pa.ArrowNotImplementedError:  # views of text, for example: leave it to Parquet to give up
        return True
    width = values.nbytes / len(values)
    return bool(distinct * width + len(values) * distinct.bit_length() / 8 < values.nbytes)
