"""The changes of a table as rows, against a plain model."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pytest

import indextables as it
from indextables.config import keys
from indextables.errors import InputError, VersionNotFoundError


def feed(path: Path, since: int, until: int | None = None) -> Counter[tuple[object, ...]]:
    """Return the net changes: an upsert, or a restore from before a merge, may delete and insert the same row."""
    rows = it.open(path).changes(since=since, until=until).to_arrow(feed=True).to_pylist()
    net: Counter[tuple[object, ...]] = Counter()
    for row in rows:
        change = {"insert": 1, "delete": -1, "update_postimage": 1, "update_preimage": -1}[
            row["_change_type"]
        ]
        net[row["n"], row["p"], row["_commit_version"]] += change
    kinds = {1: "insert", -1: "delete"}
    return Counter({(n, p, kinds[change], version): 1 for (n, p, version), change in net.items() if change})


def test_the_feed_is_what_each_version_did(tmp_path: Path):
    seed = random.randrange(10**9)
    print(f"seed {seed}")
    rng = random.Random(seed)
    live: set[tuple[int, str]] = set()
    states: list[set[tuple[int, str]]] = []
    expected: list[Counter[tuple[object, ...]]] = []
    steps = ["append", "append", "overwrite", "drop", "merge", "delete", "delete", "upsert", "restore"]
    for number in range(16):
        before, step = set(live), rng.choice(steps)
        new = {(number * 10 + i, rng.choice("ab")) for i in range(rng.randint(1, 3))}
        data = pa.table({"n": [n for n, _ in new], "p": [p for _, p in new]})
        if step in ("append", "overwrite") or not live:
            mode = "overwrite" if step == "overwrite" else "append"
            version = it.write(tmp_path, data, mode=mode, partition_by=["p"])
            live = new if mode == "overwrite" else live | new
        elif step == "drop":
            version = it.open(tmp_path).drop_partitions("p = 'a'")
            live = {row for row in live if row[1] != "a"}
        elif step == "delete":
            gone = rng.sample(sorted(live), rng.randint(1, len(live)))
            it.open(tmp_path).delete(where=f"n IN ({', '.join(str(n) for n, _ in gone)})")
            live -= set(gone)
            version = it.open(tmp_path).version
        elif step == "upsert":
            changed = {n: rng.choice("ab") for n, _ in rng.sample(sorted(live), rng.randint(1, len(live)))}
            rows = pa.table({"n": list(changed), "p": list(changed.values())})
            version = it.open(tmp_path).upsert(rows, on=["n"]).version
            replaced = {row for row in live if row[0] in changed}
            live = (live - replaced) | set(changed.items())
        elif step == "restore":
            back = rng.randrange(len(states))
            version = it.open(tmp_path).restore(back)
            live = states[back]
        else:
            it.open(tmp_path).merge_splits()
            version = it.open(tmp_path).version
        while len(expected) <= version:
            expected.append(Counter())
            states.append(set(before))
        states[version] = set(live)
        expected[version].update((*row, "insert", version) for row in live - before)
        expected[version].update((*row, "delete", version) for row in before - live)
    last = it.open(tmp_path).version
    for since in range(-1, last + 1):
        assert feed(tmp_path, since) == sum(expected[since + 1 :], Counter())
        assert feed(tmp_path, -1, max(since, 0)) == sum(expected[: max(since, 0) + 1], Counter())


def test_the_columns_of_a_feed(tmp_path: Path):
    it.write(tmp_path, pa.table({"n": [1], "m": [2]}))
    rows = it.open(tmp_path).changes(since=-1).to_arrow(["m"], feed=True)
    assert rows.schema.names == ["m", "_change_type", "_commit_version", "_commit_timestamp"]
    assert rows.column("_commit_timestamp").to_pylist() == [
        it.open(tmp_path).history()["timestamp"][0].as_py()
    ]
    nothing = it.open(tmp_path).changes(since=0).to_arrow(feed=True)
    assert (nothing.num_rows, nothing.schema.names[:2]) == (0, ["n", "m"])


def test_what_is_not_known_any_more_is_an_error(tmp_path: Path):
    it.write(tmp_path, pa.table({"n": [1]}))
    it.write(tmp_path, pa.table({"n": [2]}), mode="overwrite")
    it.open(tmp_path).truncate_time_travel()
    with pytest.raises(VersionNotFoundError, match="has been cleaned up"):
        it.open(tmp_path).changes(since=-1).to_arrow(feed=True)
    it.open(tmp_path, settings={keys.PURGE_RETENTION_CHECK.key: "false"}).purge(older_than="0 hours")
    with pytest.raises(VersionNotFoundError, match=r"version 1 .*purged; ask for changes since version 1"):
        it.open(tmp_path).changes(since=0, adds_only=True).to_arrow(feed=True)


def test_a_table_with_a_column_of_that_name_has_no_feed(tmp_path: Path):
    it.write(tmp_path, pa.table({"_change_type": ["x"]}))
    with pytest.raises(InputError, match="column '_change_type' of its own"):
        it.open(tmp_path).changes(since=-1).to_arrow(feed=True)
