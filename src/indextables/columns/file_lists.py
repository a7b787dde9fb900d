"""The files of a column group as versions 4 to 6 write them, read in one go.

Nearly all of a large manifest is this list. What is read here is what the readers that `resolution` puts together
would read, sooner: no function is called for the short strings and small numbers of an honest manifest. Where a
string ends is not compared with where the bytes do: something always follows it, and reading that raises IndexError.
"""

from __future__ import annotations

from indextables.columns.binary import read_block, read_long, read_string, read_string_map
from indextables.columns.manifest import ColumnGroupFile


def read_file(raw: bytes, at: int) -> tuple[ColumnGroupFile, int]:
    """One of them, where it does not stand in a plain list."""
    path, at = read_string(raw, at)
    start, at = read_long(raw, at)
    end, at = read_long(raw, at)
    properties, at = read_string_map(raw, at)
    return ColumnGroupFile(path, start, end, b"", properties), at


def read_files(raw: bytes, at: int) -> tuple[tuple[ColumnGroupFile, ...], int]:
    """A list of files, each a path, a start, an end and a map of properties, in that order.

    >>> read_files(bytes.fromhex("02 0461620014 02026b0276 00 00"), 0)
    ((ColumnGroupFile(path='ab', start_index=0, end_index=10, metadata=b'', properties={'k': 'v'}),), 13)
    """
    files: list[ColumnGroupFile] = []
    while True:
        count, at = read_block(raw, at)
        if not count:
            return tuple(files), at
        for _ in range(count):
            length = raw[at]
            if length & 0x81:  # 64 bytes or more, or fewer than none
                path, at = read_string(raw, at)
            else:
                begin, at = at + 1, at + 1 + (length >> 1)
                path = raw[begin:at].decode("utf-8", "surrogateescape")
            start = raw[at] >> 1
            if raw[at] & 0x81:
                start, at = read_long(raw, at)
            else:
                at += 1
            end, at = read_long(raw, at)
            properties: dict[str, str] = {}
            while raw[at]:
                entries, at = read_block(raw, at)
                for _ in range(entries):
                    length = raw[at]
                    if length & 0x81:
                        key, at = read_string(raw, at)
                    else:
                        begin, at = at + 1, at + 1 + (length >> 1)
                        key = raw[begin:at].decode("utf-8", "surrogateescape")
                    length = raw[at]
                    if length & 0x81:
                        properties[key], at = read_string(raw, at)
                    else:
                        begin, at = at + 1, at + 1 + (length >> 1)
                        properties[key] = raw[begin:at].decode("utf-8", "surrogateescape")
                if not entries:
                    break
            else:
                at += 1
            files.append(ColumnGroupFile(path, start, end, b"", properties))
