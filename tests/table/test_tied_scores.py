"""The best rows among very many of equal score: exactly those of the whole answer, without scoring all that tie."""

from __future__ import annotations

import random

import pyarrow as pa
import pytest

import indextables as it
from indextables.config import keys
from indextables.split import SplitReader

WORDS = ["disk", "full", "cache", "miss", "web", "node"]
QUERIES = [
    "body:disk",
    "body:(disk full)",
    "body:(disk AND full)",
    "body:(disk full cache)",
    "body:(disk full cache miss web)",
    "body:(disk AND full AND cache)",
    "body:(disk AND full AND cache AND miss)",
    "+body:disk body:(full cache miss)",
    'body:"disk full"',
    'body:("disk full" cache)',
    "body:disk^3 body:full^0.5 title:disk",
    "disk",
    "disk full",
    "+disk full -body:web",
    "body:dis* body:full",
    "body:(disk full cache)@2",
    "body:(disk OR (full AND cache) OR miss^2)",
    "body:disk n:[0 TO 3]",
    'body:"disk fu"* body:cache',
    "body:(disk full unheard)",
    "(body:disk OR body:full)^2 body:cache",
]
LIMITS = [1, 10, 60]


def _write(path: str, texts: list[list[str]], rng: random.Random) -> it.Table:
    settings = {keys.MERGE_ON_WRITE.key: "false"}
    first = 0
    for part in texts:
        rows = {
            "id": range(first, first + len(part)),
            "body": part,
            "title": [rng.choice(["disk full", "disk", "cache", None]) for _ in part],
            "n": [rng.randrange(8) for _ in part],
        }
        it.write(path, pa.table(rows), text=["body", "title"], settings=settings)
        first += len(part)
    table = it.open(path)
    assert len(table.files()) == len(texts)
    return table


def _templates(rng: random.Random, count: int) -> list[str]:
    """Return texts of three templates, whose words but one are the same in each row."""
    forms = ["disk full on node {0}", "cache miss disk web {0} cache", "node {0} disk full cache miss web"]
    return [rng.choice(forms).format(rng.randrange(3)) for _ in range(count)]


def _mixtures(rng: random.Random, count: int) -> list[str]:
    """Return texts of few words in any number: there are many scores, and some are almost the same."""
    return [" ".join(rng.choices(WORDS, k=rng.randrange(1, 9))) for _ in range(count)]


def _long_texts(rng: random.Random, count: int) -> list[str]:
    """Return texts so long that the index rounds their lengths."""
    return [" ".join(rng.choices(WORDS, k=rng.choice([50, 51, 90]))) for _ in range(count)]


@pytest.fixture(scope="module", params=[(_templates, 1), (_templates, 3), (_mixtures, 2), (_long_texts, 1)])
def table(request) -> it.Table:
    texts, splits = request.param
    rng = random.Random(f"{texts.__name__} {splits}")
    parts = [texts(rng, 1200 // splits) for _ in range(splits)]
    return _write(f"memory://tied-{texts.__name__}-{splits}", parts, rng)


@pytest.mark.parametrize("query", QUERIES)
def test_the_best_rows_are_the_first_of_the_whole_answer(table: it.Table, query: str) -> None:
    whole = table.search(query, limit=None, columns=["id"])
    for limit in LIMITS:
        assert table.search(query, limit=limit, columns=["id"]).equals(whole.slice(0, limit))
    page = table.search(query, limit=7, columns=["id"])
    for start in (7, 14):
        page = table.search(query, limit=7, columns=["id"], after=page)
        assert page.equals(whole.slice(start, 7))


@pytest.fixture(scope="module", params=[1, 4])
def equal_rows(request) -> it.Table:
    text = "node {} disk full cache miss web"
    parts = [[text.format(n % 5) for n in range(3000)] for _ in range(request.param)]
    return _write(f"memory://many-ties-{request.param}", parts, random.Random(1))


@pytest.mark.parametrize("words", ["disk", "(disk full)", "(disk AND full)", "(cache miss web)"])
def test_rows_that_tie_are_not_scored_one_by_one(
    monkeypatch: pytest.MonkeyPatch, equal_rows: it.Table, words: str
) -> None:
    scored: list[int] = []
    rescore = SplitReader.rescore

    def counted(self, predicate, hits, corpus):
        scored.append(len(hits.rows))
        return rescore(self, predicate, hits, corpus)

    monkeypatch.setattr(SplitReader, "rescore", counted)
    page, splits = None, len(equal_rows.files())
    ids: list[int] = []
    for number in range(1, 6):
        scored.clear()
        page = equal_rows.search(f"body:{words}", limit=10, columns=["id"], after=page)
        ids += page.column("id").to_pylist()
        assert sum(scored) <= 20 * number * splits, f"page {number}"
    assert len(set(ids)) == 50
