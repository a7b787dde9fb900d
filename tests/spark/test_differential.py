"""Random rows of every type, random queries: the answer on indextables is the answer on Parquet.

Each query stands for one branch of a UNION ALL, so that a batch of them is one Spark job a side.
INDEXTABLES_SEED=n replays another run.
"""

from __future__ import annotations

import os
import random
from collections import Counter
from datetime import UTC, date, datetime, timedelta

import pytest

SEED = int(os.environ.get("INDEXTABLES_SEED", "20240501"))
ROWS = 600
BATCHES = 32
BATCH = 10  # 320 queries

COLUMNS = {
    "id": "long",
    "s": "string",
    "t": "string",
    "host name": "string",
    "b": "byte",
    "h": "short",
    "i": "integer",
    "l": "long",
    "f": "float",
    "d": "double",
    "bo": "boolean",
    "da": "date",
    "ts": "timestamp",
    "bi": "binary",
    "P": "string",
    "n": "integer",
}
PARTITIONS = ["P", "n"]
WAYS = {"by_tasks": "0", "while_planning": "2000"}
"""Views of the table: small queries go one way or the other."""
NAMES = [f"`{name}`" for name in COLUMNS]
NUMBERS = {"byte": 127, "short": 32767, "integer": 2**31 - 1, "long": 2**63 - 1}
STRINGS = [
    "",
    "a",
    "ab",
    "abc",
    "b",
    "B",
    "é",
    "e\u0301",
    "\U0001f600",
    "a b",
    "100%",
    "a_c",
    "it's",
    "z" * 40,
    "z" * 41,
]
FLOATS = [0.0, -0.0, 1.5, -1.5, 2.0, 1e30, -1e30, float("nan"), float("inf"), float("-inf")]
PARTS = ["a/b", "it's 50%"]  # few: each makes splits, and each split costs every query a little


def value(chance: random.Random, name: str, kind: str):
    """A value from a small pool, so that comparisons often meet one."""
    if chance.random() < 0.15:
        return None
    if name == "P":
        return chance.choice(PARTS)
    if name == "n":
        return chance.choice([-1, 7])
    if kind in NUMBERS:
        return chance.choice([-NUMBERS[kind] - 1, NUMBERS[kind], *range(-4, 5)])
    if kind == "string":
        return chance.choice(STRINGS)
    if kind in ("float", "double"):
        return chance.choice(FLOATS)
    if kind == "boolean":
        return chance.random() < 0.5
    if kind == "date":
        return (
            chance.choice([date(1969, 12, 31), date(1, 1, 1), date(9999, 12, 31)])
            if chance.random() < 0.1
            else date(2024, 1, chance.randint(1, 9))
        )
    if kind == "timestamp":
        return datetime(2024, 1, 1, tzinfo=UTC) + timedelta(
            microseconds=chance.choice([-1, 0, 1, 10**6, 3_600_000_000])
        )
    return bytes(chance.choices([0, 1, 255], k=chance.randint(0, 2)))


def literal(chance: random.Random, name: str, kind: str) -> str:
    picked = value(chance, name, kind)
    if picked is None:
        return "NULL" if chance.random() < 0.3 else literal(chance, name, kind)
    if kind in NUMBERS:
        if chance.random() < 0.1:
            return chance.choice(["1.5D", "2L", "cast(3 AS tinyint)", "0.0D", "2147483648L"])
        return "(-9223372036854775807L - 1L)" if picked == -(2**63) else f"cast({picked}L AS {kind})"
    if kind == "string":
        return "'" + picked.replace("\\", "\\\\").replace("'", "\\'") + "'"
    if kind in ("float", "double"):
        return f"{kind}('{picked}')"
    if kind == "boolean":
        return str(picked).lower()
    if kind == "date":
        return f"DATE'{picked.isoformat()}'"
    if kind == "timestamp":
        return f"TIMESTAMP'{picked.isoformat()}'"
    return f"X'{picked.hex()}'"


def leaf(chance: random.Random) -> str:
    name, kind = chance.choice(list(COLUMNS.items())[1:])
    column = f"`{name}`"
    shape = chance.randrange(12)
    if shape < 5:
        op = chance.choice(["=", "<>", "<", "<=", ">", ">=", "<=>"])
        sides = [column, literal(chance, name, kind)]
        return f" {op} ".join(sides if chance.random() < 0.9 else sides[::-1])
    if shape == 5:
        items = ", ".join(literal(chance, name, kind) for _ in range(chance.randint(1, 4)))
        return f"{column} {chance.choice(['', 'NOT '])}IN ({items})"
    if shape == 6:
        return f"{column} IS {chance.choice(['', 'NOT '])}NULL"
    if shape == 7:
        return f"{column} BETWEEN {literal(chance, name, kind)} AND {literal(chance, name, kind)}"
    if shape == 8:
        pattern = chance.choice(
            ["a%", "%c", "%b%", "100\\\\%", "a\\\\_%", "_b%", "", "%", "é%", "z" * 39 + "%"]
        )
        return (
            f"{chance.choice(['s', 't', '`host name`', 'P'])} {chance.choice(['', 'NOT '])}LIKE '{pattern}'"
        )
    if shape == 9:
        return chance.choice(["bo", "NOT bo", "bo = (i > 0)", "true", "false", "cast(NULL AS boolean)"])
    if shape == 10:
        return chance.choice(
            [
                "length(s) > 1",
                "i % 2 = 0",
                "s = t",
                "i < l",
                "upper(t) = 'AB'",
                "id % 3 = 1",
                "year(da) = 2024",
            ]
        )
    return f"id {chance.choice(['<', '>='])} {chance.randrange(ROWS)}"


def where(chance: random.Random, depth: int = 2) -> str:
    shape = chance.random()
    if depth == 0 or shape < 0.35:
        return leaf(chance)
    if shape < 0.5:
        return f"NOT ({where(chance, depth - 1)})"
    op = chance.choice([" AND ", " OR "])
    return "(" + op.join(where(chance, depth - 1) for _ in range(chance.randint(2, 3))) + ")"


def branch(chance: random.Random, number: int) -> tuple[str, int | None]:
    """A query with columns (q, row), with {t} for the table; and its limit if its rows are any that match."""
    condition = where(chance)
    picked = chance.sample(NAMES, chance.randint(1, 5))
    shape = chance.randrange(6)
    if shape < 2:
        return (
            f"SELECT {number} AS q, to_json(struct({', '.join(picked)})) AS row FROM {{t}} WHERE {condition}",
            None,
        )
    if shape == 2:
        return f"SELECT {number} AS q, cast(count(*) AS string) AS row FROM {{t}} WHERE {condition}", None
    if shape == 3:
        key = chance.choice(NAMES[1:])
        figures = "count(*) AS c, sum(i) AS si, min(s) AS ms, max(ts) AS mt, count(d) AS cd, min(da) AS md"
        grouped = f"SELECT {key} AS k, {figures} FROM {{t}} WHERE {condition} GROUP BY {key}"
        return f"SELECT {number} AS q, to_json(struct(*)) AS row FROM ({grouped})", None
    limit = chance.choice([0, 1, 5, 100, ROWS * 2])
    if shape == 4:
        ordered = f"SELECT id, {', '.join(picked)} FROM {{t}} WHERE {condition} ORDER BY id LIMIT {limit}"
        return f"SELECT {number} AS q, to_json(struct(*)) AS row FROM ({ordered})", None
    limited = f"SELECT * FROM {{t}} WHERE {condition} LIMIT {limit}"
    return f"SELECT {number} AS q, to_json(struct({', '.join(NAMES)})) AS row FROM ({limited})", limit


@pytest.fixture(scope="module", autouse=True)
def tables(spark, tmp_path_factory):
    chance = random.Random(SEED)
    directory = tmp_path_factory.mktemp("differential")
    schema = ", ".join(f"`{name}` {kind}" for name, kind in COLUMNS.items())
    rows = [
        (i, *(value(chance, name, kind) for name, kind in list(COLUMNS.items())[1:])) for i in range(ROWS)
    ]
    frame = spark.createDataFrame(rows, schema)
    frame.coalesce(1).write.parquet(str(directory / "theirs"))
    stored = spark.read.parquet(str(directory / "theirs"))
    for low, high, partitions in ((0, 400, 2), (400, ROWS, 1)):
        part = stored.filter(f"id >= {low} AND id < {high}").repartition(partitions)
        writer = part.write.format("indextables").mode("append").partitionBy(*PARTITIONS)
        writer.option("spark.indextables.indexing.typemap.t", "text").save(str(directory / "ours"))
    stored.createOrReplaceTempView("theirs")
    for view, most in WAYS.items():
        reader = spark.read.format("indextables").option(
            "spark.indextables.read.answerOnDriver.maxRows", most
        )
        reader.load(str(directory / "ours")).createOrReplaceTempView(view)


@pytest.fixture
def evaluator(spark, batch):
    """Evaluate expressions as Spark does by default, in compiled code, in every fourth batch.

    To compile the code of a query of ten branches takes longer than to run it. The other batches are interpreted.
    """
    interpreted = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}
    settings = interpreted if batch % 4 else {}
    for key, value in settings.items():
        spark.conf.set(key, value)
    yield
    for key in settings:
        spark.conf.unset(key)


def answers(spark, branches: list[str]) -> dict[int, Counter[str]]:
    found: dict[int, Counter[str]] = {}
    for row in spark.sql("\nUNION ALL\n".join(branches)).collect():
        found.setdefault(row["q"], Counter())[row["row"]] += 1
    return found


@pytest.mark.usefixtures("evaluator")
@pytest.mark.parametrize("batch", range(BATCHES))
def test_random_queries_answer_as_parquet_does(spark, batch):
    chance = random.Random(f"{SEED}/{batch}")
    queries = [branch(chance, number) for number in range(BATCH)]
    ways = [chance.choice(list(WAYS)) for _ in queries]
    ours = answers(spark, [text.replace("{t}", way) for (text, _), way in zip(queries, ways, strict=True)])
    unlimited = [text if limit is None else text.replace(f" LIMIT {limit})", ")") for text, limit in queries]
    theirs = answers(spark, [text.replace("{t}", "theirs") for text in unlimited])
    for number, (text, limit) in enumerate(queries):
        mine, reference = ours.get(number, Counter()), theirs.get(number, Counter())
        note = (
            f"INDEXTABLES_SEED={SEED}, batch {batch}, query {number}, {ways[number]}: {text}\n"
            f"ours: {mine}\ntheirs: {reference}"
        )
        if limit is None:
            assert mine == reference, note
        else:
            assert mine.total() == min(limit, reference.total()), note
            assert mine <= reference, note
