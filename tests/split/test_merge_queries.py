"""64 splits become one: every kind of query gives the rows of before, and the scores of an index written at once."""

from __future__ import annotations

import os
import random
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pytest

from indextables.config import Settings
from indextables.predicates import And, Compare, In, IsNull, Not, Or, Predicate, StringMatch, TextQuery
from indextables.schema import FieldMapping, TableSchema
from indextables.split import (
    FinishedSplit,
    MergedSplit,
    MergeSource,
    RowRequest,
    SplitReader,
    SplitWriter,
    merge_splits,
    open_split,
)
from indextables.storage import open_store
from indextables.table.scans.joint_ranking import Searched, rank_together
from indextables.table.scans.scan import SplitRef

SEED = int(os.environ.get("INDEXTABLES_SEED", random.SystemRandom().randrange(1 << 32)))
SPLITS = 64
QUERIES = 200
WORDS = [
    f"{stem}{ending}" for stem in ("time", "conn", "log", "web") for ending in ("", "out", "ect", "in", "s")
]
HOSTS = ["web-1", "web-2", "db", "Db", "", "é"]
OPERATORS = (
    *("term", "phrase", "slop", "phrase prefix", "prefix", "wildcard", "suffix", "fuzzy", "boost", "all"),
    "regex",
    *("and", "or", "not", "should", "plus and minus", "&&", "||", "at least"),
    *(
        "range of numbers",
        "open range",
        "range of days",
        "whole month",
        "range of moments",
        "date maths",
        "date maths from now",
        "regex of a column",
        "set",
        "exists",
        "value",
        "columns",
        "boosted column",
    ),
    *(f"column {op}" for op in ("=", "<>", "<", "<=", ">", ">=", "<=>")),
    *("column in", "column is null", "starts_with", "ends_with", "contains", "match"),
    *("in text", "in title", "in *", "AND", "OR", "NOT"),
)
"""Every operator of the query language and of conditions."""

DAY = date(2026, 1, 1)
MOMENT = datetime(2026, 1, 1, tzinfo=UTC)
NOW = int((MOMENT + timedelta(seconds=9999)).timestamp()) * 1_000_000


def random_rows(rng: random.Random, start: int, count: int) -> pa.RecordBatch:
    def column(draw: Callable[[], Any], kind: pa.DataType) -> pa.Array:
        return pa.array([None if rng.random() < 0.1 else draw() for _ in range(count)], kind)

    return pa.record_batch(
        {
            "id": pa.array(range(start, start + count), pa.int64()),
            "text": column(lambda: " ".join(rng.choices(WORDS, k=rng.randint(0, 12))), pa.string()),
            "title": column(lambda: " ".join(rng.choices(WORDS, k=rng.randint(1, 3))), pa.string()),
            "host": column(lambda: rng.choice(HOSTS), pa.string()),
            "small": column(lambda: rng.randint(-9, 9), pa.int8()),
            "status": column(lambda: rng.randint(-20, 20), pa.int32()),
            "ratio": column(lambda: rng.choice([-1.5, -0.0, 0.0, 2.25, float("inf")]), pa.float64()),
            "flag": column(lambda: rng.random() < 0.5, pa.bool_()),
            "day": column(lambda: DAY + timedelta(rng.randint(0, 30)), pa.date32()),
            "at": column(
                lambda: MOMENT + timedelta(seconds=rng.randint(0, 9999)), pa.timestamp("us", tz="UTC")
            ),
            "raw": column(lambda: rng.randbytes(rng.randint(0, 5)), pa.binary()),
        }
    )


SCHEMA = TableSchema.from_arrow(random_rows(random.Random(0), 0, 1).schema)
MAPPING = FieldMapping.of(SCHEMA, (), {"text": "text", "title": "text"})
SETTINGS = Settings({"spark.indextables.stats.bloom.columns": "host,status"})


class Drawn(NamedTuple):
    """A predicate, and the operators that are in it."""

    predicate: Predicate
    operators: tuple[str, ...]


def _word(rng: random.Random) -> str:
    return rng.choice(WORDS)


def _text(rng: random.Random, depth: int = 2) -> tuple[str, tuple[str, ...]]:
    """Draw a query on words."""
    simple: dict[str, Callable[[], str]] = {
        "term": lambda: _word(rng),
        "phrase": lambda: f'"{_word(rng)} {_word(rng)}"',
        "slop": lambda: f'"{_word(rng)} {_word(rng)}"~{rng.randint(1, 4)}',
        "phrase prefix": lambda: f'"{_word(rng)} {_word(rng)[:3]}"*',
        "prefix": lambda: f"{_word(rng)[:3]}*",
        "wildcard": lambda: f"{_word(rng)[0]}?{_word(rng)[2:]}*",
        "suffix": lambda: f"*{_word(rng)[-2:]}",
        "fuzzy": lambda: f"{_word(rng)[1:]}{rng.choice('xyz')}~{rng.randint(1, 2)}",
        "boost": lambda: f"{_word(rng)}^{rng.choice(['2', '0.5', '7'])}",
        "all": lambda: "*",
        "regex": lambda: f"/{_word(rng)[:2]}[a-z]*({_word(rng)[-1]}|{_word(rng)[-2:]})?/",
    }
    if depth == 0 or rng.random() < 0.4:
        name = rng.choice(sorted(simple))
        return simple[name](), (name,)
    (left, of_left), (right, of_right) = _text(rng, depth - 1), _text(rng, depth - 1)
    word = _word(rng)
    distinct = len({word, left, right})  # alternatives that are the same count once
    name, pattern = rng.choice(
        [
            ("and", "({} AND {})"),
            ("or", "({} OR {})"),
            ("not", "({} AND NOT {})"),
            ("should", "({} {})"),
            ("plus and minus", "(+{} -{})"),
            ("&&", "({} && {})"),
            ("||", "({} || {})"),
            ("at least", f"({word} {{}} {{}})@{rng.randint(1, distinct)}"),
        ]
    )
    return pattern.format(left, right), (name, *of_left, *of_right)


def _fields(rng: random.Random) -> tuple[str, tuple[str, ...]]:
    """Draw a query that names its columns."""
    low, high = sorted(rng.sample(range(-20, 21), 2))
    days = sorted((DAY + timedelta(rng.randint(0, 30))).isoformat() for _ in range(2))
    moments = sorted((MOMENT + timedelta(seconds=rng.randint(0, 9999))).isoformat()[:19] for _ in range(2))
    queries = {
        "whole month": f"{rng.choice(['day', 'at'])}:{rng.choice(['2026-01', '2026-02', '2026'])}",
        "range of moments": f'at:["{moments[0]}" TO "{moments[1]}"}}',
        "date maths": f"day:>=2026-01-{rng.randint(10, 28)}||-{rng.randint(1, 9)}d/{rng.choice('wM')}",
        "date maths from now": f"at:[now-{rng.randint(0, 9999)}s TO now-{rng.choice(['1h/h', '30m', '0s/m'])}]",
        "regex of a column": f"{rng.choice(['host:/w.*-[0-9]/', 'host:/[Dd]b/', 'title:/l?og.*/'])}",
        "range of numbers": f"status:[{low} TO {high}}}",
        "open range": f"small:>={rng.randint(-9, 9)}",
        "range of days": f"day:[{days[0]} TO {days[1]}]",
        "set": f"host: IN [{' '.join(rng.sample(['web-1', 'db', 'Db', 'absent'], 2))}]",
        "exists": f"{rng.choice(['host', 'title', 'status'])}:*",
        "value": f"host:{rng.choice(['db', 'Db'])}",
        "columns": f"text:({_text(rng, 1)[0]}) AND title:{_word(rng)}",
        "boosted column": f"title:{_word(rng)}^3 OR text:{_word(rng)}",
    }
    name = rng.choice(sorted(queries))
    return queries[name], (name,)


def _compare(rng: random.Random) -> Drawn:
    values: dict[str, list[Any]] = {
        "host": HOSTS,
        "status": [-20, 0, 7, 21],
        "small": [-9, 3],
        "ratio": [0.0, 2.25, float("inf")],
        "flag": [True, False],
        "day": [DAY, DAY + timedelta(15)],
        "at": [MOMENT + timedelta(seconds=5000)],
        "id": [0, 500, 1000],
    }
    name = rng.choice(sorted(values))
    op = rng.choice(["=", "<>", "<", "<=", ">", ">=", "<=>"])
    match rng.randrange(4):
        case 0:
            return Drawn(Compare(op, name, rng.choice(values[name])), (f"column {op}",))
        case 1:
            drawn = tuple(rng.choices(values[name], k=2)) + ((None,) if rng.random() < 0.2 else ())
            return Drawn(In(name, drawn), ("column in",))
        case 2:
            return Drawn(IsNull(name), ("column is null",))
        case _:
            how = rng.choice(["starts_with", "ends_with", "contains"])
            return Drawn(StringMatch(how, rng.choice(["text", "host"]), rng.choice(["w", "e"])), (how,))


def _leaf(rng: random.Random) -> Drawn:
    match rng.randrange(5):
        case 0:
            return _compare(rng)
        case 1:
            query, operators = _fields(rng)
            return Drawn(TextQuery("INDEXQUERY", "*", query, now=NOW), operators)
        case 2:
            return Drawn(
                TextQuery("FIELDMATCH", "host", rng.choice(["db", "Db", "web-1", "web*"])), ("match",)
            )
        case _:
            query, operators = _text(rng)
            column = rng.choice(["text", "text", "title", "*"])
            return Drawn(TextQuery("TEXTSEARCH", column, query), (f"in {column}", *operators))


def draw(rng: random.Random) -> Drawn:
    if rng.random() < 0.6:
        return _leaf(rng)
    parts = [_leaf(rng) for _ in range(rng.randint(1, 3))]
    operators = tuple(name for part in parts for name in part.operators)
    predicates = tuple(part.predicate for part in parts)
    match rng.randrange(3):
        case 0:
            return Drawn(And(predicates), ("AND", *operators))
        case 1:
            return Drawn(Or(predicates), ("OR", *operators))
        case _:
            return Drawn(And((Not(predicates[0]), *predicates[1:])), ("NOT", *operators))


def draw_with(rng: random.Random, operator: str) -> Drawn:
    """Draw a query in which the operator is."""
    while operator not in (drawn := draw(rng)).operators:
        pass
    return drawn


def write(directory: Path, *batches: pa.RecordBatch) -> FinishedSplit:
    writer = SplitWriter(SCHEMA, MAPPING, settings=SETTINGS, directory=directory)
    for batch in batches:
        writer.write(batch)
    return writer.finish()


def opened(split: FinishedSplit) -> SplitReader:
    return open_split(open_store(str(split.path.parent)), split.path.name, split.size, settings=SETTINGS)


def rows(reader: SplitReader, request: RowRequest) -> Iterator[dict[str, Any]]:
    for batch in reader.rows(request):
        yield from batch.to_pylist()


def best_scores(reader: SplitReader, predicate: Predicate) -> list[float] | None:
    """Return the ten best scores as `Table.search` has them; None: the predicate cannot be ranked by statistics."""
    split = Searched(SplitRef("a split", 0, None, {}), predicate)
    ranking = rank_together([split], lambda _: nullcontext(reader), 10)
    return None if ranking is None else sorted(ranking.hits[0].scores.tolist(), reverse=True)[:10]


def test_200_queries_before_and_after(tmp_path: Path) -> None:
    rng = random.Random(SEED)
    counts = [rng.randint(1, 40) for _ in range(SPLITS)]
    batches = [random_rows(rng, sum(counts[:n]), count) for n, count in enumerate(counts)]
    splits = [write(tmp_path / "sources", batch) for batch in batches]
    merged: MergedSplit = merge_splits(
        [MergeSource(open_store(str(s.path.parent)), s.path.name, s.size, s.num_records) for s in splits],
        mapping=MAPPING,
        schema=SCHEMA,
        settings=SETTINGS,
        directory=tmp_path / "merged",
    )
    assert (merged.method, merged.num_records) == ("linked", sum(counts)), f"seed {SEED}"
    fresh = write(tmp_path / "fresh", *batches)
    assert (merged.min_values, merged.max_values, merged.stats) == (
        fresh.min_values,
        fresh.max_values,
        fresh.stats,
    ), f"seed {SEED}"
    before = [opened(split) for split in splits]
    after, at_once = opened(merged), opened(fresh)
    assert after.ranking == at_once.ranking, f"seed {SEED}"
    by_id = {row["id"]: repr(row) for batch in batches for row in batch.to_pylist()}
    seen: Counter[str] = Counter()
    drawn: set[str] = set()
    for number in range(QUERIES):
        predicate, operators = draw_with(rng, OPERATORS[number]) if number < len(OPERATORS) else draw(rng)
        context = f"seed {SEED}, query {number}: {predicate}"
        ids = [row["id"] for reader in before for row in rows(reader, RowRequest(("id",), predicate))]
        found = list(rows(after, RowRequest(tuple(SCHEMA.names), predicate)))
        assert [repr(row) for row in found] == [by_id[row] for row in ids], context
        assert after.count(predicate) == len(ids), context
        scored = RowRequest(("id", "_score"), predicate)
        expected = {row["id"]: row["_score"] for row in rows(at_once, scored)}
        scores = {row["id"]: row["_score"] for row in rows(after, scored)}
        assert scores.keys() == expected.keys(), context
        for row, score in expected.items():
            # The engine adds in 32 bits, in an order that follows from its blocks of rows.
            assert scores[row] == (None if score is None else pytest.approx(score, rel=1e-6)), context
        assert best_scores(after, predicate) == best_scores(at_once, predicate), context
        drawn.update(operators)
        seen.update(operators if ids else ())
    assert drawn == set(OPERATORS), f"seed {SEED}"
    assert len(seen) > 25, f"seed {SEED}: {seen}"
    for operator in ("term", "phrase", "prefix", "wildcard", "fuzzy", "boost", "and", "or", "not"):
        assert seen[operator], f"seed {SEED}: no query with {operator} has an answer"


@pytest.mark.parametrize("seed", range(3))
def test_the_queries_are_drawn_from_their_seed_alone(seed: int) -> None:
    first, second = random.Random(seed), random.Random(seed)
    assert [draw(first) for _ in range(50)] == [draw(second) for _ in range(50)]
