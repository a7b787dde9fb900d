"""Avro containers: framing, codecs, verification, and input that means harm."""

from __future__ import annotations

import io
import zlib

import fastavro
import pytest
from hypothesis import given
from hypothesis import strategies as st

from indextables.avro import (
    AvroError,
    Block,
    BlockPlace,
    check_hash,
    compressor,
    encode_long,
    inflate,
    parse_record_schema,
    read_block,
    read_blocks,
    read_header,
    read_long,
    write_container,
)
from indextables.errors import CorruptTableError
from support.states import damaged

SCHEMA = '{"type":"record","name":"R","fields":[{"name":"n","type":"long"}]}'
CODECS = ["null", "snappy", "zstandard"]


def blocks(*sizes: int) -> list[Block]:
    return [Block(size, b"".join(encode_long(n) for n in range(size))) for size in sizes]


def read(data: bytes) -> list[Block]:
    return list(read_blocks(data, read_header(data, "f"), "f"))


@given(st.integers(-(1 << 63), (1 << 63) - 1))
def test_numbers_round_trip(value: int):
    assert read_long(encode_long(value), 0) == (value, len(encode_long(value)))


@pytest.mark.parametrize("codec", CODECS)
def test_what_we_write_fastavro_reads(codec: str):
    data = write_container(SCHEMA, blocks(3, 200, 1), codec=codec, metadata=lambda _: {"mine": "ü"})
    reader = fastavro.reader(io.BytesIO(data))
    assert reader.metadata["mine"] == "ü"
    assert [row["n"] for row in reader] == [*range(3), *range(200), 0]
    assert read(data) == blocks(3, 200, 1)


@pytest.mark.parametrize("codec", [*CODECS, "deflate"])
def test_what_fastavro_writes_we_read(codec: str):
    out = io.BytesIO()
    fastavro.writer(out, fastavro.parse_schema({"type": "record", "name": "R", "fields": [
        {"name": "n", "type": "long"}]}), [{"n": n} for n in range(5000)], codec=codec, sync_interval=1000)  # fmt: skip
    found = read(out.getvalue())
    assert len(found) > 3
    assert sum(block.count for block in found) == 5000
    assert b"".join(block.data for block in found) == b"".join(encode_long(n) for n in range(5000))


def test_a_file_without_blocks_is_empty():
    assert read(write_container(SCHEMA, [], codec="null")) == []


def test_equal_content_gives_equal_bytes():
    first, second = (write_container(SCHEMA, blocks(9), codec="zstandard") for _ in range(2))
    assert first == second


def test_a_higher_level_compresses_more():
    payload = [Block(1, bytes(range(256)) * 200 + b"x" * n) for n in range(20)]
    fast, small = (write_container(SCHEMA, payload, codec="zstandard", level=level) for level in (1, 19))
    assert len(small) < len(fast)


@pytest.mark.spec("testManifestFileSizeEstimation")
def test_places_lead_to_blocks():
    seen: list[BlockPlace] = []
    data = write_container(
        SCHEMA, blocks(3, 200, 1), codec="zstandard", metadata=lambda p: seen.extend(p) or {}
    )
    header = read_header(data, "f")
    for place, block in zip(seen, blocks(3, 200, 1), strict=True):
        at = header.size + place.offset
        assert read_block(data[at : at + place.size], place, header, "f") == block
    with pytest.raises(CorruptTableError, match="checksum"):
        read_block(data[header.size : header.size + seen[0].size], seen[1], header, "f")


@pytest.mark.parametrize("codec", CODECS)
def test_every_changed_byte_is_noticed(codec: str):
    data = write_container(SCHEMA, blocks(3, 20), codec=codec, metadata=lambda _: {"indextables.x": "y"})
    check_hash(data, read_header(data, "f"), "f")
    for at, bad in damaged(data):
        with pytest.raises(CorruptTableError, match="^f: "):
            read_all_verified(bad, at)


def read_all_verified(data: bytes, at: int) -> None:
    header = read_header(data, "f")
    check_hash(data, header, "f")
    list(read_blocks(data, header, "f"))
    pytest.fail(f"the change at byte {at} was not noticed")


@pytest.mark.spec("testReadTruncatedManifest")
@pytest.mark.parametrize("keep", range(0, 300, 7))
def test_every_truncation_is_noticed(keep: int):
    data = write_container(SCHEMA, blocks(3, 20), codec="null")
    with pytest.raises(CorruptTableError):
        read_all_verified(data[: min(keep, len(data) - 1)], keep)


@given(st.binary(max_size=200))
def test_any_bytes_give_an_answer_or_our_error(data: bytes):
    for candidate in (data, b"Obj\x01" + data, write_container(SCHEMA, [], codec="null") + data):
        try:
            read(candidate)
        except CorruptTableError:
            continue


def test_more_records_than_bytes_are_refused():
    data = write_container(SCHEMA, [Block(1 << 40, b"\0")], codec="null")
    with pytest.raises(CorruptTableError, match="claims"):
        read(data)


@pytest.mark.parametrize("codec", ["zstandard", "deflate", "snappy"])
def test_a_bomb_is_not_inflated(codec: str):
    zeros = bytes(4 << 20)
    stream = zlib.compressobj(wbits=-15)
    bomb = stream.compress(zeros) + stream.flush() if codec == "deflate" else compressor(codec, 3)(zeros)
    with pytest.raises(CorruptTableError, match="inflates to more than 1 MB"):
        inflate(bomb, codec, "f", 1 << 20)


def test_an_unknown_codec_is_named():
    with pytest.raises(CorruptTableError, match="'lzma'"):
        inflate(b"", "lzma", "f")


@pytest.mark.parametrize(
    "schema",
    [
        '{"type":"record","name":"R","fields":[{"name":"a","type":{"type":"array","items":"null"}}]}',
        (
            '{"type":"record","name":"R","fields":[{"name":"a","type":["null",{"type":"array","items":'
            '{"type":"record","name":"E","fields":[]}}]}]}'
        ),
        (
            '{"type":"record","name":"R","fields":[{"name":"e","type":{"type":"record","name":"E","fields":[]}},'
            '{"name":"a","type":{"type":"array","items":"E"}}]}'
        ),
        '{"type":"record","name":"R","fields":[{"name":"r","type":["null","R"]}]}',
        '"string"',
        "{",
    ],
)
def test_schemas_of_arrays_of_nothing_are_refused(schema: str):
    with pytest.raises(AvroError):
        parse_record_schema(schema)
