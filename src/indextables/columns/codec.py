"""The bytes of a manifest, in every version of the format that milvus-storage ever wrote.

A manifest is a MILV stream (versions 1 to 3) or an Avro container of one record (versions 3 to 6). All are read.
Versions 1 and 2 are written as streams and the others as containers, byte for byte as the original writes them but for
the sync marker of a container, which is the writer's choice.

A stream is a magic number, the version and the values. It has no length and no trailer: it ends where decoding does.
Splits keep their manifest in one.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Final

from indextables.avro import (
    CODEC,
    MAGIC,
    SCHEMA,
    SYNC_SIZE,
    TAG_SIZE,
    AvroError,
    Block,
    Header,
    check_checksum,
    checksum_marker,
    encode_long,
    find_blocks,
    join_container,
    read_header,
    read_long,
    reading,
    unpack,
)
from indextables.columns.decoding import container_reader, stream_reader
from indextables.columns.encoding import write_manifest
from indextables.columns.manifest import Manifest
from indextables.columns.schemas import CONTAINER_VERSIONS, NEWEST, STREAM_VERSIONS, schema_text
from indextables.errors import CorruptTableError, InputError

_STREAM_MAGIC: Final = encode_long(0x4D494C56)
_SHORTEST: Final = 4
_NAME: Final = "the manifest cannot be read"
_MOST_INFLATED: Final = 16 << 20
_TIMES_INFLATED: Final = 8
"""The original compresses nothing. A record that other software compressed may grow by so many bytes and so many times:
decoded, a hostile byte costs a hundred bytes of memory."""


@dataclass(frozen=True)
class Format:
    """How a manifest was written."""

    version: int
    container: bool


def encode(
    manifest: Manifest, version: int = NEWEST, *, sync: bytes | None = None, tag: bytes | None = None
) -> bytes:
    """Encode the manifest in the given version; InputError names what that version has no field for.

    `sync` is the 16-byte marker of a container. By default it has a checksum of all other bytes, and ends with the 8
    bytes of `tag`, or of a hash: equal manifests are equal bytes.

    >>> len(encode(Manifest())), encode(Manifest(), 1).hex(" ")
    (2508, 'ac b1 ca d4 09 02 00 00 00')
    """
    if version in CONTAINER_VERSIONS:
        body = bytearray()
        write_manifest(body, manifest, version)
        return encode_record(schema_text(version), bytes(body), sync, tag=tag)
    if version not in STREAM_VERSIONS:
        raise InputError(f"there is no manifest version {version!r}; 1 to {NEWEST} can be written")
    if sync is not None or tag is not None:
        raise InputError(
            f"manifest version {version!r} has no sync marker; Avro containers from version 3 on do"
        )
    return encode_stream(manifest, version)


def encode_stream(manifest: Manifest, version: int) -> bytes:
    """Encode the manifest as a MILV stream of version 1, 2 or 3."""
    out = bytearray(_STREAM_MAGIC + encode_long(version))
    write_manifest(out, manifest, version)
    return bytes(out)


def encode_record(schema: str, body: bytes, sync: bytes | None = None, *, tag: bytes | None = None) -> bytes:
    """Encode one record as an Avro container; `sync` and `tag` are those of `encode`."""
    if sync is not None and len(sync) != SYNC_SIZE:
        raise InputError(f"a sync marker has {SYNC_SIZE} bytes, not {len(sync)}")
    if tag is not None and len(tag) != TAG_SIZE:
        raise InputError(f"the tag of a sync marker has {TAG_SIZE} bytes, not {len(tag)}")

    def sync_marker(pieces: list[bytes]) -> bytes:
        if sync is not None:
            return sync
        return checksum_marker(pieces, tag or hashlib.sha256(schema.encode() + body).digest()[:TAG_SIZE])

    return join_container([Block(1, body)], lambda _: {CODEC: "null", SCHEMA: schema}, sync_marker)


def decode(raw: bytes) -> Manifest:
    """Decode a manifest, paths as they are stored.

    CorruptTableError for bytes that are not a manifest, not whole, or of a version that does not exist. Time and memory
    are bounded by the number of bytes.

    >>> decode(encode(Manifest()))
    Manifest()
    """
    with reading(_NAME):
        if not _is_container(raw):
            version, at = _read_stream_version(raw)
            return stream_reader(version)(raw, at)[0]
        check_checksum(raw, _NAME)
        header = read_header(raw, _NAME)
        reader = container_reader(header.schema)
        block = _first_records(raw, header)
        manifest, end = reader.read(block.data, 0)
        if block.count == 1 and end != len(block.data):
            raise AvroError(
                f"it ends at byte {end} of a record of {len(block.data)}: damaged, or the schema is not its own"
            )
        return manifest


def format_of(raw: bytes) -> Format:
    """Return how these bytes were written. A container does not name its version: its schema shows it.

    >>> format_of(encode(Manifest(), 4))
    Format(version=4, container=True)
    """
    with reading(_NAME):
        if not _is_container(raw):
            return Format(_read_stream_version(raw)[0], container=False)
        return Format(container_reader(read_header(raw, _NAME).schema).version, container=True)


def _first_records(raw: bytes, header: Header) -> Block:
    """Return the first block that has records; what follows it is not read."""
    for block in find_blocks(raw, header, _NAME):
        if block.count:
            limit = _MOST_INFLATED + _TIMES_INFLATED * (block.end - block.start)
            return unpack(raw, block, header, _NAME, limit)
    raise AvroError("an Avro container without a record")


def _is_container(raw: bytes) -> bool:
    if len(raw) < _SHORTEST:
        raise CorruptTableError(
            "the manifest is empty" if not raw else f"{len(raw)} bytes are too few for a manifest"
        )
    return raw.startswith(MAGIC)


def _read_stream_version(raw: bytes) -> tuple[int, int]:
    """Return the version of a stream, and where its values begin."""
    if not raw.startswith(_STREAM_MAGIC):
        raise CorruptTableError("the bytes are not a manifest: they begin with no magic number of one")
    version, at = read_long(raw, len(_STREAM_MAGIC))
    if version not in STREAM_VERSIONS:
        raise CorruptTableError(
            f"the manifest is a MILV stream of version {version}; there are streams of versions 1 to "
            f"{STREAM_VERSIONS[-1]} and Avro containers of versions {CONTAINER_VERSIONS[0]} to {NEWEST}"
        )
    return version, at
