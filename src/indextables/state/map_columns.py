"""Columns inside the map fields of entries, as Arrow arrays, and the ranking of partition values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from indextables.errors import SchemaError
from indextables.schema import Field, decode_value
from indextables.state.manifest import PartitionBounds

_NO_ROW: Final = -1
_NULL: Final = -1


def map_column(maps: pa.ChunkedArray | pa.MapArray, key: str) -> pa.StringArray:
    """Return the value of the key in each map, null where a map does not have it.

    >>> maps = pa.array([[("a", "1"), ("b", "2")], None, [("b", "3")]], pa.map_(pa.string(), pa.string()))
    >>> map_column(maps, "b").to_pylist()
    ['2', None, '3']
    """
    if isinstance(maps, pa.ChunkedArray):
        parts = [map_column(chunk, key) for chunk in maps.chunks]
        return pa.concat_arrays(parts) if parts else pa.array([], pa.string())
    # Comparing the flattened keys is ten times as fast as pyarrow's own map lookup.
    offsets: npt.NDArray[np.int32] = np.asarray(maps.offsets)
    first, last = (int(offsets[0]), int(offsets[-1])) if len(maps) else (0, 0)
    alike = _places_if_alike(maps.keys, key, offsets) if len(maps) and not maps.null_count else None
    if alike is not None:
        return maps.items.take(pa.array(alike))
    same = np.asarray(pc.equal(maps.keys.slice(first, last - first), key))
    hits: npt.NDArray[np.int64] = np.flatnonzero(same) + first
    places: npt.NDArray[np.int64] = np.full(len(maps), _NO_ROW, np.int64)
    places[np.searchsorted(offsets, hits, side="right") - 1] = hits
    absent = places == _NO_ROW
    if maps.null_count:
        absent |= np.asarray(maps.is_null())
    return maps.items.take(pa.array(places, mask=absent))


def _places_if_alike(
    keys: pa.StringArray, key: str, offsets: npt.NDArray[np.int32]
) -> npt.NDArray[np.int64] | None:
    """Return where the values are, if all maps have one size and the key at one position, as usual; else None."""
    first, width = int(offsets[0]), int(offsets[1] - offsets[0])
    if not (np.diff(offsets) == width).all():
        return None
    place = pc.index(keys.slice(first, width), key).as_py()
    if place < 0:
        return None
    places = offsets[:-1].astype(np.int64) + place
    return places if pc.all(pc.equal(keys.take(pa.array(places)), key)).as_py() else None


class Ranking(NamedTuple):
    """A partition column of some entries: the rank of each value in the order of its type, and the sorted values.

    `typed` is False if a value does not parse as the type: then the order is that of the text, and there are no bounds.
    """

    ranks: npt.NDArray[np.int64]
    texts: list[str]
    typed: bool

    def at(self, rows: npt.NDArray[np.int64]) -> Ranking:
        """Return the ranking of the entries in these rows, in that order."""
        return self._replace(ranks=self.ranks[rows])

    def bounds(self, start: int, stop: int) -> PartitionBounds:
        """Return the smallest and largest value of the entries in a range."""
        ranks = self.ranks[start:stop]
        ranks = ranks[ranks != _NULL]
        if not self.typed or not len(ranks):
            return PartitionBounds(None, None)
        return PartitionBounds(self.texts[int(ranks.min())], self.texts[int(ranks.max())])


def rank(entries: pa.Table, column: Field) -> Ranking:
    """Rank one partition column of the entries by the order of its type; nulls have no rank."""
    encoded = map_column(entries.column("partitionValues"), column.name).dictionary_encode()
    texts: list[str] = encoded.dictionary.to_pylist()
    try:
        decoded: list[Any] = [decode_value(text, column.type) for text in texts]
        typed = True
    except SchemaError:
        decoded, typed = list(texts), False
    order = sorted((i for i, value in enumerate(decoded) if value is not None), key=lambda i: decoded[i])
    rank_of: npt.NDArray[np.int64] = np.full(len(texts) + 1, _NULL, np.int64)
    rank_of[order] = np.arange(len(order))
    codes = np.asarray(pc.fill_null(encoded.indices, len(texts)))
    return Ranking(rank_of[codes], [texts[i] for i in order], typed)


def locality_order(columns: Sequence[Ranking], count: int) -> npt.NDArray[np.int64]:
    """Return the order that clusters equal partition values: by the columns in turn, nulls last, else stable."""
    if not columns:
        return np.arange(count)
    keys = [np.where(column.ranks == _NULL, len(column.texts), column.ranks) for column in reversed(columns)]
    return np.asarray(np.lexsort(keys))
