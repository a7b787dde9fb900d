"""Pages of a search by the row where the last page ended."""

from __future__ import annotations

import base64
import random
import struct
import zlib
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest

import indextables as it
from indextables.errors import InputError
from indextables.runtime import Runtime, use
from indextables.split import SplitReader
from indextables.table.scans.paging import RankKey

QUERIES = [
    "w1",
    "body:(w2 OR w5)",
    'body:"w1 w2" OR w3',
    "body:w1 AND title:w2",
    "body:w1* OR w4^3",
    "number:<50",
]


def _write(path: str, count: int = 240, splits: int = 4) -> it.Table:
    rng = np.random.default_rng(7)
    for part in np.array_split(np.arange(count), splits):
        # Texts of very different lengths in each split: bounds are then far from scores.
        texts = [
            " ".join(f"w{n}" for n in rng.integers(0, 12, 2 + int(part[0]) // 10 + i % 3))
            for i in range(len(part))
        ]
        titles = [f"w{n}" for n in rng.integers(0, 4, len(part))]
        numbers = rng.integers(0, 100, len(part))
        rows = {"id": part, "number": numbers, "body": texts, "title": titles}
        it.write(path, pa.table(rows), text=["body", "title"])
    return it.open(path)


@pytest.fixture(scope="module")
def table() -> it.Table:
    return _write("memory://search-after")


def _walk(table: it.Table, query: str, sizes: list[int], where: str | None = None) -> list[int]:
    ids: list[int] = []
    page, number = None, 0
    while page is None or page.num_rows:
        limit = sizes[number % len(sizes)]
        page = table.search(query, limit=limit, after=page, columns=["id"], where=where)
        ids += page.column("id").to_pylist()
        number += 1
    return ids


@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize("sizes", [[7], [1, 30, 3]])
def test_pages_are_the_whole_answer_in_its_order(table, query, sizes):
    assert _walk(table, query, sizes) == table.search(query, limit=None).column("id").to_pylist()


def test_a_condition_that_the_index_does_not_decide_keeps_the_order(table):
    where = "body LIKE '%w3%' AND number > 20"
    expected = table.search("w1 OR w2", limit=None, where=where).column("id").to_pylist()
    assert _walk(table, "w1 OR w2", [9], where) == expected


def test_splits_that_are_not_ranked_together_have_pages_too(table, monkeypatch):
    monkeypatch.setattr(SplitReader, "ranking", property(lambda _: None))
    for query in QUERIES:
        assert _walk(table, query, [11]) == table.search(query, limit=None).column("id").to_pylist()


def test_rows_before_the_page_are_not_scored_again(monkeypatch):
    """Only rows whose bound does not decide on which side they are: the pages after the first cost no more."""
    rows = {"id": range(600), "body": [f"{'disk ' * (1 + n % 40)}{'x ' * (n % 7)}" for n in range(600)]}
    for part in range(3):
        it.write("memory://after-cost", pa.table(rows).slice(200 * part, 200), text=["body"])
    table = it.open("memory://after-cost")
    scored: list[int] = []
    rescore = SplitReader.rescore

    def counted(self, predicate, hits, corpus):
        scored.append(len(hits.rows))
        return rescore(self, predicate, hits, corpus)

    monkeypatch.setattr(SplitReader, "rescore", counted)
    page, costs = None, []
    for _ in range(50):
        scored.clear()
        page = table.search("disk", limit=10, after=page)
        costs.append(sum(scored))
    assert page is not None
    assert page.num_rows == 10
    assert max(costs) < 250, costs
    assert sum(costs) < 50 * 100, costs


def test_offset_counts_from_the_row_after(table):
    everything = table.search("w1", limit=None).column("id").to_pylist()
    page = table.search("w1", limit=5)
    assert table.search("w1", limit=4, offset=3, after=page).column("id").to_pylist() == everything[8:12]
    assert table.search("w1", limit=None, after=page).column("id").to_pylist() == everything[5:]
    assert table.search("w1", limit=0, after=page).num_rows == 0


def test_a_token_is_good_for_its_version_whatever_is_appended():
    first = _write("memory://after-appends", 60, 2)
    expected = first.search("w1", limit=None).column("id").to_pylist()
    token = it.page_token(first.search("w1", limit=6))
    it.write(
        "memory://after-appends",
        pa.table({"id": [999], "number": [1], "body": ["w1 " * 30], "title": ["w1"]}),
    )
    same = it.open("memory://after-appends", version=first.version)
    assert same.search("w1", limit=None, after=token).column("id").to_pylist() == expected[6:]
    with pytest.raises(
        InputError, match=rf"of version {first.version}, and this is version {first.version + 1}: open"
    ):
        it.open("memory://after-appends").search("w1", after=token)


def test_an_empty_page_has_the_token_of_the_one_before(table):
    last = table.search("w1", limit=None)
    empty = table.search("w1", after=last)
    assert empty.num_rows == 0
    assert it.page_token(empty) == it.page_token(last)
    nothing = table.search("nowhere")
    assert it.page_token(nothing) is None
    assert table.search("nowhere", after=nothing).num_rows == 0


def test_now_is_that_of_the_first_page():
    moments = [1_700_000_000_000_000 + n * 60_000_000 for n in range(10)]
    rows = {"id": range(10), "m": ["disk"] * 10, "at": pa.array(moments, pa.timestamp("us", tz="UTC"))}
    it.write("memory://after-now", pa.table(rows))
    table = it.open("memory://after-now")

    def at(milliseconds: int) -> Runtime:
        return Runtime(clock=lambda: milliseconds)

    query = "at:[now-9m TO now]"
    with use(at(1_700_000_540_000)):
        page = table.search(query, limit=4)
    with use(at(1_700_000_900_000)):  # of the rows of the first page, none is in this one's last nine minutes
        rest = table.search(query, limit=None, after=page)
    assert sorted(page.column("id").to_pylist() + rest.column("id").to_pylist()) == list(range(10))


def test_a_token_of_another_search_is_refused(table):
    page = table.search("w1", limit=3, where="number > 5")
    token = it.page_token(page)
    for query, where in [("w2", "number > 5"), ("w1", None), ("w1", "number > 6")]:
        with pytest.raises(InputError, match="another query or where"):
            table.search(query, where=where, after=token)
    other = _write("memory://search-after-other", 30, 1)
    with pytest.raises(InputError, match="another table"):
        other.search("w1", where="number > 5", after=token)
    with pytest.raises(InputError, match="no page of a search"):
        table.search("w1", after=pa.table({"id": [1]}))
    for wrong in (7, b"x", ["a"]):
        with pytest.raises(InputError, match="it takes a page of a search, or its token"):
            table.search("w1", after=wrong)
    with pytest.raises(InputError, match="it takes a table that search returned"):
        it.page_token("x")


def test_a_part_of_a_page_has_no_next_page(table):
    page = table.search("w1", limit=6, columns=["id"])
    parts = [page.slice(0, 1), page.slice(0, 0), page.slice(1), page.filter(pa.array([True, False] * 3))]
    for part in [*parts, pa.concat_tables([page, page])]:
        with pytest.raises(InputError, match=f"a table of {part.num_rows} rows, made from a page of 6"):
            table.search("w1", after=part)
        with pytest.raises(InputError, match="the last row of a whole page"):
            it.page_token(part)
    assert it.page_token(page.select(["id"])) == it.page_token(page)


def test_a_damaged_token_is_refused(table):
    token = it.page_token(table.search("w1", limit=3))
    assert token is not None
    rng = random.Random(3)
    for _ in range(300):
        damaged = list(token)
        at = rng.randrange(len(damaged))
        match rng.randrange(4):
            case 0:
                damaged[at] = chr(rng.choice([0, 45, 65, 0x7F, 0xE9, 0xD800, 0x1F600]))
            case 1:
                del damaged[at : at + rng.randrange(1, 5)]
            case 2:
                damaged[at:at] = "AAAA" * rng.randrange(1, 5000)
            case _:
                damaged = damaged[:at]
        text = "".join(damaged)
        if text != token:
            with pytest.raises(InputError, match="damaged"):
                table.search("w1", after=text)


def test_a_forged_token_gives_an_answer_or_an_error_of_this_package(table):
    token = it.page_token(table.search("w1", limit=3))
    assert token is not None
    body = bytearray(base64.urlsafe_b64decode(token)[:-4])
    matching = set(table.search("w1", limit=None).column("id").to_pylist())
    rng = random.Random(5)
    for _ in range(60):
        forged = bytearray(body)
        at = rng.choice([0, *range(33, len(forged))])  # what decides about table, version and query stays
        forged[at : at + 8] = rng.choice(
            [rng.randbytes(8), b"\xff" * 8, bytes(8), struct.pack(">d", float("nan"))]
        )
        text = base64.urlsafe_b64encode(bytes(forged) + struct.pack(">I", zlib.crc32(forged))).decode()
        try:
            found = table.search("w1", limit=5, after=text).column("id").to_pylist()
        except InputError:
            continue
        assert set(found) <= matching


def test_keys_are_in_the_order_of_rows():
    nan, inf = float("nan"), float("inf")
    places = [
        (inf, "b", 1),
        (2.5, "a", 7),
        (2.5, "a", 8),
        (2.5, "b", 0),
        (0.0, "a", 0),
        (nan, "a", 0),
        (nan, "a", 1),
    ]
    for earlier, later in pairwise(places):
        assert RankKey(*earlier).precedes(*later)
        assert not RankKey(*later).precedes(*earlier)
        assert not RankKey(*earlier).precedes(*earlier)
