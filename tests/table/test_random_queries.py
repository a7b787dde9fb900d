"""Random queries over several splits have the rows that a brute-force evaluation finds: see `support.query_model`."""

import os
import random
from collections import Counter

import pytest

import indextables as it
from indextables.runtime import Runtime, use
from support.query_model import (
    NOW,
    OPERATORS,
    OPTIONS,
    Row,
    as_arrow,
    draw_condition,
    draw_rows,
    draw_table_query,
    set_tokenizers,
)

SEED = int(os.environ.get("INDEXTABLES_SEED", random.SystemRandom().randrange(1 << 32)))
SPLITS, ROWS = 3, 40
PAIRS = [
    ("default", "simple"),
    ("whitespace", "code"),
    ("ngram", "stems"),
    ("ngram2", "german"),
    ("basic", "raw"),
]
"""The tokenizers of the two text columns, `message` and `title`."""

Case = tuple[tuple[str, str], list[Row], it.Table]


def _write(pair: tuple[str, str], path: str) -> Case:
    print(f"seed {SEED}, tokenizers {pair}")
    rng = random.Random(SEED)
    set_tokenizers(*pair)
    settings = {
        f"spark.indextables.indexing.{option}.{column}": value
        for column, name in zip(("message", "title"), pair, strict=True)
        for option, value in OPTIONS.get(name, {}).items()
    }
    settings["spark.indextables.indexing.typemap.client"] = "ip"
    texts = [
        "notes",
        *(column for column, name in zip(("message", "title"), pair, strict=True) if name != "raw"),
    ]
    rows: list[Row] = []
    for _ in range(SPLITS):
        drawn = draw_rows(rng, ROWS)
        it.write(path, as_arrow(drawn, len(rows)), text=texts, settings=settings)
        rows += drawn
    table = it.open(path)
    assert len(table.files()) >= SPLITS
    return pair, rows, table


def _compare(case: Case, first: int, count: int) -> Counter[str]:
    """Compare the answers to some queries. Return how many queries with an answer had each operator."""
    seen: Counter[str] = Counter()
    with use(Runtime(clock=lambda: int(NOW.timestamp() * 1000))):
        for number in range(first, first + count):
            _compare_one(case, number, seen)
    return seen


def _compare_one(case: Case, number: int, seen: Counter[str]) -> None:
    pair, rows, table = case
    rng = random.Random(f"{SEED} {number}")
    if rng.random() < 0.3:
        query = draw_table_query(rng)
        context = f"seed {SEED}, {pair}, query {number}: {query.text}"
        expected = [i for i, row in enumerate(rows) if query.holds(row)]
        found = table.search(query.text, columns=["id"], limit=None)
        counted = table.count(query=query.text)
        operators = query.operators
    else:
        condition = draw_condition(rng)
        context = f"seed {SEED}, {pair}, query {number}: {condition.sql}"
        expected = [i for i, row in enumerate(rows) if condition.holds(row) is True]
        found = table.to_arrow(columns=["id"], where=condition.sql)
        counted = table.count(where=condition.sql)
        operators = condition.operators
    assert sorted(found.column("id").to_pylist()) == expected, context
    assert counted == len(expected), context
    if 0 < len(expected) < len(rows):
        seen.update(operators)


@pytest.mark.parametrize("pair", PAIRS, ids="-".join)
def test_random_queries_have_the_rows_of_a_brute_force_evaluation(
    pair: tuple[str, str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    seen = _compare(_write(pair, str(tmp_path_factory.mktemp("random-queries"))), 0, 30)
    assert len(OPERATORS & seen.keys()) > 15, f"seed {SEED}: {seen}"


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_many_random_queries_have_the_rows_of_a_brute_force_evaluation(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """2,100 queries. Each operator, type and tokenizer is in one with an answer that is neither none nor all rows."""
    seen: Counter[str] = Counter()
    for pair in PAIRS:
        seen += _compare(_write(pair, str(tmp_path_factory.mktemp("random-queries"))), 100, 420)
    print(f"seed {SEED}: {dict(seen)}")
    assert seen.keys() >= OPERATORS, f"seed {SEED}: {sorted(OPERATORS - seen.keys())} never had an answer"
