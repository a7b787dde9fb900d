"""The Avro container, in which versions 3 to 6 of the format are written: a header with the schema, one record.

Avro has no checksum, and a flipped bit in a number of rows reads as another number. But the 16 bytes of the sync marker
are free to the writer, and stand in the file twice. Here they are 4 bytes that say so, the CRC-32 of all other bytes of
the file, and an 8-byte tag. A marker that does not begin with those 4 bytes is another writer's, and checks nothing.
A damaged marker differs from its other copy.
"""

from __future__ import annotations

import hashlib
import zlib
from typing import Final

from indextables.codecs import inflate
from indextables.columns.binary import map_of, read_bytes, read_long, truncated, write_bytes, write_long
from indextables.errors import CorruptTableError, InputError

MAGIC: Final = b"Obj\x01"
SYNC_SIZE: Final = 16
TAG_SIZE: Final = 8
CHECKED: Final = b"\xd7ITc"
"""How a sync marker begins that has a checksum."""

_CODEC: Final = "avro.codec"
_SCHEMA: Final = "avro.schema"
_MOST_INFLATED: Final = 16 << 20
_TIMES_INFLATED: Final = 8
"""The original compresses nothing. What somebody else compressed may grow by so many bytes and so many times: decoded,
a hostile byte costs a hundred bytes of memory."""

_read_entries: Final = map_of(read_bytes)


def write_container(
    schema_text: str, body: bytes, sync: bytes | None = None, *, tag: bytes | None = None
) -> bytes:
    """One record in a container, byte for byte as milvus-storage writes it but for the sync marker.

    The marker is `sync`, any 16 bytes. Without it, the marker has a checksum and ends with `tag`, by default 8 bytes of
    a hash, so that equal manifests are equal bytes.
    """
    schema = schema_text.encode()
    if sync is not None and len(sync) != SYNC_SIZE:
        raise InputError(f"a sync marker has {SYNC_SIZE} bytes, not {len(sync)}")
    if tag is not None and len(tag) != TAG_SIZE:
        raise InputError(f"the tag of a sync marker has {TAG_SIZE} bytes, not {len(tag)}")
    head = bytearray(MAGIC)
    write_long(head, 2)
    for entry in (_CODEC.encode(), b"null", _SCHEMA.encode(), schema):
        write_bytes(head, entry)
    write_long(head, 0)
    block = bytearray()
    write_long(block, 1)
    write_bytes(block, body)
    if sync is None:
        ending = hashlib.sha256(schema + body).digest()[:TAG_SIZE] if tag is None else tag
        sync = CHECKED + _checksum(head, block) + ending
    return bytes(head + sync + block + sync)


def check_marker(raw: bytes) -> None:
    """Raise CorruptTableError if the container has a marker with a checksum, and it is not that of the rest."""
    sync = raw[-SYNC_SIZE:]
    if not sync.startswith(CHECKED):
        return
    at = raw.find(sync)
    end = len(raw) - SYNC_SIZE
    if at == end or _checksum(raw[:at], raw[at + SYNC_SIZE : end]) != sync[len(CHECKED) : -TAG_SIZE]:
        raise CorruptTableError("the manifest is damaged: its bytes do not have the checksum that they had")


def _checksum(head: bytes | bytearray, block: bytes | bytearray) -> bytes:
    return zlib.crc32(block, zlib.crc32(head)).to_bytes(4, "little")


def read_schema(raw: bytes) -> tuple[str, str, int]:
    """The text of a container's schema, its compression, and where the sync marker is that ends the header."""
    entries, at = _read_entries(raw, len(MAGIC))
    if _SCHEMA not in entries:
        raise CorruptTableError("the manifest is an Avro container without a schema")
    codec = entries.get(_CODEC, b"null").decode(errors="replace")
    return entries[_SCHEMA].decode(errors="replace"), codec, at


def read_block(raw: bytes, codec: str, at: int) -> tuple[int, bytes]:
    """The first block that has records: how many, and their bytes. `at` is the end of the header's map."""
    sync = raw[at : at + SYNC_SIZE]
    at += SYNC_SIZE
    while at < len(raw):
        count, start = read_long(raw, at)
        data, end = read_bytes(raw, start)
        if count < 0:
            raise CorruptTableError(f"the manifest has a block of {count} records at byte {at}")
        if raw[end : end + SYNC_SIZE] != sync:
            raise CorruptTableError(
                f"the manifest has no sync marker at byte {end} of {len(raw)}: truncated or damaged"
            )
        if count:
            plain = inflate(data, codec, "the manifest", _MOST_INFLATED + _TIMES_INFLATED * len(data))
            if count > len(plain):
                raise CorruptTableError(f"the manifest claims {count} records in {len(plain)} bytes")
            return count, plain
        at = end + SYNC_SIZE
    if len(sync) < SYNC_SIZE:
        raise truncated(raw, at - SYNC_SIZE)
    raise CorruptTableError("the manifest is an Avro container without a record")
