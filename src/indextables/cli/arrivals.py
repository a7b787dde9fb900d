"""Bytes that arrive at a pipe, in whole records: what is there is read, and more is not waited for."""

from __future__ import annotations

import io
import os
import re
import select
import stat
from collections.abc import Callable, Iterator
from typing import IO, Final

from indextables.cli.byte_streams import incremental_decoder
from indextables.errors import InputError

Patience = Callable[[], float | None]
"""The seconds that a reader may wait for more; None: until something comes, or the end."""

_PIECE: Final = 1 << 20
_MAX_RECORD: Final = 16 << 20
_NEWLINE: Final = b"\n"
_CLOSING: Final = re.compile(rb'[^"]*(?:""[^"]*)*"(?!")')


class Arrivals:
    """The bytes of a pipe as UTF-8, in parts that end with a record: lines, until `divide` says something else.

    `patience` is asked before each wait. An iteration yields nothing (`b""`) each time that it ends. Nothing else may
    read the pipe.
    """

    def __init__(self, descriptor: int, patience: Patience, encoding: str | None = None) -> None:
        self._descriptor, self._patience = descriptor, patience
        self._decoder = None if encoding is None else incremental_decoder(encoding)
        self._left = b""
        self._end_of: Callable[[bytes], int] = last_line_end
        self._most = _MAX_RECORD
        self._divide_long = False

    def divide(self, end_of: Callable[[bytes], int], most: int | None = None) -> None:
        """Set what returns the place after the last whole record, 0 without one, and what a longer record is cut to."""
        self._end_of = end_of
        if most is not None:
            self._most, self._divide_long = most, True

    def __iter__(self) -> Iterator[bytes]:
        while (part := self._part()) is not None:
            yield part

    def head(self, records: int) -> bytes:
        """Return what has come when it has that many lines with text, or everything if it never has."""
        head = b""
        for part in self:
            head += part
            if sum(map(bool, map(bytes.strip, head.splitlines()))) >= records:
                break
        return head

    def first_byte(self) -> bytes:
        """Return the first byte that is no space; it is read again by what comes next."""
        while not self._left.strip() and (data := self._read()) != b"":
            self._left += data or b""
        return self._left.lstrip()[:1]

    def read(self, most: int) -> bytes:
        """Return everything up to the end of the pipe, or somewhat more than `most` bytes of it."""
        parts, size = [self._left], len(self._left)
        self._left = b""
        while size < most and (data := self._read()) != b"":
            parts.append(data or b"")
            size += len(data or b"")
        return b"".join(parts)

    def _part(self) -> bytes | None:
        """Return whole records, nothing if the patience has ended, None at the end."""
        while True:
            end = self._end_of(self._left)
            if not end and len(self._left) > self._most:
                if not self._divide_long:
                    raise InputError(
                        f"a record has no end after {self._most >> 20} MiB; is it another format?"
                    )
                end = self._most
            if end:
                part, self._left = self._left[:end], self._left[end:]
                return part
            data = self._read()
            if data is None:
                return b""
            if not data:
                part, self._left = self._left, b""
                return part or None
            self._left += data

    def _read(self) -> bytes | None:
        """Return what is there, nothing at the end of the pipe, None if the patience ends before something comes."""
        while True:
            ready, _, _ = select.select([self._descriptor], [], [], self._patience())
            if not ready:
                return None
            data = os.read(self._descriptor, _PIECE)
            if self._decoder is None:
                return data
            text = self._decoder.decode(data, final=not data).encode()
            if text or not data:  # a part of a character is no text yet
                return text


def is_pipe(file: IO[bytes]) -> bool:
    """Return True for a plain file of the system that is not on a disk, so that its bytes come with time."""
    if not isinstance(file, io.BufferedReader):  # compressed
        return False
    try:
        return not stat.S_ISREG(os.fstat(file.fileno()).st_mode)
    except (OSError, ValueError):
        return False


def last_line_end(data: bytes) -> int:
    """Return the place after the last end of a line."""
    return data.rfind(_NEWLINE) + 1


def last_record_end(data: bytes, delimiter: bytes = b",") -> int:
    r"""Return the place after the last end of a line of CSV that is not inside of quotes.

    >>> last_record_end(b'1,"a\nb"\n2,"c\nd')
    8
    """
    end = place = 0
    while True:
        opening = data.find(b'"', place)
        end = max(end, data.rfind(_NEWLINE, place, len(data) if opening < 0 else opening) + 1)
        if opening < 0:
            return end
        if opening and data[opening - 1 : opening] not in (delimiter, _NEWLINE):  # inside of a value
            place = opening + 1
            continue
        quoted = _CLOSING.match(data, opening + 1)
        if quoted is None:
            return end
        place = quoted.end()
