"""The block index of a manifest: where its blocks are and which partition values each can hold.

It lies in the manifest's own Avro header as text, so that every other reader still reads the file, and one
partition of a large manifest is a ranged read. Each block has its checksum there.
"""

from __future__ import annotations

import base64
import binascii
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import orjson

from indextables.errors import CorruptTableError
from indextables.state.container import BlockPlace, Header
from indextables.state.manifest import PartitionBounds

INDEX_KEY: Final = "indextables.blocks"

_MAX_INDEX: Final = 64 << 20


@dataclass(frozen=True)
class IndexedBlock:
    place: BlockPlace
    bounds: Mapping[str, PartitionBounds]


def encode_index(
    places: Sequence[BlockPlace], bounds: Sequence[Mapping[str, PartitionBounds]]
) -> dict[str, str]:
    """The header entry for the blocks of a manifest."""
    columns = sorted({column for known in bounds for column in known})
    rows = [
        [place.offset, place.size, place.count, place.crc, *_flat(known, columns)]
        for place, known in zip(places, bounds, strict=True)
    ]
    packed = zlib.compress(orjson.dumps({"columns": columns, "blocks": rows}))
    return {INDEX_KEY: base64.b64encode(packed).decode()}


def decode_index(header: Header, name: str) -> list[IndexedBlock] | None:
    """The blocks in file order, or None for a file without an index."""
    text = header.metadata.get(INDEX_KEY)
    if text is None:
        return None
    try:
        stream = zlib.decompressobj()
        document = orjson.loads(stream.decompress(base64.b64decode(text), _MAX_INDEX))
        columns = document["columns"]
        return [
            IndexedBlock(
                BlockPlace(*row[:4]),
                {c: PartitionBounds(*row[4 + 2 * i : 6 + 2 * i]) for i, c in enumerate(columns)},
            )
            for row in document["blocks"]
        ]
    except (ValueError, KeyError, TypeError, zlib.error, binascii.Error) as reason:
        raise CorruptTableError(f"{name}: the block index cannot be read ({reason!r})") from reason


def _flat(known: Mapping[str, PartitionBounds], columns: Sequence[str]) -> list[str | None]:
    pairs = (known.get(column, PartitionBounds(None, None)) for column in columns)
    return [text for bounds in pairs for text in (bounds.min, bounds.max)]
