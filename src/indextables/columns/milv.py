"""The MILV stream, in which versions 1 to 3 of the format were written: a magic number, a version, the values.

It has no length and no trailer: it ends where decoding does. Splits keep their manifest in one.
"""

from __future__ import annotations

from typing import Final

from indextables.columns.binary import read_long, write_long
from indextables.columns.schemas import CONTAINER_VERSIONS, STREAM_VERSIONS
from indextables.errors import CorruptTableError

MAGIC: Final = 0x4D494C56
_MAGIC_BYTES: Final = bytes.fromhex("acb1cad409")


def header(version: int) -> bytearray:
    """The beginning of a stream, to write on.

    >>> header(1).hex(" ")
    'ac b1 ca d4 09 02'
    """
    out = bytearray()
    write_long(out, MAGIC)
    write_long(out, version)
    return out


def read_header(raw: bytes) -> tuple[int, int]:
    """The version of a stream, and where its values begin."""
    if not raw.startswith(_MAGIC_BYTES):
        raise CorruptTableError("the bytes are not a manifest: they do not begin with a magic number of one")
    version, at = read_long(raw, len(_MAGIC_BYTES))
    if version not in STREAM_VERSIONS:
        raise CorruptTableError(
            f"the manifest is a MILV stream of version {version}; there are streams of versions "
            f"{_range(STREAM_VERSIONS)} and Avro containers of versions {_range(CONTAINER_VERSIONS)}"
        )
    return version, at


def _range(versions: tuple[int, ...]) -> str:
    return f"{versions[0]} to {versions[-1]}"
