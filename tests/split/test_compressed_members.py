"""Compressed members of a split: what is written is read back, and damage is an IndexTablesError in bounded memory."""

from __future__ import annotations

import os
import struct
import subprocess
import sys
import zlib
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import indextables as it
from indextables.demo import log_table
from indextables.errors import CorruptTableError
from indextables.split import components
from indextables.split.container import bundle as bundles
from indextables.split.container.bundle import CHECKSUMS, Bundle, open_bundle, write_bundle
from indextables.split.container.compression import FRAME_BYTES, Frames, compress_frame
from indextables.split.index_cache import extract_members
from indextables.storage import open_store

OLDER_READER = Path(__file__).parents[1] / "data" / "older_reader.zip"
NAME = "0" * 32 + ".term"
LINES = b"".join(b"line %d of a log\n" % n for n in range(120_000))


def packed(directory: Path, content: bytes, name: str = NAME) -> Bundle:
    (directory / "content").write_bytes(content)
    path = directory / "x.split"
    write_bundle(path, [], [("b.json", b"{}")], compressed=[(name, directory / "content")])
    return open_bundle(open_store(str(directory)), path.name)


def extracted(bundle: Bundle, directory: Path) -> bytes:
    target = directory / "out"
    target.mkdir(exist_ok=True)
    checksums = extract_members(bundle, target, documents=True)
    content = (target / NAME).read_bytes()
    assert checksums == {NAME: zlib.crc32(content)}
    return content


def version(path: Path) -> int:
    raw = path.read_bytes()
    (length,) = struct.unpack("<I", raw[-8:-4])
    return int(struct.unpack("<II", raw[-8 - length : -length])[1])


contents = st.one_of(
    st.binary(max_size=200),
    st.tuples(st.binary(min_size=1, max_size=40), st.integers(0, 3 * FRAME_BYTES)).map(
        lambda drawn: (drawn[0] * (drawn[1] // len(drawn[0]) + 1))[: drawn[1]]
    ),
    st.integers(0, 2 * FRAME_BYTES + 10).map(os.urandom),
    st.sampled_from([FRAME_BYTES - 1, FRAME_BYTES, FRAME_BYTES + 1, 2 * FRAME_BYTES]).map(
        lambda size: (b"line 17 of a log\n" * size)[:size]
    ),
)


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=contents)
def test_a_member_reads_back_as_it_was(tmp_path: Path, content: bytes):
    bundle = packed(tmp_path, content)
    member = bundle.member(NAME)
    assert bundle.read(NAME) == content
    assert extracted(bundle, tmp_path) == content
    assert member.content_length == len(content)
    assert member.length <= len(content)
    assert version(tmp_path / "x.split") == (2 if member.frames is None else 3)
    assert sum(part.size for part in components(bundle)) == bundle.size


def test_only_what_becomes_smaller_is_compressed(tmp_path: Path):
    assert packed(tmp_path, os.urandom(100_000)).member(NAME).frames is None
    assert packed(tmp_path, b"a" * 1000).member(NAME).frames is None
    frames = packed(tmp_path, LINES[:150_000]).member(NAME).frames
    assert frames is not None
    assert frames.size == 150_000


def test_repetitive_content_grows_within_a_bound(tmp_path: Path):
    """Content of which a few bytes stand for a megabyte is kept as it is: a reader refuses such claims."""
    bundle = packed(tmp_path, bytes(20 * FRAME_BYTES))
    member = bundle.member(NAME)
    assert member.content_length <= 1024 * member.length
    assert extracted(bundle, tmp_path) == bytes(20 * FRAME_BYTES)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(at=st.floats(0, 1, exclude_max=True), bit=st.integers(0, 7), is_stored_checksum_right=st.booleans())
def test_a_changed_bit_is_an_error_or_has_no_meaning(
    tmp_path: Path, at: float, bit: int, is_stored_checksum_right: bool
):
    bundle = packed(tmp_path, LINES)
    member = bundle.member(NAME)
    raw = bytearray((tmp_path / "x.split").read_bytes())
    raw[member.offset + int(at * member.length)] ^= 1 << bit
    (tmp_path / "x.split").write_bytes(raw)
    if is_stored_checksum_right:
        crc = zlib.crc32(raw[member.offset : member.offset + member.length])
        _edit(tmp_path / "x.split", lambda entry: entry.update(crc32=crc))
    damaged = open_bundle(open_store(str(tmp_path)), "x.split")
    for read in (lambda: damaged.read(NAME), lambda: extracted(damaged, tmp_path)):
        try:
            assert read() == LINES  # a frame's header has an unused bit
        except CorruptTableError as error:
            assert NAME in str(error)  # noqa: PT017 - not every change is an error


def _edit(path: Path, change: Any) -> None:
    """Change the entry of the member in `checksums.json`, which is the last member, and write the footer again."""
    raw = path.read_bytes()
    (length,) = struct.unpack("<I", raw[-8:-4])
    table = raw[-8 - length : -8]
    files = orjson.loads(table[8:])["files"]
    start = files[CHECKSUMS]["start"]
    checksums = orjson.loads(raw[start : files[CHECKSUMS]["end"]])
    change(checksums["members"][NAME])
    document = orjson.dumps(checksums)
    files[CHECKSUMS]["end"] = start + len(document)
    table = table[:8] + orjson.dumps({"files": files})
    path.write_bytes(raw[:start] + document + table + struct.pack("<II", len(table), 0))


@pytest.mark.parametrize(
    "claims",
    [
        {"size": 1 << 50},
        {"size": -1},
        {"size": "100000"},
        {"size": 2 * FRAME_BYTES},
        {"size": 99_000},
        {"frames": []},
        {"frames": None},
        {"frames": [1 << 40]},
        {"frames": [-5, 10]},
        {"frames": [0]},
        {"crc32": None},
        {"crc32": 1},
    ],
)
def test_what_a_member_claims_is_checked(tmp_path: Path, claims: dict[str, Any]):
    packed(tmp_path, LINES[:100_000])
    _edit(tmp_path / "x.split", lambda entry: entry["zstd"].update(claims))
    with pytest.raises(CorruptTableError):
        extracted(open_bundle(open_store(str(tmp_path)), "x.split"), tmp_path)


@pytest.mark.parametrize("claims", [None, 7, [], {}, {"size": 5}])
def test_the_claims_of_a_member_are_an_object(tmp_path: Path, claims: Any):
    packed(tmp_path, LINES[:100_000])
    _edit(tmp_path / "x.split", lambda entry: entry.update(zstd=claims))
    with pytest.raises(CorruptTableError):
        open_bundle(open_store(str(tmp_path)), "x.split")


def test_a_frame_cannot_hold_more_than_it_may():
    """Memory is that of a frame, whatever is in it."""
    bomb = bytes(pa.Codec("zstd").compress(bytes(64 << 20), asbytes=True))
    with pytest.raises(ValueError, match="claims"):
        Frames.from_document({"size": 64 << 20, "crc32": 0, "frames": [len(bomb)]}, len(bomb))
    frames = Frames.from_document({"size": FRAME_BYTES, "crc32": 0, "frames": [len(bomb)]}, len(bomb))
    before = pa.total_allocated_bytes()
    bundle = Bundle(open_store("memory://frames"), "x", 0, 0, {}, b"")
    for _, _, size in frames:
        with pytest.raises(CorruptTableError, match="cannot be decompressed"):
            bundle.frame(_member(frames), bomb, size)
    assert pa.total_allocated_bytes() == before
    half = compress_frame(bytes(FRAME_BYTES // 2))
    with pytest.raises(CorruptTableError, match="cannot be decompressed"):
        bundle.frame(_member(frames), half, FRAME_BYTES)


def _member(frames: Frames) -> Any:
    from indextables.split.container import Member  # noqa: PLC0415

    return Member(NAME, 0, sum(frames.lengths), 0, frames)


def test_a_split_is_smaller_and_answers_alike(tmp_path: Path):
    rows = log_table(4000)
    path = str(tmp_path / "t")
    it.write(path, rows, text=["message"])
    [split] = (tmp_path / "t").rglob("*.split")
    bundle = open_bundle(open_store(str(split.parent)), split.name)
    members = {name.rpartition(".")[2]: member for name, member in bundle.members.items()}
    for kind in ("term", "idx", "pos", "fast", "fieldnorm", "store"):
        assert members[kind].frames is not None
        assert members[kind].length < members[kind].content_length
    expected = sum("cache" in text.split() for text in rows.column("message").to_pylist())
    assert it.open(path).count("message:cache") >= expected > 0
    assert it.open(path).to_arrow().num_rows == 4000


def test_old_and_new_splits_merge(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A split without compressed members is linked with one that has them."""
    path = str(tmp_path / "t")
    with monkeypatch.context() as earlier:
        earlier.setattr(bundles, "is_compressible", lambda _: False)
        it.write(path, log_table(3000), text=["message"])
    it.write(path, log_table(3000, seed=8))
    assert {version(split) for split in (tmp_path / "t").rglob("*.split")} == {2, 3}
    queries = ("cache", "timed out", "quarantined")
    before = [it.open(path).count(f"message:({query})") for query in queries]
    assert it.open(path).merge_splits().merged_files == 2
    [split] = [split for split in (tmp_path / "t").rglob("*.split") if split.name in _live(path)]
    assert version(split) == 3
    assert [it.open(path).count(f"message:({query})") for query in queries] == before


def _live(table: str) -> set[str]:
    return {Path(file["path"]).name for file in it.open(table).files().to_pylist()}


def test_an_earlier_release_refuses_what_it_would_misread(tmp_path: Path):
    path = str(tmp_path / "t")
    it.write(path, log_table(2000), text=["message"])
    script = """
import sys
sys.path.insert(0, sys.argv[1])
import indextables as it
try:
    print(it.open(sys.argv[2]).count("message:cache"))
except it.ProtocolError as error:
    print(error)
"""
    command = [sys.executable, "-c", script, str(OLDER_READER), path]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "has version 3" in done.stdout
    assert "Upgrade indextables" in done.stdout
