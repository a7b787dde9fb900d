"""A table that grows for long: when states are written, what they cost in all, and that each is the table."""

from __future__ import annotations

import io
from collections.abc import Mapping

import pytest
from bench.states.growth import grow, measure, show
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from indextables.config import Settings
from indextables.log import AddFile, load_snapshot
from indextables.log.snapshots import cache
from indextables.log.versions import list_log
from indextables.runtime import now_ms
from indextables.state import CompactionRules, read_state
from indextables.state.compaction import to_merge
from support.faults import MemoryStore


def new_store() -> MemoryStore:
    """One whose files are of today, so that no clean-up looks for old ones among them."""
    store = MemoryStore()
    store.writes = now_ms()
    return store


def grown(store: MemoryStore, commits: int, **options: str) -> tuple[list[Mapping[str, AddFile]], list[int]]:
    """The files that live after each commit, and the bytes that were written for states up to there."""
    keys = {"interval": "spark.indextables.checkpoint.interval"}
    keys["most"] = "spark.indextables.state.compaction.maxManifests"
    chosen = Settings({keys[name]: value for name, value in options.items()})
    steps = list(grow(store, commits, settings=chosen))
    return [step.live for step in steps], [step.state_bytes for step in steps]


def check_versions(store: MemoryStore, models: list[Mapping[str, AddFile]], step: int = 1) -> None:
    for version in range(0, len(models), step):
        cache.forget()
        files = load_snapshot(store, version).files
        assert set(files) == models[version].keys(), f"version {version}"
        if version % 5 == 0:
            assert dict(files.items()) == models[version], f"version {version}"
    for version in list_log(store).states:
        state = read_state(store, version)
        assert state.num_files == len(models[version])
        assert state.total_bytes == sum(file.size for file in models[version].values())


@pytest.mark.spec("testStateManifestNumFiles", "testStateManifestTotalBytes", "testMultipleIncrementalWrites")
def test_a_table_of_many_commits_has_a_state_at_every_tenth_and_reads_the_same_at_each():
    store = new_store()
    models, written = grown(store, 150)
    assert list(list_log(store).states) == list(range(10, 150, 10))
    check_versions(store, models)
    assert [version for version in range(1, 150) if written[version] > written[version - 1]] == list(
        range(10, 150, 10)
    ), "between states nothing is written for any"


@pytest.mark.spec("testIncrementalMixedAddRemove")
def test_what_states_cost_grows_with_the_commits_and_not_with_their_square():
    store = new_store()
    models, written = grown(store, 150, interval="1", most="5")
    assert len(list_log(store).states) == 149
    assert written[149] - written[74] < 1.7 * written[74], "a square would make this 3, a line 1"
    check_versions(store, models, step=13)


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_a_thousand_commits_have_a_hundred_states_that_cost_as_they_should():
    store = new_store()
    models, written = grown(store, 1000)
    assert list(list_log(store).states) == list(range(10, 1000, 10))
    assert written[999] - written[499] < 1.7 * written[499]
    check_versions(store, models)


@pytest.mark.spec("testManifestReuseWithPartialOverlap")
@settings(deadline=None)
@given(st.lists(st.integers(1, 49_999), min_size=20, max_size=20), st.integers(0, 50_000))
def test_a_merge_leaves_few_manifests_and_takes_only_what_is_small_beside_the_rest(
    sizes: list[int], added: int
):
    rules = CompactionRules()
    chosen = to_merge(rules, sizes, added)
    kept = [size for place, size in enumerate(sizes) if place not in chosen]
    assert len(kept) + 1 <= rules.max_manifests // 2
    assert max((sizes[place] for place in chosen), default=0) <= min(kept, default=1 << 60)
    assert all(size > added + sum(sizes[place] for place in chosen) for size in kept)


@settings(max_examples=20, deadline=None)
@given(st.lists(st.integers(1, 500), min_size=100, max_size=400))
def test_an_entry_is_rewritten_a_few_times_at_most(added: list[int]):
    rules, sizes, written = CompactionRules(), [], 0
    for count in added:
        chosen = to_merge(rules, sizes, count) if len(sizes) + 1 > rules.max_manifests else set()
        fresh = count + sum(sizes[place] for place in chosen)
        sizes = [size for place, size in enumerate(sizes) if place not in chosen] + [fresh]
        written += fresh
        assert len(sizes) <= rules.max_manifests
    assert written <= 6 * sum(added)


def test_the_bench_tells_what_was_written():
    found = measure(lambda _: None, commits=40)
    assert [one.commits for one in found] == list(range(4, 41, 4))
    written = [one.state_bytes for one in found]
    assert written == sorted(written)
    assert written[0] == 0 < written[-1]
    assert found[-1].anew_bytes > found[2].anew_bytes > 0
    console = Console(width=120, record=True, file=io.StringIO())
    show(console, found)
    assert "a line" in console.export_text()
