"""Loading one manifest: all of its entries, decoded in parallel, or those of selected blocks, fetched by range."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import pyarrow as pa

from indextables.avro import Block, Header, PackedBlock, find_blocks, read_block, read_header, unpack
from indextables.errors import CorruptTableError, ObjectNotFoundError, StorageError
from indextables.runtime import LimitedThreads
from indextables.state.blocks import IndexedBlock, decode_index
from indextables.state.entries import decode_entries
from indextables.state.file_keys import KeyOf, with_keys
from indextables.state.layout import is_content_named, manifest_key, manifest_path
from indextables.state.manifest import MAX_MANIFEST, ManifestInfo, ManifestPlace
from indextables.storage import Store

_GAP: Final = 64 << 10
_PIECE_BYTES: Final = 3 << 19
"""So many bytes are decoded at a time: few enough for the CPU caches, and for all cores to finish together."""


@dataclass(frozen=True)
class Selection:
    """What a read of a state may leave out, as the functions that decide it.

    `manifests` returns those to read. `reads_index` tells if the block index of a manifest is worth reading, and
    `index_columns` for which columns. `blocks` returns those to read, or None for the whole manifest. `entries` returns
    the decoded entries to keep; like `blocks`, it is called from several threads at once. `restart` is called if the
    read begins again, with all entries from another source.
    """

    manifests: Callable[[Sequence[ManifestInfo]], list[ManifestInfo]]
    reads_index: Callable[[ManifestInfo], bool]
    index_columns: Collection[str]
    blocks: Callable[[Sequence[IndexedBlock]], list[IndexedBlock] | None]
    entries: Callable[[pa.Table], pa.Table]
    restart: Callable[[], None]


def load_manifest(
    store: Store,
    version: int,
    info: ManifestInfo,
    selection: Selection | None,
    key_of: KeyOf,
    decoders: LimitedThreads,
) -> pa.Table:
    """Load the entries of a manifest of the state at `version`, in LIVE_SCHEMA, from the blocks that are selected."""
    file = _ManifestFile(store, info, manifest_key(info.path, version), key_of, decoders)
    try:
        if selection is not None and info.place is not None and selection.reads_index(info):
            try:
                return file.selected_blocks(selection, info.place)
            except ObjectNotFoundError:
                raise
            except StorageError:
                pass  # perhaps the file is too short: reading all of it finds out what is wrong
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
        """The name of the file in errors."""
        return f"{self.store.uri}/{self.key}"

    def all(self) -> pa.Table:
        data, name = self.store.get(self.key, MAX_MANIFEST), self.name
        if is_content_named(self.info.path) and manifest_path(data) != self.info.path:
            raise CorruptTableError(
                f"{name}: the content does not match the hash in the name; the file is damaged"
            )
        header = read_header(data, name)

        def decode(piece: list[PackedBlock]) -> pa.Table:
            return self._decode(header, (unpack(data, block, header, name) for block in piece))

        pieces = list(_pieces(find_blocks(data, header, name)))
        tables = list(self.decoders.map(decode, pieces))
        table = pa.concat_tables(tables) if tables else self._decode(header, [])
        if table.num_rows != self.info.num_entries:
            raise CorruptTableError(
                f"{name} has {table.num_rows} entries, but its state declares {self.info.num_entries}"
            )
        return table

    def selected_blocks(self, selection: Selection, place: ManifestPlace) -> pa.Table:
        """Load the selected blocks, each verified by its checksum, or all entries."""
        self._check_length(place.header_size)
        head = self.store.get_range(self.key, 0, place.header_size)
        if zlib.crc32(head) != place.header_crc:
            raise CorruptTableError(
                f"{self.name}: the header does not match its checksum; the file is damaged"
            )
        header = read_header(head, self.name)
        index = decode_index(header, self.name, selection.index_columns)
        blocks = None if index is None else selection.blocks(index)
        if blocks is None:
            return self.all()
        return self._decode(header, [block for run in _runs(blocks) for block in self._read(header, run)])

    def _read(self, header: Header, run: list[IndexedBlock]) -> Iterator[Block]:
        start, end = run[0].place.offset, run[-1].place.offset + run[-1].place.size
        self._check_length(end - start)
        data = self.store.get_range(self.key, header.size + start, end - start)
        if len(data) != end - start:
            raise CorruptTableError(
                f"{self.name} is truncated: {len(data)} of {end - start} bytes of its blocks"
            )
        for block in run:
            at = block.place.offset - start
            yield read_block(data[at : at + block.place.size], block.place, header, self.name)

    def _check_length(self, length: int) -> None:
        if not 0 <= length <= MAX_MANIFEST:
            raise CorruptTableError(
                f"{self.name}: a part of {length} bytes is declared; a manifest has at most {MAX_MANIFEST}"
            )

    def _decode(self, header: Header, blocks: Iterable[Block]) -> pa.Table:
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
    """Group blocks that are close enough to be fetched together."""
    run: list[IndexedBlock] = []
    for block in blocks:
        if run and block.place.offset - (run[-1].place.offset + run[-1].place.size) > _GAP:
            yield run
            run = []
        run.append(block)
    if run:
        yield run
