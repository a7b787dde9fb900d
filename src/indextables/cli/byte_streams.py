"""Streams of bytes: one whose first bytes were read already, and one in another encoding as UTF-8."""

from __future__ import annotations

import codecs
import io
from typing import IO, Final

from indextables.errors import InputError

_PIECE: Final = 1 << 16


class Rejoined(io.RawIOBase):
    """The first bytes of a stream, which were read to look at them, and then the rest of it.

    >>> rest = io.BytesIO(b"hello world")
    >>> Rejoined(rest.read(5), rest).read(100)
    b'hello'
    """

    def __init__(self, head: bytes, rest: IO[bytes]) -> None:
        super().__init__()
        self._head, self._rest = memoryview(head), rest

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        data = self._head[: len(buffer)] if self._head else self._rest.read(len(buffer))
        self._head = self._head[len(data) :]
        buffer[: len(data)] = data
        return len(data)


class _InUtf8(io.RawIOBase):
    def __init__(self, file: IO[bytes], encoding: str) -> None:
        super().__init__()
        self._file, self._decoder = file, incremental_decoder(encoding)
        self._ready = b""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        while not self._ready:
            data = self._file.read(_PIECE)
            self._ready = self._decoder.decode(data, final=not data).encode()
            if not data:
                break
        part, self._ready = self._ready[: len(buffer)], self._ready[len(buffer) :]
        buffer[: len(part)] = part
        return len(part)


def in_utf8(file: IO[bytes], encoding: str) -> IO[bytes]:
    r"""Return a stream as UTF-8. InputError if Python has no such encoding of text.

    >>> in_utf8(io.BytesIO(b"caf\xe9"), "latin-1").read().decode()
    'café'
    """
    return io.BufferedReader(_InUtf8(file, encoding))


def incremental_decoder(encoding: str) -> codecs.IncrementalDecoder:
    """Return a decoder of text that comes in parts. InputError if Python has no such encoding of text."""
    try:
        decoder = codecs.lookup(encoding).incrementaldecoder
        decoder().decode(b"")
    except (LookupError, TypeError, AttributeError):
        raise InputError(
            f"there is no encoding {encoding!r}; write utf-8, latin-1, cp1252 or utf-16"
        ) from None
    return decoder()
