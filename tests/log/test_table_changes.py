"""What changed since a version or a moment, right however the log was compacted and cleaned up in between."""

from __future__ import annotations

import dataclasses
import itertools
import random
from datetime import UTC, datetime, timedelta
from typing import Any

import orjson
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import indextables as it
from indextables.config import Settings, keys
from indextables.errors import InputError, VersionNotFoundError
from indextables.log import (
    AddFile,
    Append,
    CommitInfo,
    DropPartitions,
    MergeGroup,
    MergeSplits,
    Overwrite,
    RemoveFile,
    Restore,
    Snapshot,
    checkpoint,
    commit,
    load_snapshot,
    version_key,
)
from indextables.log.actions import to_document
from indextables.log.diffs import changeset_of_versions, diff_versions, files_added_since, version_at
from indextables.log.snapshots import cache
from indextables.log.versions import VersionActions, read_watermark
from indextables.maintenance import clean_versions
from indextables.predicates import Compare
from indextables.state import LAST_CHECKPOINT, state_key
from support.faults import MemoryStore
from support.foreign import FIXTURES, TABLES
from support.logs import add, metadata, put_table, put_version

NO_STATES = {keys.CHECKPOINT_ENABLED.key: "false"}
QUIET = Settings(NO_STATES)
LATER = 10**15
FIXTURE_CHANGES = {
    "02_five_appends": [(10, 0), (8, 0), (6, 0), (4, 0), (2, 0), (0, 0)],
    "03_with_removes": [(1, 0), (1, 2), (1, 4), (1, 6), (0, 0)],
    "12_partition_drop": [(2, 0), (0, 2), (0, 0)],
    "14_after_merge": [(1, 0), (1, 2), (1, 4), (1, 6), (1, 8), (0, 0)],
}
"""Files that came and files that went, since each version."""

PLACES = itertools.count()


@pytest.fixture(params=["memory", "local"])
def path(request, tmp_path) -> str:
    cache.forget()
    return str(tmp_path / "t") if request.param == "local" else f"memory://changes-{request.node.name}"


def told(store: Any, version: int | None = None) -> Snapshot:
    cache.forget()
    return load_snapshot(store, version)


def between(store: Any, since: int, until: int | None = None) -> tuple[list[str], list[str]]:
    net = diff_versions(store, since, told(store, until), QUIET)
    return [file.path for file in net.adds], [file.path for file in net.removes]


def appended(store: Any, *names: str) -> None:
    for name in names:
        commit(store, Append((add(name, day=name[0]),), metadata()), base=None, settings=QUIET)


# The rows of the test plan


@pytest.mark.spec("testFilterByAddedAtVersion", "testGetChangesSinceVersion")
def test_get_changes_since_version(store):
    appended(store, "a", "b", "c", "d")
    assert between(store, 1) == (["c", "d"], [])


@pytest.mark.spec("testFilterByAddedAtTimestamp", "testGetChangesSinceTimestamp")
def test_get_changes_since_timestamp(path):
    for n in range(4):
        it.write(path, pa.table({"n": [n]}))
    table = it.open(path)
    moments = table.history().column("timestamp").to_pylist()[::-1]
    for n, moment in enumerate(moments):
        changed = table.changes(since=moment)
        assert (changed.since, changed.new_version) == (n, 3)
        assert changed.to_arrow().column("n").to_pylist() == list(range(n + 1, 4))
        assert table.changes(since=moment.isoformat()).adds == changed.adds
        assert table.changes(since=moment, adds_only=True).adds == changed.adds
    before = table.changes(since=moments[0] - timedelta(seconds=1))
    assert (before.since, len(before.adds)) == (-1, 4)
    assert not table.changes(since=datetime.now(UTC) + timedelta(days=1))


@pytest.mark.spec("testChangeSetIncludesRemoves")
def test_change_set_includes_removes(store):
    appended(store, "a", "b", "c")
    commit(store, DropPartitions(Compare("=", "day", "b")), base=None, settings=QUIET)
    net = diff_versions(store, 2, told(store), QUIET)
    (gone,) = net.removes
    assert (gone.path, gone.size, gone.partition_values, gone.data_change) == ("b", 10, {"day": "b"}, True)
    assert gone.deletion_timestamp == told(store).timestamp_ms
    assert net.adds == ()


@pytest.mark.spec("testStreamingReadEmptyDelta")
def test_streaming_read_empty_delta(path):
    it.write(path, pa.table({"n": [1]}))
    changed = it.open(path).changes(since=0)
    assert not changed
    assert (changed.adds, changed.removes, changed.new_version) == ((), (), 0)
    assert changed.to_arrow().num_rows == 0
    assert changed.to_arrow().schema == it.open(path).schema


@pytest.mark.spec("testStreamingReadAllChanges")
def test_streaming_read_all_changes(store):
    appended(store, "a", "b", "c")
    commit(store, DropPartitions(Compare("=", "day", "b")), base=None, settings=QUIET)
    assert between(store, -1) == (["a", "c"], [])
    assert between(store, 0) == (["c"], [])


@pytest.mark.spec("testFilterByAddedAtVersion", "testManifestVersionFiltering")
def test_manifest_version_filtering(store):
    """Of a state in many manifests those are read that hold something new."""
    options = Settings({keys.STATE_MAX_MANIFESTS.key: "100", keys.CHECKPOINT_INTERVAL.key: "1"})
    for n in range(8):
        commit(store, Append((add(f"f{n}"),), metadata()), base=None, settings=options)
    after = told(store)
    assert len(after.files.base.manifest.manifests) == 7, "the first has two versions"
    old = [info.path for info in after.files.base.manifest.manifests if info.max_added_at_version <= 5]
    assert len(old) == 5
    for path in old:
        store.delete(f"_transaction_log/{path}")
    assert [file.path for file in files_added_since(5, told(store)).adds] == ["f6", "f7"]
    assert [file.path for file in files_added_since(7, told(store)).adds] == []


@pytest.mark.spec("testStreamingWithCompaction")
@pytest.mark.parametrize("form", ["avro", "json"])
def test_streaming_with_compaction(store, form: str):
    appended(store, "a", "b", "c")
    commit(store, DropPartitions(Compare("=", "day", "a")), base=None, settings=QUIET)
    appended(store, "d")
    checkpoint(store, Settings(NO_STATES | {keys.STATE_FORMAT.key: form}))
    assert between(store, 1) == (["c", "d"], ["a"])
    assert [file.path for file in files_added_since(1, told(store)).adds] == ["c", "d"]
    for version in range(4):
        store.delete(version_key(version))
    assert [file.path for file in files_added_since(1, told(store)).adds] == ["c", "d"], "by the state alone"


@pytest.mark.spec("testStreamingPerformance")
def test_streaming_performance(store):
    """The delta of a large table is found without decoding the manifests of what was there before."""
    files = tuple(add(f"old{n}") for n in range(2000))
    commit(store, Append(files, metadata()), base=None, settings=QUIET)
    checkpoint(store, QUIET)
    commit(store, Append((add("new"),), metadata()), base=None, settings=QUIET)
    after = told(store)
    assert [file.path for file in diff_versions(store, 0, after, QUIET).adds] == ["new"]
    assert [file.path for file in files_added_since(0, after).adds] == ["new"]
    assert not after.files.base.is_loaded


# Net


def test_what_came_and_went_is_in_neither_list(store):
    appended(store, "a", "b")
    commit(store, DropPartitions(Compare("=", "day", "b")), base=None, settings=QUIET)
    assert between(store, 0) == ([], [])


def test_what_went_and_came_back_is_in_neither_list(store):
    appended(store, "a", "b")
    commit(store, Overwrite((add("c"),), metadata()), base=None, settings=QUIET)
    assert between(store, 1) == (["c"], ["a", "b"])
    commit(store, Restore(told(store, 1), lambda _: None), base=None, settings=QUIET)
    assert between(store, 1) == ([], [])
    assert between(store, 2) == (["a", "b"], ["c"])


def test_an_overwrite_replaces_what_lived(store):
    appended(store, "a", "b")
    commit(store, Overwrite((add("c"),), metadata()), base=None, settings=QUIET)
    assert between(store, 0) == (["c"], ["a"])


def test_a_merge_changes_files_and_no_rows(store):
    appended(store, "a", "b", "c")
    merged = MergeSplits((MergeGroup(("a", "b"), (add("m", day="a"),)),), metadata())
    commit(store, merged, base=None, settings=QUIET)
    net = diff_versions(store, 2, told(store), QUIET)
    assert ([f.path for f in net.adds], [f.path for f in net.removes]) == (["m"], ["a", "b"])
    assert [f.data_change for f in (*net.adds, *net.removes)] == [False] * 3
    assert net.rows == ()


def test_rows_that_were_merged_since_are_read_where_they_were_written(store):
    appended(store, "a", "b")
    merged = MergeSplits((MergeGroup(("a", "b"), (add("m", day="a"),)),), metadata())
    commit(store, merged, base=None, settings=QUIET)
    net = diff_versions(store, 0, told(store), QUIET)
    assert [file.path for file in net.adds] == ["m"]
    assert [key for key, _ in net.rows] == ["b"], "of the rows in m those of a are old"


def test_rows_of_a_merged_file_are_gone_when_it_goes(store):
    appended(store, "a1", "a2", "a3")
    merged = MergeSplits((MergeGroup(("a2", "a3"), (add("m", day="a"),)),), metadata())
    commit(store, merged, base=None, settings=QUIET)
    commit(store, DropPartitions(Compare("=", "day", "a")), base=None, settings=QUIET)
    assert diff_versions(store, 0, told(store), QUIET).rows == ()


def test_an_entry_that_is_written_anew_is_no_new_file():
    again = add("old", data_change=False, doc_mapping_ref="tidy")
    also = add("new", data_change=False, doc_mapping_ref="tidy")
    versions = [VersionActions(5, [add("new")]), VersionActions(6, [again, also])]
    net = changeset_of_versions("memory://t", versions)
    assert net.adds == (also,)
    assert net.removes == ()
    assert [key for key, _ in net.rows] == ["new"]


def test_absolute_and_relative_names_of_one_file_are_one(store):
    net = changeset_of_versions(
        "s3://b/t",
        [VersionActions(1, [AddFile("s3a://b/t/x", {}, 1)]), VersionActions(2, [RemoveFile("x")])],
    )
    assert (net.adds, net.removes) == ((), ())


# What clean-up leaves


def cleaned(store: Any, form: str = "avro") -> None:
    checkpoint(store, Settings(NO_STATES | {keys.STATE_FORMAT.key: form}))
    clean_versions(store, QUIET, hours=0, clock=lambda: LATER)


@pytest.mark.parametrize("form", ["avro", "json"])
def test_where_versions_are_gone_the_two_ends_are_compared(store, form: str):
    appended(store, "a", "b")
    checkpoint(store, Settings(NO_STATES | {keys.STATE_FORMAT.key: form}))
    commit(store, Overwrite((add("c"),), metadata()), base=None, settings=QUIET)
    appended(store, "d")
    cleaned(store, form)
    assert read_watermark(store) == 2
    assert between(store, 1) == (["c", "d"], ["a", "b"])


@pytest.mark.parametrize("form", ["avro", "json"])
def test_what_was_removed_and_cannot_be_known_any_more_is_an_error(store, form: str):
    appended(store, "a", "b")
    commit(store, Overwrite((add("c"),), metadata()), base=None, settings=QUIET)
    cleaned(store, form)
    appended(store, "d")
    with pytest.raises(VersionNotFoundError, match="since version 1 to 3, or with adds_only=True"):
        between(store, 0)
    assert between(store, 1) == (["c", "d"], ["a", "b"]), "version 2 is still there"
    assert between(store, 2) == (["d"], [])
    assert [file.path for file in files_added_since(0, told(store)).adds] == ["c", "d"]
    assert [file.path for file in files_added_since(-1, told(store)).adds] == ["c", "d"]


def test_a_moment_before_all_that_is_left_is_told_for_what_was_added(path):
    for n in range(3):
        it.write(path, pa.table({"n": [n]}), settings=NO_STATES)
    table = it.open(path)
    moments = table.history().column("timestamp").to_pylist()[::-1]
    table.truncate_time_travel()
    cache.forget()
    table = it.open(path)
    with pytest.raises(VersionNotFoundError):
        table.changes(since=moments[0])
    changed = table.changes(since=moments[0], adds_only=True)
    assert changed.since is None
    assert sorted(changed.to_arrow().column("n").to_pylist()) == [1, 2]


def test_files_of_which_nobody_knows_when_they_came_are_an_error_and_no_guess(store):
    """A checkpoint of another writer: everything in it came at some time up to its version."""
    put_table(store, [add("a")], [add("b")])
    checkpoint(store, Settings(NO_STATES | {keys.STATE_FORMAT.key: "json"}))
    snapshot = told(store)
    text = b"\n".join(_bare_lines(snapshot))
    store.put("_transaction_log/00000000000000000002.checkpoint.json", text)
    for version in range(3):
        store.delete(version_key(version))
    put_version(store, 3, [CommitInfo("t", timestamp=5), add("c")])
    with pytest.raises(VersionNotFoundError, match="since version 2 to 3"):
        files_added_since(0, told(store))
    assert [file.path for file in files_added_since(2, told(store)).adds] == ["c"]
    checkpoint(store, QUIET)
    with pytest.raises(VersionNotFoundError, match="since version 2 to 3"):
        files_added_since(1, told(store))
    assert [file.path for file in files_added_since(2, told(store)).adds] == ["c"]


def _bare_lines(snapshot: Snapshot) -> list[bytes]:
    return [
        orjson.dumps(to_document(a)) for a in (snapshot.protocol, snapshot.metadata, *snapshot.files.values())
    ]


def test_a_table_whose_states_are_its_versions_is_told_by_them(store):
    """Some older writers leave no version files but the first."""
    appended(store, "a")
    for name in ("b", "c"):
        appended(store, name)
        checkpoint(store, QUIET)
    commit(store, DropPartitions(Compare("=", "day", "a")), base=None, settings=QUIET)
    checkpoint(store, QUIET)
    for version in (1, 2, 3):
        store.delete(version_key(version))
    assert between(store, 1) == (["c"], ["a"])
    assert state_key(1) in store.objects
    assert LAST_CHECKPOINT in store.objects


@pytest.mark.skipif(not TABLES, reason="the fixtures are not next to this checkout")
@pytest.mark.parametrize("name", [name for name in TABLES if name in FIXTURE_CHANGES])
def test_tables_of_another_writer_are_told_by_their_states(name: str):
    """It left no version files but the first, and did not note when files came."""
    table = it.open(FIXTURES / name)
    told_since = [table.changes(since) for since in range(table.version + 1)]
    assert [(len(c.adds), len(c.removes)) for c in told_since] == FIXTURE_CHANGES[name]
    with pytest.raises(VersionNotFoundError, match=f"since version {table.version} to {table.version}"):
        table.changes(since=0, adds_only=True)


# The face


def test_until_a_version_or_a_moment(path):
    for n in range(4):
        it.write(path, pa.table({"n": [n]}))
    table = it.open(path)
    assert table.changes(since=0, until=2).to_arrow().column("n").to_pylist() == [1, 2]
    moment = table.history().column("timestamp").to_pylist()[1]
    assert table.changes(since=0, until=moment).new_version == 2
    older = it.open(path, version=1)
    assert older.changes(since=-1).new_version == 1, "up to the version that is open"


def test_rows_come_with_their_partition_columns_and_in_the_columns_asked_for(path):
    first = pa.table({"n": [1], "day": ["mon"], "m": ["x y"]})
    it.write(path, first, partition_by=["day"], text=["m"])
    it.write(path, pa.table({"n": [2, 3], "day": ["tue", None], "m": ["z", "w"]}))
    changed = it.open(path).changes(since=0)
    assert changed.to_arrow(["day", "n"]).sort_by("n").to_pylist() == [
        {"day": "tue", "n": 2},
        {"day": None, "n": 3},
    ]
    assert changed.to_arrow().schema == it.open(path).schema


@pytest.mark.parametrize("since", [5, -2])
def test_a_version_outside_the_table_is_refused(path, since: int):
    it.write(path, pa.table({"n": [1]}))
    for adds_only in (False, True):
        with pytest.raises(InputError, match="`since` must be a version from -1"):
            it.open(path).changes(since=since, adds_only=adds_only)


@pytest.mark.parametrize("since", [None, 1.5, "yesterday", True])
def test_what_is_neither_version_nor_moment_is_refused(path, since: Any):
    it.write(path, pa.table({"n": [1]}))
    with pytest.raises(InputError, match="since is"):
        it.open(path).changes(since=since)


def test_version_at_a_moment_before_the_first(store):
    appended(store, "a", "b")
    assert version_at(store, told(store, 0).timestamp_ms - 1, QUIET) == -1
    assert version_at(store, told(store, 0).timestamp_ms, QUIET) == 0


# Against a plain model


class Model:
    """Every version's files, and the rows in each file ever written."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.store = MemoryStore(f"memory://model-{next(PLACES)}")
        self.versions: list[dict[str, AddFile]] = []
        self.added_at: list[dict[str, int]] = []
        self.rows: dict[str, frozenset[int]] = {}
        self.restores: set[int] = set()
        self.clock = 1000
        cache.forget()

    def step(self) -> None:
        kind = self.random.choice(
            ["append"] * 4 + ["overwrite", "drop", "merge", "merge", "restore", "state", "clean"]
        )
        live = self.versions[-1] if self.versions else {}
        match kind:
            case "overwrite":
                self._commit(Overwrite(self._files(2), metadata()))
            case "drop" if live:
                self._commit(DropPartitions(Compare("=", "day", self.random.choice("xyz"))))
            case "merge" if live:
                self._merge(live)
            case "restore" if live:
                version = self.random.randrange(len(self.versions))
                try:
                    target = told(self.store, version)
                except VersionNotFoundError:
                    return
                self.restores.add(len(self.versions))
                self._commit(Restore(target, lambda _: None))
            case "state" if live:
                checkpoint(self.store, self._settings(), clock=self._tick)
            case "clean" if live:
                clean_versions(self.store, QUIET, hours=0, clock=lambda: LATER)
            case _:
                self._commit(Append(self._files(self.random.randint(1, 3)), metadata()))

    def _merge(self, live: dict[str, AddFile]) -> None:
        day = self.random.choice("xyz")
        near = [path for path, file in live.items() if file.partition_values["day"] == day]
        if len(near) < 2:
            return
        self.random.shuffle(near)
        cut = self.random.randint(2, len(near))
        groups = []
        for sources in (near[:cut], near[cut:]) if self.random.random() < 0.3 else (near[:cut],):
            if sources:
                (merged,) = self._files(1, day=day)
                self.rows[merged.path] = frozenset().union(*(self.rows[path] for path in sources))
                groups.append(MergeGroup(tuple(sources), (merged,)))
        self._commit(MergeSplits(tuple(groups), metadata()))

    def _files(self, count: int, day: str | None = None) -> tuple[AddFile, ...]:
        made = []
        for _ in range(count):
            number = len(self.rows)
            self.rows[f"f{number}"] = frozenset({number})
            made.append(add(f"f{number}", day=day or self.random.choice("xyz")))
        return tuple(made)

    def _commit(self, change: Any) -> None:
        done = commit(self.store, change, base=None, settings=self._settings(), clock=self._tick)
        if done.skipped:
            return
        assert done.version == len(self.versions)
        self.versions.append(dict(done.snapshot.files.items()))
        before = self.added_at[-1] if self.added_at else {}
        came = {action.path for action in done.actions if isinstance(action, AddFile)}
        self.added_at.append(
            {path: done.version if path in came else before[path] for path in self.versions[-1]}
        )

    def _settings(self) -> Settings:
        form = self.random.choice(["avro", "avro", "json"])
        return Settings({keys.CHECKPOINT_INTERVAL.key: "4", keys.STATE_FORMAT.key: form})

    def _tick(self) -> int:
        self.clock += 1
        return self.clock

    def check(self) -> tuple[int, int]:
        """Every pair of versions; how many were told and how many could not be."""
        counted = {True: 0, False: 0}
        for until in range(len(self.versions)):
            try:
                after = told(self.store, until)
            except VersionNotFoundError:
                continue
            for since in range(-1, until + 1):
                counted[self._check(since, after)] += 1
        return counted[True], counted[False]

    def _check(self, since: int, after: Snapshot) -> bool:
        old = self.versions[since] if since >= 0 else {}
        new = self.versions[after.version]
        came = files_added_since(since, after)
        assert {file.path for file in came.adds} == {
            path for path, version in self.added_at[after.version].items() if version > since
        }
        try:
            net = diff_versions(self.store, since, after, QUIET)
        except VersionNotFoundError:
            assert since < read_watermark(self.store)
            return False
        adds, removes = {file.path: file for file in net.adds}, {file.path for file in net.removes}
        assert len(adds) == len(net.adds), "a file twice"
        assert adds.keys().isdisjoint(old)
        assert removes <= old.keys()
        applied = {path: file for path, file in old.items() if path not in removes} | adds
        assert _plain(applied) == _plain(new)
        if net.rows is not None:
            self._check_rows(since, after.version, [path for path, _ in net.rows])
        return True

    def _check_rows(self, since: int, until: int, paths: list[str]) -> None:
        before = (
            frozenset().union(*(self.rows[p] for p in self.versions[since])) if since >= 0 else frozenset()
        )
        now = frozenset().union(*(self.rows[p] for p in self.versions[until]))
        found = [row for path in paths for row in self.rows[path]]
        assert len(set(found)) == len(found), "a row twice"
        if any(since < version <= until for version in self.restores):
            # A restore takes files away and brings others with the same rows, as far as the log can tell new ones.
            assert now - before <= set(found) <= now
        else:
            assert set(found) == now - before


def _plain(files: dict[str, AddFile]) -> dict[str, AddFile]:
    """Without what the commits that brought them had to say of their rows: a restore says something else."""
    return {path: dataclasses.replace(file, data_change=True) for path, file in files.items()}


def run_model(seed: int, steps: int) -> tuple[int, int]:
    model = Model(seed)
    for _ in range(steps):
        model.step()
    return model.check()


@pytest.mark.spec("testGetChangesSinceVersion")
@settings(max_examples=25, deadline=None)
@given(st.integers(0, 1 << 30))
def test_changes_lead_from_every_version_to_every_later_one(seed: int):
    run_model(seed, 14)


def test_the_histories_of_the_model_know_both_answers():
    counted = [run_model(seed, 20) for seed in range(6)]
    assert sum(told for told, _ in counted) > 100
    assert sum(untold for _, untold in counted) > 10


@pytest.mark.soak
@pytest.mark.timeout(3600)
@settings(max_examples=1500, deadline=None)
@given(st.integers(0, 1 << 60))
def test_changes_lead_from_every_version_to_every_later_one_in_the_long_run(seed: int):
    run_model(seed, 25)
