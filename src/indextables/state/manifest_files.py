"""Writing manifest files: entries clustered by partition, chunked, block-indexed, named by a hash of their bytes.

Each file has an id in its header, so that no two have the same name. A collection may be about to delete a manifest
with the same entries as a new one, because no state names it any more.
"""

from __future__ import annotations

import itertools
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from indextables.avro import Block, BlockPlace, compress_blocks, join_hashed, read_header
from indextables.config import Settings, keys
from indextables.errors import InputError, StorageError
from indextables.runtime import LimitedThreads, current, new_id
from indextables.schema import Field
from indextables.state.blocks import encode_index
from indextables.state.compaction import CompactionRules
from indextables.state.entries import BATCH_ROWS, encode_entries
from indextables.state.entry_fields import AVRO_SCHEMA, ENTRY_SCHEMA
from indextables.state.gather import Gatherer
from indextables.state.layout import manifest_path
from indextables.state.manifest import MAX_MANIFEST, ManifestInfo, ManifestPlace, StatBounds
from indextables.state.map_columns import Ranking, locality_order, rank
from indextables.state.statistics import Measured, bounds_by_column, over_all
from indextables.storage import LOG_DIRECTORY, Store

Encoded: TypeAlias = tuple[bytes, ManifestInfo]

_AHEAD: Final = 3
_ID_KEY: Final = "indextables.manifestId"
_CODECS: Final = {"zstd": "zstandard", "snappy": "snappy", "none": "null"}


@dataclass(frozen=True)
class StateOptions:
    """How states are written: codec, level, entries per manifest, and when to compact."""

    codec: str = "zstandard"
    level: int = keys.STATE_COMPRESSION_LEVEL.default
    entries_per_manifest: int = keys.STATE_ENTRIES_PER_MANIFEST.default
    rules: CompactionRules = field(default_factory=CompactionRules)

    @classmethod
    def of(cls, settings: Settings) -> StateOptions:
        return cls(
            _CODECS[settings.get(keys.STATE_COMPRESSION)],
            settings.get(keys.STATE_COMPRESSION_LEVEL),
            settings.get(keys.STATE_ENTRIES_PER_MANIFEST),
            CompactionRules.of(settings),
        )


def write_manifests(
    store: Store,
    entries: pa.Table,
    columns: Sequence[Field],
    options: StateOptions,
    measured: Measured = Measured(),  # noqa: B008 - it never changes
) -> Iterator[ManifestInfo]:
    """Write the entries to manifests of equal size, clustered by partition, a few manifests in memory at a time."""
    entries = entries.select(ENTRY_SCHEMA.names)
    rankings = [rank(entries, column) for column in columns]
    order = locality_order(rankings, entries.num_rows)
    gatherer = Gatherer(entries)
    workers = current().threads.limited(pa.cpu_count())

    def encode(start: int) -> Encoded:
        rows = order[start : start + options.entries_per_manifest]
        chunk = gatherer.rows(rows)
        # A value that does not have the type of its column removes the bounds of its own manifest only.
        orders = {
            column.name: ranking.at(rows) if ranking.typed else rank(chunk, column)
            for column, ranking in zip(columns, rankings, strict=True)
        }
        return _encode_manifest(chunk, orders, options, measured, workers)

    # While one manifest is being stored, this thread only waits, and up to `_AHEAD` others are encoded.
    starts = range(0, entries.num_rows, options.entries_per_manifest)
    for data, info in current().threads.map(encode, starts, _AHEAD + 1, ahead=_AHEAD):
        if len(data) > MAX_MANIFEST:
            raise InputError(
                f"a manifest of {info.num_entries} files has {len(data) >> 20} MB; readers accept up to "
                f"{MAX_MANIFEST >> 20} MB. Lower {keys.STATE_ENTRIES_PER_MANIFEST.key}"
            )
        key = f"{LOG_DIRECTORY}/{info.path}"
        try:
            store.create(key, data)
        except StorageError:
            # Only this call writes an object of this name. The store may report a conflict with itself, or where there
            # is no object, or fail for a moment. `put`, which clients retry, is safe then.
            store.put(key, data)
        yield info


def _encode_manifest(
    entries: pa.Table,
    orders: Mapping[str, Ranking],
    options: StateOptions,
    measured: Measured,
    workers: LimitedThreads,
) -> Encoded:
    """Return the bytes of one manifest, and its description for the state."""
    statistics: dict[str, list[StatBounds]] = {}
    batches = entries.to_batches(max_chunksize=BATCH_ROWS)

    def encode_batch(batch: pa.RecordBatch) -> list[Block]:
        blocks = encode_entries(pa.Table.from_batches([batch]))
        return list(compress_blocks(blocks, options.codec, options.level))

    def index(places: list[BlockPlace]) -> dict[str, str]:
        counts = [place.count for place in places]
        # For few entries, threads cost more than they save.
        statistics.update(bounds_by_column(entries, measured, counts, workers if len(batches) > 1 else None))
        return {
            _ID_KEY: str(new_id()),
            **encode_index(places, list(_block_bounds(places, orders)), statistics),
        }

    blocks = itertools.chain.from_iterable(workers.map(encode_batch, batches))
    data = join_hashed(AVRO_SCHEMA, options.codec, blocks, index)
    path = manifest_path(data)
    versions = pc.min_max(entries.column("addedAtVersion"))
    header_size = read_header(data, path).size
    info = ManifestInfo(
        path=path,
        num_entries=entries.num_rows,
        min_added_at_version=versions["min"].as_py(),
        max_added_at_version=versions["max"].as_py(),
        partition_bounds={name: order.bounds(0, entries.num_rows) for name, order in orders.items()} or None,
        live_entry_count=entries.num_rows,
        place=ManifestPlace(header_size, zlib.crc32(memoryview(data)[:header_size])),
        statistics=over_all(statistics),
    )
    return data, info


def _block_bounds(places: Iterable[BlockPlace], orders: Mapping[str, Ranking]) -> Iterator[dict[str, Any]]:
    ends = itertools.accumulate(place.count for place in places)
    for start, end in itertools.pairwise(itertools.chain([0], ends)):
        yield {name: order.bounds(start, end) for name, order in orders.items()}
