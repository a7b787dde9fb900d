"""The entries of one manifest: all of them, decoded by many at once, or those of the blocks that can matter."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

import pyarrow as pa

from indextables.avro import Block, Header, PackedBlock, find_blocks, read_block, read_header, unpack
from indextables.errors import CorruptTableError, ObjectNotFoundError, StorageError
from indextables.predicates import columns_of
from indextables.runtime import LimitedThreads
from indextables.state.blocks import IndexedBlock, decode_index
from indextables.state.entries import decode_entries
from indextables.state.layout import is_content_named, manifest_key, manifest_path
from indextables.state.manifest import MAX_MANIFEST, ManifestInfo, ManifestPlace
from indextables.state.paths import KeyOf, with_keys
from indextables.state.pruning import Filter
from indextables.state.sharing import shared_out
from indextables.storage import Store

_FULL_READ_SHARE: Final = 0.5
_GAP: Final = 64 << 10
_PIECE_BYTES: Final = 3 << 19
"""So much of a file is decoded at a time: small enough for the caches, and for all cores to be done together."""


def load_manifest(
    store: Store,
    version: int,
    info: ManifestInfo,
    chosen: Filter | None,
    key_of: KeyOf,
    decoders: LimitedThreads,
) -> pa.Table:
    """The entries of a manifest of the state at `version`, in LIVE_SCHEMA; without some that `chosen` rules out."""
    file = _ManifestFile(store, info, manifest_key(info.path, version), key_of, decoders)
    try:
        if chosen is not None and info.place is not None and chosen.prunes_blocks(info):
            try:
                return file.matching(chosen, info.place)
            except ObjectNotFoundError:
                raise
            except StorageError:
                pass  # too short, perhaps: a look at the whole file says what is wrong with it
        return file.all()
    except ObjectNotFoundError as reason:
        raise CorruptTableError(
            f"{file.name}, a manifest of the state at version {version}, is missing; "
            f"write a new state with a checkpoint, or repair the table"
        ) from reason


@dataclass(frozen=True)
class _ManifestFile:
    store: Store
    info: ManifestInfo
    key: str
    key_of: KeyOf
    decoders: LimitedThreads

    @property
    def name(self) -> str:
        """For errors."""
        return f"{self.store.uri}/{self.key}"

    def all(self) -> pa.Table:
        data, name = self.store.get(self.key, MAX_MANIFEST), self.name
        if is_content_named(self.info.path) and manifest_path(data) != self.info.path:
            raise CorruptTableError(f"{name}: the content is not what its name says; the file is damaged")
        header = read_header(data, name)

        def decoded(piece: list[PackedBlock]) -> pa.Table:
            return self._decoded(header, (unpack(data, block, header, name) for block in piece))

        pieces = list(_pieces(find_blocks(data, header, name)))
        tables = list(shared_out(self.decoders, decoded, pieces))
        table = pa.concat_tables(tables) if tables else self._decoded(header, [])
        if table.num_rows != self.info.num_entries:
            raise CorruptTableError(
                f"{name} has {table.num_rows} entries, its state says {self.info.num_entries}"
            )
        return table

    def matching(self, chosen: Filter, place: ManifestPlace) -> pa.Table:
        """Only the blocks that can match, each verified; everything, when that is most of it."""
        self._check_length(place.header_size)
        head = self.store.get_range(self.key, 0, place.header_size)
        if zlib.crc32(head) != place.header_crc:
            raise CorruptTableError(
                f"{self.name}: the header does not have its checksum; the file is damaged"
            )
        header = read_header(head, self.name)
        index = decode_index(header, self.name, columns_of(chosen.predicate))
        if index is None:
            return self.all()
        wanted = [block for block in index if chosen.within(block.bounds, block.statistics)]
        if sum(b.place.size for b in wanted) > _FULL_READ_SHARE * sum(b.place.size for b in index):
            return self.all()
        return self._decoded(header, [block for run in _runs(wanted) for block in self._read(header, run)])

    def _read(self, header: Header, run: list[IndexedBlock]) -> Iterator[Block]:
        start, end = run[0].place.offset, run[-1].place.offset + run[-1].place.size
        self._check_length(end - start)
        data = self.store.get_range(self.key, header.size + start, end - start)
        if len(data) != end - start:
            raise CorruptTableError(f"{self.name} is cut off")
        for block in run:
            at = block.place.offset - start
            yield read_block(data[at : at + block.place.size], block.place, header, self.name)

    def _check_length(self, length: int) -> None:
        if not 0 <= length <= MAX_MANIFEST:
            raise CorruptTableError(f"{self.name}: a part of {length} bytes is named, which no manifest has")

    def _decoded(self, header: Header, blocks: Iterable[Block]) -> pa.Table:
        return with_keys(decode_entries(header.schema, blocks, self.name), self.key_of)


def _pieces(blocks: Iterable[PackedBlock]) -> Iterator[list[PackedBlock]]:
    piece: list[PackedBlock] = []
    for block in blocks:
        piece.append(block)
        if block.end - piece[0].start >= _PIECE_BYTES:
            yield piece
            piece = []
    if piece:
        yield piece


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
