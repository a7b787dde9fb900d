"""Scores and order of a search do not depend on how the rows are split."""

from __future__ import annotations

from itertools import groupby
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import indextables as it
from indextables.config import keys
from indextables.split import SplitReader

QUERIES = [
    "body:w1",
    "body:w5",
    "body:w40",
    "body:(w3 OR w17)",
    "body:(w2 OR w9 OR w60 OR w200)",
    "body:(w1 AND w4)",
    "body:(w2 AND w7 AND w11)",
    'body:"w1 w2"',
    'body:"w2 w1"~2',
    'body:(w3 OR "w1 w1")',
    "body:w6 OR title:w6",
    "w3",
    "w8 w21",
    "body:w4^3 OR title:w2^0.5 OR body:w30",
    "(body:w4 AND title:w1)^2 OR body:w12",
    "body:w3 AND NOT body:w1",
    "topic:t3 OR body:w5",
    "topic:t1 AND body:w2",
    "+body:w2 body:w13 -title:w1",
    "body:w1* AND body:w3",
    "body:w1 OR body:w4~1",
    "(body:w5 AND body:w6) OR (body:w7 AND NOT title:w2)",
    "body:nothing OR body:w19",
    "body:nothing",
    "body:w2 OR number:[10 TO 50]",
    "body:w3 && !body:w1 || title:w5",
    "body:/w1[0-3]/ OR body:w2",
    "body:(w2 w5 w9 w14)@2",
    "(body:w2^2 title:w3 body:w7 body:/w9./)@3",
    'body:w4 OR "w1 w2*"',
    "body:w11~ OR body:w3",
]


def corpus(count: int) -> tuple[pa.Table, dict[str, np.ndarray]]:
    rng = np.random.default_rng(4)
    ranks = np.arange(1, 2001)
    shares = 1 / ranks**1.05
    shares /= shares.sum()
    lengths = np.clip(rng.lognormal(3.0, 0.7, count).astype(int), 3, 400)
    topics = rng.integers(0, 20, count)

    def text(length: int, topic: int) -> str:
        words = rng.choice(2000, size=length, p=shares)
        moved = rng.random(length) < 0.15
        words[moved] = (words[moved] * 7 + topic * 101) % 2000
        return " ".join(f"w{word}" for word in words)

    rows = pa.table(
        {
            "id": range(count),
            "number": [int(i) for i in rng.integers(0, 1000, count)],
            "body": [text(n, t) for n, t in zip(lengths, topics, strict=True)],
            "title": [text(4, t) if t % 3 else None for t in topics],
            "topic": [f"t{t}" for t in topics],
        }
    )
    orders = {
        "arrival": np.arange(count),
        "length": np.argsort(lengths, kind="stable"),
        "topic": np.argsort(topics, kind="stable"),
    }
    return rows, orders


def write(path: Path, rows: pa.Table, order: np.ndarray, ways: int) -> it.Table:
    settings = {keys.MERGE_ON_WRITE.key: "false"}
    for part in np.array_split(order, ways):
        it.write(path, rows.take(pa.array(part)), text=["body", "title"], settings=settings)
    table = it.open(path)
    assert len(table.files()) == ways
    return table


def ranked(table: it.Table, query: str, limit: int | None) -> tuple[list[float], list[set[int]]]:
    """The scores, and the ids with each of them; the last set may be cut by the limit."""
    found = table.search(query, columns=["id"], limit=limit)
    pairs = list(zip(found.column("_score").to_pylist(), found.column("id").to_pylist(), strict=True))
    return [score for score, _ in pairs], [
        {i for _, i in group} for _, group in groupby(pairs, key=lambda pair: pair[0])
    ]


def check(tmp_path: Path, count: int, ways: list[int], queries: list[str], top: int) -> None:
    rows, orders = corpus(count)
    one = write(tmp_path / "one", rows, orders["arrival"], 1)
    expected = {query: ranked(one, query, top) for query in queries}
    for layout, order in orders.items():
        for number in ways:
            table = write(tmp_path / f"{layout}-{number}", rows, order, number)
            for query, (scores, groups) in expected.items():
                found, sets = ranked(table, query, top)
                assert found == scores, (layout, number, query)
                whole = len(scores) < top
                assert sets[: None if whole else -1] == groups[: None if whole else -1], (
                    layout,
                    number,
                    query,
                )


def test_scores_and_order_do_not_depend_on_the_splits(tmp_path):
    check(tmp_path, 1500, [3, 9], QUERIES, 40)


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_scores_and_order_do_not_depend_on_64_splits(tmp_path):
    more = [f"body:(w{n} OR w{3 * n + 1})" for n in range(1, 14)] + [f'body:"w{n} w1"' for n in range(1, 13)]
    check(tmp_path, 20_000, [1, 4, 64], QUERIES + more, 100)


def test_the_score_is_bm25_of_all_rows(tmp_path):
    for texts in (["disk full", "disk disk disk on fire"], ["login ok"]):
        it.write(tmp_path / "t", pa.table({"body": texts}), text=["body"])
    found = it.open(tmp_path / "t").search("disk")
    idf, average = np.log1p((3 - 2 + 0.5) / 2.5), 9 / 3
    expected = [2.2 * idf * tf / (tf + 1.2 * (0.25 + 0.75 * dl / average)) for tf, dl in ((3, 5), (1, 2))]
    assert found.column("_score").to_pylist() == pytest.approx(expected, rel=1e-12)


def test_a_split_without_statistics_has_all_ranked_by_their_own(tmp_path, monkeypatch):
    rows, orders = corpus(300)
    table = write(tmp_path / "t", rows, orders["arrival"], 3)
    matching = set(table.search("body:w1", columns=["id"], limit=None).column("id").to_pylist())
    ranking, asked = SplitReader.ranking, []

    def missing(self):
        asked.append(self)
        return None if len(asked) == 2 else ranking.fget(self)

    monkeypatch.setattr(SplitReader, "ranking", property(missing))
    found = table.search("body:w1", columns=["id"], limit=None)
    assert set(found.column("id").to_pylist()) == matching
    scores = found.column("_score").to_pylist()
    assert scores == sorted(scores, reverse=True)
