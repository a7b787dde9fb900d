"""The block index of a manifest: the place and checksum of each block, and its bounds of partitions and statistics.

It is an entry of the manifest's own Avro header, which other readers ignore. With it, the entries of one partition of a
large manifest are a ranged read.
"""

from __future__ import annotations

import base64
import binascii
import zlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import orjson

from indextables.avro import BlockPlace, Header
from indextables.errors import CorruptTableError
from indextables.state.manifest import PartitionBounds, StatBounds

INDEX_KEY: Final = "indextables.blocks"

_MAX_INDEX: Final = 64 << 20


@dataclass(frozen=True)
class IndexedBlock:
    """A block with the bounds of its partition values and of its statistics."""

    place: BlockPlace
    bounds: Mapping[str, PartitionBounds]
    statistics: Mapping[str, StatBounds]


def encode_index(
    places: Sequence[BlockPlace],
    bounds: Sequence[Mapping[str, PartitionBounds]],
    statistics: Mapping[str, Sequence[StatBounds]],
) -> dict[str, str]:
    """Encode the header entry for the blocks of a manifest; `statistics` has a bound for each block."""
    columns = sorted({column for of_block in bounds for column in of_block})
    rows = [
        [place.offset, place.size, place.count, place.crc, *_flat(of_block, columns)]
        for place, of_block in zip(places, bounds, strict=True)
    ]
    measured = {
        name: [parts[0].kind, [part.low for part in parts], [part.high for part in parts]]
        for name, parts in statistics.items()
    }
    packed = zlib.compress(orjson.dumps({"columns": columns, "blocks": rows, "statistics": measured}))
    return {INDEX_KEY: base64.b64encode(packed).decode()}


def decode_index(header: Header, name: str, only: Collection[str] | None = None) -> list[IndexedBlock] | None:
    """Decode the blocks in file order, with the statistics of the columns `only`; None for a file without an index."""
    text = header.metadata.get(INDEX_KEY)
    if text is None:
        return None
    try:
        stream = zlib.decompressobj()
        document = orjson.loads(stream.decompress(base64.b64decode(text), _MAX_INDEX))
        columns, rows = document["columns"], document["blocks"]
        measured = {  # missing in manifests of the first releases
            name: [StatBounds(kind, *ends) for ends in zip(lows, highs, strict=True)]
            for name, (kind, lows, highs) in document.get("statistics", {}).items()
            if only is None or name in only
        }
        if any(len(parts) != len(rows) for parts in measured.values()):
            raise ValueError("not one bound for each block")
        return [
            IndexedBlock(
                BlockPlace(*row[:4]),
                {c: PartitionBounds(*row[4 + 2 * i : 6 + 2 * i]) for i, c in enumerate(columns)},
                {name: parts[place] for name, parts in measured.items()},
            )
            for place, row in enumerate(rows)
        ]
    except (ValueError, KeyError, TypeError, zlib.error, binascii.Error) as reason:
        raise CorruptTableError(f"{name}: the block index cannot be read ({reason!r})") from reason


def _flat(bounds: Mapping[str, PartitionBounds], columns: Sequence[str]) -> list[str | None]:
    pairs = (bounds.get(column, PartitionBounds(None, None)) for column in columns)
    return [text for pair in pairs for text in (pair.min, pair.max)]
