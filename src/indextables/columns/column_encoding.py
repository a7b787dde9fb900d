"""How the columns of a Parquet file are encoded, judged by its first rows: dictionaries, deltas, compression.

Parquet gives up on a dictionary that grows beyond a limit, but a row group of 1 MiB never gets there. A vector of
floats, whose values hardly ever repeat, would then be stored as a dictionary of all of them and a number for each.

Compression costs every page that is written or read some microseconds, however little it saves. Random floats and
hashes shrink by a few per cent; they are stored as they are. Numbers that grow, or that are small for their type, are
stored as deltas in few bits, which saves as much as compression and costs less.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from indextables.rows import page_options, parquet_schema

_LEVELLED: Final = ("zstd", "gzip", "brotli")
_SAMPLED_PAGES: Final = 2
_MIN_SAMPLE_BYTES: Final = 64 << 10
"""Fewer rows than this in memory are all compressed: to try encodings out would cost more than to write them."""

_DRAWN_VALUES: Final = 1024
"""How many values are compared before all are. Where a dictionary saves much, some of them are equal."""

_SMALLER: Final = 3 / 4
"""What is encoded has to shrink to this share of its size, or to less."""

_DELTA: Final = "DELTA_BINARY_PACKED"


def encoding_options(
    rows: pa.Table, codec: str, level: int | None, dictionary: bool | Sequence[str], page_rows: int
) -> dict[str, Any]:
    """Return the encoding of each Parquet column as arguments of a writer, chosen by the first of these rows."""
    levels = {"compression_level": level} if codec in _LEVELLED and level is not None else {}
    sample = rows.slice(0, _SAMPLED_PAGES * page_rows)
    options = {"use_dictionary": dictionary, **page_options(page_rows)}
    if rows.nbytes < _MIN_SAMPLE_BYTES:
        return {"use_dictionary": dictionary, "compression": codec, **levels}
    plain = _chunks(sample, compression=codec, **levels, **options)
    numbers = [
        path
        for path, chunk in plain.items()
        if chunk.physical_type in ("INT32", "INT64") and not chunk.has_dictionary_page
    ]
    deltas = (
        _chunks(
            _with_leaves(sample, numbers),
            compression="none",
            column_encoding=dict.fromkeys(numbers, _DELTA),
            **options,
        )
        if numbers
        else {}
    )
    packed = [path for path in numbers if _packs(deltas[path], plain[path])]
    compressed = [path for path, chunk in plain.items() if path not in packed and _shrinks(chunk)]
    return {
        "use_dictionary": dictionary,
        "column_encoding": dict.fromkeys(packed, _DELTA) or None,
        "compression": dict.fromkeys(plain, "none") | dict.fromkeys(compressed, codec),
        **({"compression_level": dict.fromkeys(compressed, level)} if levels else {}),
    }


def _chunks(sample: pa.Table, **options: Any) -> dict[str, pq.ColumnChunkMetaData]:
    """Write the sample to memory; return its column chunks by the paths of the Parquet columns."""
    sink = pa.BufferOutputStream()
    pq.write_table(sample, sink, **options)
    group = pq.read_metadata(pa.BufferReader(sink.getvalue())).row_group(0)
    chunks = [group.column(leaf) for leaf in range(group.num_columns)]
    return {chunk.path_in_schema: chunk for chunk in chunks}


def _with_leaves(sample: pa.Table, paths: Sequence[str]) -> pa.Table:
    """Return the columns that have one of these Parquet columns, and perhaps more."""
    return sample.select(
        [name for name in sample.schema.names if any(f"{path}.".startswith(f"{name}.") for path in paths)]
    )


def _packs(delta: pq.ColumnChunkMetaData, plain: pq.ColumnChunkMetaData) -> bool:
    """Return True if deltas are small, and not much larger than the compressed values."""
    size = delta.total_uncompressed_size
    return bool(
        size <= _SMALLER * plain.total_uncompressed_size and _SMALLER * size <= plain.total_compressed_size
    )


def _shrinks(chunk: pq.ColumnChunkMetaData) -> bool:
    return bool(chunk.total_compressed_size <= _SMALLER * chunk.total_uncompressed_size)


def worth_dictionary(rows: pa.Table) -> list[str]:
    """Return the Parquet columns, by their paths, for which a dictionary takes less room than the values of these rows.

    >>> worth_dictionary(pa.table({"word": ["a long word"] * 9, "vector": [[0.1 * n, 0.7 * n] for n in range(9)]}))
    ['word']
    """
    schema = parquet_schema(rows.schema)
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
    """Return a map as the list of structs that it is."""
    kind = chunk.type
    return chunk.cast(pa.list_(pa.struct([("key", kind.key_type), ("value", kind.item_type)])))


def _pays(values: pa.ChunkedArray) -> bool:
    """Return True if the distinct values, and a number of few bits for each value, take less room than the values."""
    kind = values.type
    if pa.types.is_dictionary(kind):
        return True
    stored = len(values) - values.null_count
    if not stored or pa.types.is_null(kind) or pa.types.is_boolean(kind):
        return False
    try:
        if stored == len(values) > 2 * _DRAWN_VALUES and not _has_duplicates(values):
            return False
        distinct = pc.count_distinct(values).as_py()
    except pa.ArrowNotImplementedError:  # views of text, for example: leave it to Parquet to give up
        return True
    width = values.nbytes / len(values)
    return bool(distinct * width + stored * distinct.bit_length() / 8 < stored * width)


def _has_duplicates(values: pa.ChunkedArray) -> bool:
    """Return False if values drawn from all of these differ: then too few repeat for a dictionary to pay."""
    drawn = values.take(_drawn_places(len(values)))
    return bool(pc.count_distinct(drawn).as_py() < len(drawn))


@lru_cache(maxsize=16)
def _drawn_places(count: int) -> pa.Array:
    places = np.random.default_rng(count).choice(count, _DRAWN_VALUES, replace=False)
    return pa.array(np.sort(places))
