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
_INSIDE: Final = re.compile(rb'(?:[^"]+|"")*+')


class Arrivals:
    """The bytes of a pipe as UTF-8, in parts that end with a record: lines, until `divide` says something else.

    `patience` is asked before each wait. An iteration yields nothing (`b""`) each time that it ends. Nothing else may
    read the pipe.
    """

    def __init__(self, descriptor: int, patience: Patience, encoding: str | None = None) -> None:
        self._descriptor, self._patience = descriptor, patience
        self._decoder = None if encoding is None else incremental_decoder(encoding)
        self._left = bytearray()
        self._end_of: Callable[[bytearray], int] = last_line_end
        self._most = _MAX_RECORD
        self._divide_long = False

    def divide(self, end_of: Callable[[bytearray], int], most: int | None = None) -> None:
        """Set what returns the place after the last whole record, 0 without one, and what a longer record is cut to.

        It is called with what has come since the last place that it returned.
        """
        self._end_of = end_of
        if most is not None:
            self._most, self._divide_long = most, True

    def __iter__(self) -> Iterator[bytes]:
        while (part := self._part()) is not None:
            yield part

    def head(self, records: int, count: Callable[[bytes], int] | None = None) -> bytes:
        """Return what has come when it has that many records, or everything if it never has.

        `count` counts them; without it they are lines with text.
        """
        count = count or _lines_with_text
        head = b""
        for part in self:
            head += part
            if count(head) >= records:
                break
        return head

    def first_byte(self) -> bytes:
        """Return the first byte that is no space; it is read again by what comes next."""
        while not self._left.strip() and (data := self._read()) != b"":
            self._left += data or b""
        return bytes(self._left.lstrip()[:1])

    def read(self, most: int) -> bytes:
        """Return everything up to the end of the pipe, or somewhat more than `most` bytes of it."""
        parts, size = [bytes(self._left)], len(self._left)
        self._left = bytearray()
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
                part = bytes(self._left[:end])
                del self._left[:end]
                return part
            data = self._read()
            if data is None:
                return b""
            if not data:
                part, self._left = bytes(self._left), bytearray()
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


def last_line_end(data: bytes | bytearray) -> int:
    """Return the place after the last end of a line."""
    return data.rfind(_NEWLINE) + 1


def _lines_with_text(data: bytes) -> int:
    return sum(map(bool, map(bytes.strip, data.splitlines())))


class RecordEnds:
    r"""Finds the place after the last end of a line of CSV that is not inside of quotes; 0 if there is none.

    It goes on where it stopped: data is given to it again with more at its end, but without the records that it found.

    >>> end_of = RecordEnds()
    >>> end_of(b'1,"a\nb"\n2,"c\nd'), end_of(b'2,"c\nd"\n3')
    (8, 8)
    """

    def __init__(self, delimiter: bytes = b",") -> None:
        self._before_quotes = (delimiter, _NEWLINE)
        self._quoted = re.compile(rb'(?<![^\n%b])"(?:[^"]+|"")*+"' % re.escape(delimiter))
        self._place, self._is_quoted = 0, False

    def __call__(self, data: bytes | bytearray) -> int:
        end, place = 0, self._place
        while place < len(data):
            if self._is_quoted:
                place = self._after_quotes(data, place)
                if self._is_quoted:
                    break
            opening = data.find(b'"', place)
            end = max(end, data.rfind(_NEWLINE, place, len(data) if opening < 0 else opening) + 1)
            # quotes inside of a value are as any character
            self._is_quoted = opening == 0 or (
                opening > 0 and data[opening - 1 : opening] in self._before_quotes
            )
            place = len(data) if opening < 0 else opening + 1
        self._place = place - end
        return end

    def _after_quotes(self, data: bytes | bytearray, place: int) -> int:
        """Return the place after the quotes that close a value, or, if they may be still to come, where to go on."""
        inside = _INSIDE.match(data, place)
        place = place if inside is None else inside.end()
        if place + 1 < len(data):  # the last quotes may be the first of two
            self._is_quoted = False
            place += 1
        return place

    def count(self, data: bytes) -> int:
        """Return the number of whole records that are no empty line."""
        return sum(map(bool, self._quoted.sub(b"x", data).replace(b"\r", b"").split(_NEWLINE)))
