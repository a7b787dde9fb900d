"""The bytes of a manifest, in every version of the format that milvus-storage ever wrote.

A manifest is a MILV stream (versions 1 to 3) or an Avro container (versions 3 to 6). All are read. Versions 1 and 2
are written as streams and the others as containers, byte for byte as the original writes them but for the sync
marker of a container, which any writer chooses.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from indextables.columns import milv, ocf
from indextables.columns.binary import truncated
from indextables.columns.encoding import write_manifest
from indextables.columns.manifest import Manifest
from indextables.columns.resolution import container_reader, stream_reader
from indextables.columns.schemas import CONTAINER_VERSIONS, NEWEST, STREAM_VERSIONS, schema_text
from indextables.errors import CorruptTableError, InputError

_SHORTEST: Final = 4


@dataclass(frozen=True)
class Format:
    """How a manifest was written."""

    version: int
    container: bool


def encode(
    manifest: Manifest, version: int = NEWEST, *, sync: bytes | None = None, tag: bytes | None = None
) -> bytes:
    """The manifest in the given version; InputError names what that version has no room for.

    `sync` is the 16-byte marker of a container. By default it has a checksum of the rest, and ends with the 8 bytes of
    `tag`, or of a hash: equal manifests, equal bytes.

    >>> len(encode(Manifest())), encode(Manifest(), 1).hex(" ")
    (2508, 'ac b1 ca d4 09 02 00 00 00')
    """
    if version in CONTAINER_VERSIONS:
        return encode_container(manifest, version, sync=sync, tag=tag)
    if (sync is not None or tag is not None) and version in STREAM_VERSIONS:
        raise InputError(
            f"manifest version {version!r} has no sync marker; Avro containers from version 3 on do"
        )
    if version in STREAM_VERSIONS:
        return encode_stream(manifest, version)
    raise InputError(f"there is no manifest version {version!r}; 1 to {NEWEST} can be written")


def encode_stream(manifest: Manifest, version: int) -> bytes:
    """The manifest as a MILV stream of version 1, 2 or 3."""
    out = milv.header(version)
    write_manifest(out, manifest, version)
    return bytes(out)


def encode_container(
    manifest: Manifest, version: int, *, sync: bytes | None = None, tag: bytes | None = None
) -> bytes:
    """The manifest as an Avro container of version 3, 4, 5 or 6."""
    body = bytearray()
    write_manifest(body, manifest, version)
    return ocf.write_container(schema_text(version), bytes(body), sync, tag=tag)


def decode(raw: bytes) -> Manifest:
    """The manifest in these bytes, paths as they are stored.

    CorruptTableError for bytes that are no manifest, not whole, or of a version that does not exist. Time and memory
    are bounded by the number of bytes, whatever they say.

    >>> decode(encode(Manifest()))
    Manifest()
    """
    try:
        if not _is_container(raw):
            version, at = milv.read_header(raw)
            return stream_reader(version)(raw, at)[0]
        ocf.check_marker(raw)
        schema, compression, at = ocf.read_schema(raw)
        reader = container_reader(schema)
        count, body = ocf.read_block(raw, compression, at)
        manifest, end = reader.read(body, 0)
        if count == 1 and end != len(body):
            raise CorruptTableError(
                f"the manifest ends at byte {end} of a record of {len(body)}: damaged, or the schema is not its own"
            )
    except IndexError:
        raise truncated(raw, len(raw)) from None
    return manifest


def format_of(raw: bytes) -> Format:
    """How these bytes were written. A container does not say its version; it is told from its schema.

    >>> format_of(encode(Manifest(), 4))
    Format(version=4, container=True)
    """
    try:
        if not _is_container(raw):
            return Format(milv.read_header(raw)[0], container=False)
        schema, _, _ = ocf.read_schema(raw)
    except IndexError:
        raise truncated(raw, len(raw)) from None
    return Format(container_reader(schema).version, container=True)


def _is_container(raw: bytes) -> bool:
    if len(raw) < _SHORTEST:
        raise CorruptTableError(
            "the manifest is empty" if not raw else f"{len(raw)} bytes are too few for a manifest"
        )
    return raw.startswith(ocf.MAGIC)
