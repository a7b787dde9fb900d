"""The changes of a table as rows, against a plain model."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pytest

import indextables as it
from indextables.config import keys
from indextables.errors import InputError, SchemaError, VersionNotFoundError
from indextables.log.snapshots import invalidate_cache
from indextables.log.versions import advance_watermark
from indextables.storage import open_store
from support.invariants import check_table


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


def changed(path: Path, since: int = -1, **arguments: object) -> list[dict[str, object]]:
    rows = it.open(path).changes(since=since).to_arrow(feed=True, **arguments)
    return [
        {name.removeprefix("_change_"): value for name, value in row.items() if name != "_commit_version"}
        for row in rows.drop_columns(["_commit_timestamp"]).to_pylist()
    ]


def test_a_column_keeps_its_values_over_a_swap_of_names_and_an_overwrite(tmp_path: Path):
    it.write(tmp_path, [{"a": 1, "b": 2}])
    it.open(tmp_path).alter(rename={"a": "b", "b": "a"})
    it.write(tmp_path, [{"a": 9, "b": 8}], mode="overwrite")
    assert changed(tmp_path) == [
        {"b": 1, "a": 2, "type": "insert"},
        {"b": 1, "a": 2, "type": "delete"},
        {"b": 8, "a": 9, "type": "insert"},
    ]
    assert it.open(tmp_path).to_arrow().to_pylist() == [{"b": 8, "a": 9}]


def test_a_dropped_column_stays_dropped_over_an_overwrite(tmp_path: Path):
    it.write(tmp_path, [{"a": 1, "b": 2}])
    it.open(tmp_path).alter(drop=["a"], add={"a": "long", "c": "string"}, default={"c": "old"})
    it.write(tmp_path, [{"b": 8, "a": 9, "c": "x", "d": 1}], mode="overwrite")
    assert changed(tmp_path, columns=["a", "c", "d"], since=0) == [
        {"a": None, "c": "old", "d": None, "type": "delete"},
        {"a": 9, "c": "x", "d": 1, "type": "insert"},
    ]
    it.write(tmp_path, [{"b": 9}], mode="overwrite")
    it.write(tmp_path, [{"b": 10, "d": 11}], mode="overwrite")
    assert [row["d"] for row in changed(tmp_path, since=1)] == [None, None, None, None, None, 11]


def test_an_overwrite_with_other_columns_is_shown_with_those_of_now(tmp_path: Path):
    it.write(tmp_path, [{"a": 1, "b": 2}])
    it.write(tmp_path, [{"b": 8, "c": "x"}], mode="overwrite")
    assert changed(tmp_path) == [
        {"b": 2, "c": None, "type": "insert"},
        {"b": 2, "c": None, "type": "delete"},
        {"b": 8, "c": "x", "type": "insert"},
    ]
    it.open(tmp_path).restore(0)
    assert changed(tmp_path, since=1) == [
        {"a": None, "b": 8, "type": "delete"},
        {"a": 1, "b": 2, "type": "insert"},
    ]


def test_partition_columns_of_another_version_have_their_values(tmp_path: Path):
    it.write(tmp_path, [{"n": 1, "p": "x"}, {"n": 2, "p": None}])
    it.write(tmp_path, [{"n": 3, "p": "z"}], mode="overwrite", partition_by=["p"])
    it.write(tmp_path, [{"n": 4, "p": "w"}], mode="overwrite", partition_by=[])
    it.open(tmp_path).alter(rename={"p": "q"}, add={"p": "string"})
    it.write(tmp_path, [{"n": 5, "p": "p", "q": "q"}], mode="overwrite", partition_by=["p"])
    rows = [(row["n"], row["p"], row["q"]) for row in changed(tmp_path) if row["type"] == "insert"]
    assert rows == [(1, None, "x"), (2, None, None), (3, None, "z"), (4, None, "w"), (5, "p", "q")]
    assert it.open(tmp_path).to_arrow(where="p = 'p' AND q = 'q'").num_rows == 1


def test_values_of_a_type_that_does_not_widen_are_refused(tmp_path: Path):
    narrow = pa.table({"a": pa.array([1], pa.int32()), "b": pa.array([2], pa.int32())})
    it.write(tmp_path, narrow)
    it.write(tmp_path, [{"a": "x", "b": 1 << 40}], mode="overwrite")
    reason = r"column 'a' is string now and was integer in version 0 of .*Leave the column out with columns=.*until="
    with pytest.raises(SchemaError, match=reason):
        changed(tmp_path)
    assert [row["b"] for row in changed(tmp_path, columns=["b"])] == [2, 2, 1 << 40]
    before = it.open(tmp_path).changes(since=-1, until=0).to_arrow(feed=True)
    assert before.column("a").to_pylist() == [1]
    it.open(tmp_path).restore(0)
    with pytest.raises(SchemaError, match="column 'a' is integer now and was string in version 1"):
        changed(tmp_path, columns=["a"])


def test_what_tells_the_columns_of_a_version_may_be_cleaned_up(tmp_path: Path):
    it.write(tmp_path, [{"a": 1}])
    it.write(tmp_path, [{"a": 2}])
    it.write(tmp_path, [{"b": 3}], mode="overwrite")
    it.write(tmp_path, [{"b": 4}])
    log = tmp_path / "_transaction_log"
    it.open(tmp_path).checkpoint()
    advance_watermark(open_store(tmp_path), 0, lambda _: None)
    (log / f"{0:020d}.json").unlink()
    invalidate_cache()
    assert [row["b"] for row in changed(tmp_path, since=2)] == [4]
    with pytest.raises(VersionNotFoundError, match="columns that .* had in version 1 are not known any more"):
        changed(tmp_path, since=0)


@pytest.mark.parametrize("seed", range(8))
def test_columns_are_those_of_their_identity_after_any_changes(tmp_path: Path, seed: int):
    Columns(tmp_path, random.Random(seed)).run(8)


@pytest.mark.soak
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("block", range(10))
def test_columns_are_those_of_their_identity_after_many_changes(tmp_path: Path, block: int):
    for seed in range(1000 + block * 50, 1050 + block * 50):
        try:
            Columns(tmp_path / str(seed), random.Random(seed)).run(14)
        except BaseException as failure:
            failure.add_note(f"seed {seed}")
            raise


Values = dict[int, object]
"""The values of a row by the identity of their column."""


class Columns:
    """A table and its model: rows have values by the identities of columns, and a version has names for these."""

    NAMES = "abcd"

    def __init__(self, path: Path, rng: random.Random) -> None:
        self.path, self.rng = path, rng
        self.next_id = 0
        self.identities: dict[str, int] = {}
        """Those of names in the table as long as no column was changed: a column is its name then."""
        self.versions: list[tuple[dict[str, int], bool, list[Values]]] = []

    def run(self, steps: int) -> None:
        self.overwrite()
        for _ in range(steps):
            step = self.rng.choice([self.append, self.overwrite, self.overwrite, self.alter, self.delete])
            self.rng.choice([step, step, step, self.restore])()
        self.check()

    def check(self) -> None:
        names = self.versions[-1][0]
        since = self.rng.randrange(-1, len(self.versions) - 1)
        expected: Counter[tuple[object, ...]] = Counter()
        for version in range(since + 1, len(self.versions)):
            before = self.versions[version - 1][2] if version else []
            after = self.versions[version][2]
            for rows, sign in ((before, -1), (after, 1)):
                for row in rows:
                    expected[version, *(row.get(names[name]) for name in sorted(names))] += sign
        actual: Counter[tuple[object, ...]] = Counter()
        for row in it.open(self.path).changes(since=since).to_arrow(feed=True).to_pylist():
            sign = {"insert": 1, "delete": -1}[row["_change_type"]]
            actual[row["_commit_version"], *(row[name] for name in sorted(names))] += sign
        assert {k: n for k, n in actual.items() if n} == {k: n for k, n in expected.items() if n}
        check_table(open_store(self.path))

    def note(self, names: dict[str, int], rows: list[Values], *, altered: bool) -> None:
        assert it.open(self.path).version == len(self.versions), "a step is one version"
        assert sorted(it.open(self.path).schema.names) == sorted(names)
        self.versions.append((names, altered, rows))

    def new_rows(self, names: dict[str, int]) -> list[Values]:
        return [
            {i: self.rng.choice([None, *range(100)]) for i in names.values()}
            for _ in range(self.rng.randint(1, 3))
        ]

    def write(self, names: dict[str, int], rows: list[Values], **more: object) -> None:
        columns = {name: pa.array([row[i] for row in rows], pa.int64()) for name, i in names.items()}
        it.write(self.path, pa.table(columns), **more)

    def overwrite(self) -> None:
        before, altered, _ = self.versions[-1] if self.versions else ({}, False, [])
        chosen = self.rng.sample(self.NAMES, self.rng.randint(2, len(self.NAMES)))
        names = {name: before.get(name) or self.identity(name, altered=altered) for name in chosen}
        rows = self.new_rows(names)
        partition = self.rng.choice([None, [], chosen[:1]])
        if partition is None and self.versions:
            now = it.open(self.path).partition_columns
            if len([name for name in now if name in chosen]) == len(chosen):
                partition = []
        self.write(names, rows, mode="overwrite", partition_by=partition)
        self.note(names, rows, altered=altered)

    def append(self) -> None:
        names, altered, rows = self.versions[-1]
        new = self.new_rows(names)
        self.write(names, new)
        self.note(names, rows + new, altered=altered)

    def alter(self) -> None:
        names, _, rows = self.versions[-1]
        table = it.open(self.path)
        free = [name for name in names if name not in table.partition_columns]
        one, other = self.rng.choice(free), self.rng.choice(free)
        kind = self.rng.choice(["swap", "again", "add"])
        absent = [name for name in self.NAMES if name not in names]
        if kind == "swap" and one != other:
            table.alter(rename={one: other, other: one})
            names = {{one: other, other: one}.get(name, name): i for name, i in names.items()}
        elif len(free) > 1 and (kind == "again" or not absent):
            table.alter(drop=[one], add={one: "long"})
            names = {**names, one: self.identity(one, altered=True)}
        elif absent:
            table.alter(add={absent[0]: "long"})
            names = {**names, absent[0]: self.identity(absent[0], altered=True)}
        else:
            return
        self.note(names, rows, altered=True)

    def delete(self) -> None:
        names, altered, rows = self.versions[-1]
        name, limit = self.rng.choice(list(names)), self.rng.randrange(100)
        left = [row for row in rows if (value := row.get(names[name])) is None or not value < limit]
        if len(left) < len(rows):
            it.open(self.path).delete(f"{name} < {limit}")
            self.note(names, left, altered=altered)

    def restore(self) -> None:
        back = self.rng.randrange(len(self.versions))
        if it.open(self.path).restore(back) == len(self.versions):
            self.note(*self.versions[back][::2], altered=self.versions[back][1])

    def identity(self, name: str, *, altered: bool) -> int:
        if not altered and name in self.identities:
            return self.identities[name]
        self.next_id += 1
        if not altered:
            self.identities[name] = self.next_id
        return self.next_id


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
