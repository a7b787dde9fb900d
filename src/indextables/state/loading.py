"""The entries of one manifest: all of them, decoded by many at once, or those of the blocks that can matter."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from concurrent.futures import Executor
from typing import Final

import pyarrow as pa

from indextables.errors import CorruptTableError, ObjectNotFoundError, StorageError
from indextables.predicates import columns_of
from indextables.state.blocks import IndexedBlock, decode_index
from indextables.state.container import (
    Block,
    Header,
    PackedBlock,
    find_blocks,
    read_block,
    read_header,
    unpacked,
)
from indextables.state.entries import decode_entries
from indextables.state.layout import is_content_named, manifest_key, manifest_path
from indextables.state.manifest import ManifestInfo
from indextables.state.pruning import Filter
from indextables.state.sharing import shared_out
from indextables.storage import Store

_FULL_READ_SHARE: Final = 0.5
_GAP: Final = 64 << 10
_PIECE_BYTES: Final = 3 << 19
"""So much of a file is decoded at a time: small enough for the caches, and for all cores to be done together."""


def load_manifest(
    store: Store, version: int, info: ManifestInfo, chosen: Filter | None, decoders: Executor
) -> pa.Table:
    """The entries of a manifest of the state at `version`, in ENTRY_SCHEMA; without some that `chosen` rules out."""
    key = manifest_key(info.path, version)
    name = f"{store.uri}/{key}"
    try:
        if chosen is not None and info.place is not None and chosen.prunes_blocks(info):
            try:
                return _load_blocks(store, info, key, name, chosen, decoders)
            except ObjectNotFoundError:
                raise
            except StorageError:
                pass  # too short, perhaps: a look at the whole file says what is wrong with it
        return _load_all(store, info, key, name, decoders)
    except ObjectNotFoundError as reason:
        raise CorruptTableError(
            f"{name}, a manifest of the state at version {version}, is missing; "
            f"write a new state with a checkpoint, or repair the table"
        ) from reason


def _load_all(store: Store, info: ManifestInfo, key: str, name: str, decoders: Executor) -> pa.Table:
    data = store.get(key)
    if is_content_named(info.path) and manifest_path(data) != info.path:
        raise CorruptTableError(f"{name}: the content is not what its name says; the file is damaged")
    header = read_header(data, name)

    def decoded(piece: list[PackedBlock]) -> pa.Table:
        return decode_entries(header.schema, (unpacked(data, block, header, name) for block in piece), name)

    pieces = list(_pieces(find_blocks(data, header, name)))
    tables = list(shared_out(decoders, decoded, pieces))
    table = pa.concat_tables(tables) if tables else decode_entries(header.schema, [], name)
    if table.num_rows != info.num_entries:
        raise CorruptTableError(f"{name} has {table.num_rows} entries, its state says {info.num_entries}")
    return table


def _pieces(blocks: Iterable[PackedBlock]) -> Iterator[list[PackedBlock]]:
    piece: list[PackedBlock] = []
    for block in blocks:
        piece.append(block)
        if block.end - piece[0].start >= _PIECE_BYTES:
            yield piece
            piece = []
    if piece:
        yield piece


def _load_blocks(
    store: Store, info: ManifestInfo, key: str, name: str, chosen: Filter, decoders: Executor
) -> pa.Table:
    """Only the blocks that can match, each verified; everything, when that is most of it."""
    assert info.place is not None
    head = store.get_range(key, 0, info.place.header_size)
    if zlib.crc32(head) != info.place.header_crc:
        raise CorruptTableError(f"{name}: the header does not have its checksum; the file is damaged")
    header = read_header(head, name)
    index = decode_index(header, name, columns_of(chosen.predicate))
    if index is None:
        return _load_all(store, info, key, name, decoders)
    wanted = [block for block in index if chosen.within(block.bounds, block.statistics)]
    if sum(b.place.size for b in wanted) > _FULL_READ_SHARE * sum(b.place.size for b in index):
        return _load_all(store, info, key, name, decoders)
    blocks = [block for run in _runs(wanted) for block in _read_run(store, key, name, header, run)]
    return decode_entries(header.schema, blocks, name)


def _read_run(store: Store, key: str, name: str, header: Header, run: list[IndexedBlock]) -> Iterator[Block]:
    start, end = run[0].place.offset, run[-1].place.offset + run[-1].place.size
    data = store.get_range(key, header.size + start, end - start)
    if len(data) != end - start:
        raise CorruptTableError(f"{name} is cut off")
    for block in run:
        at = block.place.offset - start
        yield read_block(data[at : at + block.place.size], block.place, header, name)


def _runs(blocks: list[IndexedBlock]) -> Iterator[list[IndexedBlock]]:
    """Blocks that lie close enough to be fetched together."""
    run: list[IndexedBlock] = []
    for block in blocks:
        if run and block.place.offset - (run[-1].place.offset + run[-1].place.size) > _GAP:
            yield run
            run = []
        run.append(block)
    if run:
        yield run
