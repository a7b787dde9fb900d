"""The container of a split: the layout of the Quickwit bundle, with added checksums."""

import struct
import zlib
from pathlib import Path

import orjson
import pytest

from indextables.errors import CorruptTableError
from indextables.split.container.bundle import open_bundle, write_bundle
from indextables.storage import open_store

FIXTURES = Path(__file__).parents[3] / "shared" / "fixtures" / "indextables-0.5.4"
FOREIGN = sorted(FIXTURES.glob("**/*.split"))


def packed(directory: Path) -> Path:
    source = directory / "a.bin"
    source.write_bytes(b"A" * 3_000_000)
    target = directory / "x.split"
    write_bundle(target, [("a.bin", source)], [("b.json", b"{}"), ("empty", b"")])
    return target


def test_the_layout_is_members_table_length_hotcache_length(tmp_path: Path) -> None:
    raw = packed(tmp_path).read_bytes()
    assert struct.unpack("<I", raw[-4:]) == (0,)  # no hotcache
    (length,) = struct.unpack("<I", raw[-8:-4])
    table = raw[-8 - length : -8]
    assert struct.unpack("<II", table[:8]) == (403881646, 2)
    files = orjson.loads(table[8:])["files"]
    assert files["a.bin"] == {"start": 0, "end": 3_000_000}
    assert files["b.json"] == {"start": 3_000_000, "end": 3_000_002}
    assert files["empty"] == {"start": 3_000_002, "end": 3_000_002}
    start, end = files["checksums.json"]["start"], files["checksums.json"]["end"]
    checksums = orjson.loads(raw[start:end])["members"]
    assert checksums["b.json"] == {"size": 2, "crc32": zlib.crc32(b"{}")}
    assert end == len(raw) - 8 - length


def test_members_read_back_whole(tmp_path: Path) -> None:
    target = packed(tmp_path)
    bundle = open_bundle(open_store(str(tmp_path)), target.name, target.stat().st_size)
    assert bundle.read("a.bin") == b"A" * 3_000_000
    assert bundle.read("b.json") == b"{}"
    assert bundle.read("empty") == b""
    with pytest.raises(CorruptTableError, match="no member 'c'"):
        bundle.read("c")


def test_a_damaged_member_is_named(tmp_path: Path) -> None:
    target = packed(tmp_path)
    raw = bytearray(target.read_bytes())
    raw[1_000_000] ^= 1
    target.write_bytes(raw)
    bundle = open_bundle(open_store(str(tmp_path)), target.name)
    with pytest.raises(CorruptTableError, match=r"x\.split is damaged: the checksum of 'a\.bin' is wrong"):
        bundle.read("a.bin")
    assert bundle.read("b.json") == b"{}"


@pytest.mark.parametrize("name", ["../evil", "/evil", "..", ""])
def test_a_member_cannot_name_a_place_outside(tmp_path: Path, name: str) -> None:
    table = struct.pack("<II", 403881646, 1) + orjson.dumps({"files": {name: {"start": 0, "end": 0}}})
    (tmp_path / "x.split").write_bytes(table + struct.pack("<II", len(table), 0))
    with pytest.raises(CorruptTableError, match="is not inside the split"):
        open_bundle(open_store(str(tmp_path)), "x.split")


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"\0" * 15,
        b"\0" * 16,
        b"\xff" * 64,
        struct.pack("<II", 403881646, 2) + b"{}" + struct.pack("<II", 10, 0),
        struct.pack("<II", 403881646, 1) + b"[]" + struct.pack("<II", 10, 0),
        struct.pack("<II", 403881646, 1) + b'{"files":{"a":{"start":5,"end":2}}}' + struct.pack("<II", 43, 0),
        struct.pack("<II", 403881646, 1)
        + b'{"files":{"a":{"start":"x","end":2}}}'
        + struct.pack("<II", 45, 0),
    ],
)
def test_what_is_not_a_bundle_is_refused_by_name(tmp_path: Path, raw: bytes) -> None:
    (tmp_path / "x.split").write_bytes(raw)
    with pytest.raises(CorruptTableError, match=r"x\.split"):
        open_bundle(open_store(str(tmp_path)), "x.split")


@pytest.mark.skipif(not FOREIGN, reason="the fixtures are not next to this checkout")
def test_bundles_of_the_original_open_with_their_members() -> None:
    for path in FOREIGN:
        bundle = open_bundle(open_store(str(path.parent)), path.name, path.stat().st_size)
        assert "meta.json" in bundle.members
        assert orjson.loads(bundle.read("meta.json"))["segments"]
        assert sum(member.length for member in bundle.members.values()) == bundle.footer_start
