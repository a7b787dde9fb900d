"""Fuzz targets for the readers of splits: the container, its members, the records of the disk cache.

A member is put into a container with valid checksums. Every way to read runs: rows, pages, counts, scores, snippets.
"""

from __future__ import annotations

import atexit
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa

from indextables.config import Settings, keys
from indextables.predicates import parse_where
from indextables.runtime import current
from indextables.schema import FieldMapping, TableSchema
from indextables.split import RowRequest, SplitWriter, open_split
from indextables.split.container.bundle import CHECKSUMS, open_bundle, write_bundle
from indextables.split.index_cache.cache import OPEN_INDEXES, entry_name, open_index
from support.faults import MemoryStore

Target = Callable[[bytes], None]

_ROWS = 60
_ROOT = Path(tempfile.mkdtemp(prefix="indextables-fuzz-"))
atexit.register(shutil.rmtree, _ROOT, ignore_errors=True)
_CACHE = _ROOT / "cache"
_SETTINGS = Settings(
    {
        keys.CACHE_DIRECTORY.key: str(_CACHE),
        keys.ROW_GROUP_ROWS.key: "25",
        keys.BLOOM_COLUMNS.key: "id",
        keys.COLUMN_GROUPS.key: "s",
    }
)
_TABLE = pa.record_batch(
    {
        "id": pa.array(range(_ROWS), pa.int64()),
        "t": [None if n % 7 == 0 else f"alpha beta{n} gamma" for n in range(_ROWS)],
        "s": [f"v{n % 3}" for n in range(_ROWS)],
    }
)
_SCHEMA = TableSchema.from_arrow(_TABLE.schema)
_MAPPING = FieldMapping.of(_SCHEMA, (), {"t": "text"})
_WHERE = [
    parse_where(text, _SCHEMA)
    for text in (
        "t TEXTSEARCH 'alpha'",
        "id > 7 AND NOT t TEXTSEARCH 'beta*'",
        "t TEXTSEARCH '\"alpha beta3\" OR bete4~1'",
        "s = 'v1' OR t IS NULL",
        "id = 3",
    )
]


def _written() -> bytes:
    writer = SplitWriter(_SCHEMA, _MAPPING, settings=_SETTINGS, directory=_ROOT)
    writer.write(_TABLE)
    return writer.finish().path.read_bytes()


SPLIT = _written()
_STORE = MemoryStore()
_STORE.put("whole", SPLIT)
_BUNDLE = open_bundle(_STORE, "whole")
MEMBERS = {
    name: _BUNDLE.read(name)
    for name in sorted(_BUNDLE.members, key=lambda name: name.split(".")[::-1])
    if name != CHECKSUMS
}
"""Members ordered by suffix, because the names of index files begin randomly."""
_NAMES = list(MEMBERS)


def split_file(data: bytes) -> None:
    """Read any bytes as a split."""
    store = MemoryStore()
    store.put("x.split", data)
    current().cache(OPEN_INDEXES).clear()
    shutil.rmtree(_CACHE, ignore_errors=True)
    columns = ("id", "t", "s", "_score", "_snippet")
    with open_split(store, "x.split", settings=_SETTINGS, mapping=_MAPPING) as split:
        selected = tuple(name for name in columns if name[0] == "_" or split.schema.get(name) is not None)
        list(split.rows(RowRequest(selected)))
        for predicate in _WHERE:
            split.count(predicate)
            list(split.rows(RowRequest(selected, predicate)))
            list(split.rows(RowRequest(selected, predicate, limit=2)))
            list(split.rows(RowRequest(selected, predicate, top=3)))


def split_member(data: bytes) -> None:
    """Read a split with any bytes as one member and valid checksums; the first byte chooses the member."""
    name = _NAMES[data[0] % len(_NAMES)] if data else _NAMES[0]
    path = _ROOT / "crafted.split"
    write_bundle(path, [], (MEMBERS | {name: data[1:]}).items())
    split_file(path.read_bytes())


def cached_record(data: bytes) -> None:
    """Open a cached index whose record is any bytes."""
    current().cache(OPEN_INDEXES).clear()
    open_index(_BUNDLE, _SETTINGS)
    (_CACHE / entry_name(_BUNDLE) / ".files").write_bytes(data)
    current().cache(OPEN_INDEXES).clear()
    assert open_index(_BUNDLE, _SETTINGS).searcher.num_docs == _ROWS


def _record() -> bytes:
    open_index(_BUNDLE, _SETTINGS)
    return (_CACHE / entry_name(_BUNDLE) / ".files").read_bytes()


SPLIT_SEEDS: dict[Target, list[bytes]] = {
    split_file: [SPLIT],
    split_member: [bytes([number]) + MEMBERS[name] for number, name in enumerate(_NAMES)],
    cached_record: [_record()],
}
SLOW: dict[Target, int] = {split_file: 60, split_member: 150, cached_record: 60}
"""Inputs in a normal run for targets that unpack an index each time, which takes milliseconds."""
