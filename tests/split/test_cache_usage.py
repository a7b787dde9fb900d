"""The figures of the index cache, and emptying it: for one table or for all, next to processes that use it."""

from __future__ import annotations

import pyarrow as pa
import pytest

import indextables as it
from indextables.config import Settings
from indextables.runtime import Runtime, current, use
from indextables.split import CacheLooks, cache_usage, flush_entries, forget_open_indexes


@pytest.fixture
def options(tmp_path) -> dict[str, str]:
    (tmp_path / "cache").mkdir(mode=0o700)
    return {"spark.indextables.cache.directoryPath": str(tmp_path / "cache")}


@pytest.fixture
def paths(tmp_path) -> list[str]:
    paths = [str(tmp_path / name) for name in ("one", "two")]
    for path in paths:
        it.write(path, pa.table({"message": ["disk full", "all well"]}), text=["message"])
    return paths


def looks() -> CacheLooks:
    return CacheLooks.of(current().counters.values())


def test_a_search_is_a_miss_then_a_hit_in_memory_then_a_hit_on_disk(options, paths):
    def search() -> int:
        return it.open(paths[0], settings=options).count("disk")

    with use(Runtime()):
        assert (search(), looks()) == (1, CacheLooks(memory_hits=0, disk_hits=0, misses=1))
        assert (search(), looks()) == (1, CacheLooks(memory_hits=1, disk_hits=0, misses=1))
        assert forget_open_indexes() == 1
        assert (search(), looks()) == (1, CacheLooks(memory_hits=1, disk_hits=1, misses=1))
        assert looks().hits == 2


def test_the_figures_are_those_of_the_directory(options, paths, tmp_path):
    settings = Settings(options)
    with use(Runtime()):
        assert cache_usage(settings).entries == 0
        for path in paths:
            it.open(path, settings=options).count("disk")
        usage = cache_usage(settings)
    files = [
        file
        for entry in (tmp_path / "cache").iterdir()
        if not entry.name.startswith(".")
        for file in entry.iterdir()
        if not file.name.startswith(".files")
    ]
    assert (usage.entries, usage.files) == (2, len(files))
    assert usage.total_bytes == sum(file.stat().st_size for file in files)
    assert (usage.directory, usage.max_bytes > 0) == (str(tmp_path / "cache"), True)


def test_a_flush_deletes_the_entries_of_one_table_or_all(options, paths):
    settings = Settings(options)
    with use(Runtime()):
        for path in paths:
            it.open(path, settings=options).count("disk")
        before = cache_usage(settings)
        first = flush_entries(settings, paths[0])
        left = cache_usage(settings)
        assert (first.entries, left.entries) == (1, 1)
        assert before.total_bytes - left.total_bytes == first.bytes
        assert before.files - left.files == first.files
        assert forget_open_indexes(paths[0]) == 1
        assert it.open(paths[1], settings=options).count("disk") == 1
        assert flush_entries(settings).entries == 1
        assert flush_entries(settings).entries == 0
        assert it.open(paths[0], settings=options).count("disk") == 1, "it is extracted again"
