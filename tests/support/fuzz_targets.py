"""Fuzz targets for the readers of version files, checkpoints, states, clean-up records and dataset manifests.

Formats with a container have two kinds of targets: one takes the bytes of the whole file, the others take its content
and build a valid container around it, so that checksums and compression do not stop the fuzzer. The targets for files
of column groups are in `fuzz_columns`, those for splits in `fuzz_splits`,
that for queries in `fuzz_queries`.
"""

from __future__ import annotations

import dataclasses
import gzip
import random
from collections.abc import Callable, Sequence
from unittest import mock

import orjson

from indextables.avro import Block, read_blocks, read_header, write_container
from indextables.columns import Manifest, codec
from indextables.columns.layout import relative, resolved
from indextables.columns.schemas import schema_text
from indextables.errors import IndexTablesError
from indextables.log import (
    Action,
    AddFile,
    CommitInfo,
    Protocol,
    RemoveFile,
    SkipFile,
    Txn,
    decode_version,
    encode_version,
)
from indextables.log.actions import (
    Added,
    bulk,
    checkpoint_key,
    decode_parts,
    from_entries,
    to_entries,
    version_key,
)
from indextables.log.actions import codec as action_codec
from indextables.log.snapshots import (
    EXTRAS_PROPERTY,
    read_snapshot,
    snapshot_of_actions,
    snapshot_of_checkpoint,
)
from indextables.log.versions import CleanupRecord, decode_record, encode_record
from indextables.state import LOG_DIRECTORY, LastCheckpoint, StateManifest
from indextables.state.blocks import decode_index
from indextables.state.entries import AVRO_SCHEMA, decode_entries, encode_entries
from indextables.state.manifest import STATE_SCHEMA, ManifestInfo, decode_state, encode_state
from indextables.state.pointer import decode_pointer, encode_pointer
from indextables.stats import BloomFilter, inline_filters, inline_stats
from indextables.stats.hashing import hash_of
from support import fuzz_columns
from support.columns_values import FULL
from support.faults import MemoryStore
from support.fuzz_queries import QUERY_SEEDS
from support.fuzz_splits import SPLIT_SEEDS
from support.logs import add, metadata

MAX_INFLATED = 1 << 24
PART = "00000000000000000000.checkpoint.abc.00001.json"

_ACTIONS = [
    CommitInfo("t", "WRITE", {"mode": "append"}, {"rowsAdded": 3}, timestamp=1),
    Protocol(4, 4, frozenset(), frozenset()),
    metadata(text=("message",)),
    add("a.split", tags={"k": "v"}, min_values={"id": "1"}, split_tags=("x",)),
    AddFile("day=tue/b.split", {"day": "tue"}, 9, stats='{"numRecords":1}', doc_mapping_json="{}"),
    RemoveFile("a.split", 5, partition_values={"day": "mon"}),
    SkipFile("b.split", 1, "damaged", "merge", retry_after=9),
    Txn("app", 3),
]
_ENTRIES = to_entries((file.path, Added(file, 1, 2)) for file in _ACTIONS if isinstance(file, AddFile))
_STATE = StateManifest(
    0,
    1,
    num_files=2,
    total_bytes=19,
    manifests=(ManifestInfo("manifests/manifest-x.avro", 2, 0, 1, None),),
    tombstones=("old.split",),
    schema_registry={"h": "{}"},
    metadata="{}",
)


def version_file(data: bytes) -> None:
    decode_version(data, "version", max_inflated=MAX_INFLATED)


def version_text(data: bytes) -> None:
    version_file(gzip.compress(data, 1, mtime=0))


def adds_in_columns(data: bytes) -> None:
    """Decode a text by columns, however few its lines are, and line by line: the outcome must be the same."""
    with (
        mock.patch.multiple(bulk, _MIN_COLUMN_ROWS=2, _BATCH_LINES=3),
        mock.patch.object(action_codec, "_MANY_LINES", 0),
    ):
        by_columns = _outcome(decode_parts, data)
    line_by_line = _outcome(decode_version, data)
    assert by_columns == line_by_line


def _outcome(decode: Callable[[bytes, str], Sequence[Action]], data: bytes) -> str:
    try:
        return repr(list(decode(data, "version")))
    except IndexTablesError as reason:
        return str(reason)
    except RecursionError:
        return "too deep for repr"


def version_in_a_table(data: bytes) -> None:
    store = MemoryStore()
    store.put(version_key(0), data)
    snapshot = read_snapshot(store)
    list(snapshot.files.items())
    _ = snapshot.schema, snapshot.mapping


def checkpoint(data: bytes) -> None:
    store = MemoryStore()
    store.put(checkpoint_key(0), data)
    store.put(f"{LOG_DIRECTORY}/{PART}", encode_version(_ACTIONS))
    snapshot_of_checkpoint(store, 0)


def state(data: bytes) -> None:
    decode_state(data, "state")


def state_record(data: bytes) -> None:
    state(write_container(orjson.dumps(STATE_SCHEMA).decode(), [Block(1, data)], codec="null"))


def state_schema(data: bytes) -> None:
    record = next(read_blocks(raw := encode_state(_STATE, codec="null"), read_header(raw, ""), "")).data
    state(write_container(data.decode(errors="replace"), [Block(1, record)], codec="null"))


def manifest(data: bytes) -> None:
    header = read_header(data, "manifest")
    list(from_entries_of(header.schema, list(read_blocks(data, header, "manifest"))))
    decode_index(header, "manifest")


def manifest_records(data: bytes) -> None:
    count = data[0] % 4 if data else 0
    manifest(write_container(AVRO_SCHEMA, [Block(count, data[1:])], codec="null"))


def manifest_schema(data: bytes) -> None:
    blocks = list(encode_entries(_ENTRIES))
    manifest(write_container(data.decode(errors="replace"), blocks, codec="null"))


def from_entries_of(schema: str, blocks: list[Block]) -> Sequence[object]:
    entries = decode_entries(schema, blocks, "manifest")
    return list(from_entries(entries.append_column("key", entries.column("path"))))


def cleanup_record(data: bytes) -> None:
    decode_record(data, "record")


def pointer(data: bytes) -> None:
    decode_pointer(data)


def carried(data: bytes) -> None:
    """Read a checkpoint whose extras are any text; all else in it is valid."""
    configuration = {**metadata().configuration, EXTRAS_PROPERTY: data.decode(errors="replace")}
    table = dataclasses.replace(metadata(), configuration=configuration)
    snapshot_of_actions("memory://fuzz", 0, [Protocol(4, 4), table, add("a")])


def bloom_filters(data: bytes) -> None:
    for bloom in inline_filters(data.decode(errors="replace")).values():
        bloom.has(hash_of(7, "long") or 0)


def columns_manifest(data: bytes) -> None:
    decoded = codec.decode(data)
    _ = codec.format_of(data), repr(decoded), decoded._repr_html_()
    relative(resolved(decoded, "s3://b/ds"), "s3://b/ds")
    assert codec.decode(codec.encode(decoded)).columns == decoded.columns


def columns_body(data: bytes) -> None:
    columns_manifest(codec.encode_record(schema_text(6), data))


def columns_schema(data: bytes) -> None:
    codec.decode(codec.encode_record(data.decode(errors="replace"), _COLUMNS_BODY))


Target = Callable[[bytes], None]
_TEXT = encode_version(_ACTIONS, compress=False)
_ADDS = encode_version(
    [
        add(
            f"{n}.split",
            modification_time=n,
            stats='{"a":"\\n"}' if n % 2 else None,
            min_values={"id": str(n)},
            rows=n,
            split_tags=("x", "y"),
        )
        for n in range(6)
    ],
    compress=False,
)
_CHECKPOINT_PARTS = orjson.dumps({"version": 0, "checkpointId": "abc", "parts": [PART]})
_CHECKPOINT_LISTS = orjson.dumps(
    {"metaData": {"id": "x", "schemaString": "{}"}, "add": [{"path": "a", "size": 1}]}
)
_RAW_STATE = encode_state(_STATE)
_RECORD = next(read_blocks(_RAW_STATE, read_header(_RAW_STATE, ""), "")).data
_MANIFEST = write_container(AVRO_SCHEMA, encode_entries(_ENTRIES), codec="zstandard")
_COLUMNS_BODY = codec.encode(FULL, sync=b"x" * 16).split(b"x" * 16)[1][3:]
_COLUMNS_OLD = Manifest(FULL.column_groups[1:], FULL.delta_logs)

SEEDS: dict[Target, list[bytes]] = {
    version_file: [gzip.compress(_TEXT, 6, mtime=0), b"\x01\x01" + gzip.compress(_TEXT, mtime=0), _TEXT],
    version_text: [_TEXT],
    adds_in_columns: [_TEXT, _ADDS],
    version_in_a_table: [_TEXT],
    checkpoint: [_TEXT, _CHECKPOINT_PARTS, _CHECKPOINT_LISTS],
    state: [_RAW_STATE, b'{"stateVersion":0,"numFiles":0,"manifests":[{"path":"a","numEntries":1}]}'],
    state_record: [_RECORD],
    state_schema: [orjson.dumps(STATE_SCHEMA)],
    manifest: [_MANIFEST],
    manifest_records: [bytes([2]) + block.data for block in encode_entries(_ENTRIES)],
    manifest_schema: [AVRO_SCHEMA.encode()],
    cleanup_record: [encode_record(CleanupRecord(3, 4, ("a", None)))],
    carried: [
        (
            b'{"txns":{"a":1},"timestamp":5,"txnId":"t","addedAtKnownFrom":-1,"added":[[1,0,5]],"addExtra":{"a":{"x":1}},'
            b'"mergeskip":[{"path":"a","skipTimestamp":1,"reason":"r","operation":"m"}],"unknown":[{"x":1}]}'
        )
    ],
    bloom_filters: [(inline_stats({"n": BloomFilter(7, b"x" * 32)}, 99) or "").encode()],
    pointer: [encode_pointer(LastCheckpoint(3, size=1))],
    columns_manifest: [
        codec.encode(FULL),
        codec.encode(_COLUMNS_OLD, 1),
        codec.encode(_COLUMNS_OLD, 2),
        codec.encode_stream(_COLUMNS_OLD, 3),
        codec.encode(_COLUMNS_OLD, 3),
    ],
    columns_body: [_COLUMNS_BODY],
    columns_schema: [schema_text(6).encode()],
    **fuzz_columns.SEEDS,
}
GROUPS: dict[str, list[Target]] = {
    "log": [target for target in SEEDS if target not in fuzz_columns.SEEDS],
    "columns": list(fuzz_columns.SEEDS),
    "bundles": list(SPLIT_SEEDS),
    "queries": list(QUERY_SEEDS),
}
"""The readers that one fuzzing process works on together. A fast one is not in a group with slow ones: all have the
same number of inputs."""

MAX_LENGTH = {"bundles": 32_768}
"""The most bytes of an input of a group, where it is not `USUAL_LENGTH`: a whole split has to fit."""
USUAL_LENGTH = 8192

SEEDS |= SPLIT_SEEDS | QUERY_SEEDS
TARGETS = list(SEEDS)

_NUMBERS = (0, 1, 0x7F, 0x80, 0xFF)
_TOKENS = (
    b"null", b"{}", b"[]", b"-1", b"1e999", b"99999999999999999999", b'""', b"true", b"\\ud800", b"[" * 500,
    b"\xff" * 9 + b"\x01", b'"\\u0000"', b'{"type":"array","items":"null"}', b'{"type":"record"}', b"../",
    b"[" * 990 + b"]" * 990, b'{"type":' * 990 + b"1" + b"}" * 990,
)  # fmt: skip


def mutated(rng: random.Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """Return the data with a few small damages: bits, bytes, cuts, repeats, tokens, and pieces of other inputs."""
    damaged = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 4, 8))):
        at = rng.randrange(len(damaged) + 1)
        size = rng.choice((1, 2, 4, 16, 64))
        match rng.randrange(8):
            case 0 if damaged:
                damaged[at % len(damaged)] ^= 1 << rng.randrange(8)
            case 1 if damaged:
                damaged[at % len(damaged)] = rng.choice(_NUMBERS)
            case 2:
                del damaged[at : at + size]
            case 3:
                damaged[at:at] = damaged[at : at + size] * rng.choice((1, 2, 50))
            case 4:
                damaged[at : at + rng.choice((0, size))] = rng.choice(_TOKENS)
            case 5:
                del damaged[at:]
            case 6:
                damaged[at:at] = rng.randbytes(size)
            case _:
                other = rng.choice(others)
                start = rng.randrange(len(other) + 1)
                damaged[at : at + size] = other[start : start + size]
    return bytes(damaged)


def feed(target: Target, data: bytes) -> bool:
    """Return True if the reader accepts the data and False if it raises an IndexTablesError; others propagate."""
    try:
        target(data)
    except IndexTablesError:
        return False
    return True


def feed_one_of(targets: Sequence[Target], data: bytes) -> None:
    """Choose a reader by the first byte and feed it the remaining bytes."""
    if data:
        feed(targets[data[0] % len(targets)], data[1:])


def corpus_of(targets: Sequence[Target]) -> dict[str, bytes]:
    """Return the seeds in the form that `feed_one_of` takes, by a name for each."""
    return {
        f"{target.__name__}-{n}": bytes([number]) + data
        for number, target in enumerate(targets)
        for n, data in enumerate(SEEDS[target])
    }
