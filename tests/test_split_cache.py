"""The cache of extracted indexes: bounded, shared between processes, never half an entry, never a stale one."""

import multiprocessing
import os
import shutil
from pathlib import Path

import pyarrow as pa
import pytest

from indextables.config import Settings
from indextables.errors import CorruptTableError
from indextables.predicates import TextQuery
from indextables.schema import FieldMapping, TableSchema
from indextables.split import FinishedSplit, SplitWriter, cache, open_split
from indextables.split.bundle import open_bundle
from indextables.split.cache import IndexCache, entry_name, open_index
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


def options(directory: Path, size: str = "1G") -> Settings:
    return Settings(
        {
            "spark.indextables.cache.directoryPath": str(directory),
            "spark.indextables.cache.disk.maxSize": size,
        }
    )


def count(split: FinishedSplit, settings: Settings) -> int:
    with open_split(
        open_store(str(split.path.parent)), split.path.name, split.size, settings=settings
    ) as reader:
        return reader.count(QUERY)


@pytest.fixture(autouse=True)
def _nothing_open() -> None:
    cache._open.clear()


def entries(directory: Path) -> list[str]:
    return sorted(path.name for path in directory.iterdir())


def test_an_index_is_extracted_once(tmp_path: Path) -> None:
    split, settings = write(tmp_path, ["alpha", "beta"]), options(tmp_path / "cache")
    assert count(split, settings) == 1
    [entry] = entries(tmp_path / "cache")
    stamp = (tmp_path / "cache" / entry / "meta.json").stat().st_mtime_ns
    cache._open.clear()
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
        os.utime(tmp_path / "cache" / name / ".used", (1000 + age, 1000 + age))
    cache._open.clear()
    count(splits[0], settings)  # used again: now the youngest
    size = int((tmp_path / "cache" / names[0] / ".used").read_text())
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
    cache._open.clear()
    assert count(split, settings) == 1


def test_a_broken_entry_is_extracted_again(tmp_path: Path) -> None:
    split, settings = write(tmp_path, ["alpha", "beta"]), options(tmp_path / "cache")
    count(split, settings)
    [entry] = entries(tmp_path / "cache")
    (tmp_path / "cache" / entry / "meta.json").write_text("{")
    cache._open.clear()
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


def test_only_so_many_indexes_stay_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "_MAX_OPEN", 2)
    settings = options(tmp_path / "cache")
    store = open_store(str(tmp_path))
    for _ in range(4):
        split = write(tmp_path, ["alpha"])
        open_index(open_bundle(store, split.path.name, split.size), settings)
    assert len(cache._open) == 2


def test_leftovers_of_dead_processes_are_cleared(tmp_path: Path) -> None:
    stale = tmp_path / "cache" / ".new-dead"
    stale.mkdir(parents=True)
    os.utime(stale, (1000, 1000))
    fresh = tmp_path / "cache" / ".new-alive"
    fresh.mkdir()
    count(write(tmp_path, ["alpha"]), options(tmp_path / "cache"))
    assert not stale.exists()
    assert fresh.exists()


def _race(directory: Path, splits: list[FinishedSplit], size: str) -> None:
    settings = options(directory, size)
    for _ in range(10):
        for split in splits:
            cache._open.clear()
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


def test_the_default_place_is_below_the_temporary_directory() -> None:
    assert str(os.getuid()) in IndexCache.of(Settings()).root.name
