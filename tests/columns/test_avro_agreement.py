"""Two readers, one answer: ours and fastavro on every Avro file of other implementations, and on all that we write."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pytest

import indextables as it
from indextables.avro import read_blocks, read_header
from indextables.log.snapshots import cache
from indextables.state import (
    LOG_DIRECTORY,
    StateManifest,
    TableState,
    decode_entries,
    decode_state,
    read_state,
)
from indextables.storage import open_store
from support.foreign import FIXTURES

AVRO_FILES = sorted(FIXTURES.parent.rglob("*.avro")) if FIXTURES.is_dir() else []
CONTAINERS = [path for path in AVRO_FILES if path.read_bytes().startswith(b"Obj\x01")]
STATES = [path for path in CONTAINERS if path.name == "_manifest.avro"]
MANIFESTS = [path for path in CONTAINERS if path.name.startswith("manifest-")]
MAPS = ("partitionValues", "minValues", "maxValues")


def named(path: Path) -> str:
    return "/".join(path.relative_to(FIXTURES.parent).parts[-4:])


def by_fastavro(data: bytes) -> list[dict[str, Any]]:
    return [dict(record) for record in fastavro.reader(io.BytesIO(data))]


def by_us(data: bytes) -> list[dict[str, Any]]:
    header = read_header(data, "f")
    table = decode_entries(header.schema, read_blocks(data, header, "f"), "f")
    return [
        {name: dict(value) if name in MAPS and value is not None else value for name, value in row.items()}
        for row in table.to_pylist()
    ]


def as_record(state: StateManifest) -> dict[str, Any]:
    """A state in the words of its Avro record."""
    return {
        "formatVersion": 1,
        "stateVersion": state.state_version,
        "createdAt": state.created_at,
        "numFiles": state.num_files,
        "totalBytes": state.total_bytes,
        "manifests": [
            {
                "path": info.path,
                "numEntries": info.num_entries,
                "minAddedAtVersion": info.min_added_at_version,
                "maxAddedAtVersion": info.max_added_at_version,
                "partitionBounds": None
                if info.partition_bounds is None
                else {name: {"min": b.min, "max": b.max} for name, b in info.partition_bounds.items()},
                "tombstoneCount": info.tombstone_count,
                "liveEntryCount": info.live_entry_count,
            }
            for info in state.manifests
        ],
        "tombstones": list(state.tombstones),
        "schemaRegistry": dict(state.schema_registry),
        "protocolVersion": state.protocol_version,
        "metadata": state.metadata,
    }


def test_the_fixtures_have_files_of_every_kind():
    if not FIXTURES.is_dir():
        pytest.skip("the files of other implementations are not here")
    assert len(STATES) >= 20
    assert len(MANIFESTS) >= 20
    assert len(CONTAINERS) > len(STATES) + len(MANIFESTS), "those of milvus too"


@pytest.mark.spec("testReadAllFields")
@pytest.mark.parametrize("path", MANIFESTS, ids=named)
def test_a_manifest_of_the_original_reads_as_fastavro_reads_it(path: Path):
    theirs = by_fastavro(path.read_bytes())
    ours = by_us(path.read_bytes())
    assert len(theirs) == len(ours) > 0
    for their, our in zip(theirs, ours, strict=True):
        assert {name: our[name] for name in their} == their
        assert not any(our[name] for name in our.keys() - their.keys() - {"dataChange"})


@pytest.mark.spec("testReadStateManifest")
@pytest.mark.parametrize("path", STATES, ids=named)
def test_a_state_of_the_original_reads_as_fastavro_reads_it(path: Path):
    (theirs,) = by_fastavro(path.read_bytes())
    assert as_record(decode_state(path.read_bytes(), path.name)) == theirs


@pytest.mark.parametrize("path", CONTAINERS, ids=named)
def test_every_container_has_the_blocks_that_fastavro_finds(path: Path):
    data = path.read_bytes()
    header = read_header(data, path.name)
    schema = fastavro.parse_schema(json.loads(header.schema))
    found = []
    for block in read_blocks(data, header, path.name):
        stream = io.BytesIO(block.data)
        found += [fastavro.schemaless_reader(stream, schema, None) for _ in range(block.count)]
        assert stream.read() == b""
    assert found == by_fastavro(data)


@pytest.fixture(params=["zstd", "snappy", "none"])
def written(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[str, Path]:
    """A table with two states, the newer of two manifests and a tombstone, in one of the compressions."""
    path = tmp_path / "table"
    settings = {
        "spark.indextables.state.compression": request.param,
        "spark.indextables.checkpoint.interval": "1",
        "spark.indextables.indexWriter.heapSize": "15M",
        "spark.indextables.state.compaction.tombstoneThreshold": "0.9",
    }
    for n in range(3):
        rows = pa.table({"id": [n, n + 1], "day": [f"d{n}", f"d{n + 1}"], "text": ["some words", "ü"]})
        it.write(path, rows, mode="append", partition_by=["day"], text=["text"], settings=settings)
    it.open(path, settings=settings).drop_partitions("day = 'd0'")
    cache.forget()
    return request.param, path


@pytest.mark.spec(
    "testWriteWithZstdCompression", "testWriteWithSnappyCompression", "testWriteWithNoCompression"
)
def test_fastavro_reads_every_file_that_we_write(written: tuple[str, Path]):
    codec, path = written
    log = path / LOG_DIRECTORY
    manifests, states = sorted((log / "manifests").iterdir()), sorted(log.glob("state-v*/_manifest.avro"))
    assert len(manifests) >= 2
    assert len(states) == 3
    for file in manifests:
        data = file.read_bytes()
        assert by_fastavro(data) == by_us(data)
        reader = fastavro.reader(io.BytesIO(data))
        assert reader.codec == {"zstd": "zstandard", "snappy": "snappy", "none": "null"}[codec]
        schema = reader.writer_schema
        assert (schema["name"], schema.get("namespace", "")) in (
            ("FileEntry", "io.indextables.state"),
            ("io.indextables.state.FileEntry", ""),
        )
        ids = {field["name"]: field["field-id"] for field in schema["fields"]}
        wild = {"hasFooterOffsets": 124, "splitTags": 132, "numMergeOps": 134, "docMappingRef": 135}
        wild["uncompressedSizeBytes"] = 136
        assert {name: ids[name] for name in wild} == wild
    for file in states:
        (record,) = by_fastavro(file.read_bytes())
        assert record == as_record(decode_state(file.read_bytes(), file.name))
        assert fastavro.reader(io.BytesIO(file.read_bytes())).writer_schema["name"].endswith("StateManifest")


@pytest.mark.spec("testStateManifestWithTombstones", "testStateManifestTotalBytes")
def test_fastavro_alone_finds_the_live_files(written: tuple[str, Path]):
    """As any reader of the format would: the entries of the manifests, without the tombstones."""
    _, path = written
    log = path / LOG_DIRECTORY
    newest = max(log.glob("state-v*/_manifest.avro"))
    (record,) = by_fastavro(newest.read_bytes())
    assert record["tombstones"]
    entries = [
        entry for info in record["manifests"] for entry in by_fastavro((log / info["path"]).read_bytes())
    ]
    live = {entry["path"]: entry for entry in entries if entry["path"] not in record["tombstones"]}
    assert sorted(live) == sorted(it.open(path).files().column("path").to_pylist())
    assert len(live) == record["numFiles"]
    assert sum(entry["size"] for entry in live.values()) == record["totalBytes"]
    store = open_store(path)
    state = TableState(store, read_state(store, record["stateVersion"]), lambda key: key)
    assert sorted(state.entries().column("path").to_pylist()) == sorted(live)
