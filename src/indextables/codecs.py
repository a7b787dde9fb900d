"""The compressions of Avro blocks, each bounded: a hostile block must not fill memory."""

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
"""A block that inflates to more is refused: honest ones have 64 KB to a few MB."""

_CRC_SIZE: Final = 4


def compress(data: bytes, codec: str, level: int) -> bytes:
    """One block's payload, compressed: `null`, `snappy` or `zstandard` (which has levels)."""
    return compressor(codec, level)(data)


def compressor(codec: str, level: int) -> Callable[[bytes], bytes]:
    """What compresses one payload after the other, in one thread; its tables are made once for all of them."""
    match codec:
        case "null":
            return bytes
        case "snappy":
            return _snap
        case "zstandard":
            return partial(zstd.ZstdCompressor(level).compress, mode=zstd.ZstdCompressor.FLUSH_FRAME)
        case _:
            raise ValueError(f"no writer for Avro codec {codec!r}")


def _snap(data: bytes) -> bytes:
    squeezed: bytes = pa.compress(data, codec="snappy", asbytes=True)
    return squeezed + zlib.crc32(data).to_bytes(_CRC_SIZE, "big")


def inflate(data: bytes, codec: str, name: str, limit: int = MAX_BLOCK) -> bytes:
    """The payload. CorruptTableError names the file when it is damaged, too large, or of an unknown codec."""
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
        raise CorruptTableError(f"{name}: a damaged {codec} block ({reason})") from reason
    raise CorruptTableError(f"{name}: compressed with {codec!r}, which this release cannot read")


def _unzstd(data: bytes, name: str, limit: int) -> bytes:
    pieces: list[bytes] = []
    size = 0
    while data:  # a block may hold several frames
        frame = zstd.ZstdDecompressor()
        piece = frame.decompress(data, limit + 1 - size)
        size += len(piece)
        if size > limit:
            raise CorruptTableError(f"{name}: a block inflates to more than {limit >> 20} MB")
        if not frame.eof:
            raise CorruptTableError(f"{name}: a zstandard block is cut off")
        pieces.append(piece)
        data = frame.unused_data
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)


def _unsnap(data: bytes, name: str, limit: int) -> bytes:
    body, checksum = data[:-_CRC_SIZE], data[-_CRC_SIZE:]
    size = shift = 0
    for byte in body[:5]:  # snappy says its inflated size first
        size |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            break
    if size > limit:
        raise CorruptTableError(f"{name}: a block inflates to more than {limit >> 20} MB")
    plain: bytes = pa.decompress(body, decompressed_size=size, codec="snappy", asbytes=True)
    if zlib.crc32(plain).to_bytes(_CRC_SIZE, "big") != checksum:
        raise CorruptTableError(f"{name}: a snappy block does not have its checksum")
    return plain


def _inflate(data: bytes, name: str, limit: int) -> bytes:
    stream = zlib.decompressobj(wbits=-15)
    plain = stream.decompress(data, limit + 1)
    if len(plain) > limit:
        raise CorruptTableError(f"{name}: a block inflates to more than {limit >> 20} MB")
    if not stream.eof:
        raise CorruptTableError(f"{name}: a deflate block is cut off")
    return plain
