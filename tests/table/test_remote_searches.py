"""What a search asks of an object store: nothing that it was told before, and of all splits at the same time."""

from __future__ import annotations

import random
import uuid
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from bench.proxies import SlowProxy, rounds, running
from bench.servers import Server

import indextables as it
from indextables.config import keys
from indextables.runtime import Runtime, use

pytestmark = pytest.mark.servers

SPLITS = 6
LEVELS = ["INFO", "WARN", "ERROR"]


def rows(number: int) -> pa.Table:
    ids = range(number * 100, number * 100 + 100)
    return pa.table(
        {
            "id": ids,
            "level": [LEVELS[i % 3] for i in ids],
            "payload": [random.Random(i).randbytes(4096) for i in ids],  # rows that are not in a split's end
            "message": [f"request {i} timed out" if i % 7 else f"request {i} ok" for i in ids],
        }
    )


@pytest.fixture(scope="module", params=["seaweedfs", "azurite"])
def remote(request: pytest.FixtureRequest) -> Server:
    """S3 and Azure: what a search asks for is the same in both."""
    server: Server = request.getfixturevalue(request.param)
    return server


@pytest.fixture(scope="module")
def stored(remote: Server) -> str:
    uri = remote.uri(f"{uuid.uuid4()}/logs")
    for number in range(SPLITS):
        it.write(uri, rows(number), text=["message"], settings=remote.settings)
    return uri


@pytest.fixture(autouse=True)
def _fresh_process() -> Iterator[None]:
    """Nothing is in memory, as in a process that starts."""
    with use(Runtime()):
        yield


@pytest.fixture
def proxy(remote: Server) -> Iterator[SlowProxy]:
    with running(SlowProxy(remote.address, delay=0.02)) as proxy:
        yield proxy


@pytest.fixture
def settings(remote: Server, proxy: SlowProxy, tmp_path: Path) -> dict[str, str]:
    return remote.through(proxy.address).settings | {keys.CACHE_DIRECTORY.key: str(tmp_path / "cache")}


def answers(table: it.Table) -> list[object]:
    """Ask a table everything that searches splits."""
    return [
        table.count("timed"),
        table.search("timed", limit=10).to_pydict(),
        table.search("ok", limit=None, columns=["id"]).to_pydict(),
        sorted(table.to_arrow(columns=["id"], where="message TEXTSEARCH 'ok'")["id"].to_pylist()),
        table.top_values("level", query="timed").to_pydict(),
    ]


def test_answers_are_those_of_the_same_table_on_a_disk(
    stored: str, settings: dict[str, str], tmp_path: Path
) -> None:
    for number in range(SPLITS):
        it.write(tmp_path / "local", rows(number), text=["message"])
    local, remote = it.open(tmp_path / "local"), it.open(stored, settings=settings)
    for _ in range(2):  # cold and warm
        count, best, *others = answers(remote)
        expected_count, expected_best, *expected = answers(local)
        assert count == expected_count
        assert best["_score"] == expected_best["_score"]
        assert sorted(others[0].pop("id")) == sorted(expected[0].pop("id"))
        assert others == expected


def test_a_warm_count_asks_no_split(stored: str, settings: dict[str, str], proxy: SlowProxy) -> None:
    table = it.open(stored, settings=settings)
    first = table.count("timed")
    proxy.exchanges.clear()
    assert table.count("timed") == first
    assert table.count("ok") == SPLITS * 100 - first
    assert proxy.exchanges == []


def test_another_process_opens_cached_splits_without_a_request(
    stored: str, settings: dict[str, str], proxy: SlowProxy
) -> None:
    expected = it.open(stored, settings=settings).count("timed")
    with use(Runtime()):
        table = it.open(stored, settings=settings)
        proxy.exchanges.clear()
        assert table.count("timed") == expected
        assert proxy.exchanges == []


def test_a_warm_search_waits_once_for_the_rows(
    stored: str, settings: dict[str, str], proxy: SlowProxy
) -> None:
    table = it.open(stored, settings=settings)
    best = table.search("timed", limit=50)
    proxy.exchanges.clear()
    assert table.search("timed", limit=50).equals(best)
    assert 1 <= len(proxy.exchanges) <= 2 * SPLITS
    assert rounds(proxy.exchanges) <= 2


def test_a_cold_search_asks_the_splits_together(
    stored: str, settings: dict[str, str], proxy: SlowProxy
) -> None:
    table = it.open(stored, settings=settings)
    proxy.exchanges.clear()
    assert table.search("timed", limit=10).num_rows == 10
    assert len(proxy.exchanges) >= 2 * SPLITS
    assert rounds(proxy.exchanges) < len(proxy.exchanges) / 2


@pytest.mark.parametrize("damage", [b"", b"no end of a split", None])
def test_a_changed_end_in_the_cache_is_fetched_again(
    stored: str, settings: dict[str, str], tmp_path: Path, damage: bytes | None
) -> None:
    expected = it.open(stored, settings=settings).count("timed")
    ends = list((tmp_path / "cache").rglob("end"))
    assert len(ends) == SPLITS
    for end in ends:
        if damage is None:
            end.unlink()
        else:
            end.write_bytes(damage)
    with use(Runtime()):
        assert it.open(stored, settings=settings).count("timed") == expected
