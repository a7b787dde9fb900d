"""Splits that stay open between answers: the same file, one user at a time, never one that has failed."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import pyarrow as pa
import pytest

import indextables as it
from indextables.predicates import parse_where
from indextables.schema import FieldMapping
from indextables.split import SplitReader, open_split
from indextables.storage import Store, open_store
from indextables.table import ScanRequest, answer_on_driver, plan_scan
from indextables.table.scans.open_readers import ReaderCache, reader_cache


class Place:
    """One split of a table, and how often it was opened."""

    def __init__(self, home: Path, name: str = "table") -> None:
        it.write(home / name, pa.table({"id": [1, 2, 3]}))
        snapshot = it.open(home / name).snapshot
        (self.file,) = snapshot.files.values()
        self.mapping: FieldMapping = snapshot.mapping
        self.store: Store = open_store(str(home / name))
        self.opened = 0

    def open_reader(self) -> SplitReader:
        self.opened += 1
        return open_split(self.store, self.file.path, self.file.size)

    def lease(self, cache: ReaderCache, **options: str):
        return cache.lease(
            self.store,
            self.file.path,
            self.file.size,
            tuple(options.items()),
            self.mapping,
            self.open_reader,
        )


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_a_split_is_opened_once(place: Place) -> None:
    cache = ReaderCache()
    for _ in range(3):
        with place.lease(cache) as split:
            assert split.count() == 3
    assert (place.opened, len(cache)) == (1, 1)


def test_two_users_never_have_the_same_split_at_once(place: Place) -> None:
    cache = ReaderCache()
    with ExitStack() as stack:
        first, second = (stack.enter_context(place.lease(cache)) for _ in range(2))
        assert first is not second
    assert (place.opened, len(cache)) == (2, 1)


def test_other_settings_have_a_split_of_their_own(place: Place) -> None:
    cache = ReaderCache()
    for directory in "ab":
        with place.lease(cache, directory=directory):
            pass
    assert (place.opened, len(cache)) == (2, 2)


def test_a_split_that_has_failed_does_not_come_back(place: Place) -> None:
    cache = ReaderCache()
    with pytest.raises(ZeroDivisionError), place.lease(cache):
        raise ZeroDivisionError
    assert len(cache) == 0


def test_a_file_that_is_another_now_is_opened_anew(place: Place) -> None:
    cache = ReaderCache()
    with place.lease(cache):
        pass
    path = place.store.local_path(place.file.path)
    assert path is not None
    copy = path.with_suffix(".copy")
    copy.write_bytes(path.read_bytes())
    copy.rename(path)
    with place.lease(cache):
        pass
    assert place.opened == 2


def test_a_scan_of_more_splits_than_the_cache_holds_finds_most_of_them_there(tmp_path: Path) -> None:
    cache = ReaderCache(max_readers=8)
    places = [Place(tmp_path, f"s{number}") for number in range(9)]
    for _ in range(20):
        for place in places:
            with place.lease(cache):
                pass
    assert len(cache) == 8
    assert (
        sum(place.opened for place in places) < 20 * 9 / 2
    )  # the least recently used would be no hit at all


def test_stores_that_are_far_are_not_kept(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type(place.store), "local_path", lambda *_: None)
    cache = ReaderCache()
    with place.lease(cache):
        pass
    assert len(cache) == 0


def test_a_damaged_split_is_found_though_it_was_open_before(tmp_path: Path) -> None:
    """A write in place changes the time of the file, so nothing that was read before is trusted."""
    path = tmp_path / "table"
    it.write(
        path, pa.table({"id": range(100), "message": [f"word {i}" for i in range(100)]}), text=["message"]
    )
    table = it.open(path)
    request = ScanRequest(("id",), parse_where("message TEXTSEARCH '7'", table.snapshot.schema))
    plan = plan_scan(table.uri, table.snapshot, request, table.settings)
    reader_cache().clear()
    answer = answer_on_driver(plan)
    assert len(reader_cache()) == 1  # the cache of the process keeps what the answer has opened
    assert answer is not None
    assert answer.column("id").to_pylist() == [7]
    (split,) = path.glob("**/*.split")
    raw = bytearray(split.read_bytes())
    raw[len(raw) // 4 :] = bytes(len(raw) - len(raw) // 4)
    split.write_bytes(raw)
    assert answer_on_driver(plan) is None  # tasks say what is wrong
