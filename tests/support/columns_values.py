"""Manifests for tests: drawn at random, as each version of the format can hold them, and as plain records."""

from __future__ import annotations

import io
import json
import random
from dataclasses import fields
from typing import Any

import fastavro
from hypothesis import strategies as st

from indextables.columns import (
    ColumnGroup,
    ColumnGroupFile,
    DeltaLog,
    DeltaLogType,
    Index,
    LobFile,
    Manifest,
    Statistics,
)

FULL = Manifest(
    (
        ColumnGroup(
            ("id", "vec"),
            "parquet",
            (
                ColumnGroupFile(
                    "0_a.parquet", 0, 100, properties={"file_size": "1234", "aa": "\udcaa\udcbb"}
                ),
                ColumnGroupFile("/abs/x.parquet", 7, 107),
            ),
        ),
        ColumnGroup(("text",), "vortex", (ColumnGroupFile("1_a.vortex", 0, 200),)),
    ),
    (
        DeltaLog("d1", 3),
        DeltaLog("d2", 300, DeltaLogType.POSITIONAL),
        DeltaLog("d3", 0, DeltaLogType.EQUALITY),
    ),
    {
        "bloomfilter": Statistics(("z",)),
        "bm25": Statistics(("s1", "s2"), {"k": "v"}),
        "pk.delete": Statistics(()),
    },
    (
        Index("vec", "hnsw", "i1", "nm", 101, 7, 1, 2, 3, 4, 5, 6, 7, 8, ("a", "b"), {"M": "16"}),
        Index("id", "sort", "i2"),
    ),
    (LobFile("101/_data/x", 101, 10, 9, 99),),
)
"""Something of everything that version 6 has."""

longs = st.integers(-(1 << 63), (1 << 63) - 1)
ints = st.integers(-(1 << 31), (1 << 31) - 1)
readable = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
names = st.one_of(readable, st.just("not\udcffutf8"), st.just("x" * 70))


def manifests(version: int, names: st.SearchStrategy[str] = names) -> st.SearchStrategy[Manifest]:
    """Manifests that this version has room for."""
    texts = st.lists(names, max_size=3).map(tuple)
    maps = st.dictionaries(names, names, max_size=3)
    nothing: st.SearchStrategy[Any] = st.just({})
    files = st.builds(
        ColumnGroupFile,
        names,
        longs,
        longs,
        st.binary(max_size=20) if version < 4 else st.just(b""),
        maps if version >= 4 else nothing,
    )
    groups = st.builds(ColumnGroup, texts, names, st.lists(files, max_size=3).map(tuple))
    statistics = st.builds(Statistics, texts, maps if version >= 3 else nothing)
    return st.builds(
        Manifest,
        st.lists(groups, max_size=3).map(tuple),
        st.lists(st.builds(DeltaLog, names, longs, st.sampled_from(DeltaLogType)), max_size=3).map(tuple),
        st.dictionaries(names, statistics, max_size=3),
        st.lists(_indexes(version, names, texts, maps), max_size=2 * (version >= 2)).map(tuple),
        st.lists(st.builds(LobFile, names, longs, longs, longs, longs), max_size=2 * (version >= 5)).map(
            tuple
        ),
    )


def _indexes(version: int, names: Any, texts: Any, maps: Any) -> st.SearchStrategy[Index]:
    if version < 6:
        return st.builds(Index, names, names, names, properties=maps)
    return st.builds(Index, *[names] * 4, *[longs] * 7, *[ints] * 3, texts, maps)


def record(value: object) -> Any:
    """A manifest, or a part of one, as an Avro library takes it: every field that any version has."""
    if isinstance(value, tuple):
        return [record(item) for item in value]
    if isinstance(value, dict):
        return {key: record(item) for key, item in value.items()}
    if hasattr(value, "__dataclass_fields__"):
        return {field.name: record(getattr(value, field.name)) for field in fields(value)}
    return int(value) if isinstance(value, DeltaLogType) else value


def blocky(rng: random.Random, schema: Any, value: Any) -> bytes:
    """A value in Avro's encoding as no writer leaves it: lists and maps cut into blocks, some with their size."""
    kind = schema if isinstance(schema, str) else schema["type"]
    match kind:
        case "int" | "long":
            return number(value)
        case "string":
            raw = value.encode("utf-8", "surrogateescape")
            return number(len(raw)) + raw
        case "bytes":
            return number(len(value)) + value
        case "record":
            return b"".join(blocky(rng, field["type"], value[field["name"]]) for field in schema["fields"])
        case "array":
            return _blocks(rng, [blocky(rng, schema["items"], item) for item in value])
        case "map":
            pairs = [blocky(rng, "string", k) + blocky(rng, schema["values"], v) for k, v in value.items()]
            return _blocks(rng, pairs)
    raise AssertionError(kind)


def with_fastavro(written: Any, records: list[Any], compression: str = "null", **options: Any) -> bytes:
    out = io.BytesIO()
    fastavro.writer(
        out, fastavro.parse_schema(json.loads(json.dumps(written))), records, compression, **options
    )
    return out.getvalue()


def _blocks(rng: random.Random, items: list[bytes]) -> bytes:
    out = b""
    while items:
        size = rng.randint(1, len(items))
        block, items = b"".join(items[:size]), items[size:]
        out += number(size) if rng.random() < 0.5 else number(-size) + number(len(block))
        out += block
    return out + number(0)


def number(value: int) -> bytes:
    zigzag = value << 1 if value >= 0 else (-value << 1) - 1
    digits = []
    while True:
        digits.append(zigzag & 0x7F)
        zigzag >>= 7
        if not zigzag:
            return bytes([digit | 0x80 for digit in digits[:-1]] + digits[-1:])
