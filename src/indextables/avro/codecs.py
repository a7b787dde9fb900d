"""The compression codecs of Avro blocks. Decompression is bounded: a hostile block must not fill memory."""

from __future__ import annotations

import sys
import zlib
from collections.abc import Callable
from functools import partial
from typing import Final

import pyarrow as pa

from indextables.errors import CorruptTableError

if sys.version_info >= (3, 14):  # pragma: no cover - the standard library's own from then on
    from compression import zstd
else:
    from backports import zstd

MAX_BLOCK: Final = 512 << 20
"""A block that inflates to more bytes is refused; blocks are usually 64 KB to a few MB."""

_CRC_SIZE: Final = 4


def compressor(codec: str, level: int) -> Callable[[bytes], bytes]:
    """Return a function that compresses payloads; it keeps its tables between calls, and serves one thread.

    Codecs: `null`, `snappy`, and `zstandard`, which alone has levels.
    """
    match codec:
        case "null":
            return bytes
        case "snappy":
            return _snap
        case "zstandard":
            return partial(zstd.ZstdCompressor(level).compress, mode=zstd.ZstdCompressor.FLUSH_FRAME)
        case _:
            raise ValueError(f"Avro codec {codec!r} cannot be written; use null, snappy or zstandard")


def _snap(data: bytes) -> bytes:
    squeezed: bytes = pa.compress(data, codec="snappy", asbytes=True)
    return squeezed + zlib.crc32(data).to_bytes(_CRC_SIZE, "big")


def inflate(data: bytes, codec: str, name: str, limit: int = MAX_BLOCK) -> bytes:
    """Decompress a payload. CorruptTableError names the file if it is damaged, too large, or of an unknown codec."""
    try:
        match codec:
            case "null":
                return data
            case "zstandard":
                return _unzstd(data, name, limit)
            case "snappy":
                return _unsnap(data, name, limit)
            case "deflate":
                return _inflate(data, name, limit)
    except (zstd.ZstdError, zlib.error, pa.ArrowException, OSError) as reason:
        raise CorruptTableError(f"{name}: a {codec} block is damaged ({reason})") from reason
    raise CorruptTableError(f"{name}: compressed with {codec!r}, which this release cannot read")


def _unzstd(data: bytes, name: str, limit: int) -> bytes:
    pieces: list[bytes] = []
    size = 0
    while data:  # a block may hold several frames
        frame = zstd.ZstdDecompressor()
        piece = frame.decompress(data, limit + 1 - size)
        size += len(piece)
        if size > limit:
            raise _too_large(name, limit)
        if not frame.eof:
            raise CorruptTableError(f"{name}: a zstandard block is truncated")
        pieces.append(piece)
        data = frame.unused_data
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)


def _unsnap(data: bytes, name: str, limit: int) -> bytes:
    body, checksum = data[:-_CRC_SIZE], data[-_CRC_SIZE:]
    size = shift = 0
    for byte in body[:5]:  # snappy data begins with the decompressed size
        size |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            break
    if size > limit:
        raise _too_large(name, limit)
    plain: bytes = pa.decompress(body, decompressed_size=size, codec="snappy", asbytes=True)
    if zlib.crc32(plain).to_bytes(_CRC_SIZE, "big") != checksum:
        raise CorruptTableError(f"{name}: a snappy block does not match its checksum")
    return plain


def _inflate(data: bytes, name: str, limit: int) -> bytes:
    stream = zlib.decompressobj(wbits=-15)
    plain = stream.decompress(data, limit + 1)
    if len(plain) > limit:
        raise _too_large(name, limit)
    if not stream.eof:
        raise CorruptTableError(f"{name}: a deflate block is truncated")
    return plain


def _too_large(name: str, limit: int) -> CorruptTableError:
    return CorruptTableError(f"{name}: a block inflates to more than {limit >> 20} MB")
