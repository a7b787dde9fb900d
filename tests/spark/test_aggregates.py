"""Aggregates: what tasks, the driver and the log compute is what Spark computes from Parquet.

INDEXTABLES_SEED=n replays another run. A batch of queries is one Spark job for each table.
"""

from __future__ import annotations

import os
import random
from collections import Counter
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import pytest

import indextables as it

SEED = int(os.environ.get("INDEXTABLES_SEED", "20241101"))
ROWS = 500
BATCH = 10
ORDINARY, SOAK = 5, 100  # batches: 50 and 1,000 queries

COLUMNS = {
    "id": "long",
    "s": "string",
    "t": "string",
    "h": "short",
    "i": "integer",
    "l": "long",
    "f": "float",
    "d": "double",
    "z": "double",
    "m": "decimal(12,2)",
    "w": "decimal(38,4)",
    "n": "decimal(3,1)",
    "bo": "boolean",
    "da": "date",
    "ts": "timestamp",
    "nt": "timestamp_ntz",
    "bi": "binary",
    "P": "string",
    "q": "integer",
}
PARTITIONS = ["P", "q"]
NUMBERS = ["h", "i", "l", "f", "d", "m", "n", "q"]
WORDS = ["disk", "full", "slow", "node", "query"]
PUSH = "spark.indextables.read.aggregatePushdown"
MOST = "spark.indextables.read.answerOnDriver.maxRows"
WAYS = {"by_tasks": {MOST: "0"}, "while_planning": {MOST: "2000"}}


def value(chance: random.Random, name: str, kind: str):
    if chance.random() < 0.15:
        return None
    match name:
        case "t":
            return " ".join(chance.choices(WORDS, k=chance.randint(1, 3)))
        case "P":
            return chance.choice(["a/b", "it's"])
        case "q":
            return chance.choice([-1, 7])
        case "z":
            return chance.choice([0.0, -0.0, float("nan"), float("inf"), 1.5])
        case "d" | "f":
            return chance.choice([*(i / 4 for i in range(-20, 20)), float("nan"), float("inf")])
    match kind:
        case "short" | "integer":
            return chance.randint(-300, 300)
        case "long":
            return chance.randint(-(10**12), 10**12)
        case "string":
            return chance.choice(["", "a", "ab", "é", "\U0001f600", "z" * 50 + str(chance.randrange(3))])
        case "decimal(12,2)":
            return Decimal(chance.randint(-(10**6), 10**6)).scaleb(-2)
        case "decimal(38,4)":
            return Decimal(chance.randint(-(10**20), 10**20)).scaleb(-4)
        case "decimal(3,1)":
            return Decimal(chance.randint(-99, 999)).scaleb(-1)
        case "boolean":
            return chance.random() < 0.5
        case "date":
            return date(2024, 1, 1) + timedelta(days=chance.randint(-400, 40))
        case "timestamp":
            return datetime(2024, 1, 1, tzinfo=UTC) + timedelta(seconds=chance.randint(-(10**6), 10**6))
        case "timestamp_ntz":
            return datetime(1969, 12, 31) + timedelta(minutes=chance.randint(-5000, 5000))
    return bytes(chance.choices([0, 1, 255], k=chance.randint(0, 2)))


def group(chance: random.Random) -> str:
    if chance.random() < 0.25:
        return chance.choice(
            [
                f"indextables_histogram({chance.choice(NUMBERS)}, {chance.choice(['10', '2.5', '100, 7', '0.1, -3'])})",
                f"indextables_date_histogram({chance.choice(['ts', 'nt'])}, '{chance.choice(['1d', '6h', '90m'])}')",
                "indextables_date_histogram(da, '7d', '-3d')",
                f"indextables_range({chance.choice(NUMBERS)}, 'low', NULL, 0, 'mid', 0, 10.5, 'high', 100, NULL)",
                "substring(s, 1, 1)",
            ]
        )
    return chance.choice(["s", "h", "q", "P", "z", "bo", "da", "bi", "m", "P", "q", "nt"])


def measure(chance: random.Random) -> str:
    name = chance.choice(list(COLUMNS))
    number = chance.choice(NUMBERS)
    return chance.choice(
        [
            "count(*)",
            f"count({name})",
            f"min({name})",
            f"max({name})",
            f"min({number}) + max({number})",
            f"sum({number})",
            f"avg({number})",
            f"sum({number}) / count(*)",
            "count(DISTINCT s)",
            "sum(w)",
            "avg(l)",
            "max(ts)",
            "sum(i) FILTER (WHERE h > 0)",
        ]
    )


def condition(chance: random.Random) -> tuple[str, str]:
    """Return the same condition for a table and for Parquet."""
    word, other = chance.sample(WORDS, 2)
    has_word, has_other = (f"array_contains(split(t, ' '), '{w}')" for w in (word, other))
    plain = chance.choice(
        [
            "true",
            "P = 'a/b'",
            "q = 7 OR P IS NULL",
            "i > 50",
            "ts >= TIMESTAMP'2024-01-01 00:00:00Z'",
            "d < 1.5 AND bo",
            "s = 'nowhere'",
            "length(s) > 1",
            "id < 40",
        ]
    )
    if chance.random() < 0.5:
        return plain, plain
    if chance.random() < 0.3:
        return f"t TEXTSEARCH '{word} AND NOT {other}'", f"{has_word} AND NOT {has_other}"
    return f"t TEXTSEARCH '{word}' AND ({plain})", f"{has_word} AND ({plain})"


def query(chance: random.Random, number: int) -> tuple[str, str]:
    keys = list(dict.fromkeys(group(chance) for _ in range(chance.choice([0, 0, 1, 1, 1, 2, 3]))))
    measures = [measure(chance) for _ in range(chance.randint(0 if keys else 1, 4))]
    columns = ", ".join(f"{text} AS c{i}" for i, text in enumerate([*keys, *measures]))
    grouped = f" GROUP BY {', '.join(keys)}" if keys else ""
    return tuple(
        f"SELECT {number} AS q, to_json(struct(*)) AS row FROM (SELECT {columns} FROM {{t}} WHERE {where}{grouped})"
        for where in condition(chance)
    )


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return str(tmp_path_factory.mktemp("measured") / "table")


@pytest.fixture(scope="module", autouse=True)
def tables(spark, path):
    chance = random.Random(SEED)
    schema = ", ".join(f"{name} {kind}" for name, kind in COLUMNS.items())
    rows = [(i, *(value(chance, n, k) for n, k in list(COLUMNS.items())[1:])) for i in range(ROWS)]
    spark.createDataFrame(rows, schema).coalesce(1).write.parquet(path + ".parquet")
    theirs = spark.read.parquet(path + ".parquet")
    for low, high, partitions in ((0, 300, 2), (300, ROWS, 1)):
        part = theirs.filter(f"id >= {low} AND id < {high}").repartition(partitions)
        writer = part.write.format("indextables").mode("append").partitionBy(*PARTITIONS)
        writer.option("spark.indextables.indexing.typemap.t", "text").save(path)
    it.open(path).delete(where="id IN (3, 77, 301)")
    spark.read.parquet(path + ".parquet").filter("id NOT IN (3, 77, 301)").createOrReplaceTempView("theirs")
    for view, options in WAYS.items():
        spark.read.format("indextables").options(**options).load(path).createOrReplaceTempView(view)


def check_batch(spark, batch: int) -> None:
    print(f"INDEXTABLES_SEED={SEED}, batch {batch}")
    chance = random.Random(SEED * 1000 + batch)
    queries = [query(chance, number) for number in range(BATCH)]
    expected = answers(spark, [theirs for _, theirs in queries], "theirs")
    for view in WAYS:
        found = answers(spark, [ours for ours, _ in queries], view)
        for number, (ours, _) in enumerate(queries):
            assert found.get(number) == expected.get(number), f"{view}: {ours}"


def answers(spark, queries: list[str], table: str) -> dict[int, Counter[str]]:
    found: dict[int, Counter[str]] = {}
    for row in spark.sql(" UNION ALL ".join(text.replace("{t}", table) for text in queries)).collect():
        found.setdefault(row["q"], Counter())[row["row"].replace("-0.0", "0.0")] += 1
    return found


@pytest.mark.parametrize("batch", range(ORDINARY))
def test_answers_are_those_of_parquet(spark, batch):
    check_batch(spark, batch)


@pytest.mark.soak
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("batch", range(ORDINARY, ORDINARY + SOAK))
def test_answers_are_those_of_parquet_in_many_queries(spark, batch):
    check_batch(spark, batch)


def plan_of(frame) -> str:
    return frame._jdf.queryExecution().toString()


@pytest.mark.parametrize(
    "measures",
    [
        "count(*), count(s), min(ts), max(bi), sum(l), sum(m), avg(i), avg(d)",
        "avg(l)",
        "max(indextables_histogram(i, 10))",
    ],
)
def test_explain_says_what_is_pushed(spark, measures):
    frame = spark.sql(f"SELECT P, {measures} FROM by_tasks WHERE t TEXTSEARCH 'disk' GROUP BY P")
    is_pushed = "indextables_histogram" not in measures
    assert ("aggregate " in plan_of(frame)) == is_pushed, plan_of(frame)
    if is_pushed:
        assert " by P" in plan_of(frame)


@pytest.mark.parametrize(
    "keys",
    [
        "indextables_histogram(i, 10)",
        "indextables_date_histogram(ts, '1d', '2h'), P",
        "indextables_range(d, 'low', NULL, 0, 'high', 0, NULL)",
        "s, da",
    ],
)
def test_buckets_are_keys_that_tasks_group_by(spark, keys):
    frame = spark.sql(f"SELECT {keys}, count(*) FROM by_tasks WHERE t TEXTSEARCH 'disk' GROUP BY {keys}")
    assert "aggregate COUNT(*) by" in plan_of(frame), plan_of(frame)


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT count(*) FROM while_planning",
        "SELECT P, q, count(*), min(q), sum(q) FROM while_planning WHERE q = 7 GROUP BY P, q",
        "SELECT s, count(d), avg(i) FROM while_planning WHERE t TEXTSEARCH 'disk' GROUP BY s",
    ],
)
def test_the_driver_answers_what_the_log_knows_and_what_few_rows_tell(spark, sql):
    plan = plan_of(spark.sql(sql)).split("== Physical Plan ==")[1]
    assert "LocalTableScan" in plan
    assert "Aggregate" not in plan


def test_minima_come_from_the_log_unless_rows_are_deleted(spark, tmp_path):
    path = str(tmp_path / "table")
    rows = spark.range(1000).selectExpr("id", "cast(id AS string) AS s", "double(id) AS d")
    rows.repartition(2).write.format("indextables").save(path)
    table = it.open(path)
    for split in table.files().column("path").to_pylist():  # so that only the log can answer
        Path(path, split).rename(f"{path}/{split}.away")
    frame = spark.read.format("indextables").load(path).selectExpr("min(id)", "max(id)", "max(d)", "count(*)")
    assert frame.collect() == [(0, 999, 999.0, 1000)]
    for split in table.files().column("path").to_pylist():
        Path(f"{path}/{split}.away").rename(f"{path}/{split}")
    table.delete(where="id IN (0, 999)")
    frame = spark.read.format("indextables").load(path).selectExpr("min(id)", "max(id)", "max(d)", "count(*)")
    assert frame.collect() == [(1, 998, 998.0, 998)]
    old = spark.read.format("indextables").option("versionAsOf", 0).load(path)
    assert old.selectExpr("min(id)", "max(s)").collect() == [(0, "999")]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("ansi", ["true", "false"])
def test_sums_overflow_as_spark_says(spark, tmp_path, way, ansi):
    rows = [(2**63 - 1, Decimal(10**37), "a")] * 5 + [(-5, Decimal(-1), "b")] * 3
    frame = spark.createDataFrame(rows, "l long, w decimal(38,0), k string").coalesce(1)
    frame.write.format("indextables").save(str(tmp_path / "table"))
    frame.write.parquet(str(tmp_path / "parquet"))
    ours = spark.read.format("indextables").options(**WAYS[way]).load(str(tmp_path / "table"))
    theirs = spark.read.parquet(str(tmp_path / "parquet"))
    spark.conf.set("spark.sql.ansi.enabled", ansi)
    try:
        for measure in ("sum(l)", "sum(w)", "try_sum(l)", "avg(l)", "avg(w)", "sum(w * 1000)"):
            found, expected = (outcome(frame.groupBy("k"), measure) for frame in (ours, theirs))
            assert found == expected, measure
    finally:
        spark.conf.set("spark.sql.ansi.enabled", "true")


def outcome(grouped, measure: str):
    from pyspark.sql.functions import expr  # noqa: PLC0415

    try:
        return sorted(map(repr, grouped.agg(expr(measure)).collect()))
    except Exception as error:
        return getattr(error, "getCondition", lambda: None)() or type(error).__name__


def test_pushing_can_be_turned_off(spark, path):
    frame = spark.read.format("indextables").option(PUSH, "false").load(path)
    counted = frame.groupBy("P").count()
    assert "aggregate" not in plan_of(counted).split("== Physical Plan ==")[1].lower().replace(
        "hashaggregate", ""
    )
    assert {row["P"]: row["count"] for row in counted.collect()} == {
        row["P"]: row["count"]
        for row in spark.sql("SELECT P, count(*) AS count FROM theirs GROUP BY P").collect()
    }


@pytest.mark.parametrize(
    ("call", "reason"),
    [
        ("indextables_histogram(i, 0)", "above zero"),
        ("indextables_histogram(s, 1)", "must be a number"),
        ("indextables_histogram(i, h)", "must be a constant"),
        ("indextables_histogram(i, 1, 0, 5)", "HAVING count"),
        ("indextables_date_histogram(ts, '1 fortnight')", "ms, s, m, h or d"),
        ("indextables_date_histogram(da, '6h')", "whole days"),
        ("indextables_range(i, 'a', 0, 10, 'b', 5, 20)", "overlaps"),
        ("indextables_range(i, 'a', 0)", "each range takes"),
        ("indextables_histogram(i)", "column, interval"),
    ],
)
def test_a_wrong_call_says_what_to_write(spark, call, reason):
    with pytest.raises(Exception, match=reason):
        spark.sql(f"SELECT {call} FROM by_tasks").collect()
