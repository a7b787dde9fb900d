"""Ranking statistics: how many documents the index of a split has, and how many words each of its columns.

BM25 weighs a word by the number of documents and the average length of a column. The engine knows both for one split.
To rank the rows of several splits together, their statistics are added: documents and words are plain sums. A split
keeps them in a small member at its end, so that they come with the read that opens it.

The number of words is read from the engine's file of postings, so that it is the number that the engine ranks with:

    [postings of each field, which begin with its number of words u64][table of the fields][length of the table u32]
    [Tantivy's footer]

The table has the number of fields, and for each one the distance of its postings from the one before, the number of the
field (u32) and a number that is 0. Distances and counts are groups of 7 bits, the last one with the highest bit set. A
field without words is not in the table. A word that is too long for the engine is not counted.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Final

import orjson

from indextables.schema import FieldMapping
from indextables.split.index.fields import IndexFields

_POSTINGS: Final = ".idx"
_TAIL: Final = struct.Struct("<II")
_LENGTH: Final = struct.Struct("<I")
_WORDS: Final = struct.Struct("<Q")
_LAST_GROUP: Final = 0x80
_MAX_TABLE_BYTES: Final = 1 << 24
_LIMIT: Final = 1 << 62
"""Sums of counts below this fit 64 bits."""


@dataclass(frozen=True)
class RankingStatistics:
    """The number of documents, and the number of words in each column with text or strings.

    >>> parts = [RankingStatistics(2, {"body": 9}), RankingStatistics(1, {"body": 3})]
    >>> both = RankingStatistics.total(parts)
    >>> both, both.average_length("body")
    (RankingStatistics(documents=3, tokens={'body': 12}), 4.0)
    """

    documents: int
    tokens: Mapping[str, int]

    @classmethod
    def total(cls, parts: Iterable[RankingStatistics]) -> RankingStatistics:
        """Return the statistics of several splits together. A column that a part does not have has no words there."""
        documents, tokens = 0, dict[str, int]()
        for part in parts:
            documents += part.documents
            for column, count in part.tokens.items():
                tokens[column] = tokens.get(column, 0) + count
        return cls(documents, tokens)

    def average_length(self, column: str) -> float:
        """Return the average number of words of a column in a document. BM25 counts a null as a document of none."""
        return self.tokens[column] / max(1, self.documents)

    def to_bytes(self) -> bytes:
        return orjson.dumps({"documents": self.documents, "tokens": dict(self.tokens)})

    @classmethod
    def from_bytes(cls, data: bytes, mapping: FieldMapping, rows: int) -> RankingStatistics:
        """Decode the statistics of a split. ValueError if they are not those of these columns and so many rows."""
        document: Any = orjson.loads(data)
        if not isinstance(document, dict) or document.keys() != {"documents", "tokens"}:
            raise ValueError("its ranking statistics are not an object with `documents` and `tokens`")
        documents, tokens = document["documents"], document["tokens"]
        if type(documents) is not int or documents != rows:
            raise ValueError(f"its ranking statistics are of {documents!r} documents, and it has {rows} rows")
        columns = mapping.of_kind("string", "text")
        strings = {field.name for field in columns if (field.kind, field.spark_type) == ("string", "string")}
        if not isinstance(tokens, dict) or tokens.keys() != {field.name for field in columns}:
            raise ValueError("its ranking statistics are of other columns than it has")
        for column, count in tokens.items():
            if type(count) is not int or not 0 <= count < (rows + 1 if column in strings else _LIMIT):
                raise ValueError(
                    f"its ranking statistics claim {count!r} words of column {column!r} in {rows} rows"
                )
        return cls(documents, tokens)


def index_statistics(
    files: Sequence[Path], meta: Mapping[str, Any], fields: IndexFields
) -> RankingStatistics:
    """Return the statistics of an index that was just built: its files, and its `meta.json`.

    ValueError if a file is not as this release of the engine writes it.
    """
    names = [entry["name"] for entry in meta["schema"]]
    columns = {
        names.index(field.name): field.mapped.name
        for field in fields.all
        if field.mapped.kind in ("text", "string")
    }
    tokens = dict.fromkeys(columns.values(), 0)
    for path in files:
        if path.suffix == _POSTINGS:
            for number, count in _field_words(path).items():
                if number in columns:
                    tokens[columns[number]] += count
    return RankingStatistics(sum(segment["max_doc"] for segment in meta["segments"]), tokens)


def _field_words(path: Path) -> dict[int, int]:
    """Return the number of words of each field in a file of postings."""
    with path.open("rb") as file:
        try:
            words = {}
            for number, (start, _) in field_places(file).items():
                file.seek(start)
                (words[number],) = _WORDS.unpack(file.read(_WORDS.size))
        except (struct.error, IndexError, OSError) as reason:
            raise ValueError(f"the postings of the index cannot be read: {reason!r}") from reason
    return words


def field_places(file: BinaryIO) -> dict[int, tuple[int, int]]:
    """Return where the data of each field begins and ends in a file of the engine that has a table of fields."""
    size = file.seek(-_TAIL.size, 2) + _TAIL.size
    footer, _ = _TAIL.unpack(file.read())
    end = size - _TAIL.size - footer - _LENGTH.size
    file.seek(end)
    (length,) = _LENGTH.unpack(file.read(_LENGTH.size))
    if length > min(end, _MAX_TABLE_BYTES):
        raise ValueError(f"its table of fields claims {length} bytes")
    file.seek(end - length)
    starts = _table(file.read(length))
    in_order = sorted(starts, key=starts.__getitem__)
    ends = [*(starts[number] for number in in_order[1:]), end - length]
    return {number: (starts[number], stop) for number, stop in zip(in_order, ends, strict=False)}


def _table(raw: bytes) -> dict[int, int]:
    """Return where the postings of each field begin."""
    count, at = _number(raw, 0)
    starts: dict[int, int] = {}
    start = 0
    for _ in range(count):
        distance, at = _number(raw, at)
        (field,) = _LENGTH.unpack_from(raw, at)
        part, at = _number(raw, at + _LENGTH.size)
        start += distance
        if part or field in starts:
            raise ValueError("the postings of the index have a field twice")
        starts[field] = start
    if at != len(raw):
        raise ValueError(f"the table of fields has {len(raw) - at} bytes too many")
    return starts


def _number(raw: bytes, at: int) -> tuple[int, int]:
    """Return a number in groups of 7 bits, and where it ends."""
    value = shift = 0
    while True:
        byte = raw[at]
        value |= (byte & ~_LAST_GROUP) << shift
        at, shift = at + 1, shift + 7
        if byte & _LAST_GROUP:
            return value, at
