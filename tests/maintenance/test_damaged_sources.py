"""One damaged split among 64: the others are merged, the skip is recorded and honoured, and ends with the repair."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import indextables as it
from indextables.config import Settings, keys
from indextables.log import load_snapshot
from indextables.maintenance import Merged, merge_small_splits
from indextables.runtime import now_ms
from indextables.split import MergeSource
from indextables.split.container.bundle import Bundle, open_bundle
from indextables.split.merge import merging
from indextables.storage import Store, open_store
from support.invariants import check_table

SPLITS, ROWS = 64, 4
HOUR = 3_600_000
SMALL = {keys.HEAP_SIZE.key: "15M", keys.MERGE_ON_WRITE.key: "false"}


def rows(first: int) -> pa.Table:
    numbers = range(first, first + ROWS)
    return pa.table({"n": list(numbers), "message": [f"disk {n} of host{n % 7} is full" for n in numbers]})


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("damaged") / "t"
    for n in range(SPLITS):
        it.write(str(path), rows(n * ROWS), text=["message"], settings=SMALL)
    return path


def flipped(data: bytes, at: int) -> bytes:
    return data[:at] + bytes([data[at] ^ 0x55]) + data[at + 1 :]


def flipped_in(suffix: str) -> Callable[[bytes, Bundle], bytes]:
    """One byte in the middle of a member of the split."""

    def damage(data: bytes, bundle: Bundle) -> bytes:
        member = next(member for name, member in sorted(bundle.members.items()) if name.endswith(suffix))
        return flipped(data, member.offset + member.length // 2)

    return damage


def truncated(data: bytes, bundle: Bundle) -> bytes:
    return data[: len(data) // 3]


def flipped_in_footer(data: bytes, bundle: Bundle) -> bytes:
    return flipped(data, len(data) - 20)


def missing(data: bytes, bundle: Bundle) -> None:
    return None


WAYS: dict[str, Callable[[bytes, Bundle], bytes | None]] = {
    "truncated": truncated,
    "index": flipped_in(".idx"),
    "terms": flipped_in(".term"),
    "rows": flipped_in(".parquet"),
    "footer": flipped_in_footer,
    "missing": missing,
}


def merge_at(store: Store, clock_ms: int) -> Merged:
    return merge_small_splits(store, Settings(SMALL), clock=lambda: clock_ms)


@pytest.mark.parametrize("way", WAYS)
def test_the_others_are_merged_and_it_is_taken_again_after_its_repair(table: Path, tmp_path: Path, way: str):
    uri = str(tmp_path / "t")
    shutil.copytree(table, uri)
    store, start = open_store(uri), now_ms()
    key = list(load_snapshot(store).files)[SPLITS // 2]
    good = store.get(key)
    bad = WAYS[way](good, open_bundle(store, key))
    store.delete(key) if bad is None else store.put(key, bad)

    merged = merge_at(store, start)
    assert (merged.status, merged.merged_files, merged.skipped_files) == ("partial_success", SPLITS - 1, 1)
    assert (merged.merge_groups, merged.rows) == (1, (SPLITS - 1) * ROWS)
    skip = load_snapshot(store).extras.skips[key]
    assert (skip.skip_count, skip.operation, skip.skip_timestamp) == (1, "merge", start)
    assert skip.retry_after == start + 24 * HOUR
    assert skip.reason
    assert skip.reason in merged.message
    handle = it.open(uri)
    (described,) = (row for row in handle.describe_log().to_pylist() if row["action_type"] == "skip")
    assert (described["path"], described["skip_count"]) == (key, 1)
    assert "splits that merges could not read: 1" in handle.describe_state().status

    # For a day it is not tried again.
    assert merge_at(store, start + 23 * HOUR).status == "no_action"
    tried = merge_at(store, start + 25 * HOUR)
    assert (tried.merge_groups, tried.skipped_files) == (0, 1)
    assert load_snapshot(store).extras.skips[key].skip_count == 2

    store.put(key, good)
    repaired = merge_at(store, start + 50 * HOUR)
    assert (repaired.status, repaired.merged_files, repaired.rows) == ("success", 2, SPLITS * ROWS)
    assert not load_snapshot(store).extras.skips
    found = it.open(uri).to_arrow(columns=["n"]).column("n").to_pylist()
    assert sorted(found) == list(range(SPLITS * ROWS))
    assert it.open(uri).count("message:host3") == sum(n % 7 == 3 for n in range(SPLITS * ROWS))
    check_table(store)


def test_a_group_with_many_damaged_splits_is_merged_twice(
    table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once until the first damaged split, and once without all of them."""
    uri = str(tmp_path / "t")
    shutil.copytree(table, uri)
    store = open_store(uri)
    keys_ = list(load_snapshot(store).files)
    damaged = dict(zip(keys_[1::5], [*WAYS.values()] * 2, strict=False))
    assert len(damaged) == 12
    for key, way in damaged.items():
        bad = way(store.get(key), open_bundle(store, key))
        store.delete(key) if bad is None else store.put(key, bad)
    merges = list[int]()
    link = merging.link_splits

    def counted(sources: Sequence[MergeSource], *rest: Any, **named: Any) -> Any:
        merges.append(len(sources))
        return link(sources, *rest, **named)

    monkeypatch.setattr(merging, "link_splits", counted)
    merged = merge_at(store, now_ms())
    assert (merged.merged_files, merged.skipped_files) == (SPLITS - 12, 12)
    assert merges[-1:] == [SPLITS - 12]
    assert len(merges) <= 2
    assert set(load_snapshot(store).extras.skips) == set(damaged)
    assert merged.rows == (SPLITS - 12) * ROWS
