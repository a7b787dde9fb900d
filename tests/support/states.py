"""Entries, tables and damage, for tests of the state."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import hypothesis.strategies as st

from indextables.config import Settings
from indextables.log import Append, Snapshot, commit
from indextables.log.actions import Added, AddFile
from indextables.stats import EARLIEST_MS, LATEST_MS, MAX_RECORDS
from support.logs import add, metadata

text = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=12)
number = st.integers(-(1 << 63), (1 << 63) - 1)
texts = st.dictionaries(text, text, max_size=4)
place = st.integers(0, (1 << 63) - 1)
moment = st.integers(EARLIEST_MS, LATEST_MS)


def optional(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.none() | values


add_files = st.builds(
    AddFile,
    path=st.uuids().map(lambda u: f"splits/split-{u}.split"),
    partition_values=texts,
    size=number,
    modification_time=moment,
    data_change=st.booleans(),
    stats=optional(text),
    min_values=optional(texts),
    max_values=optional(texts),
    num_records=optional(st.integers(0, MAX_RECORDS)),
    footer_start_offset=optional(place),
    footer_end_offset=optional(place),
    has_footer_offsets=st.booleans(),
    delete_opstamp=optional(place),
    split_tags=optional(st.lists(text, max_size=3).map(tuple)),
    num_merge_ops=optional(st.integers(-(1 << 31), (1 << 31) - 1)),
    doc_mapping_json=optional(text),
    doc_mapping_ref=optional(text),
    uncompressed_size_bytes=optional(place),
    time_range_start=optional(text),
    time_range_end=optional(text),
    companion_source_files=optional(st.lists(text, max_size=3).map(tuple)),
    companion_delta_version=optional(place),
    companion_fast_field_mode=optional(text),
    tags=optional(texts),
    hotcache_start_offset=optional(st.integers(0, 1 << 53)),
    hotcache_length=optional(st.integers(0, 1 << 53)),
    extra=st.dictionaries(st.sampled_from(["newField", "other"]), text | st.integers(0, 9), max_size=2),
)
added_files = st.builds(Added, add_files, st.integers(0, 1 << 40), st.integers(0, LATEST_MS))


def append(store: Any, base: Snapshot | None, *files: AddFile, **options: str) -> Snapshot:
    settings = Settings(
        {f"spark.indextables.{key.replace('__', '.')}": value for key, value in options.items()}
    )
    return commit(store, Append(tuple(files), metadata()), base=base, settings=settings).snapshot


def grown(store: Any, versions: int, files_each: int = 1) -> Snapshot:
    """A table of so many commits, with the states that they wrote."""
    snapshot = None
    for version in range(versions):
        files = [add(f"v{version}-{n}", day=f"d{version % 7}") for n in range(files_each)]
        snapshot = append(store, snapshot, *files)
    assert snapshot is not None
    return snapshot


def damaged(data: bytes, step: int = 1) -> Iterator[tuple[int, bytes]]:
    """The bytes with one of them changed, for each place in turn."""
    for at in range(0, len(data), step):
        yield at, data[:at] + bytes([data[at] ^ 0x55]) + data[at + 1 :]
