"""Damage to each part of a manifest and of a state manifest, seen from the door of the table.

With older versions there, the answer is the right one and a warning names the file. With nothing else there, it is
an error that names the file. It is never another answer, and nothing is ever deleted for it.
"""

from __future__ import annotations

import random
import warnings
from collections.abc import Iterator
from typing import NamedTuple

import pytest

import indextables as it
from indextables.avro import SYNC_SIZE, read_long
from indextables.config import Settings
from indextables.errors import CorruptTableError
from indextables.log import Append, StateWarning, checkpoint, commit, load_snapshot, version_key
from indextables.log.snapshots import cache
from indextables.state import entries, read_state, state_key
from indextables.storage import Store, open_store
from support.logs import add, metadata

QUERIES = (None, "day = 'd03'", "day IN ('d01', 'd18') AND id > 3")
RUNS = [
    ("zstd", 0.2),
    *(
        pytest.param(codec, 1.0, marks=[pytest.mark.soak, pytest.mark.timeout(7200)])
        for codec in ("zstd", "snappy", "none")
    ),
]
"""Some of the harm in every run, and all of it, with each compression, where there is time."""


class Region(NamedTuple):
    name: str
    start: int
    end: int


def regions(data: bytes) -> list[Region]:
    """The parts of an Avro file, found by reading it."""
    found = [Region("magic", 0, 4)]
    at = 4

    def took(name: str, end: int) -> None:
        nonlocal at
        found.append(Region(name, at, end))
        at = end

    count, end = read_long(data, at)
    took("metadata count", end)
    for _ in range(count):
        size, end = read_long(data, at)
        key = data[end : end + size].decode()
        took(f"{key}: key", end + size)
        size, end = read_long(data, at)
        took(f"{key}: size of the value", end)
        took(f"{key}: value", at + size)
    took("end of the metadata", at + 1)
    took("sync marker", at + SYNC_SIZE)
    block = 0
    while at < len(data):
        _, end = read_long(data, at)
        took(f"block {block}: count", end)
        size, end = read_long(data, at)
        took(f"block {block}: size", end)
        took(f"block {block}: body", at + size)
        took(f"block {block}: sync marker", at + SYNC_SIZE)
        block += 1
    assert (at, found[-1].end) == (len(data), len(data))
    return found


def damages(data: bytes, other: bytes, rng: random.Random, share: float) -> Iterator[tuple[str, bytes]]:
    """The file with one part of it harmed: every part, in a share of all ways to harm it, and random places."""
    for region in regions(data):
        found = [(harm, bad) for harm, bad in harmed(data, region) if bad != data]
        yield from rng.sample(found, max(2, round(share * len(found))))
    for _ in range(round(100 * share)):
        at = rng.randrange(len(data))
        yield f"byte {at} changed", data[:at] + bytes([data[at] ^ rng.randrange(1, 256)]) + data[at + 1 :]
        yield f"cut at {at}", data[:at]
    yield "extended by zeros", data + bytes(100)
    yield "extended by noise", data + rng.randbytes(50)
    yield "extended by one byte", data + b"\x02"
    yield "another file in its place", other
    yield "empty", b""


def harmed(data: bytes, region: Region) -> Iterator[tuple[str, bytes]]:
    name, start, end = region
    middle = (start + end) // 2
    for at in sorted({start, middle, end - 1}):
        yield f"{name}: byte {at} flipped", data[:at] + bytes([data[at] ^ 0xFF]) + data[at + 1 :]
        yield f"{name}: byte {at}, one bit", data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]
    yield f"{name}: zeroed", data[:start] + bytes(end - start) + data[end:]
    yield f"{name}: gone", data[:start] + data[end:]
    yield f"{name}: twice", data[:end] + data[start:]
    yield f"cut before {name}", data[:start]
    yield f"cut in {name}", data[: max(middle, start + 1)]


class Place(NamedTuple):
    """A table, the file to be harmed, a sound file of the same kind, and the answers before any harm."""

    uri: str
    store: Store
    key: str
    other: str
    answers: tuple[list[dict], ...]


@pytest.fixture(params=["manifest", "state"])
def place(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Place:
    monkeypatch.setattr(
        entries, "BLOCK_BYTES", 1500
    )  # several blocks, so that some can be read by themselves
    codec = getattr(request.node, "callspec", None) and request.node.callspec.params.get("codec", "zstd")
    uri = f"memory://{request.node.name}"
    store = open_store(uri)
    settings = Settings({"spark.indextables.state.compression": codec or "zstd"})
    snapshot = None
    for version in range(3):
        files = tuple(
            add(
                f"day=d{n:02d}/v{version}-{n}.split",
                day=f"d{n:02d}",
                min_values={"id": f"{n}"},
                max_values={"id": f"{n + 5}"},
            )
            for n in range(20)
        )
        snapshot = commit(store, Append(files, metadata()), base=snapshot, settings=settings).snapshot
        if version != 1:
            checkpoint(store, settings)
    (old,), (new,) = (read_state(store, version).manifests for version in (0, 2))
    pair = {
        "manifest": (f"_transaction_log/{new.path}", f"_transaction_log/{old.path}"),
        "state": (state_key(2), state_key(0)),
    }
    return Place(uri, store, *pair[request.param], tuple(asked(uri, query) for query in QUERIES))


def asked(uri: str, where: str | None) -> list[dict]:
    cache.forget()
    return sorted(it.open(uri).files(where=where).to_pylist(), key=lambda row: row["path"])


def content(store: Store) -> dict[str, bytes]:
    return {info.key: store.get(info.key) for info in store.list_from("")}


def is_listed(place: Place) -> bool:
    """The file of the newest state is what a reader of the table starts from."""
    cache.forget()
    base = load_snapshot(place.store).files.base
    return base is not None and base.version == 2


@pytest.mark.spec("testReadCorruptedManifest", "testCorruptedAvroHeader")
@pytest.mark.parametrize(("codec", "share"), RUNS)
def test_with_older_versions_the_answer_is_right_and_a_warning_names_the_file(
    place: Place, codec: str, share: float
):
    assert is_listed(place)
    data, other = place.store.get(place.key), place.store.get(place.other)
    assert len(regions(data)) > 12
    rng = random.Random(codec)
    for harm, bad in damages(data, other, rng, share):
        place.store.put(place.key, bad)
        before = content(place.store)
        for number in chosen_queries(rng, share):
            query, answer = QUERIES[number], place.answers[number]
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                assert asked(place.uri, query) == answer, f"{harm}, {query}"
            said = [str(warning.message) for warning in caught]
            assert all(warning.category is StateWarning for warning in caught), said
            # Some of the blocks are not read for some conditions; all of the file is for none.
            assert said or (query is not None and "/manifests/" in place.key), f"{harm}, {query}"
            assert all(place.key in text for text in said), said
        assert content(place.store) == before, f"{harm}: reading changes nothing"


@pytest.mark.spec("testReadCorruptedManifest", "testReadTruncatedManifest", "testCorruptedAvroHeader")
@pytest.mark.parametrize(("codec", "share"), RUNS)
def test_with_nothing_else_the_answer_is_right_or_an_error_that_names_the_file(
    place: Place, codec: str, share: float
):
    data, other = place.store.get(place.key), place.store.get(place.other)
    for version in range(3):
        place.store.delete(version_key(version))
    place.store.delete(state_key(0))
    assert [asked(place.uri, query) for query in QUERIES] == list(place.answers)
    rng = random.Random(codec)
    for harm, bad in damages(data, other, rng, share):
        place.store.put(place.key, bad)
        before = content(place.store)
        for number in chosen_queries(rng, share):
            found = asked_or_refused(place, QUERIES[number], harm)
            if found is not None:
                assert QUERIES[number] is not None, f"{harm} was not noticed"
                assert "/manifests/" in place.key, f"{harm} was not noticed"
                assert found == place.answers[number], f"{harm}, {QUERIES[number]}"
        assert content(place.store) == before, f"{harm}: reading changes nothing"


def chosen_queries(rng: random.Random, share: float) -> list[int]:
    return list(range(len(QUERIES))) if share == 1 else [rng.randrange(len(QUERIES))]


def asked_or_refused(place: Place, query: str | None, harm: str) -> list[dict] | None:
    """The answer, or None when it is an error, which then names the file."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", StateWarning)
        try:
            return asked(place.uri, query)
        except CorruptTableError as error:
            if place.key not in str(error):
                pytest.fail(f"{harm}, {query}: {error}")
            return None


def test_clean_up_deletes_nothing_that_a_damaged_file_would_be_needed_for(place: Place):
    data, other = place.store.get(place.key), place.store.get(place.other)
    kept = content(place.store)
    for harm, bad in damages(data, other, random.Random(7), 0.1):
        place.store.put(place.key, bad)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", StateWarning)
            cache.forget()
            it.open(place.uri).clean_versions(0)
            left = content(place.store)
            assert {version_key(1), version_key(2), state_key(0)} <= left.keys(), f"{harm}: {left.keys()}"
            assert left[place.key] == bad
            assert asked(place.uri, None) == place.answers[0], harm
        for key in left.keys() - kept.keys():  # the mark that a clean-up leaves
            place.store.delete(key)
        for key in kept.keys() - left.keys():
            place.store.put(key, kept[key])
