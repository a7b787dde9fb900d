"""The Avro container, in which versions 3 to 6 of the format are written: a header with the schema, one record."""

from __future__ import annotations

import hashlib
from typing import Final

from indextables.codecs import inflate
from indextables.columns.binary import map_of, read_bytes, read_long, truncated, write_bytes, write_long
from indextables.errors import CorruptTableError, InputError

MAGIC: Final = b"Obj\x01"
SYNC_SIZE: Final = 16

_CODEC: Final = "avro.codec"
_SCHEMA: Final = "avro.schema"
_MOST_INFLATED: Final = 16 << 20
_TIMES_INFLATED: Final = 8
"""The original compresses nothing. What somebody else compressed may grow by so many bytes and so many times: decoded,
a hostile byte costs a hundred bytes of memory."""

_read_entries: Final = map_of(read_bytes)


def write_container(schema_text: str, body: bytes, sync: bytes | None) -> bytes:
    """One record in a container, byte for byte as milvus-storage writes it.

    The sync marker is any 16 bytes. Unless given they come from a hash, so that equal manifests are equal bytes.
    """
    schema = schema_text.encode()
    if sync is None:
        sync = hashlib.sha256(schema + body).digest()[:SYNC_SIZE]
    elif len(sync) != SYNC_SIZE:
        raise InputError(f"a sync marker has {SYNC_SIZE} bytes, not {len(sync)}")
    out = bytearray(MAGIC)
    write_long(out, 2)
    for entry in (_CODEC.encode(), b"null", _SCHEMA.encode(), schema):
        write_bytes(out, entry)
    write_long(out, 0)
    out += sync
    write_long(out, 1)
    write_bytes(out, body)
    out += sync
    return bytes(out)


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
