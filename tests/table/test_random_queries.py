"""Random queries over several splits have the rows that a brute-force evaluation finds: see `support.query_model`."""

import os
import random
from collections import Counter

import pytest

import indextables as it
from indextables.runtime import Runtime, use
from support.query_model import (
    NOW,
    OPTIONS,
    TOKENIZERS,
    Row,
    as_arrow,
    draw_condition,
    draw_rows,
    draw_table_query,
)

SEED = int(os.environ.get("INDEXTABLES_SEED", random.SystemRandom().randrange(1 << 32)))
SPLITS, ROWS = 3, 40
PAIRS = [("default", "simple"), ("whitespace", "code"), ("ngram", "stems")]
"""The tokenizers of the two text columns, `message` and `title`."""


@pytest.fixture(scope="module", params=PAIRS, ids="-".join)
def rows_and_table(request, tmp_path_factory: pytest.TempPathFactory) -> tuple[list[Row], it.Table]:
    rng = random.Random(SEED)
    path = str(tmp_path_factory.mktemp("random-queries"))
    TOKENIZERS.clear()
    TOKENIZERS.update(zip(("message", "title"), request.param, strict=True))
    settings = {
        f"spark.indextables.indexing.{option}.{column}": value
        for column, name in TOKENIZERS.items()
        for option, value in OPTIONS.get(name, {}).items()
    }
    settings["spark.indextables.indexing.typemap.client"] = "ip"
    rows: list[Row] = []
    for _ in range(SPLITS):
        drawn = draw_rows(rng, ROWS)
        it.write(path, as_arrow(drawn, len(rows)), text=["message", "title"], settings=settings)
        rows += drawn
    table = it.open(path)
    assert len(table.files()) >= SPLITS
    return rows, table


def _compare(rows: list[Row], table: it.Table, first: int, count: int) -> Counter[str]:
    """Compare the answers to some queries. Return how many queries with an answer had each operator."""
    seen: Counter[str] = Counter()
    with use(Runtime(clock=lambda: int(NOW.timestamp() * 1000))):
        for number in range(first, first + count):
            _compare_one(rows, table, number, seen)
    return seen


def _compare_one(rows: list[Row], table: it.Table, number: int, seen: Counter[str]) -> None:
    rng = random.Random(f"{SEED} {number}")
    if rng.random() < 0.3:
        query = draw_table_query(rng)
        context = f"seed {SEED}, {TOKENIZERS}, query {number}: {query.text}"
        expected = [i for i, row in enumerate(rows) if query.holds(row)]
        found = table.search(query.text, columns=["id"], limit=None)
        counted = table.count(query=query.text)
        operators = query.operators
    else:
        condition = draw_condition(rng)
        context = f"seed {SEED}, {TOKENIZERS}, query {number}: {condition.sql}"
        expected = [i for i, row in enumerate(rows) if condition.holds(row) is True]
        found = table.to_arrow(columns=["id"], where=condition.sql)
        counted = table.count(where=condition.sql)
        operators = condition.operators
    assert sorted(found.column("id").to_pylist()) == expected, context
    assert counted == len(expected), context
    if 0 < len(expected) < len(rows):
        seen.update(operators)


def test_random_queries_have_the_rows_of_a_brute_force_evaluation(
    rows_and_table: tuple[list[Row], it.Table],
) -> None:
    seen = _compare(*rows_and_table, 0, 50)
    assert len(seen) > 15, f"seed {SEED}: {seen}"


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_many_random_queries_have_the_rows_of_a_brute_force_evaluation(
    rows_and_table: tuple[list[Row], it.Table],
) -> None:
    seen = _compare(*rows_and_table, 100, 700)
    assert all(seen[operator] > 1 for operator in seen), f"seed {SEED}: {seen}"
