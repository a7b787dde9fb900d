"""The index cache: bounded, shared between processes, without partial or stale entries."""

import errno
import multiprocessing
import os
import shutil
import sys
import zlib
from pathlib import Path

import pyarrow as pa
import pytest

from indextables.config import Settings
from indextables.errors import CorruptTableError
from indextables.predicates import TextQuery
from indextables.runtime import current
from indextables.schema import FieldMapping, TableSchema
from indextables.split import FinishedSplit, SplitWriter, open_split
from indextables.split.container.bundle import open_bundle
from indextables.split.index_cache import cache
from indextables.split.index_cache.cache import OPEN_INDEXES, IndexCache, entry_name, open_index
from indextables.split.index_cache.entry_record import recorded_size
from indextables.storage import open_store

QUERY = TextQuery("TEXTSEARCH", "t", "alpha")


def write(directory: Path, texts: list[str]) -> FinishedSplit:
    rows = pa.record_batch({"t": texts})
    schema = TableSchema.from_arrow(rows.schema)
    writer = SplitWriter(
        schema, FieldMapping.of(schema, (), {"t": "text"}), settings=Settings(), directory=directory
    )
    writer.write(rows)
    return writer.finish()


def options(directory: Path, size: str = "1G", open_splits: int = 128) -> Settings:
    return Settings(
        {
            "spark.indextables.cache.directoryPath": str(directory),
            "spark.indextables.cache.disk.maxSize": size,
            "spark.indextables.read.maxOpenSplits": str(open_splits),
        }
    )


def count(split: FinishedSplit, settings: Settings) -> int:
    with open_split(
        open_store(str(split.path.parent)), split.path.name, split.size, settings=settings
    ) as reader:
        return reader.count(QUERY)


@pytest.fixture(autouse=True)
def _nothing_open() -> None:
    current().cache(OPEN_INDEXES).clear()


def entries(directory: Path) -> list[str]:
    """Return the names of the complete entries of a cache."""
    return sorted(path.name for path in directory.iterdir() if not path.name.startswith("."))


def test_an_index_is_extracted_once(tmp_path: Path) -> None:
    split, settings = write(tmp_path, ["alpha", "beta"]), options(tmp_path / "cache")
    assert count(split, settings) == 1
    [entry] = entries(tmp_path / "cache")
    stamp = (tmp_path / "cache" / entry / "meta.json").stat().st_mtime_ns
    current().cache(OPEN_INDEXES).clear()
    assert count(split, settings) == 1
    assert (tmp_path / "cache" / entry / "meta.json").stat().st_mtime_ns == stamp


def test_other_bytes_at_the_same_place_are_another_entry(tmp_path: Path) -> None:
    settings = options(tmp_path / "cache")
    split = write(tmp_path, ["alpha", "beta"])
    assert count(split, settings) == 1
    other = write(tmp_path, ["alpha", "alpha"])
    shutil.move(other.path, split.path)
    moved = FinishedSplit(**{**vars(other), "path": split.path})
    assert count(moved, settings) == 2
    assert len(entries(tmp_path / "cache")) == 2


def test_the_least_recently_used_entries_go_first(tmp_path: Path) -> None:
    settings = options(tmp_path / "cache")
    splits = [write(tmp_path, ["alpha", "beta"]) for _ in range(3)]
    store = open_store(str(tmp_path))
    names = [entry_name(open_bundle(store, split.path.name, split.size)) for split in splits]
    for age, (split, name) in enumerate(zip(splits, names, strict=True)):
        count(split, settings)
        os.utime(tmp_path / "cache" / name / ".files", (1000 + age, 1000 + age))
    current().cache(OPEN_INDEXES).clear()
    count(splits[0], settings)  # used again: now the most recent
    size = recorded_size(tmp_path / "cache" / names[0])
    fourth = write(tmp_path, ["alpha", "beta"])
    count(fourth, options(tmp_path / "cache", str(size * 3 + size // 2)))
    assert names[1] not in entries(tmp_path / "cache")
    assert {names[0], names[2]} <= set(entries(tmp_path / "cache"))


def test_a_cache_too_small_for_one_split_still_answers(tmp_path: Path) -> None:
    settings = options(tmp_path / "cache", "1")
    for _ in range(3):
        assert count(write(tmp_path, ["alpha"]), settings) == 1
    assert len(entries(tmp_path / "cache")) == 1


def test_an_evicted_entry_keeps_answering_those_who_have_it_open(tmp_path: Path) -> None:
    split, settings = write(tmp_path, ["alpha", "beta"]), options(tmp_path / "cache")
    with open_split(open_store(str(tmp_path)), split.path.name, split.size, settings=settings) as reader:
        assert reader.count(QUERY) == 1
        shutil.rmtree(tmp_path / "cache")
        assert reader.count(QUERY) == 1
    current().cache(OPEN_INDEXES).clear()
    assert count(split, settings) == 1


def test_a_broken_entry_is_extracted_again(tmp_path: Path) -> None:
    split, settings = write(tmp_path, ["alpha", "beta"]), options(tmp_path / "cache")
    count(split, settings)
    [entry] = entries(tmp_path / "cache")
    (tmp_path / "cache" / entry / "meta.json").write_text("{")
    current().cache(OPEN_INDEXES).clear()
    assert count(split, settings) == 1


def test_damage_in_the_split_never_reaches_the_cache(tmp_path: Path) -> None:
    split, settings = write(tmp_path, ["alpha", "beta"]), options(tmp_path / "cache")
    bundle = open_bundle(open_store(str(tmp_path)), split.path.name, split.size)
    member = next(member for name, member in bundle.members.items() if name.endswith(".idx"))
    raw = bytearray(split.path.read_bytes())
    raw[member.offset + 3] ^= 4
    split.path.write_bytes(raw)
    with pytest.raises(CorruptTableError, match=split.path.name):
        count(split, settings)
    assert entries(tmp_path / "cache") == []


def test_only_so_many_indexes_stay_open(tmp_path: Path) -> None:
    open_indexes = current().cache(OPEN_INDEXES)
    settings = options(tmp_path / "cache", open_splits=2)
    store = open_store(str(tmp_path))
    for _ in range(4):
        split = write(tmp_path, ["alpha"])
        open_index(open_bundle(store, split.path.name, split.size), settings)
    assert len(open_indexes) == 2


def test_leftovers_of_dead_processes_are_cleared(tmp_path: Path) -> None:
    stale = tmp_path / "cache" / ".work" / "new-dead"
    stale.mkdir(parents=True)
    os.utime(stale, (1000, 1000))
    fresh = tmp_path / "cache" / ".work" / "new-alive"
    fresh.mkdir()
    count(write(tmp_path, ["alpha"]), options(tmp_path / "cache"))
    assert not stale.exists()
    assert fresh.exists()


class Calls:
    """Count the files and directories that this process opens, stats and lists."""

    def __init__(self) -> None:
        self.count = 0
        sys.addaudithook(self._hook)

    def _hook(self, event: str, _: tuple[object, ...]) -> None:
        self.count += event in ("open", "os.listdir", "os.scandir", "os.rename", "os.mkdir", "os.utime")


def test_a_fill_costs_the_same_however_many_entries_there_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings, calls = options(tmp_path / "cache"), Calls()
    stats = []
    for name in ("stat", "lstat"):
        real = getattr(os, name)
        monkeypatch.setattr(os, name, lambda *a, real=real, **k: stats.append(1) or real(*a, **k))
    first = write(tmp_path, ["alpha", "beta"])
    costs = []
    for number in range(24):
        path = tmp_path / f"copy-{number}.split"
        shutil.copy(first.path, path)
        calls.count = 0
        stats.clear()
        assert count(FinishedSplit(**{**vars(first), "path": path}), settings) == 1
        costs.append(calls.count + len(stats))
    assert costs[4] == costs[12] == costs[23]


def test_a_full_cache_is_looked_through_now_and_then_and_not_by_every_fill(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks: list[int] = []
    real = IndexCache.entries
    monkeypatch.setattr(IndexCache, "entries", lambda self: looks.append(1) or real(self))
    cache = IndexCache(tmp_path, max_bytes=1000 * 100)
    fills = 1000
    for number in range(fills):
        cache.entry(f"{number:04}", filled)
    assert len(looks) == 1  # of an empty cache, because there was no `.size` yet
    for number in range(fills, fills + 300):
        cache.entry(f"{number:04}", filled)
    assert len(looks) == 1 + 3  # a tenth is evicted each time
    assert len(entries(tmp_path)) <= 1000


def filled(directory: Path) -> dict[str, int]:
    (directory / "f").write_bytes(bytes(100))
    return {"f": zlib.crc32(bytes(100))}


def test_processes_that_share_a_cache_count_what_the_others_fill(tmp_path: Path) -> None:
    for number in range(10):
        IndexCache(tmp_path, max_bytes=10_000).entry(f"{number:04}", filled)
    assert int((tmp_path / ".size").read_text()) == 1000
    IndexCache(tmp_path, max_bytes=500).entry("new", filled)
    assert len(entries(tmp_path)) == 4
    assert int((tmp_path / ".size").read_text()) == 400


def test_a_scan_of_more_splits_than_stay_open_does_not_open_all_of_them_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    open_indexes = current().cache(OPEN_INDEXES)
    open_indexes.clear()
    monkeypatch.setattr(open_indexes, "entries", 16)
    settings, store = options(tmp_path / "cache"), open_store(str(tmp_path))
    first = write(tmp_path, ["alpha"])
    bundles = []
    for number in range(17):
        shutil.copy(first.path, tmp_path / f"copy-{number}.split")
        bundles.append(open_bundle(store, f"copy-{number}.split", first.size))
    opened: list[Path] = []
    real = cache._open_directory
    monkeypatch.setattr(cache, "_open_directory", lambda path: opened.append(path) or real(path))
    for bundle in bundles:
        open_index(bundle, settings)
    opened.clear()
    for _ in range(10):
        for bundle in bundles:
            open_index(bundle, settings)
    assert len(opened) < 10 * 17 / 2


def test_an_own_copy_answers_though_it_cannot_be_deleted_yet(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The engine's watcher thread may create a file in the directory while this process deletes it."""
    split = write(tmp_path, ["alpha"])
    real = os.rmdir

    def rmdir(path: str | Path, **named: int) -> None:
        if "own-" in str(path):
            raise OSError(errno.ENOTEMPTY, "Directory not empty")
        real(path, **named)

    monkeypatch.setattr(cache, "_OPEN_TRIES", 0)
    monkeypatch.setattr(os, "rmdir", rmdir)
    assert count(split, options(tmp_path / "cache")) == 1
    assert len(list((tmp_path / "cache" / ".work").glob("own-*"))) == 1


def _race(directory: Path, splits: list[FinishedSplit], size: str) -> None:
    settings = options(directory, size)
    for _ in range(10):
        for split in splits:
            current().cache(OPEN_INDEXES).clear()
            assert count(split, settings) == 1


def test_processes_that_extract_and_evict_the_same_splits_all_get_answers(tmp_path: Path) -> None:
    splits = [write(tmp_path, ["alpha", "beta"]) for _ in range(3)]
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=_race, args=(tmp_path / "cache", splits, "1")) for _ in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert [worker.exitcode for worker in workers] == [0, 0, 0]
